/* SPDX-License-Identifier: MIT */
#include "demo_bench.h"

#include <stdio.h>

#include "diag.h"
#include "exit_code.h"
#include "interrupt.h"
#include "weirctl.h"

int demo_bench_fail(int32_t rc,
                    const struct weir_error *err,
                    const char *doing) {
  struct diag_try tried = {.doing = doing, .took_ns = -1};
  if (interrupt_code() != 0) {
    return interrupt_code(); /* of what Ctrl-C has ended the caller tells */
  }
  return diag_error(stderr, rc, err, &tried);
}

int demo_bench_fail_thread(enum demo_strategy strategy,
                           uint32_t n_failed,
                           uint32_t n,
                           int32_t rc,
                           const struct weir_error *err,
                           const char *doing) {
  if (interrupt_code() == 0) {
    diag_line("%u of %u threads failed with Pool Strategy=%s; one of them:",
              n_failed, n, demo_strategy_name(strategy));
  }
  return demo_bench_fail(rc, err, doing);
}

/* Of a setting that comes twice the last counts.  Nothing is copied: there is
 * room behind what was given, which may hold a password. */
static void compose(const struct demo_target *target,
                    enum demo_strategy strategy,
                    uint32_t max_pool) {
  target->conninfo->len = target->given_len;
  text_buf_addf(target->conninfo,
                ";Pooling=true;Min Pool Size=0;Max Pool Size=%u;"
                "Pool Strategy=%s",
                max_pool, demo_strategy_name(strategy));
}

int demo_bench_open(const struct demo_target *target,
                    enum demo_strategy strategy,
                    uint32_t max_pool,
                    struct demo_bench *out) {
  struct demo_bench bench = {0};
  int code = weirctl_engine(target->driver_dirs, &bench.engine);
  if (code != EXIT_CODE_OK) {
    return code;
  }
  struct weir_error err = WEIR_ERROR_INIT;
  compose(target, strategy, max_pool);
  int32_t rc = weirctl_pool(bench.engine, target->conninfo->p,
                            target->conninfo->len, &bench.pool, &err);
  if (rc != WEIR_OK) {
    weirctl_engine_end(bench.engine);
    return demo_bench_fail(rc, &err, "opening the pool");
  }
  *out = bench;
  return EXIT_CODE_OK;
}

void demo_bench_close(const struct demo_bench *bench) {
  /* Stale after Ctrl-C, which is as good. */
  (void)weir_pool_close(bench->pool);
  weirctl_engine_end(bench->engine);
}
