/* SPDX-License-Identifier: MIT */
/* budget.h - the sessions that all pools of an engine may have at one endpoint: a
 * policy without clock, lock or I/O.
 *
 * A unit is one session at the server, from the beginning of its connect until
 * the peer has closed, so the last sessions of a closed pool still count (P1).
 * Members that want one and cannot have it stand in a ring; a unit that comes
 * back is kept for the ring's next (deficit round robin: a turn is worth `weight`
 * units), until that member takes it or says that it wants none any more.
 *
 * An endpoint that says it has too much to do lowers the ceiling below what was
 * tried; each quiet interval raises it by one. */
#ifndef WEIR_BUDGET_H
#define WEIR_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* Without a complaint of the server for so long, the ceiling rises by one. */
#define WEIR_BUDGET_QUIET_NS     UINT64_C(1000000000)
/* A sibling's connection may be evicted once it has been idle for so long. */
#define WEIR_BUDGET_RESIDENCY_NS UINT64_C(5000000000)

/* All zero but for weight: no units, in no ring. */
struct weir__budget_member {
  struct weir__budget_member *next; /* in the ring; NULL: not in it */
  struct weir__budget_member *prev;
  uint32_t used;    /* sessions */
  uint32_t kept;    /* units that are kept for it */
  uint32_t weight;  /* units a turn, 1 or more */
  uint32_t deficit; /* units left of its turn */
};

/* All zero but for capacity and ceiling. */
struct weir__budget {
  uint32_t capacity; /* UINT32_MAX: no limit */
  uint32_t ceiling;  /* what the server seems to bear; UINT32_MAX: any number */
  uint32_t used;     /* sum of the members' used */
  uint32_t kept;     /* sum of the members' kept */
  uint64_t raise_at; /* when the ceiling rises */
  struct weir__budget_member *turn; /* the ring's next */
};

/* Takes a unit.  False: there is none for this member, which is in the ring from
 * now on. */
bool weir__budget_take(struct weir__budget *b, struct weir__budget_member *m);

/* True if weir__budget_take() would say yes.  Changes nothing. */
bool weir__budget_allows(const struct weir__budget *b,
                         const struct weir__budget_member *m);

/* Gives a unit of the member back. */
void weir__budget_give(struct weir__budget *b, struct weir__budget_member *m);

/* The member wants no more for now: leaves the ring; what was kept for it is
 * free. */
void weir__budget_leave(struct weir__budget *b, struct weir__budget_member *m);

/* Keeps free units for the ring's next, one at a time.  Returns the member that
 * one more is kept for, which leaves the ring when its turn is over and asks
 * again; NULL: none free, or nobody wants one. */
struct weir__budget_member *weir__budget_assign(struct weir__budget *b);

/* Units that are neither used nor kept; 0 if the limits were lowered below. */
uint32_t weir__budget_free(const struct weir__budget *b);

/* The server has complained about a connect that still counts as used. */
void weir__budget_overloaded(struct weir__budget *b, uint64_t now);

/* Raises the ceiling as quiet intervals have passed; it is off once it is at
 * `all`, the most that all members may ever have.  True: it has risen. */
bool weir__budget_rise(struct weir__budget *b, uint64_t now, uint32_t all);

/* Most sessions the member could have now if the others kept theirs. */
uint32_t weir__budget_reach(const struct weir__budget *b,
                            const struct weir__budget_member *m);

/* Which of two idle connections goes first when a sibling is in need: true if
 * one that rests since `since` may go at `now` and rests longer than one since
 * `best`. */
bool weir__budget_evicts(uint64_t since, uint64_t best, uint64_t now);

#endif
