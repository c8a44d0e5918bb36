/* SPDX-License-Identifier: MIT */
/* A plain program, so that it runs under ThreadSanitizer. */
#include <pthread.h>

#include "check.h"
#include "gates.h"
#include "sys/point.h"

static unsigned steps; /* written between gates: a race is a bug of the gate */

static void *walk(void *arg) {
  (void)arg;
  WEIR_POINT("first", NULL);
  steps++;
  WEIR_POINT("second", NULL);
  return NULL;
}

static void unknown_points_stop_nobody(void) {
  steps = 0;
  (void)walk(NULL);
  CHECK(steps == 1);
}

static void a_held_gate_stops_a_thread_until_it_opens(void) {
  pthread_t thread;
  steps = 0;
  gate_hold("first");
  gate_hold("second");
  CHECK(pthread_create(&thread, NULL, walk, NULL) == 0);
  CHECK(gate_wait_reached("first", 1) == 0);
  CHECK(gate_waiting("first") == 1);
  CHECK(steps == 0);
  gate_open("first");
  CHECK(gate_wait_reached("second", 1) == 0);
  CHECK(steps == 1);
  gate_open("second");
  (void)pthread_join(thread, NULL);
  CHECK(gate_waiting("second") == 0);
}

static void passes_let_so_many_through(void) {
  pthread_t threads[3];
  gate_hold("first");
  gate_watch("second");
  for (unsigned i = 0; i < 3; i++) {
    CHECK(pthread_create(&threads[i], NULL, walk, NULL) == 0);
  }
  CHECK(gate_wait_reached("first", 3) == 0);
  for (unsigned i = 1; i <= 3; i++) {
    gate_pass("first", 1);
    CHECK(gate_wait_reached("second", i) == 0);
    CHECK(gate_reached("second") == i);
  }
  for (unsigned i = 0; i < 3; i++) {
    (void)pthread_join(threads[i], NULL);
  }
  CHECK(gate_waiting("first") == 0);
}

static void restore_lets_everybody_out(void) {
  pthread_t thread;
  gate_hold("second");
  CHECK(pthread_create(&thread, NULL, walk, NULL) == 0);
  gate_open("first");
  CHECK(gate_wait_reached("second", 1) == 0);
  gates_restore();
  (void)pthread_join(thread, NULL);
  CHECK(weir__seams.point == NULL);
}

int main(void) {
  gates_install();
  unknown_points_stop_nobody();
  a_held_gate_stops_a_thread_until_it_opens();
  passes_let_so_many_through();
  restore_lets_everybody_out();
  return check_summary();
}
