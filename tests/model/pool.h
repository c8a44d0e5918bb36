/* SPDX-License-Identifier: MIT */
/* pool.h - the model of a pool: what slots, Q, the bitmap, the lists of waiters
 * and the threads are, and one function for each access that threads share.
 *
 * A thread's step is one access to memory that others may use at the same time,
 * with what comes before and after it and concerns nobody else.  What is guarded
 * by the pool's mutex is read and written along with the step beside it. */
#ifndef WEIR_MODEL_POOL_H
#define WEIR_MODEL_POOL_H

#include "checker.h"

#define SLOTS   3
#define THREADS 6 /* callers, the reactor, the operator */
#define DEPTH   7 /* of calls within a thread */
#define NOBODY  0xFFu
#define NOTHING 0xFFu

enum slot_state {
  EMPTY,
  CONNECTING,
  IDLE,
  LEASED,
  RESERVED,
  CLOSING
};

#define DOOMED 1u
#define INCALL 2u

/* A slot's word. */
struct word {
  uint8_t state;
  uint8_t flags;
  uint8_t generation;
  uint8_t lease;
};

/* What the reactor has to do with a slot. */
enum job {
  JOB_NONE,
  JOB_CONNECT, /* it drives the connect */
  JOB_HANG,    /* it drives one that will not end before its limit */
  JOB_RESET,
  JOB_CLOSE
};

struct slot {
  struct word word;
  uint8_t job;
  uint8_t born; /* generation in which its connect really began */
};

enum waiter_state {
  WAITING,
  TRYING, /* as WAITING, and woken to look (bounded) */
  DRIVING,
  GRANTED,
  FAILED
};

/* pool->due: nobody is in line; a time to come; at once, or a time gone by. */
enum due {
  DUE_NEVER,
  DUE_LATER,
  DUE_NOW
};

/* What a caller is doing, for the invariants. */
enum phase {
  AWAY,
  ASKING,
  HOLDING,
  DONE
};

/* Why a poll of a caller that opens returned. */
enum why {
  WHY_KICKED,
  WHY_OPENED,
  WHY_REFUSED,
  WHY_LATE, /* its own deadline */
  WHY_OVER  /* the limit of the connect */
};

struct thread {
  uint8_t pc;
  uint8_t back[DEPTH]; /* return addresses */
  uint8_t depth;
  uint8_t phase;
  uint8_t cycles; /* acquires done */
  uint8_t need;   /* generation that a clear had left when the call began */

  /* Locals. */
  uint8_t i, tries; /* in the search for an idle slot */
  uint8_t generation;
  uint8_t slot; /* what the search found */
  uint8_t heir;
  uint8_t here; /* the slot at hand, and its word as last seen */
  struct word seen;
  uint8_t good; /* what the last call answered */
  uint8_t q_flags;
  uint8_t asleep, polling; /* to be woken: a bit for each thread */
  uint8_t to_tell;         /* the state that a node is about to get */
  uint8_t why;
  uint8_t mine; /* it was this caller that left the line */
  uint8_t owes; /* (mutant) a permit to be given back */
  uint8_t used; /* the lease has run something */

  /* The lease in hand. */
  uint8_t lease;

  /* The node in line; `live` while the caller is in wait_in_line(). */
  uint8_t live;
  uint8_t state;
  uint8_t place; /* to be opened by this caller */
  uint8_t granted;
  struct word granted_word;
  uint8_t woken;     /* the wake word has changed since it was read */
  uint8_t kicked;    /* the eventfd can be read */
  uint8_t expired;   /* its deadline has passed */
  uint8_t overdue;   /* it has waited for the bound (bounded) */
  uint8_t peek;      /* the search only asks whether one is idle */
  uint8_t tried;     /* what was done served the one who was to try */
  uint8_t connected; /* what becomes idle was a connect */
  uint8_t noted;     /* (mutant) in the list before it is idle, or not yet */
};

struct list {
  uint8_t at[THREADS];
  uint8_t n;
};

struct pool {
  struct slot slots[SLOTS];
  /* Q */
  uint8_t waiters, paused, closed, q_generation;
  uint8_t q_trying; /* bounded: somebody woken is about to try */
  uint8_t trier;    /* who; guarded by the mutex */
  uint8_t due;      /* when a release hands over: written under the mutex */
  uint8_t bits, empties;
  uint8_t hints[THREADS]; /* index + 1 */
  struct list order;      /* listed: of slots, the oldest first */
  uint8_t list_mutex;
  uint8_t mutex;
  struct list waiting, driving;
  uint8_t n_connecting, n_closing, n_open;
  /* Connects that no caller drives any more (growth.c): a
   * time that has not passed, whether the reactor was told of it, and its timer,
   * which may be set for an earlier such time. */
  uint8_t unclaimed, told, timer, timer_old;
  uint8_t now_old; /* at the time that a tending goes by, it had not passed */
  uint8_t tend_posted;
  /* What may still go wrong in this run. */
  uint8_t refusals, overruns, rotten;
  /* For the invariants. */
  uint8_t revoked;   /* a shutdown has taken every lease */
  uint8_t cleared;   /* generation of the last clear that has returned */
  uint8_t script;    /* position of the operator */
  uint8_t overtakes; /* bounded: of the head since it is overdue */
  /* A handle that two threads know, and whether its lease has ended. */
  uint8_t handle_slot, handle_lease, handle_over;
  struct thread threads[THREADS];
};

enum mutant {
  SOUND,
#define MUTANT(name, in, where, what) name,
#include "pool_mutants.h"
#undef MUTANT
  MUTANTS
};

#define REACTOR  (THREADS - 2)
#define OPERATOR (THREADS - 1)

/* What the operator's thread does, in order. */
enum action {
  ACT_END,
  ACT_CLEAR,
  ACT_PAUSE,
  ACT_RESUME,
  ACT_CANCEL, /* of caller 0 */
  ACT_SHED,   /* caller 0 is refused by Queue Discipline */
  ACT_SHUT,
  ACT_REVOKE,
  ACT_RELEASE_AGAIN /* of whatever caller 0 has leased */
};

struct setup {
  const char *name;
  uint8_t callers, cycles, slots;
  uint8_t idle, opening; /* slots that begin so; the reactor opens these */
  uint8_t max_connects;  /* 0: as many as slots */
  uint8_t refusals, overruns, rotten; /* connects and probes that go wrong */
  bool time_outs;
  bool apart;     /* each thread on a processor, so a hint, of its own */
  bool impatient; /* caller 0 has no time to wait: it only tries */
  bool busy;      /* caller 1 comes once more */
  bool slow;      /* the peer takes its time to end a session */
  bool resets;    /* a lease may go back through a reset */
  bool bounded;   /* Pool Handoff=bounded */
  bool barging;   /* Pool Handoff=barging: as bounded, without a bound */
  bool listed;    /* Pool Idle Order=fifo */
  bool queued;    /* Pool Handoff=queued: who opens is no heir */
  bool told;      /* 0 and 1 are in line, 0 is to try for what 2 has taken */
  uint8_t script[5];
};

static inline uint8_t connects_allowed(const struct setup *setup) {
  return setup->max_connects == 0 ? setup->slots : setup->max_connects;
}

/* A step at work. */
struct run {
  struct move *move;
  struct pool *p;
  struct thread *t;
  const struct setup *setup;
  uint8_t me;
  uint8_t alt;
  uint8_t mutant;
};

/* STEP: an access; LOCAL: what follows without one, done in the same step.  Name,
 * where it is in the engine, what it does. */
enum step_number {
#define STEP(name, where, what)  STEP_##name,
#define LOCAL(name, where, what) STEP_##name,
#include "pool_steps.h"
#undef STEP
#undef LOCAL
  STEPS
};

#define STEP(name, where, what)  bool step_##name(struct run *r);
#define LOCAL(name, where, what) bool step_##name(struct run *r);
#include "pool_steps.h"
#undef STEP
#undef LOCAL

struct step {
  bool (*run)(struct run *r);
  bool local;
  const char *name;
  const char *where;
  const char *what;
};
extern const struct step pool_steps[STEPS];

extern const struct model pool_model;

/* How a search for an idle slot begins. */
static inline enum step_number search(const struct setup *setup,
                                      enum step_number otherwise) {
  return setup->listed ? STEP_list_lock : otherwise;
}

/* ------------------------------------------------------ what all steps use */

static inline bool go(struct run *r, enum step_number to) {
  r->t->pc = (uint8_t)to;
  return true;
}

/* Where the part that is gone to next comes back to; the last one said first. */
void then(struct run *r, enum step_number after);
bool back(struct run *r);

static inline bool call(struct run *r,
                        enum step_number to,
                        enum step_number after) {
  then(r, after);
  return go(r, to);
}

/* With the mutex: keeps the flag, unlocks, wakes; or serves who waits before. */
bool end_locked(struct run *r, enum step_number after);
bool serve_locked(struct run *r, enum step_number after);

/* Whether who waits is woken to try, and may be overtaken. */
static inline bool tries(const struct setup *setup) {
  return setup->bounded || setup->barging;
}

/* Whether who opens may be handed a connection. */
static inline bool serves_openers(const struct setup *setup) {
  return !setup->queued && !setup->barging;
}

/* Whether WAITERS is to be set: dispatch.c head_of(). */
static inline bool awaited(const struct pool *p, const struct setup *setup) {
  return p->waiting.n != 0 || (serves_openers(setup) && p->driving.n != 0);
}

/* In line without a connect of its own. */
static inline bool waits(const struct thread *t) {
  return t->state == WAITING || t->state == TRYING;
}

/* What `due` is to be. */
uint8_t due_now(const struct pool *p, const struct setup *setup);

static inline bool is(const struct run *r, enum mutant mutant) {
  return r->mutant == mutant;
}

static inline uint8_t *hint_here(struct run *r) {
  return &r->p->hints[r->setup->apart ? r->me : 0];
}

bool broken(struct run *r, const char *what);

/* False: somebody else has it. */
bool lock(struct run *r);
void unlock(struct run *r);

struct word word_of(uint8_t state,
                    uint8_t flags,
                    uint8_t generation,
                    uint8_t lease);
bool same_word(struct word a, struct word b);

/* Compare-and-swap of a slot's word; t->seen is what it was or now is. */
bool swap(struct run *r, uint8_t slot, struct word to);

/* Lists of waiters. */
void put_last(struct list *list, uint8_t who);
void put_first(struct list *list, uint8_t who);
bool take_out(struct list *list, uint8_t who);

void note_overtake(struct run *r);

/* Out of its list, whichever it is in. */
void unlist(struct pool *p, uint8_t who);

/* the heir of Pool Handoff; NOBODY if there is none. */
uint8_t heir_of(const struct run *r);

/* A caller has what it asked for. */
bool hold(struct run *r, uint8_t slot, struct word word);
/* A caller's call has ended, with or without a connection. */
bool end_cycle(struct run *r);

static inline uint8_t bit(uint8_t i) {
  return (uint8_t)(1u << i);
}

/* growth.c: weir__growth_unclaimed_locked(). */
void unclaimed(struct pool *p);

#endif
