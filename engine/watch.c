/* SPDX-License-Identifier: MIT */
#include "watch.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/container.h"
#include "engine.h"
#include "growth.h"
#include "idle.h"
#include "loader.h"
#include "pool.h"
#include "probe.h"
#include "session.h"
#include "slot.h"
#include "sys/assert.h"
#include "sys/mem.h"
#include "sys/mutex.h"
#include "sys/point.h"

#define BATCH_MAX 64

struct weir__watchers {
  int epoll;
  struct weir__watch watch; /* the set, in the reactor's own */
  struct weir__task task;
  struct weir__engine *engine;
};

/* ------------------------------------------------------------- the events */

/* Adds a flag to the word of a slot that is its owner's.  False: *word has
 * changed. */
static bool mark(struct weir__slot *slot, uint64_t *word, uint32_t flag) {
  uint64_t to =
      weir__slot_word(weir__slot_state(*word), weir__slot_flags(*word) | flag,
                      weir__slot_generation(*word), weir__slot_lease(*word));
  return to == *word || weir__slot_move(slot, word, to);
}

/* An idle one is taken out of circulation here.  False: it was leased meanwhile,
 * and *word says what it is now. */
static bool settle_idle(struct weir__slot *slot, uint64_t *word, bool ended) {
  struct weir__pool *pool =
      atomic_load_explicit(&slot->pool, memory_order_relaxed);
  if (!ended) {
    return weir__probe_idle(pool, slot, word);
  }
  if (!weir__growth_retire(slot, word)) {
    return false;
  }
  weir__idle_lost(pool);
  return true;
}

/* The reactor alone frees sessions and empties slots, so what it finds here stays
 * while it looks.  A slot that is being opened is its opener's, who has just
 * heard from the server: an end dooms it, anything else can wait. */
void weir__watch_event(uint32_t slot_number, uint32_t birth, bool ended) {
  struct weir__slot *slot = weir__slot_find(slot_number);
  const struct weir_drv_hconn *s =
      slot == NULL ? NULL : weir__slot_session(slot);
  if (s == NULL || s->birth != birth) {
    return;
  }
  WEIR_POINT("watch.event", slot);
  uint32_t flag = ended ? WEIR_SLOT_DOOMED : WEIR_SLOT_SUSPECT;
  uint64_t word = weir__load_seq_u64(&slot->word);
  bool done = false;
  while (!done) {
    switch (weir__slot_state(word)) {
    case WEIR_SLOT_IDLE:
      done = settle_idle(slot, &word, ended);
      break;
    case WEIR_SLOT_CONNECTING:
      done = !ended || mark(slot, &word, flag);
      break;
    case WEIR_SLOT_EMPTY:
    case WEIR_SLOT_CLOSING:
      done = true;
      break;
    default:
      done = mark(slot, &word, flag);
      break;
    }
  }
}

/* The set is level-triggered in the reactor's: what does not fit comes again. */
static void on_ready(struct weir__watch *watch, uint32_t events) {
  struct weir__watchers *w =
      weir_container_of(watch, struct weir__watchers, watch);
  struct epoll_event batch[BATCH_MAX];
  int n = epoll_wait(w->epoll, batch, BATCH_MAX, 0);
  (void)events;
  for (int i = 0; i < n; i++) {
    uint64_t who = batch[i].data.u64;
    uint32_t bits = batch[i].events;
    weir__watch_event((uint32_t)(who >> 32), (uint32_t)who,
                      (bits & (uint32_t)(EPOLLRDHUP | EPOLLHUP | EPOLLERR)) !=
                          0);
  }
}

/* --------------------------------------------------------- entering, leaving */

static void add(struct weir_drv_hconn *s, int fd, uint32_t bits) {
  struct epoll_event event = {
      .events = bits | (uint32_t)(EPOLLRDHUP | EPOLLET),
      .data = {.u64 = (uint64_t)s->slot->number << 32 | s->birth}};
  if (s->n_watched < WEIR_SESSION_WATCHED &&
      epoll_ctl(s->engine->watchers->epoll, EPOLL_CTL_ADD, fd, &event) == 0) {
    s->watched[s->n_watched++] = fd;
  }
}

/* The end of a socket is an event of its own; of anything else, such as an
 * eventfd(2), it can only be seen that there is something to read. */
static uint32_t bits_of(int fd) {
  struct stat st;
  return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) ? 0u : (uint32_t)EPOLLIN;
}

/* Descriptors of the driver's own. */
static void join_wants(struct weir_drv_hconn *s) {
  struct weir_drv_wait wait = {.struct_size = sizeof wait,
                               .timer = WEIR_DRV_NEVER};
  if ((s->driver->has & WEIR_DRIVER_HAS_IDLE) == 0 ||
      (s->driver->table.caps & WEIR_DRV_CAP_OWN_FDS) == 0 ||
      s->driver->table.idle(s->conn, &wait) != WEIR_DRV_WAIT ||
      wait.n_want > WEIR_DRV_WANT_MAX) {
    return;
  }
  for (uint32_t i = 0; i < wait.n_want; i++) {
    int fd = (int)wait.want[i].fd;
    if (wait.want[i].stream == NULL && fd >= 0) {
      add(s, fd, bits_of(fd));
    }
  }
}

void weir__watch_join(struct weir_drv_hconn *session) {
  WEIR_ASSERT(weir__mutex_none_held());
  for (uint32_t i = 0; i < WEIR_STREAMS_MAX; i++) {
    if (session->streams.slot[i] != NULL) {
      add(session, weir__stream_fd(session->streams.slot[i]), 0);
    }
  }
  join_wants(session);
}

void weir__watch_forget_fd(struct weir_drv_hconn *session, int fd) {
  for (uint32_t i = 0; i < session->n_watched; i++) {
    if (session->watched[i] == fd) {
      /* Fails only for one that the driver has closed already. */
      (void)epoll_ctl(session->engine->watchers->epoll, EPOLL_CTL_DEL, fd,
                      NULL);
      session->watched[i] = session->watched[--session->n_watched];
      return;
    }
  }
}

void weir__watch_leave(struct weir_drv_hconn *session) {
  while (session->n_watched != 0) {
    weir__watch_forget_fd(session, session->watched[session->n_watched - 1]);
  }
}

/* -------------------------------------------------------------- start, stop */

static void on_start(struct weir__task *task) {
  struct weir__watchers *w =
      weir_container_of(task, struct weir__watchers, task);
  /* Without memory for it nothing is watched: slower, but right. */
  (void)weir__reactor_watch(w->engine->reactor, &w->watch, WEIR_DRV_EV_READ);
}

int weir__watchers_new(struct weir__engine *engine,
                       struct weir__watchers **out) {
  struct weir__watchers *w = weir__mem_new(sizeof *w);
  if (w == NULL) {
    return -ENOMEM;
  }
  w->engine = engine;
  w->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (w->epoll < 0) {
    int rc = -errno;
    weir__mem_free(w);
    return rc;
  }
  w->watch = (struct weir__watch){.ready = on_ready, .fd = w->epoll};
  w->task.run = on_start;
  *out = w;
  weir__reactor_post(engine->reactor, &w->task);
  return 0;
}

void weir__watchers_free(struct weir__watchers *watchers) {
  if (watchers != NULL) {
    (void)close(watchers->epoll);
    weir__mem_free(watchers);
  }
}

void weir__watchers_forget(struct weir__watchers *watchers) {
  if (watchers != NULL) {
    (void)close(watchers->epoll);
  }
}
