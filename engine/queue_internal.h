/* SPDX-License-Identifier: MIT */
/* queue_internal.h - between queue.c and queue_entry.c; the queue's mutex is held
 * for whatever ends in _locked. */
#ifndef WEIR_QUEUE_INTERNAL_H
#define WEIR_QUEUE_INTERNAL_H

#include "queue.h"

/* Makes the descriptor readable, or not any more, as things are. */
void weir__queue_show_locked(struct weir__queue *q) WEIR_REQUIRES(q->mu);

/* There is something for one taker: true if one has to be woken by
 * weir__unpark(&q->signal), without the mutex. */
bool weir__queue_rouse_locked(struct weir__queue *q) WEIR_REQUIRES(q->mu);

/* Unlocks, and has the queue end if nothing refers to it any more. */
void weir__queue_leave_locked(struct weir__queue *q) WEIR_RELEASES(q->mu);

/* FREE, once nobody looks at it. */
void weir__entry_finish_locked(struct weir__queue *q, struct weir__entry *e)
    WEIR_REQUIRES(q->mu);

/* It has ended and nobody will take it. */
void weir__entry_drop_locked(struct weir__queue *q, struct weir__entry *e)
    WEIR_REQUIRES(q->mu);

/* Has the reactor look at it, unless it is about to. */
void weir__entry_task_locked(struct weir__queue *q, struct weir__entry *e)
    WEIR_REQUIRES(q->mu);

/* Pins it if it is TAKEN and, unless 0, handle is its operation's. */
struct weir__entry *weir__entry_pin_if(struct weir__entry *entry,
                                       uint64_t handle);

#endif
