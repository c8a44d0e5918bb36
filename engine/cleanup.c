/* SPDX-License-Identifier: MIT */
#include "cleanup.h"

#include <stddef.h>

#include "command.h"
#include "dispatch.h"
#include "exec.h"
#include "growth.h"
#include "loader.h"
#include "op.h"
#include "probe.h"
#include "remote.h"
#include "request.h"
#include "session.h"
#include "session_init.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/mutex.h"
#include "sys/point.h"

/* What comes next. */
enum step {
  STEP_CLOSE,
  STEP_READY, /* for its next user */
  STEP_DRAIN,
  STEP_ROLL_BACK,
  STEP_LAZY,
  STEP_EAGER,
  STEP_INIT /* Session Init */
};

static bool has_cap(const struct weir_drv_hconn *s, uint64_t cap) {
  return (s->driver->table.caps & cap) != 0;
}

static bool is_in_txn(const struct weir_drv_hconn *s) {
  return s->txn != WEIR_DRV_TXN_NONE;
}

/* What the last step has left is not to be seen by anyone. */
static bool is_spotless(const struct weir_drv_hconn *s) {
  return !is_in_txn(s) && s->dirty == 0;
}

/* It has been reset. */
static enum step after_reset(const struct weir_drv_hconn *s) {
  return weir__session_init_sql(s) != NULL ? STEP_INIT : STEP_READY;
}

static enum step eager_or_close(const struct weir_drv_hconn *s) {
  return has_cap(s, WEIR_DRV_CAP_RESET_EAGER) ? STEP_EAGER : STEP_CLOSE;
}

/* The server rolls back when it resets by a round trip.  Where there is no such
 * reset, or none is wanted, the transaction is ended by itself. */
static enum step end_txn(const struct weir_drv_hconn *s, bool may_reset) {
  if (may_reset && has_cap(s, WEIR_DRV_CAP_RESET_EAGER)) {
    return STEP_EAGER;
  }
  return has_cap(s, WEIR_DRV_CAP_TXN) ? STEP_ROLL_BACK : STEP_CLOSE;
}

static enum step reset_step(const struct weir_drv_hconn *s) {
  bool verified = weir__pool_settings(s->pool)->reset == WEIR_RESET_VERIFIED;
  bool lazy = has_cap(s, WEIR_DRV_CAP_RESET_LAZY);
  bool eager = has_cap(s, WEIR_DRV_CAP_RESET_EAGER);
  if (eager && (verified || !lazy)) {
    return STEP_EAGER;
  }
  return lazy ? STEP_LAZY : STEP_CLOSE;
}

/* After a step that went well, or none (STEP_READY).  A lazy reset that cannot
 * undo all is followed by one that can. */
static enum step next_step(struct weir_drv_hconn *s, enum step last) {
  bool may_reset = weir__pool_settings(s->pool)->reset != WEIR_RESET_OFF;
  if (s->reading) {
    return last == STEP_READY && weir__command_can_cancel(s) &&
                   !weir__request_offloaded(s)
               ? STEP_DRAIN
               : STEP_CLOSE;
  }
  if (!s->usable || s->txn == WEIR_DRV_TXN_UNKNOWN) {
    return STEP_CLOSE;
  }
  if (weir__load_relaxed_u32(&s->slot->ran) == 0) {
    return STEP_READY;
  }
  switch (last) {
  case STEP_LAZY:
    return is_spotless(s) ? after_reset(s) : eager_or_close(s);
  case STEP_EAGER:
    return is_spotless(s) ? after_reset(s) : STEP_CLOSE;
  case STEP_INIT: /* what it has set is meant to be seen */
    return is_in_txn(s) ? STEP_CLOSE : STEP_READY;
  case STEP_ROLL_BACK:
    if (is_in_txn(s)) {
      return STEP_CLOSE;
    }
    break;
  case STEP_CLOSE:
  case STEP_READY:
  case STEP_DRAIN:
  default:
    if (is_in_txn(s)) {
      return end_txn(s, may_reset);
    }
    break;
  }
  return may_reset ? reset_step(s) : STEP_READY;
}

/* Without I/O.  False: the driver cannot do it now. */
static bool reset_lazily(struct weir_drv_hconn *s) {
  return weir__op_reset(s, WEIR_DRV_RESET_LAZY, WEIR_NEVER) == WEIR_DRV_DONE &&
         s->usable;
}

/* ------------------------------------------------------- on the reactor */

static void take_step(struct weir_drv_hconn *s, enum step step);

/* Whether a connection at rest may be published by that word.  Something that
 * came while it was in use may have been its end (watch.h): the driver says. */
static bool is_sound(struct weir_drv_hconn *s, uint64_t word) {
  uint32_t flags = weir__slot_flags(word);
  return (flags & WEIR_SLOT_DOOMED) == 0 &&
         ((flags & WEIR_SLOT_SUSPECT) == 0 || weir__probe_alive(s));
}

/* To its next user, or away: RESERVED is left. */
static void let_go(struct weir_drv_hconn *s, bool good) {
  struct weir__slot *slot = s->slot;
  struct weir__pool *pool = s->pool;
  uint64_t word = weir__load_seq_u64(&slot->word);
  good = good && is_sound(s, word);
  weir__remote_release(s);
  weir__slot_end_lease(slot);
  if (!good || !weir__publish(pool, slot, &word, NULL)) {
    (void)weir__growth_retire(slot, &word);
  }
}

/* Cleared meanwhile, or nobody is left to use it: not worth a reset. */
static bool is_wanted(const struct weir_drv_hconn *s) {
  uint32_t flags = weir__slot_flags(weir__load_seq_u64(&s->slot->word));
  return (flags & WEIR_SLOT_DOOMED) == 0 &&
         (weir__load_seq_u64(&s->pool->q) & WEIR_Q_CLOSED) == 0;
}

static void step_ended(struct weir_drv_hconn *s, enum step step) {
  take_step(s, s->expired || !is_wanted(s) ? STEP_CLOSE : next_step(s, step));
}

/* The result has ended: by its cancellation, which is a failure of the
 * statement's, or by itself.  Whether the connection is good the driver has
 * said. */
static void drained(struct weir_drv_hconn *s) {
  weir__exec_ended(s);
  weir__exec_forget(s);
  step_ended(s, STEP_DRAIN);
}

static void rolled_back(struct weir_drv_hconn *s) {
  if (s->status == WEIR_DRV_DONE) {
    step_ended(s, STEP_ROLL_BACK);
  } else {
    let_go(s, false);
  }
}

static void reset_ended(struct weir_drv_hconn *s) {
  if (s->status == WEIR_DRV_DONE) {
    step_ended(s, STEP_EAGER);
  } else {
    let_go(s, false);
  }
}

static void init_ended(struct weir_drv_hconn *s) {
  weir__exec_forget(s);
  if (s->status == WEIR_DRV_DONE) {
    step_ended(s, STEP_INIT);
  } else {
    let_go(s, false);
  }
}

static void init_now(struct weir_drv_hconn *s) {
  s->limit = weir__clock_add(weir__clock_now(), WEIR_SESSION_INIT_LIMIT_NS);
  weir__remote_go(s, weir__op_init(s, WEIR_PHASE_RESET, s->limit), init_ended);
}

static void drain(struct weir_drv_hconn *s) {
  WEIR_POINT("cleanup.drain", s->slot);
  s->limit = weir__clock_add(weir__clock_now(), WEIR_DRAIN_LIMIT_NS);
  int32_t status = weir__op_drain(s);
  if (status == WEIR_DRV_E_UNSUPPORTED) {
    let_go(s, false);
  } else {
    weir__remote_go(s, status, drained);
  }
}

static void roll_back(struct weir_drv_hconn *s) {
  s->limit = weir__clock_add(weir__clock_now(), WEIR_RESET_LIMIT_NS);
  struct weir__txn_args args = {.verb = WEIR_DRV_TX_ROLLBACK,
                                .phase = WEIR_PHASE_RESET,
                                .deadline = s->limit};
  weir__remote_go(s, weir__op_txn(s, &args), rolled_back);
}

static void reset_now(struct weir_drv_hconn *s) {
  s->limit = weir__clock_add(weir__clock_now(), WEIR_RESET_LIMIT_NS);
  weir__remote_go(s, weir__op_reset(s, WEIR_DRV_RESET_EAGER, s->limit),
                  reset_ended);
}

static void take_step(struct weir_drv_hconn *s, enum step step) {
  if (step == STEP_LAZY) {
    step = reset_lazily(s) ? next_step(s, STEP_LAZY) : STEP_CLOSE;
  }
  switch (step) {
  case STEP_DRAIN:
    drain(s);
    break;
  case STEP_ROLL_BACK:
    roll_back(s);
    break;
  case STEP_EAGER:
    reset_now(s);
    break;
  case STEP_INIT:
    init_now(s);
    break;
  case STEP_CLOSE:
  case STEP_READY:
  case STEP_LAZY:
  default:
    let_go(s, step == STEP_READY);
    break;
  }
}

/* --------------------------------------------------- where it is released */

/* LEASED with INCALL -> RESERVED.  False: the lease was taken away. */
static bool reserve(struct weir__slot *slot, uint64_t *word) {
  uint32_t lease = weir__slot_lease(*word);
  uint64_t to;
  do {
    if (weir__slot_lease(*word) != lease) {
      return false;
    }
    to = weir__slot_word(WEIR_SLOT_RESERVED,
                         weir__slot_flags(*word) & ~WEIR_SLOT_INCALL,
                         weir__slot_generation(*word), lease);
  } while (!weir__slot_move(slot, word, to));
  *word = to;
  return true;
}

bool weir__cleanup_worn_out(struct weir__pool *pool,
                            struct weir__slot *slot,
                            uint64_t word) {
  uint64_t q = weir__load_seq_u64(&pool->q);
  return (weir__slot_flags(word) & WEIR_SLOT_DOOMED) != 0 ||
         (q & WEIR_Q_CLOSED) != 0 || weir__pool_settings(pool)->pooling == 0 ||
         weir__slot_generation(word) != weir__q_generation(q) ||
         weir__retire_aged(pool, slot, weir__clock_coarse()) ||
         weir__load_relaxed_u32(&slot->served) >=
             weir__pool_settings(pool)->max_uses;
}

static void begin_drain(struct weir_drv_hconn *s) {
  weir__exec_forget(s);
  take_step(s, STEP_DRAIN);
}

static void begin_roll_back(struct weir_drv_hconn *s) {
  take_step(s, STEP_ROLL_BACK);
}

static void begin_reset(struct weir_drv_hconn *s) {
  take_step(s, STEP_EAGER);
}

static void begin_init(struct weir_drv_hconn *s) {
  take_step(s, STEP_INIT);
}

static void (*run_of(enum step step))(struct weir_drv_hconn *) {
  return step == STEP_INIT        ? begin_init
         : step == STEP_DRAIN     ? begin_drain
         : step == STEP_ROLL_BACK ? begin_roll_back
                                  : begin_reset;
}

/* Clean without a round trip: to the next user from here.  False: doomed, or
 * taken away. */
static bool publish(const struct weir__lease *lease,
                    const struct weir__caller *self) {
  uint64_t word = weir__load_seq_u64(&lease->slot->word);
  if (weir__slot_lease(word) != weir__slot_lease(lease->word) ||
      !is_sound(lease->session, word)) {
    return false;
  }
  weir__slot_end_lease(lease->slot);
  return weir__publish(lease->pool, lease->slot, &word, self);
}

/* True if the connection has found its way. */
static bool keep(struct weir__lease *lease, const struct weir__caller *self) {
  struct weir_drv_hconn *s = lease->session;
  uint64_t word = lease->word;
  enum step step = next_step(s, STEP_READY);
  if (step == STEP_LAZY) {
    step = reset_lazily(s) ? next_step(s, STEP_LAZY) : STEP_CLOSE;
  }
  if (step == STEP_CLOSE) {
    return false;
  }
  if (step == STEP_READY) {
    return publish(lease, self);
  }
  if (!reserve(lease->slot, &word)) {
    return false;
  }
  weir__remote_post(s, run_of(step));
  return true;
}

/* INCALL keeps others out while the driver is asked. */
void weir__cleanup_begin(struct weir__lease *lease,
                         const struct weir__caller *self,
                         bool discard) {
  struct weir_drv_hconn *s = lease->session;
  struct weir__slot *slot = lease->slot;
  WEIR_ASSERT(weir__mutex_none_held());
  if (!s->reading) {
    weir__exec_forget(s);
  }
  if (discard || weir__cleanup_worn_out(lease->pool, slot, lease->word) ||
      !keep(lease, self)) {
    uint64_t word = weir__load_seq_u64(&slot->word);
    (void)weir__growth_retire(slot, &word);
  }
}
