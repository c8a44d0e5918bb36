/* SPDX-License-Identifier: MIT */
/* virtual_clock.h - time that moves only when a test moves it.
 *
 * Takes over the clock, parking and polling in weir__seams.  Threads that park
 * or poll really sleep; they wake when they are unparked, when a descriptor is
 * ready, or when the test moves time past their deadline.  So a test waits for
 * threads to be asleep (virtual_clock_wait_parked) and then moves time: it never
 * sleeps and never guesses.
 *
 * Misuse (installing twice, restoring while a thread is parked) prints a
 * sentence and aborts. */
#ifndef WEIR_TEST_VIRTUAL_CLOCK_H
#define WEIR_TEST_VIRTUAL_CLOCK_H

#include <stdint.h>

/* Where virtual time starts: not at 0, so that a deadline computed by
 * subtraction does not wrap. */
#define VIRTUAL_CLOCK_START UINT64_C(1000000000000)

/* Replaces the clock and scheduler members of weir__seams.  Call before an
 * engine is opened. */
void virtual_clock_install(void);

/* Puts back what virtual_clock_install() replaced.  Call after the engine has
 * been shut down. */
void virtual_clock_restore(void);

/* What the engine draws for jitter from now on, instead of random bits; 0 after
 * virtual_clock_install(), which is no jitter and the shortest pauses. */
void virtual_clock_random(uint64_t bits);

/* Virtual now, in nanoseconds. */
uint64_t virtual_clock_now(void);

/* Moves time on by ns, wakes everything whose deadline has come, and calls each
 * function given to watch_clock.  Threads: any. */
void virtual_clock_advance(uint64_t ns);

/* Moves time on to at; nothing happens if it is not later than now. */
void virtual_clock_advance_to(uint64_t at);

/* Moves the wall clock alone, forwards or backwards (P9). */
void virtual_clock_jump_wall(int64_t ms);

/* The earliest deadline of all sleeping threads; UINT64_MAX if none has one. */
uint64_t virtual_clock_next(void);

/* Waits until at least n threads sleep in park or poll.  A thread that has been
 * unparked, whose deadline has come, or one of whose descriptors is ready does
 * not count, even if it has not run yet.
 * Returns 0, or -ETIMEDOUT after 10 seconds of real time. */
int virtual_clock_wait_parked(unsigned n);

/* How many threads sleep now, counted in the same way. */
unsigned virtual_clock_parked(void);

#endif
