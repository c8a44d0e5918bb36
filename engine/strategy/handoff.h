/* SPDX-License-Identifier: MIT */
/* handoff.h - what the policies of handing over share.  The pool's mutex is held. */
#ifndef WEIR_STRATEGY_HANDOFF_H
#define WEIR_STRATEGY_HANDOFF_H

#include <stdint.h>

struct weir__pool;
struct weir__waiter;
struct weir__waiters;

/* The first of the list whose time has not passed: its own thread is about to find
 * out.  NULL: none. */
struct weir__waiter *weir__handoff_first(const struct weir__waiters *list,
                                         uint64_t now);

/* First come, first served among those who wait; a caller that is opening a
 * connection of its own comes after them, because it will be served anyway. */
struct weir__waiter *weir__handoff_openers_last(struct weir__pool *pool,
                                                uint64_t now);

/* First come, first served among those who wait, and nobody else. */
struct weir__waiter *weir__handoff_waiting(struct weir__pool *pool,
                                           uint64_t now);

#endif
