/* SPDX-License-Identifier: MIT */
/* demo_bench.h - an engine and its pool, for one measurement. */
#ifndef WEIRCTL_DEMO_BENCH_H
#define WEIRCTL_DEMO_BENCH_H

#include "weir.h"

#include "demo.h"

/* Enough for TLS; a thousand threads shall not need much address space. */
#define DEMO_STACK_BYTES ((size_t)1 << 20)

struct demo_bench {
  weir_h engine;
  weir_h pool;
};

/* Opens both, the pool for at most so many connections.  Returns EXIT_CODE_OK, or
 * says what failed and returns the code. */
int demo_bench_open(const struct demo_target *target,
                    enum demo_strategy strategy,
                    uint32_t max_pool,
                    struct demo_bench *out);

void demo_bench_close(const struct demo_bench *bench);

/* Says what failed and returns the code; after Ctrl-C says nothing. */
int demo_bench_fail(int32_t rc,
                    const struct weir_error *err,
                    const char *doing);

/* As demo_bench_fail(), of the first of n_failed threads out of n. */
int demo_bench_fail_thread(enum demo_strategy strategy,
                           uint32_t n_failed,
                           uint32_t n,
                           int32_t rc,
                           const struct weir_error *err,
                           const char *doing);

#endif
