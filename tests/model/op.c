/* SPDX-License-Identifier: MIT */
/* op.c - the operation word of engine/session.h: who drives a connect or a
 * statement, and the answer to a request of the driver, which comes from any
 * thread.  A thread begins to drive, may leave the rest to the reactor, and the
 * reactor may give up before the answer has come (close.c). */
#include <string.h>

#include "small.h"

enum {
  THREAD,
  REACTOR,
  ANSWERER,
  MOVERS
};
enum owner {
  NONE,
  DRIVING,
  PARKED,
  REACTS
};

struct op {
  uint8_t pc[MOVERS];
  uint8_t owner, replied_bit; /* the word */
  uint8_t replied;            /* the owner has seen the answer */
  uint8_t kicked;
  uint8_t task, reply_task; /* posted */
  uint8_t reply_pending;    /* close.c waits for the answer */
  uint8_t withdrawn;        /* the answerer was kept from beginning */
  uint8_t used;             /* times the answer was given to the driver */
  uint8_t freed;
  uint8_t seen; /* the answerer's: the owner before */
};

enum {
  BY_LATE = 1, /* mutants */
  BIT_DROPPED,
  USED_AT_ONCE,
  KICKS_PARKED,
  NO_PENDING,
  OVERTAKEN_LOST
};

static void start(void *state, const void *setup) {
  struct op *s = state;
  (void)setup;
  memset(s, 0, sizeof *s);
  s->owner = DRIVING;
}

static bool use_answer(struct move *m, struct op *s) {
  if (s->freed != 0) {
    return small_broken(m, "the driver is called after its session was freed");
  }
  s->used++;
  return s->used == 1 ||
         small_broken(m, "an answer is given to the driver twice");
}

/* drive.c, request.c, remote.c: weir__remote_post(). */
static bool make_thread(struct move *m, struct op *s) {
  uint8_t *pc = &s->pc[THREAD];
  switch (*pc) {
  case 0:                      /* looks: weir__request_answered() */
    if (m->alternative == 1) { /* leaves it to the reactor */
      return small_go(pc, 3);
    }
    return small_go(pc, s->replied_bit != 0 ? 2 : 1);
  case 1: /* polls */
    if (s->kicked == 0) {
      return m->alternative == 1 && small_go(pc, 3);
    }
    s->kicked = 0;
    return small_go(pc, 0);
  case 2: /* takes the bit, steps the driver, and the session ends some time */
    s->replied_bit = 0;
    s->replied = 1;
    (void)use_answer(m, s);
    return small_go(pc, 3);
  case 3: /* weir__remote_post(): the word becomes PARKED */
    s->replied |= s->replied_bit != 0 && m->mutant != BIT_DROPPED;
    s->replied_bit = 0;
    s->owner = PARKED;
    return small_go(pc, 4);
  case 4:
    s->task = 1;
    return small_go(pc, SMALL_END);
  default:
    return false;
  }
}

/* The session is closed: freed, or the answer is waited for. */
static bool close_it(struct move *m, struct op *s) {
  if (s->used != 0 || s->replied != 0 || s->withdrawn != 0 ||
      m->mutant == NO_PENDING) {
    s->freed = 1;
    return small_go(&s->pc[REACTOR], 3);
  }
  s->reply_pending = 1;
  return small_go(&s->pc[REACTOR], 2);
}

static bool run_reply(struct move *m, struct op *s) {
  uint8_t *pc = &s->pc[REACTOR];
  if (s->freed != 0) {
    return small_broken(m, "a task of an answer runs on a freed session");
  }
  s->reply_task = 0;
  s->replied_bit = 0;
  s->replied = m->mutant != OVERTAKEN_LOST || s->owner != PARKED;
  if (s->owner == PARKED) {
    return true; /* it overtook the task that hands the session over */
  }
  if (s->reply_pending != 0) {
    s->reply_pending = 0;
    s->freed = 1;
    return small_go(pc, 3);
  }
  (void)use_answer(m, s);
  s->freed = 1;
  return small_go(pc, 3);
}

/* remote.c: run_posted(), run_reply(); close.c. */
static bool make_reactor(struct move *m, struct op *s) {
  uint8_t *pc = &s->pc[REACTOR];
  if (m->alternative == 1) {
    return s->reply_task != 0 && *pc <= 3 && run_reply(m, s);
  }
  switch (*pc) {
  case 0: /* run_posted(): the word becomes REACTOR */
    if (s->task == 0) {
      return false;
    }
    s->task = 0;
    if (m->mutant == USED_AT_ONCE && s->replied_bit != 0) {
      s->replied = 1;
    }
    s->replied_bit = 0;
    s->owner = REACTS;
    if (s->replied != 0 && s->used == 0) {
      (void)use_answer(m, s);
    }
    return s->used != 0 ? close_it(m, s) : small_go(pc, 1);
  case 1: /* the limit passes: weir__request_abandon() */
    if (m->alternative == 2) {
      if (s->pc[ANSWERER] != 0) {
        return false;
      }
      s->pc[ANSWERER] = SMALL_END;
      s->withdrawn = 1;
    }
    return (m->alternative == 0 || m->alternative == 2) && close_it(m, s);
  default:
    return false;
  }
}

/* request.c: answered(). */
static bool make_answerer(struct move *m, struct op *s) {
  uint8_t *pc = &s->pc[ANSWERER];
  switch (*pc) {
  case 0: /* the answer is complete; reads `by` */
    return small_go(pc, 1);
  case 1: /* sets REPLIED */
    s->seen = s->owner;
    s->replied_bit = 1;
    return small_go(pc, 2);
  case 2: /* kicks, or posts reply_task */
    if (s->seen == PARKED || s->seen == REACTS) {
      if (s->freed != 0) {
        return small_broken(m, "an answer posts the task of a freed session");
      }
      if (m->mutant == KICKS_PARKED && s->seen == PARKED) {
        s->kicked = 1;
      } else {
        s->reply_task = 1;
      }
    } else if (m->mutant == BY_LATE && s->freed != 0) {
      return small_broken(m, "an answer reads a freed session for its caller");
    } else {
      s->kicked = 1;
    }
    return small_go(pc, SMALL_END);
  default:
    return false;
  }
}

static bool make(struct move *m) {
  struct op *s = m->state;
  if (m->mover == REACTOR) {
    return make_reactor(m, s);
  }
  if (m->mover == ANSWERER) {
    return m->alternative == 0 && make_answerer(m, s);
  }
  return m->alternative < 2 && make_thread(m, s);
}

static const char *never(const void *state, const void *setup) {
  (void)state;
  (void)setup;
  return NULL;
}

static const char *at_rest(const void *state, const void *setup) {
  const struct op *s = state;
  (void)setup;
  return s->freed == 0 ? "an answer was lost: the operation never ends" : NULL;
}

static void tell(const struct move *m, char *text, size_t size) {
  static const char *const who[] = {"thread", "reactor", "answerer"};
  static const char *const what[MOVERS][5] = {
      {"reads the word: REPLIED?", "polls", "takes REPLIED and steps",
       "the word becomes PARKED", "posts the session"},
      {"the word becomes REACTOR", "gives up: the limit has passed", "waits",
       "", ""},
      {"has the answer; reads by", "sets REPLIED", "kicks, or posts reply_task",
       "", ""},
  };
  const struct op *s = m->state;
  bool reply = m->mover == REACTOR && m->alternative == 1;
  uint8_t pc = s->pc[m->mover] % 5u;
  small_tell(text, size, who[m->mover],
             reply ? "runs reply_task" : what[m->mover][pc],
             reply ? 0 : m->alternative);
}

static const struct model model = {
    .name = "op",
    .state_size = (sizeof(struct op) + 7) / 8 * 8,
    .movers = MOVERS,
    .alternatives = 3,
    .start = start,
    .make = make,
    .never = never,
    .at_rest = at_rest,
    .tell = tell,
};

static const struct part_run runs[] = {{"op_answer", NULL, false}};
static const struct part_mutant mutants[] = {
    {BY_LATE, "BY_LATE", "request.c answered",
     "the answerer reads its caller after it has set REPLIED", NULL},
    {BIT_DROPPED, "BIT_DROPPED", "remote.c weir__remote_post",
     "a thread that leaves drops an answer that came meanwhile", NULL},
    {USED_AT_ONCE, "USED_AT_ONCE", "remote.c take_word",
     "the reactor goes by the bit and not by the task", NULL},
    {KICKS_PARKED, "KICKS_PARKED", "request.c answered",
     "an answer for a parked session kicks the thread that has left", NULL},
    {NO_PENDING, "NO_PENDING", "request.c weir__request_abandon",
     "a session is freed though its answer is on the way", NULL},
    {OVERTAKEN_LOST, "OVERTAKEN_LOST", "remote.c run_reply",
     "an answer that overtakes the session is forgotten", NULL},
};
SMALL_PART(part_op, "op", model, runs, mutants);
