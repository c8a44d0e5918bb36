/* SPDX-License-Identifier: MIT */
/* caller.c - why a mark and not a reference count: a count per call is a shared
 * write of 48 to 200 ns on every acquire.  A mark is a plain store to a line of
 * the thread's own; the rare reader (shutdown, recycling) pays for the fence on
 * both sides with membarrier(2).
 *
 *   caller:  mark = epoch; compiler fence; resolve the handle; use the object
 *   reader:  make the handle stale; epoch + 1; membarrier; read all marks
 *
 * Either the caller's mark is seen, or the caller's resolve comes after the
 * barrier and finds a stale handle. */
#include "caller.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "weir.h"

#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/mem.h"
#include "sys/mutex.h"
#include "sys/park.h"

_Atomic uint32_t *_Atomic weir__fork_page;
_Atomic uint64_t weir__caller_epoch = 1;
_Atomic uint32_t weir__caller_awaited;

static struct weir__caller *_Atomic records;
static _Thread_local struct weir__caller *mine;
static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t setup_mutex = PTHREAD_MUTEX_INITIALIZER;

/* One who waits for callers, on its stack.  Each has a word of its own: a wake
 * on a common one could go to one whose callers have not left yet, and be lost
 * to the other. */
struct awaiter {
  struct awaiter *next;
  _Atomic uint32_t left; /* grows with each call that ends */
};
static struct weir__mutex await_lock = {PTHREAD_MUTEX_INITIALIZER,
                                        WEIR_RANK_LEAF};
static struct awaiter *awaiters; /* guarded by await_lock */

/* Runs as its thread exits; the record goes to the next new thread. */
static void give_back(void *record) {
  struct weir__caller *self = record;
  mine = NULL;
  weir__store_release_u32(&self->taken, 0);
}

static void make_key(void) {
  /* Failure leaves records with dead threads: a leak of one record a thread,
   * no harm else. */
  (void)pthread_key_create(&exit_key, give_back);
}

static void barrier_all_threads(void) {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
    /* Not registered or not there: the slow one needs no registration. */
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
  }
}

static int make_page(void) {
  long size = sysconf(_SC_PAGESIZE);
  void *p = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    return -errno;
  }
  if (madvise(p, (size_t)size, MADV_WIPEONFORK) != 0) {
    int error = errno;
    (void)munmap(p, (size_t)size);
    return -error;
  }
  _Atomic uint32_t *page = p;
  weir__store_relaxed_u32(page, 1);
  atomic_store_explicit(&weir__fork_page, page, memory_order_release);
  return 0;
}

int weir__caller_setup(void) {
  int rc = 0;
  (void)pthread_once(&exit_once, make_key);
  (void)pthread_mutex_lock(&setup_mutex);
  if (atomic_load_explicit(&weir__fork_page, memory_order_acquire) == NULL) {
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0,
                  0);
    rc = make_page();
  }
  (void)pthread_mutex_unlock(&setup_mutex);
  return rc;
}

bool weir__caller_forgettable(void) {
  _Atomic uint32_t *page =
      atomic_load_explicit(&weir__fork_page, memory_order_acquire);
  return page == NULL || weir__load_relaxed_u32(page) == 0;
}

void weir__caller_forget(void) {
  for (struct weir__caller *r =
           atomic_load_explicit(&records, memory_order_acquire);
       r != NULL; r = r->next) {
    int fd = atomic_load_explicit(&r->fd, memory_order_relaxed);
    if (fd >= 0) {
      (void)close(fd);
    }
  }
  /* Nobody waits here, whoever held the lock at the fork. */
  (void)pthread_mutex_init(&await_lock.m, NULL);
  awaiters = NULL;
  weir__store_relaxed_u32(&weir__caller_awaited, 0);
  /* The parent's records stay behind, as does everything of the parent's. */
  atomic_store_explicit(&records, NULL, memory_order_release);
  mine = NULL;
  atomic_store_explicit(&weir__fork_page, NULL, memory_order_release);
}

static struct weir__caller *take_old_record(void) {
  for (struct weir__caller *r =
           atomic_load_explicit(&records, memory_order_acquire);
       r != NULL; r = r->next) {
    uint32_t none = 0;
    if (weir__load_relaxed_u32(&r->taken) == 0 &&
        weir__cas_acq_rel_u32(&r->taken, &none, 1)) {
      return r;
    }
  }
  return NULL;
}

static struct weir__caller *make_record(void) {
  struct weir__caller *r = weir__mem_new(sizeof *r);
  if (r == NULL) {
    return NULL;
  }
  atomic_store_explicit(&r->fd, -1, memory_order_relaxed);
  weir__store_relaxed_u32(&r->taken, 1);
  r->next = atomic_load_explicit(&records, memory_order_acquire);
  while (!atomic_compare_exchange_weak_explicit(
      &records, &r->next, r, memory_order_acq_rel, memory_order_acquire)) {
  }
  return r;
}

static struct weir__caller *first_call(void) {
  struct weir__caller *r = take_old_record();
  if (r == NULL) {
    r = make_record();
  }
  if (r != NULL && pthread_setspecific(exit_key, r) == 0) {
    mine = r;
    return r;
  }
  if (r != NULL) {
    weir__store_release_u32(&r->taken, 0);
  }
  return NULL;
}

int weir__caller_enter(struct weir__caller **out_self) {
  _Atomic uint32_t *page =
      atomic_load_explicit(&weir__fork_page, memory_order_acquire);
  if (page == NULL) {
    return WEIR_E_HANDLE;
  }
  if (weir__load_relaxed_u32(page) == 0) {
    return WEIR_E_FORK;
  }
  struct weir__caller *self = mine;
  if (self == NULL) {
    self = first_call();
    if (self == NULL) {
      return WEIR_E_NOMEM;
    }
  }
  WEIR_ASSERT(weir__load_relaxed_u64(&self->mark) == 0);
  /* Acquire: whoever reads an epoch sees as stale what was retired before. */
  weir__store_relaxed_u64(&self->mark,
                          weir__load_acquire_u64(&weir__caller_epoch));
  weir__fence_compiler();
  *out_self = self;
  return WEIR_OK;
}

/* Under the lock an awaiter's stack stays. */
static void tell_awaiters(void) {
  weir__mutex_lock(&await_lock);
  for (struct awaiter *a = awaiters; a != NULL; a = a->next) {
    (void)weir__add_acq_rel_u32(&a->left, 1);
    weir__unpark(&a->left);
  }
  weir__mutex_unlock(&await_lock);
}

void weir__caller_leave(struct weir__caller *self) {
  if (atomic_load_explicit(&self->engine, memory_order_relaxed) != NULL) {
    atomic_store_explicit(&self->engine, NULL, memory_order_relaxed);
  }
  /* Release: what the call read and wrote is done before anyone recycles. */
  weir__store_release_u64(&self->mark, 0);
  weir__fence_compiler();
  if (weir__load_relaxed_u32(&weir__caller_awaited) != 0) {
    tell_awaiters();
  }
}

uint64_t weir__caller_retire(void) {
  return weir__add_acq_rel_u64(&weir__caller_epoch, 1) + 1;
}

static bool counts(const struct weir__caller *r,
                   uint64_t epoch,
                   const struct weir__engine *engine) {
  /* Acquire: pairs with the release in leave. */
  uint64_t mark = weir__load_acquire_u64(&r->mark);
  if (mark == 0 || mark >= epoch) {
    return false;
  }
  const struct weir__engine *in =
      atomic_load_explicit(&r->engine, memory_order_relaxed);
  return engine == NULL || in == NULL || in == engine;
}

uint32_t weir__caller_count(uint64_t epoch,
                            const struct weir__engine *engine,
                            const struct weir__caller *self) {
  uint32_t n = 0;
  barrier_all_threads();
  for (struct weir__caller *r =
           atomic_load_explicit(&records, memory_order_acquire);
       r != NULL; r = r->next) {
    n += r != self && counts(r, epoch, engine);
  }
  return n;
}

static void begin_await(struct awaiter *a) {
  weir__mutex_lock(&await_lock);
  a->next = awaiters;
  awaiters = a;
  weir__mutex_unlock(&await_lock);
  (void)weir__add_acq_rel_u32(&weir__caller_awaited, 1);
}

static void end_await(struct awaiter *a) {
  (void)weir__sub_acq_rel_u32(&weir__caller_awaited, 1);
  weir__mutex_lock(&await_lock);
  struct awaiter **at = &awaiters;
  while (*at != a) {
    at = &(*at)->next;
  }
  *at = a->next;
  weir__mutex_unlock(&await_lock);
}

uint32_t weir__caller_await(uint64_t epoch,
                            const struct weir__engine *engine,
                            const struct weir__caller *self,
                            uint64_t deadline) {
  struct awaiter me = {.next = NULL};
  uint32_t left;
  begin_await(&me);
  for (;;) {
    uint32_t seen = weir__load_acquire_u32(&me.left);
    left = weir__caller_count(epoch, engine, self);
    if (left == 0 || weir__clock_now() >= deadline) {
      break;
    }
    (void)weir__park(&me.left, seen, deadline);
  }
  end_await(&me);
  return left;
}

int weir__caller_fd(struct weir__caller *self) {
  int fd = atomic_load_explicit(&self->fd, memory_order_relaxed);
  if (fd >= 0) {
    return fd;
  }
  fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) {
    return -errno;
  }
  atomic_store_explicit(&self->fd, fd, memory_order_release);
  return fd;
}

/* A thread of foreign code may kick while the last engine ends, and must not
 * write to a number that has been closed and is somebody else's by now.  Kicker:
 * count itself, then read fd.  Closer: take fd away, then read the count.  All
 * four are sequentially consistent, so one of the two sees the other. */
void weir__caller_kick(struct weir__caller *who) {
  (void)weir__add_seq_u32(&who->kickers, 1);
  int fd = atomic_load_explicit(&who->fd, memory_order_seq_cst);
  if (fd >= 0) {
    /* Full counter: it is readable already. */
    (void)eventfd_write(fd, 1);
  }
  (void)weir__sub_acq_rel_u32(&who->kickers, 1);
}

/* The other half is in reactor_turn.c. */
void weir__caller_wake(struct weir__caller *who) {
  (void)weir__add_seq_u32(&who->wake, 1);
  if (weir__load_seq_u32(&who->polling) != 0) {
    weir__caller_kick(who);
  } else {
    weir__unpark(&who->wake);
  }
}

void weir__caller_drain(struct weir__caller *self) {
  eventfd_t value;
  int fd = atomic_load_explicit(&self->fd, memory_order_relaxed);
  if (fd >= 0) {
    (void)eventfd_read(fd, &value);
  }
}

void weir__caller_close_fds(void) {
  for (struct weir__caller *r =
           atomic_load_explicit(&records, memory_order_acquire);
       r != NULL; r = r->next) {
    int fd = atomic_exchange_explicit(&r->fd, -1, memory_order_seq_cst);
    if (fd < 0) {
      continue;
    }
    while (weir__load_seq_u32(&r->kickers) != 0) {
      (void)sched_yield(); /* one write(2) that does not block */
    }
    (void)close(fd);
  }
}
