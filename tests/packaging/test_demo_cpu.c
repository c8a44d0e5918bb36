/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "demo.h"
#include "duration.h"

/* Works until the process has used so much more processor time. */
static struct demo_cpu work_for(int64_t ns) {
  struct demo_cpu before;
  struct demo_cpu now;
  cr_assert_eq(demo_cpu_read(0, &before), 0);
  do {
    cr_assert_eq(demo_cpu_read(0, &now), 0);
  } while (now.client - before.client < ns);
  return now;
}

Test(demo_cpu, sees_the_same_work_from_inside_and_outside, .timeout = 10) {
  struct demo_cpu before;
  struct demo_cpu after;
  cr_assert_eq(demo_cpu_read(getpid(), &before), 0);
  (void)work_for(50000000);
  cr_assert_eq(demo_cpu_read(getpid(), &after), 0);
  int64_t inside = after.client - before.client;
  int64_t outside = after.server - before.server;
  /* The coarsest source counts in ticks of 10 ms. */
  cr_assert(outside > inside - 25000000 && outside < inside + 25000000,
            "%ld inside, %ld outside", (long)inside, (long)outside);
}

Test(demo_cpu, refuses_a_process_that_is_not_there, .timeout = 5) {
  struct demo_cpu cpu = {.client = -1};
  cr_assert_eq(demo_cpu_read(2147483647, &cpu), -ENOENT);
  cr_assert_eq(cpu.client, -1, "outputs are written on success only");
}
