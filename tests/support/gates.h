/* SPDX-License-Identifier: MIT */
/* gates.h - barriers at the engine's named test points (sys/point.h).
 *
 * A thread that comes to a held gate stays there until the test lets it pass, so
 * that a test can put two threads into exactly the order that it is about:
 *
 *   gates_install();
 *   gate_hold("waiter.queued");
 *   ... start a thread that acquires ...
 *   gate_wait_reached("waiter.queued", 1);
 *   ... do what must happen in between ...
 *   gate_open("waiter.queued");
 *   ... join ...
 *   gates_restore();
 *
 * At most GATES_MAX different names; a sentence and abort beyond that. */
#ifndef WEIR_TEST_GATES_H
#define WEIR_TEST_GATES_H

#define GATES_MAX 64u

/* Replaces weir__seams.point. */
void gates_install(void);

/* Opens every gate, waits until no thread is in one, forgets all gates and puts
 * back what gates_install() replaced. */
void gates_restore(void);

/* From now on threads stop at name.  The name is kept by reference: use a
 * literal. */
void gate_hold(const char *name);

/* Counts arrivals at name and stops nobody. */
void gate_watch(const char *name);

/* Waits until n threads have come to name since gate_hold or gate_watch.
 * Returns 0, or -ETIMEDOUT after 10 seconds of real time. */
int gate_wait_reached(const char *name, unsigned n);

/* How many have come to name so far. */
unsigned gate_reached(const char *name);

/* How many stand at name now. */
unsigned gate_waiting(const char *name);

/* Lets n threads pass, the ones that come first; also ones yet to come. */
void gate_pass(const char *name, unsigned n);

/* Lets everybody pass from now on.  Arrivals are still counted. */
void gate_open(const char *name);

#endif
