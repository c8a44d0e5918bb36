/* SPDX-License-Identifier: MIT */
#include "remote.h"

#include <stddef.h>

#include "base/container.h"
#include "engine.h"
#include "op.h"
#include "pool.h"
#include "status.h"
#include "sys/assert.h"
#include "sys/clock.h"

static void turn(struct weir_drv_hconn *s, uint32_t why);

static struct weir__reactor *reactor(const struct weir_drv_hconn *s) {
  return s->engine->reactor;
}

void weir__remote_forget_fd(struct weir_drv_hconn *session, int fd) {
  for (uint32_t i = 0; i < WEIR_DRV_WANT_MAX; i++) {
    struct weir__watch *watch = &session->watches[i].watch;
    if (watch->events != 0 && watch->fd == fd) {
      (void)weir__reactor_watch(reactor(session), watch, 0);
    }
  }
}

void weir__remote_quiet(struct weir_drv_hconn *session) {
  for (uint32_t i = 0; i < WEIR_DRV_WANT_MAX; i++) {
    struct weir__watch *watch = &session->watches[i].watch;
    if (watch->events != 0) {
      (void)weir__reactor_watch(reactor(session), watch, 0);
    }
  }
  weir__reactor_timer(reactor(session), &session->timer, WEIR_NEVER);
}

void weir__remote_release(struct weir_drv_hconn *session) {
  uint32_t word = weir__load_seq_u32(&session->op);
  WEIR_ASSERT((word & WEIR_OP_OWNER) == WEIR_OP_REACTOR);
  weir__store_seq_u32(&session->op, WEIR_OP_NONE);
}

bool weir__remote_leave(struct weir_drv_hconn *session) {
  uint32_t word = weir__load_seq_u32(&session->op);
  do {
    WEIR_ASSERT((word & WEIR_OP_OWNER) == WEIR_OP_REACTOR);
    if ((word & WEIR_OP_REPLIED) != 0) {
      return false;
    }
  } while (!weir__cas_seq_u32(&session->op, &word, WEIR_OP_NONE));
  return true;
}

bool weir__remote_drives(const struct weir_drv_hconn *session) {
  uint32_t word = weir__load_seq_u32(&session->op);
  return (word & WEIR_OP_OWNER) == WEIR_OP_REACTOR &&
         session->status == WEIR_DRV_WAIT;
}

static void finish(struct weir_drv_hconn *s) {
  weir__remote_quiet(s);
  s->done(s);
}

/* What held for a descriptor is told to every want on it. */
static void on_ready(struct weir__watch *watch, uint32_t events) {
  struct weir__session_watch *w = (struct weir__session_watch *)(void *)watch;
  struct weir_drv_hconn *s = w->session;
  for (uint32_t i = 0; i < s->n_wants; i++) {
    struct weir_drv_want *want = &s->wants[i];
    int fd =
        want->stream != NULL ? weir__stream_fd(want->stream) : (int)want->fd;
    if (fd == watch->fd) {
      want->ready = events & want->events;
    }
  }
  turn(s, WEIR_DRV_WHY_IO);
}

static void expire(struct weir_drv_hconn *s) {
  s->expired = true;
  s->status = WEIR_DRV_FAIL;
  weir__op_fail(s, WEIR_DRV_K_TIMEOUT, "the time limit passed");
  finish(s);
}

bool weir__remote_expire(struct weir_drv_hconn *session) {
  uint32_t word = weir__load_seq_u32(&session->op);
  if ((word & WEIR_OP_OWNER) != WEIR_OP_REACTOR || session->closing ||
      session->reply_pending || session->done == NULL ||
      session->status != WEIR_DRV_WAIT) {
    return false;
  }
  expire(session);
  return true;
}

static void on_timer(struct weir__timer *timer) {
  struct weir_drv_hconn *s =
      weir_container_of(timer, struct weir_drv_hconn, timer);
  if (s->look == NULL && weir__clock_now() >= s->limit) {
    expire(s);
    return;
  }
  turn(s, WEIR_DRV_WHY_TIMER);
}

static int want_fd(const struct weir_drv_want *want) {
  return want->stream != NULL ? weir__stream_fd(want->stream) : (int)want->fd;
}

/* Events wanted of the descriptor of want i by all wants; 0 if an earlier want
 * has the same descriptor and so its watch. */
static uint32_t events_of(const struct weir_drv_hconn *s, uint32_t i) {
  uint32_t events = 0;
  int fd = want_fd(&s->wants[i]);
  for (uint32_t j = 0; j < s->n_wants; j++) {
    if (want_fd(&s->wants[j]) == fd) {
      if (j < i) {
        return 0;
      }
      events |= s->wants[j].events;
    }
  }
  return events;
}

static int arm_one(struct weir_drv_hconn *s, uint32_t i) {
  struct weir__watch *watch = &s->watches[i].watch;
  uint32_t events = i < s->n_wants ? events_of(s, i) : 0;
  int fd = i < s->n_wants ? want_fd(&s->wants[i]) : -1;
  if (watch->events != 0 && (watch->fd != fd || events == 0)) {
    (void)weir__reactor_watch(reactor(s), watch, 0);
  }
  if (events == 0 || watch->events == events) {
    return 0;
  }
  watch->fd = fd;
  watch->ready = on_ready;
  s->watches[i].session = s;
  return weir__reactor_watch(reactor(s), watch, events);
}

/* Nobody wants what a closed pool is still opening or resetting; a lease's request
 * goes on.  tend.c ends
 * what the reactor has when the pool closes; this is for what comes later. */
static bool unwanted(const struct weir_drv_hconn *s) {
  return !s->closing && s->look == NULL &&
         (weir__load_seq_u64(&s->pool->q) & WEIR_Q_CLOSED) != 0;
}

static void arm(struct weir_drv_hconn *s) {
  /* Two passes: a descriptor that moves from one want to another must leave its
   * old watch before it can have a new one. */
  for (uint32_t i = 0; i < WEIR_DRV_WANT_MAX; i++) {
    struct weir__watch *watch = &s->watches[i].watch;
    if (watch->events != 0 &&
        (i >= s->n_wants || watch->fd != want_fd(&s->wants[i]))) {
      (void)weir__reactor_watch(reactor(s), watch, 0);
    }
  }
  for (uint32_t i = 0; i < WEIR_DRV_WANT_MAX; i++) {
    int rc = arm_one(s, i);
    if (rc != 0) {
      char why[128];
      s->status = WEIR_DRV_FAIL;
      weir__op_fail(s, WEIR_DRV_K_RESOURCE,
                    "a descriptor cannot be watched: %s",
                    weir__errno_text(-rc, why, sizeof why));
      finish(s);
      return;
    }
  }
  if (unwanted(s)) {
    s->limit = 0;
  }
  uint64_t at = weir__op_wake_at(s);
  weir__reactor_timer(reactor(s), &s->timer, at < s->limit ? at : s->limit);
}

static void settle(struct weir_drv_hconn *s, int32_t status) {
  if (status == WEIR_DRV_WAIT) {
    arm(s);
  } else {
    finish(s);
  }
}

static bool has_looked(struct weir_drv_hconn *s) {
  return s->look != NULL && s->look(s);
}

static void turn(struct weir_drv_hconn *s, uint32_t why) {
  if (has_looked(s)) {
    return;
  }
  settle(s, weir__op_turn(s, why));
}

void weir__remote_go(struct weir_drv_hconn *session,
                     int32_t status,
                     void (*done)(struct weir_drv_hconn *session)) {
  session->timer.fire = on_timer;
  session->done = done;
  settle(session, status);
}

/* The reactor takes the word; a reply that came while nobody or a thread had it
 * is used at once, one that comes later posts its own task. */
static void take_word(struct weir_drv_hconn *s) {
  uint32_t word = weir__load_seq_u32(&s->op);
  while (!weir__cas_seq_u32(&s->op, &word, WEIR_OP_REACTOR)) {
  }
  WEIR_ASSERT((word & WEIR_OP_OWNER) == WEIR_OP_PARKED);
}

static void run_posted(struct weir__task *task) {
  struct weir_drv_hconn *s =
      weir_container_of(task, struct weir_drv_hconn, task);
  take_word(s);
  s->run(s);
}

static void run_reply(struct weir__task *task) {
  struct weir_drv_hconn *s =
      weir_container_of(task, struct weir_drv_hconn, reply_task);
  uint32_t word = weir__and_seq_u32(&s->op, ~WEIR_OP_REPLIED);
  s->replied = true;
  if ((word & WEIR_OP_OWNER) == WEIR_OP_PARKED) {
    return; /* it overtook the task that hands the session over */
  }
  if (s->reply_pending) {
    s->reply_pending = false;
    s->run(s); /* close.c waits for this */
  } else if (s->status != WEIR_DRV_WAIT) {
    s->done(s); /* weir__remote_leave() does */
  } else {
    turn(s, 0);
  }
}

void weir__remote_post(struct weir_drv_hconn *session,
                       void (*run)(struct weir_drv_hconn *session)) {
  session->run = run;
  session->task.run = run_posted;
  session->reply_task.run = run_reply;
  uint32_t word = weir__load_seq_u32(&session->op);
  WEIR_ASSERT((word & WEIR_OP_OWNER) == WEIR_OP_NONE ||
              (word & WEIR_OP_OWNER) == WEIR_OP_DRIVING);
  while (!weir__cas_seq_u32(&session->op, &word, WEIR_OP_PARKED)) {
  }
  /* An answer that came before the move kicked the thread that leaves now. */
  if ((word & WEIR_OP_REPLIED) != 0) {
    session->replied = true;
  }
  weir__reactor_post(reactor(session), &session->task);
}

static void carry_on(struct weir_drv_hconn *s) {
  if (s->status == WEIR_DRV_WAIT && has_looked(s)) {
    return;
  }
  if (s->status == WEIR_DRV_WAIT) {
    settle(s, s->replied ? weir__op_turn(s, 0) : WEIR_DRV_WAIT);
  } else {
    finish(s);
  }
}

void weir__remote_adopt(struct weir_drv_hconn *session,
                        void (*done)(struct weir_drv_hconn *session)) {
  session->done = done;
  session->timer.fire = on_timer;
  weir__remote_post(session, carry_on);
}
