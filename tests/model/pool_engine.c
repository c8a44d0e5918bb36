/* SPDX-License-Identifier: MIT */
/* pool_engine.c - the other threads: the reactor, and a program that clears,
 * pauses, cancels, shuts down or releases what is not its own. */
#include "pool.h"

/* ----------------------------------------------------- a slot is given up */

static bool is_still_ours(const struct thread *t, struct word was) {
  bool incall = (was.flags & INCALL) != 0;
  return t->seen.state == was.state &&
         ((t->seen.flags & INCALL) != 0) == incall &&
         (incall || t->seen.lease == was.lease);
}

bool step_retire_cas(struct run *r) {
  struct thread *t = r->t;
  struct word was = t->seen;
  bool early = is(r, PLACE_EARLY);
  struct word to = word_of(CLOSING, 0, was.generation, was.lease);
  if (!swap(r, t->here, to)) {
    t->good = 0;
    return is_still_ours(t, was) ? true : back(r);
  }
  t->seen = was;
  t->good = 1;
  if (early && r->p->mutex == NOBODY) {
    r->p->empties |= bit(t->here);
  }
  return go(r, STEP_retire_count);
}

bool step_retire_count(struct run *r) {
  if (!lock(r)) {
    return false;
  }
  r->p->n_closing++;
  if (r->t->seen.state != CONNECTING) {
    unlock(r);
    return go(r, STEP_retire_post);
  }
  r->p->n_connecting--;
  then(r, STEP_retire_post);
  then(r, STEP_unlock_flush);
  return go(r, is(r, PERMIT_SILENT) ? STEP_flag : STEP_grow);
}

bool step_retire_post(struct run *r) {
  r->p->slots[r->t->here].job = JOB_CLOSE;
  r->t->good = 1;
  return back(r);
}

/* ------------------------------------------------------------ the reactor
 *
 * It does one task at a time, in any order: more orders than there are. */

static bool begin_tend(struct run *r) {
  struct pool *p = r->p;
  if (r->alt == 0 && p->tend_posted != 0) {
    p->tend_posted = 0;
    p->now_old = p->unclaimed;
    return go(r, STEP_tend_q);
  }
  if (r->alt == 1 && p->timer != 0 && (p->timer_old | !p->unclaimed) != 0) {
    p->timer = 0;
    p->timer_old = 0;
    p->now_old = p->unclaimed;
    return go(r, STEP_tend_q);
  }
  return false;
}

/* A connect ends well or not, or hangs until its limit. */
static bool end_connect(struct run *r, uint8_t i, bool other) {
  struct pool *p = r->p;
  struct slot *s = &p->slots[i];
  if (s->job == JOB_HANG) {
    r->move->passes_time = true;
    r->t->good = 0;
  } else if (other && p->overruns != 0) {
    p->overruns--;
    s->job = JOB_HANG;
    return true;
  } else if (other && p->refusals == 0) {
    return false;
  } else {
    if (other) {
      p->refusals--;
    }
    r->t->good = !other;
  }
  s->job = JOB_NONE;
  r->t->here = i;
  return go(r, STEP_opened_word);
}

bool step_reactor(struct run *r) {
  if (r->alt < 2) {
    return begin_tend(r);
  }
  uint8_t i = (uint8_t)((r->alt - 2) / 2);
  bool other = (r->alt - 2) % 2 != 0;
  struct slot *s = &r->p->slots[i];
  if (s->job == JOB_NONE || (other && s->job != JOB_CONNECT)) {
    return false;
  }
  if (s->job == JOB_CONNECT || s->job == JOB_HANG) {
    return end_connect(r, i, other);
  }
  bool closes = s->job == JOB_CLOSE;
  r->move->passes_time = closes && r->setup->slow;
  s->job = JOB_NONE;
  r->t->here = i;
  r->t->good = 1;
  if (!closes) {
    return go(r, STEP_opened_word);
  }
  r->t->seen = s->word;
  return call(r, STEP_emptied, STEP_task_end);
}

bool step_task_end(struct run *r) {
  struct thread *t = r->t;
  struct word none = {0, 0, 0, 0};
  t->here = NOTHING;
  t->seen = none;
  t->good = 0;
  t->generation = 0;
  t->q_flags = 0;
  return go(r, STEP_reactor);
}

bool step_tend_q(struct run *r) {
  return r->p->waiters != 0 ? call(r, STEP_dispatch, STEP_tend_patience)
                            : go(r, STEP_tend_patience);
}

bool step_tend_patience(struct run *r) {
  struct pool *p = r->p;
  if (!lock(r)) {
    return false;
  }
  /* By the time at which the tending began: patience that has ended since must
   * still find a timer. */
  bool before = p->now_old != 0 && !is(r, TEND_LOOKS_LATE);
  bool later = p->waiting.n != 0 && (before || p->unclaimed != 0);
  p->now_old = 0;
  p->timer = later;
  p->timer_old = 0;
  p->told = later ? p->told : 0;
  unlock(r);
  return go(r, STEP_task_end);
}

bool step_opened_word(struct run *r) {
  struct thread *t = r->t;
  t->seen = r->p->slots[t->here].word;
  bool doomed = (t->seen.flags & DOOMED) != 0 && !is(r, DOOM_UNSEEN);
  if (t->good == 0 || doomed) {
    return call(r, STEP_retire_cas, STEP_task_end);
  }
  return call(r, STEP_publish_q, STEP_opened_published);
}

bool step_opened_published(struct run *r) {
  return r->t->good != 0 ? go(r, STEP_task_end)
                         : call(r, STEP_retire_cas, STEP_task_end);
}

bool step_emptied(struct run *r) {
  struct thread *t = r->t;
  t->seen = r->p->slots[t->here].word;
  if (t->seen.state != CLOSING ||
      !swap(r, t->here, word_of(EMPTY, 0, 0, t->seen.lease))) {
    return broken(r, "a slot that was CLOSING is somebody else's (P2)");
  }
  return go(r, STEP_emptied_lock);
}

bool step_emptied_lock(struct run *r) {
  struct pool *p = r->p;
  if (!lock(r)) {
    return false;
  }
  p->n_closing--;
  p->n_open--;
  p->empties |= bit(r->t->here);
  r->t->here = NOTHING;
  uint8_t after = r->t->back[--r->t->depth];
  r->t->back[r->t->depth] = 0;
  return is(r, PLACE_SILENT) ? end_locked(r, (enum step_number)after)
                             : serve_locked(r, (enum step_number)after);
}

/* ----------------------------------------------------------- the operator */

bool step_operator(struct run *r) {
  static const enum step_number begins[] = {
      [ACT_CLEAR] = STEP_clear_begin,  [ACT_PAUSE] = STEP_pause,
      [ACT_RESUME] = STEP_resume,      [ACT_CANCEL] = STEP_cancel,
      [ACT_SHED] = STEP_shed,          [ACT_SHUT] = STEP_shut,
      [ACT_REVOKE] = STEP_revoke_word, [ACT_RELEASE_AGAIN] = STEP_again_take,
  };
  uint8_t act = r->setup->script[r->p->script];
  if (act == ACT_END) {
    r->t->phase = DONE;
    return true;
  }
  r->p->script++;
  r->t->here = 0;
  return go(r, begins[act]);
}

bool step_acted(struct run *r) {
  struct thread fresh = {.pc = STEP_operator,
                         .slot = NOTHING,
                         .heir = NOTHING,
                         .here = NOTHING,
                         .place = NOTHING,
                         .granted = NOTHING};
  *r->t = fresh;
  return true;
}

static bool next_slot(struct run *r, enum step_number step) {
  struct thread *t = r->t;
  t->here++;
  if (t->here < r->setup->slots) {
    return go(r, step);
  }
  if (step == STEP_doom_word) {
    r->p->cleared = r->p->q_generation;
  }
  r->p->revoked |= step == STEP_revoke_word;
  return go(r, STEP_acted);
}

bool step_clear_begin(struct run *r) {
  if (!lock(r)) {
    return false;
  }
  r->p->q_generation++;
  unlock(r);
  r->t->here = 0;
  return go(r, STEP_doom_word);
}

/* What a word that was read wants. */
static bool doom(struct run *r) {
  struct thread *t = r->t;
  if (t->seen.state == EMPTY || t->seen.state == CLOSING ||
      t->seen.generation == r->p->q_generation ||
      (t->seen.flags & DOOMED) != 0) {
    return next_slot(r, STEP_doom_word);
  }
  if (t->seen.state == IDLE) {
    return call(r, STEP_retire_cas, STEP_doom_retired);
  }
  return is(r, NO_DOOM) ? next_slot(r, STEP_doom_word) : go(r, STEP_doom_cas);
}

bool step_doom_word(struct run *r) {
  r->t->seen = r->p->slots[r->t->here].word;
  return doom(r);
}

bool step_doom_cas(struct run *r) {
  struct word to = r->t->seen;
  to.flags |= DOOMED;
  return swap(r, r->t->here, to) ? next_slot(r, STEP_doom_word) : doom(r);
}

bool step_doom_retired(struct run *r) {
  return r->t->good != 0 ? next_slot(r, STEP_doom_word) : doom(r);
}

bool step_pause(struct run *r) {
  if (!lock(r)) {
    return false;
  }
  r->p->paused = 1;
  unlock(r);
  return go(r, STEP_acted);
}

bool step_resume(struct run *r) {
  if (!lock(r)) {
    return false;
  }
  r->p->paused = 0;
  unlock(r);
  return is(r, RESUME_SILENT) ? go(r, STEP_acted)
                              : call(r, STEP_dispatch, STEP_acted);
}

bool step_cancel(struct run *r) {
  struct pool *p = r->p;
  struct thread *node = &p->threads[0];
  if (!lock(r)) {
    return false;
  }
  bool listed =
      node->live != 0 && (node->state == WAITING || node->state == DRIVING);
  if (!listed) {
    unlock(r);
    return go(r, STEP_acted);
  }
  if (!is(r, CANCEL_UNLISTED)) {
    unlist(p, 0);
  }
  r->t->heir = 0;
  r->t->to_tell = FAILED;
  then(r, STEP_acted);
  then(r, STEP_unlock_flush);
  then(r, STEP_flag);
  return go(r, STEP_grant_store);
}

/* Only who waits, not who opens. */
bool step_shed(struct run *r) {
  struct pool *p = r->p;
  if (!lock(r)) {
    return false;
  }
  if (p->threads[0].live == 0 || !waits(&p->threads[0]) || p->waiting.n == 0) {
    unlock(r);
    return go(r, STEP_acted);
  }
  bool tried = p->trier == 0;
  unlist(p, 0);
  r->t->heir = 0;
  r->t->to_tell = FAILED;
  then(r, STEP_acted);
  then(r, STEP_unlock_flush);
  r->t->tried = tried && is(r, TRYING_KEPT_SHED);
  then(r, tried && !r->t->tried ? STEP_serve : STEP_flag);
  return go(r, STEP_grant_store);
}

bool step_shut(struct run *r) {
  if (!lock(r)) {
    return false;
  }
  r->p->closed = 1;
  return go(r, STEP_shut_list);
}

bool step_shut_list(struct run *r) {
  struct pool *p = r->p;
  struct thread *t = r->t;
  if (p->waiting.n + p->driving.n == 0) {
    t->here = 0;
    return end_locked(r, STEP_sweep_word);
  }
  t->heir = p->waiting.n != 0 ? p->waiting.at[0] : p->driving.at[0];
  unlist(p, t->heir);
  t->to_tell = FAILED;
  return call(r, STEP_grant_store, STEP_shut_list);
}

bool step_sweep_word(struct run *r) {
  r->t->seen = r->p->slots[r->t->here].word;
  return r->t->seen.state == IDLE ? call(r, STEP_retire_cas, STEP_swept)
                                  : next_slot(r, STEP_sweep_word);
}

bool step_swept(struct run *r) {
  return next_slot(r, STEP_sweep_word);
}

bool step_revoke_word(struct run *r) {
  r->t->seen = r->p->slots[r->t->here].word;
  return go(r, STEP_revoke);
}

bool step_revoke(struct run *r) {
  const struct word *w = &r->t->seen;
  if (w->state != LEASED || w->flags == (INCALL | DOOMED)) {
    return next_slot(r, STEP_revoke_word);
  }
  return (w->flags & INCALL) != 0 ? go(r, STEP_revoke_cas)
                                  : call(r, STEP_retire_cas, STEP_revoke_word);
}

bool step_revoke_cas(struct run *r) {
  struct word to = r->t->seen;
  to.flags = INCALL | DOOMED;
  to.lease++;
  return swap(r, r->t->here, to) ? next_slot(r, STEP_revoke_word)
                                 : go(r, STEP_revoke);
}

/* A second release of a handle: while its lease lives or after. */
bool step_again_take(struct run *r) {
  const struct thread *first = &r->p->threads[0];
  if (first->phase == DONE) {
    return go(r, STEP_acted);
  }
  if (first->phase != HOLDING) {
    return false;
  }
  r->t->here = first->here;
  r->t->lease = first->lease;
  r->p->handle_slot = first->here;
  r->p->handle_lease = first->lease;
  return go(r, STEP_again_word);
}

bool step_again_word(struct run *r) {
  return step_release_word(r);
}
