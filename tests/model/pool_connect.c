/* SPDX-License-Identifier: MIT */
/* pool_connect.c - engine/connect.c: a caller opens a connection on its own
 * thread.  t->here is the slot it opens. */
#include "pool.h"

bool step_drive_state(struct run *r) {
  return go(r, r->t->state != DRIVING ? STEP_stopped : STEP_drive_poll);
}

/* Whether a poll may end for that reason. */
static bool may_end(const struct run *r) {
  switch (r->alt) {
  case WHY_KICKED:
    return r->t->kicked != 0;
  case WHY_OPENED:
    return true;
  case WHY_REFUSED:
    return r->p->refusals != 0;
  case WHY_LATE:
    return r->t->expired != 0;
  case WHY_OVER:
    return r->p->overruns != 0;
  default:
    return false;
  }
}

bool step_drive_poll(struct run *r) {
  if (!may_end(r)) {
    return false;
  }
  r->t->why = r->alt;
  r->t->kicked = 0; /* drained with any return in which it shows */
  return go(r, STEP_drive_check);
}

static bool ended(struct run *r, uint8_t why) {
  struct pool *p = r->p;
  if (why == WHY_REFUSED) {
    p->refusals--;
  } else if (why == WHY_OVER) {
    p->overruns--;
  }
  r->t->why = 0;
  switch (why) {
  case WHY_OPENED:
    return go(r, STEP_own_word);
  case WHY_REFUSED:
    return go(r, STEP_withdraw);
  case WHY_LATE:
    return go(r, STEP_late);
  case WHY_OVER:
    return go(r, STEP_withdraw);
  case WHY_KICKED:
  default:
    return go(r, STEP_drive_state);
  }
}

bool step_drive_check(struct run *r) {
  if (r->t->state != DRIVING) {
    r->t->why = 0;
    return go(r, STEP_stopped);
  }
  return ended(r, r->t->why);
}

/* ------------------------------------------------------- the connect is good */

bool step_own_word(struct run *r) {
  r->t->seen = r->p->slots[r->t->here].word;
  return go(r, STEP_own_lock);
}

/* Back in line before anybody can have what it opened. */
static bool lose_own(struct run *r) {
  struct thread *t = r->t;
  if (t->state == DRIVING) {
    unlist(r->p, r->me);
    t->place = NOTHING;
    t->state = WAITING;
    put_first(&r->p->waiting, r->me);
    if (!is(r, RESTORED_UNFLAGGED)) {
      return end_locked(r, STEP_lost_word);
    }
  }
  unlock(r);
  return go(r, STEP_lost_word);
}

bool step_own_lock(struct run *r) {
  struct thread *t = r->t;
  const struct pool *p = r->p;
  if (!lock(r)) {
    return false;
  }
  bool open = p->closed == 0 && (p->paused == 0 || is(r, PAUSE_OPENS));
  bool still = t->state == DRIVING || is(r, TAKES_BOTH);
  if (still && open && t->seen.flags == 0) {
    return go(r, STEP_own_cas);
  }
  return lose_own(r);
}

bool step_own_cas(struct run *r) {
  struct thread *t = r->t;
  struct word to =
      word_of(LEASED, 0, t->seen.generation, (uint8_t)(t->seen.lease + 1));
  if (is(r, STAMP_AT_END)) {
    to.generation = r->p->q_generation;
  }
  if (!swap(r, t->here, to)) {
    return lose_own(r);
  }
  if (r->p->paused != 0) {
    return broken(r, "a caller takes what it opened in a paused pool");
  }
  unlist(r->p, r->me);
  t->state = GRANTED;
  t->granted_word = to;
  then(r, STEP_own_flag);
  return go(r, STEP_flag);
}

bool step_own_flag(struct run *r) {
  r->p->n_connecting--;
  then(r, STEP_own_end);
  then(r, STEP_unlock_flush);
  return go(r, STEP_grow);
}

bool step_own_end(struct run *r) {
  return hold(r, r->t->here, r->t->granted_word);
}

bool step_lost_word(struct run *r) {
  struct thread *t = r->t;
  if (is(r, RESULT_LOST)) {
    return go(r, STEP_wait_again);
  }
  t->seen = r->p->slots[t->here].word;
  if (t->seen.flags != 0 && !is(r, DOOM_UNSEEN)) {
    return call(r, STEP_retire_cas, STEP_wait_again);
  }
  return call(r, STEP_publish_q, STEP_lost_published);
}

bool step_lost_published(struct run *r) {
  if (r->t->good != 0) {
    return go(r, STEP_wait_again);
  }
  return call(r, STEP_retire_cas, STEP_wait_again);
}

bool step_wait_again(struct run *r) {
  r->t->here = NOTHING;
  return call(r, STEP_dispatch, STEP_pending);
}

bool step_pending(struct run *r) {
  const struct thread *t = r->t;
  r->t->here = NOTHING;
  bool over = t->state == GRANTED || t->state == FAILED;
  return go(r, over ? STEP_accept : STEP_sleep_word);
}

/* ---------------------------------------------------- it is not, or too late */

static bool leave_line(struct run *r) {
  struct thread *t = r->t;
  t->mine = t->state == DRIVING;
  if (t->mine != 0) {
    unlist(r->p, r->me);
    t->state = FAILED;
  }
  return true;
}

bool step_withdraw(struct run *r) {
  if (!lock(r)) {
    return false;
  }
  (void)leave_line(r);
  return end_locked(r, STEP_drive_retire);
}

bool step_late(struct run *r) {
  if (!lock(r)) {
    return false;
  }
  (void)leave_line(r);
  unclaimed(r->p);
  return end_locked(r, STEP_adopt);
}

bool step_adopt(struct run *r) {
  r->p->slots[r->t->here].job = is(r, CONNECT_DROPPED) ? JOB_NONE : JOB_CONNECT;
  return go(r, STEP_drive_end);
}

bool step_drive_retire(struct run *r) {
  r->t->seen = r->p->slots[r->t->here].word;
  return call(r, STEP_retire_cas, STEP_drive_end);
}

bool step_drive_end(struct run *r) {
  struct thread *t = r->t;
  t->here = NOTHING;
  return t->mine != 0 ? end_cycle(r) : go(r, STEP_pending);
}

bool step_stopped(struct run *r) {
  return go(r, r->t->state == GRANTED ? STEP_adopt : STEP_drive_retire);
}
