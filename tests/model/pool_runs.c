/* SPDX-License-Identifier: MIT */
/* pool_runs.c - the sizes in which the pool is gone through, and where each mutant
 * must show. */
#include <stdio.h>

#include "part.h"
#include "pool.h"

#define RUN(id, ...) static const struct setup id = {__VA_ARGS__}

/* Core: warm, short, time-out, cancel, clear, a second release. */
RUN(core, .callers = 3, .cycles = 1, .slots = 1, .idle = 1);
RUN(core_late,
    .callers = 2,
    .cycles = 2,
    .slots = 1,
    .idle = 1,
    .time_outs = true);
RUN(core_late_three,
    .callers = 3,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .time_outs = true);
RUN(core_two, .callers = 2, .cycles = 2, .slots = 2, .idle = 2);
RUN(core_three, .callers = 3, .cycles = 1, .slots = 2, .idle = 2);
RUN(core_cycles, .callers = 2, .cycles = 3, .slots = 2, .idle = 2);
RUN(core_clear,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .script = {ACT_CLEAR});
RUN(core_clear_twice,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .script = {ACT_CLEAR, ACT_CLEAR});
RUN(core_clear_reset,
    .callers = 1,
    .cycles = 2,
    .slots = 1,
    .idle = 1,
    .resets = true,
    .script = {ACT_CLEAR});
RUN(core_cancel,
    .callers = 2,
    .cycles = 2,
    .slots = 1,
    .idle = 1,
    .script = {ACT_CANCEL});
RUN(core_again,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .script = {ACT_RELEASE_AGAIN});
RUN(core_dead, .callers = 2, .cycles = 1, .slots = 1, .idle = 1, .rotten = 1);
RUN(core_shut,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .script = {ACT_SHUT});
RUN(core_revoke,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .resets = true,
    .script = {ACT_SHUT, ACT_REVOKE});
RUN(core_try,
    .callers = 3,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .impatient = true,
    .apart = true,
    .busy = true);
/* Creation and the driving rule. */
RUN(grow_cold, .callers = 2, .cycles = 1, .slots = 2, .refusals = 1);
RUN(grow_handed, .callers = 2, .cycles = 1, .slots = 2, .idle = 1);
RUN(grow_three, .callers = 3, .cycles = 1, .slots = 2, .refusals = 1);
RUN(grow_limit,
    .callers = 2,
    .cycles = 1,
    .slots = 2,
    .max_connects = 1,
    .refusals = 1);
RUN(grow_late,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .time_outs = true,
    .refusals = 1);
RUN(grow_hang,
    .callers = 2,
    .cycles = 1,
    .slots = 2,
    .time_outs = true,
    .overruns = 1);
RUN(grow_clear, .callers = 2, .cycles = 1, .slots = 1, .script = {ACT_CLEAR});
RUN(grow_shut, .callers = 2, .cycles = 1, .slots = 1, .script = {ACT_SHUT});
RUN(grow_slow,
    .callers = 2,
    .cycles = 1,
    .slots = 2,
    .max_connects = 1,
    .refusals = 1,
    .slow = true);
RUN(grow_fill,
    .callers = 2,
    .cycles = 1,
    .slots = 2,
    .opening = 1,
    .max_connects = 1,
    .slow = true);
RUN(grow_clear_slow,
    .callers = 1,
    .cycles = 1,
    .slots = 2,
    .slow = true,
    .script = {ACT_CLEAR});
/* Pause. */
RUN(pause_idle,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .script = {ACT_PAUSE, ACT_RESUME});
RUN(pause_cold,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .script = {ACT_PAUSE, ACT_RESUME});
RUN(pause_late,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .time_outs = true,
    .script = {ACT_PAUSE});
RUN(pause_drain,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .script = {ACT_PAUSE, ACT_SHUT});
/* Bounded hand-over. */
RUN(bound, .callers = 2, .cycles = 2, .slots = 1, .idle = 1, .bounded = true);
RUN(bound_over,
    .callers = 2,
    .cycles = 3,
    .slots = 1,
    .idle = 1,
    .bounded = true);
RUN(bound_late,
    .callers = 2,
    .cycles = 2,
    .slots = 1,
    .idle = 1,
    .bounded = true,
    .time_outs = true);
RUN(bound_cancel,
    .callers = 2,
    .cycles = 2,
    .slots = 1,
    .idle = 1,
    .bounded = true,
    .script = {ACT_SHED});
/* All the callers in line, and connections that come one by one. */
RUN(bound_open,
    .callers = 2,
    .cycles = 1,
    .slots = 2,
    .opening = 2,
    .bounded = true);
RUN(bound_gone,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .opening = 1,
    .bounded = true,
    .time_outs = true);
RUN(bound_shed,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .opening = 1,
    .bounded = true,
    .script = {ACT_SHED});
RUN(bound_next,
    .callers = 3,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .bounded = true,
    .told = true,
    .script = {ACT_SHED});
RUN(bound_grow,
    .callers = 2,
    .cycles = 1,
    .slots = 2,
    .idle = 1,
    .bounded = true);
RUN(bound_clear,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .bounded = true,
    .script = {ACT_CLEAR});
RUN(bound_pause,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .opening = 1,
    .bounded = true,
    .script = {ACT_PAUSE, ACT_RESUME});
RUN(bound_shut,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .opening = 1,
    .bounded = true,
    .script = {ACT_SHUT});
RUN(bound_three,
    .callers = 3,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .bounded = true);
RUN(bound_three_late,
    .callers = 3,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .bounded = true,
    .time_outs = true);

RUN(bound_pass,
    .callers = 3,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .bounded = true,
    .script = {ACT_SHED});
RUN(bound_twice,
    .callers = 3,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .busy = true,
    .bounded = true);

/* Barging: bounded hand-over without a bound; who opens is no heir. */
RUN(barge, .callers = 2, .cycles = 2, .slots = 1, .idle = 1, .barging = true);
RUN(barge_over,
    .callers = 2,
    .cycles = 3,
    .slots = 1,
    .idle = 1,
    .barging = true);
RUN(barge_late,
    .callers = 2,
    .cycles = 2,
    .slots = 1,
    .idle = 1,
    .barging = true,
    .time_outs = true);
RUN(barge_open,
    .callers = 2,
    .cycles = 1,
    .slots = 2,
    .opening = 2,
    .barging = true);
RUN(barge_gone,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .opening = 1,
    .barging = true,
    .time_outs = true);
RUN(barge_shed,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .opening = 1,
    .barging = true,
    .script = {ACT_SHED});
RUN(barge_cold,
    .callers = 2,
    .cycles = 1,
    .slots = 2,
    .refusals = 1,
    .barging = true);
RUN(barge_grow,
    .callers = 2,
    .cycles = 1,
    .slots = 2,
    .idle = 1,
    .barging = true);
RUN(barge_clear,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .barging = true,
    .script = {ACT_CLEAR});
RUN(barge_pause,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .opening = 1,
    .barging = true,
    .script = {ACT_PAUSE, ACT_RESUME});
RUN(barge_three,
    .callers = 3,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .barging = true);
/* The list of lifo and fifo. */
RUN(list,
    .callers = 2,
    .cycles = 2,
    .slots = 1,
    .idle = 1,
    .listed = true,
    .barging = true);
RUN(list_late,
    .callers = 2,
    .cycles = 2,
    .slots = 1,
    .idle = 1,
    .listed = true,
    .barging = true,
    .time_outs = true);
RUN(list_two,
    .callers = 2,
    .cycles = 2,
    .slots = 2,
    .idle = 2,
    .listed = true,
    .queued = true);
RUN(list_open,
    .callers = 2,
    .cycles = 1,
    .slots = 2,
    .opening = 2,
    .listed = true,
    .barging = true);
RUN(list_clear,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .listed = true,
    .barging = true,
    .script = {ACT_CLEAR});
RUN(list_reset,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .resets = true,
    .listed = true,
    .queued = true);
RUN(list_shut,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .idle = 1,
    .listed = true,
    .queued = true,
    .script = {ACT_SHUT});
RUN(list_three,
    .callers = 3,
    .cycles = 1,
    .slots = 2,
    .idle = 2,
    .listed = true,
    .queued = true);
/* Queued: strict hand-over; who opens is no heir. */
RUN(queued_cold,
    .callers = 2,
    .cycles = 1,
    .slots = 2,
    .refusals = 1,
    .queued = true);
RUN(queued_grow,
    .callers = 2,
    .cycles = 2,
    .slots = 2,
    .idle = 1,
    .queued = true);
RUN(queued_late,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .time_outs = true,
    .refusals = 1,
    .queued = true);
RUN(queued_hang,
    .callers = 2,
    .cycles = 1,
    .slots = 2,
    .time_outs = true,
    .overruns = 1,
    .queued = true);
RUN(queued_clear,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .queued = true,
    .script = {ACT_CLEAR});
RUN(queued_pause,
    .callers = 2,
    .cycles = 1,
    .slots = 2,
    .idle = 1,
    .queued = true,
    .script = {ACT_PAUSE, ACT_RESUME});
RUN(queued_shut,
    .callers = 2,
    .cycles = 1,
    .slots = 1,
    .queued = true,
    .script = {ACT_SHUT});
RUN(queued_three,
    .callers = 3,
    .cycles = 1,
    .slots = 2,
    .refusals = 1,
    .queued = true);

#define ALL(id) \
  { #id, &id, false }
#define BIG(id) \
  { #id, &id, true }

static const struct part_run runs[] = {
    ALL(core),
    ALL(core_late),
    BIG(core_late_three),
    ALL(core_two),
    ALL(core_three),
    BIG(core_cycles),
    BIG(core_try),
    ALL(core_clear),
    BIG(core_clear_twice),
    ALL(core_clear_reset),
    ALL(core_cancel),
    ALL(core_again),
    ALL(core_dead),
    ALL(core_shut),
    ALL(grow_cold),
    ALL(grow_handed),
    BIG(grow_three),
    ALL(grow_limit),
    ALL(grow_late),
    ALL(grow_hang),
    ALL(grow_clear),
    ALL(grow_shut),
    ALL(grow_slow),
    ALL(grow_clear_slow),
    ALL(core_revoke),
    BIG(grow_fill),
    ALL(pause_idle),
    ALL(pause_cold),
    ALL(pause_late),
    ALL(pause_drain),
    ALL(bound),
    BIG(bound_over),
    ALL(bound_late),
    ALL(bound_cancel),
    ALL(bound_open),
    ALL(bound_gone),
    ALL(bound_shed),
    ALL(bound_next),
    ALL(bound_grow),
    ALL(bound_clear),
    BIG(bound_pause),
    BIG(bound_shut),
    BIG(bound_three),
    BIG(bound_pass),
    BIG(bound_twice),
    BIG(bound_three_late),
    ALL(barge),
    BIG(barge_over),
    ALL(barge_late),
    ALL(barge_open),
    ALL(barge_gone),
    ALL(barge_shed),
    ALL(barge_cold),
    ALL(barge_grow),
    ALL(barge_clear),
    BIG(barge_pause),
    BIG(barge_three),
    ALL(list),
    ALL(list_late),
    ALL(list_two),
    ALL(list_open),
    ALL(list_clear),
    ALL(list_reset),
    ALL(list_shut),
    ALL(list_three),
    ALL(queued_cold),
    ALL(queued_grow),
    ALL(queued_late),
    ALL(queued_hang),
    ALL(queued_clear),
    ALL(queued_pause),
    ALL(queued_shut),
    BIG(queued_three),
};

static const struct part_mutant mutants[] = {
#define MUTANT(name, in, where, what) {name, #name, where, what, &in},
#include "pool_mutants.h"
#undef MUTANT
};

const struct part part_pool = {
    .name = "pool",
    .model = &pool_model,
    .runs = runs,
    .n_runs = sizeof runs / sizeof runs[0],
    .mutants = mutants,
    .n_mutants = sizeof mutants / sizeof mutants[0],
};

void pool_print_steps(void) {
  for (int i = 0; i < STEPS; i++) {
    const struct step *s = &pool_steps[i];
    (void)printf("| %s%s | %s | %s |\n", s->name, s->local ? "" : " *",
                 s->where, s->what);
  }
}
