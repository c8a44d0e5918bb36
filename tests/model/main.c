/* SPDX-License-Identifier: MIT */
/* Runs every model and every mutant of it; a mutant that survives is a failure.
 *
 * usage: test_models [--large] [--seconds N] [--trace] [--steps] [NAME]
 *
 * NAME: only parts, runs and mutants whose name contains it.  --large: the big
 * sizes, too.  --seconds: no run begins later than that.  --trace: the way to what a mutant breaks.  --steps: prints the map
 * of the pool's steps instead. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "part.h"

#define LIMIT_SMALL 4000000u
#define LIMIT_LARGE 20000000u

static const struct part *const parts[] = {
    &part_queue, &part_behind, &part_kick, &part_op,
    &part_marks, &part_inbox,  &part_pool,
};

struct wishes {
  bool large;
  bool trace;
  long seconds; /* 0: no limit */
  time_t begun;
  const char *name;
};

static unsigned passed;
static unsigned failed;
static unsigned left_out; /* for want of time */

static void tell(bool good, const char *kind, const char *name) {
  passed += good;
  failed += !good;
  (void)printf("%-6s %-7s %-28s ", good ? "ok" : "FAILED", kind, name);
}

static void tell_found(const struct found *found) {
  (void)printf("%9u states, %2u deep, %6.2f s%s\n", found->states, found->depth,
               found->seconds,
               found->too_many    ? ", and more: over the limit"
               : found->no_memory ? ", no memory for more"
                                  : "");
}

/* A sanitizer looks for mistakes of the checker, not for those of the engine: some
 * of the pool will do. */
static bool is_left_out(const struct part *part, const char *run) {
#if MODEL_SANITIZED
  return part == &part_pool && strcmp(run, "core_again") != 0 &&
         strcmp(run, "grow_slow") != 0 && strcmp(run, "LEASE_KEPT") != 0;
#else
  (void)part;
  (void)run;
  return false;
#endif
}

static bool is_late(const struct wishes *w) {
  return w->seconds != 0 && time(NULL) - w->begun >= w->seconds;
}

static bool is_wanted(const struct wishes *w,
                      const struct part *part,
                      const char *name) {
  if (w->name == NULL && !w->large && is_left_out(part, name)) {
    return false;
  }
  return w->name == NULL || strstr(part->name, w->name) != NULL ||
         strstr(name, w->name) != NULL;
}

static void run_sound(const struct wishes *w,
                      const struct part *part,
                      const struct part_run *run) {
  struct found found;
  uint32_t limit = run->large ? LIMIT_LARGE : LIMIT_SMALL;
  if ((run->large && !w->large) || !is_wanted(w, part, run->name)) {
    return;
  }
  if (is_late(w)) {
    left_out++;
    return;
  }
  checker_run(part->model, run->setup, 0, limit, true, &found);
  if (run->large && found.broken == NULL && found.too_many) {
    /* Neither: nothing is broken as far as it went. */
    (void)printf("%-6s %-7s %-28s ", "partly", part->name, run->name);
  } else {
    bool good = found.broken == NULL && !found.too_many && !found.no_memory;
    tell(good, part->name, run->name);
  }
  tell_found(&found);
  (void)fflush(stdout);
}

static void run_mutant(const struct wishes *w,
                       const struct part *part,
                       const struct part_mutant *m) {
  struct found found;
  if (!is_wanted(w, part, m->name)) {
    return;
  }
  if (is_late(w)) {
    left_out++;
    return;
  }
  checker_run(part->model, m->setup, m->mutant, LIMIT_SMALL, w->trace, &found);
  tell(found.broken != NULL, part->name, m->name);
  tell_found(&found);
  (void)printf("               %s: %s\n", m->where, m->what);
  (void)printf("               %s\n",
               found.broken != NULL ? found.broken : "SURVIVES");
  (void)fflush(stdout);
}

static void run_part(const struct wishes *w, const struct part *part) {
  for (size_t i = 0; i < part->n_runs; i++) {
    run_sound(w, part, &part->runs[i]);
  }
  for (size_t i = 0; i < part->n_mutants; i++) {
    run_mutant(w, part, &part->mutants[i]);
  }
}

static int usage(void) {
  (void)fprintf(stderr, "usage: test_models [--large] [--seconds N] [--trace] "
                        "[--steps] [NAME]\n");
  return 2;
}

/* False: not understood. */
static bool read_wishes(int argc, char **argv, struct wishes *out) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--large") == 0) {
      out->large = true;
    } else if (strcmp(argv[i], "--trace") == 0) {
      out->trace = true;
    } else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
      out->seconds = strtol(argv[++i], NULL, 10);
    } else if (argv[i][0] == '-') {
      return false;
    } else {
      out->name = argv[i];
    }
  }
  return true;
}

int main(int argc, char **argv) {
  struct wishes wishes = {.begun = time(NULL)};
  if (argc == 2 && strcmp(argv[1], "--steps") == 0) {
    pool_print_steps();
    return 0;
  }
  if (!read_wishes(argc, argv, &wishes)) {
    return usage();
  }
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    run_part(&wishes, parts[i]);
  }
  if (left_out != 0) {
    (void)printf("%u left out for want of time\n", left_out);
  }
  (void)printf("%u passed, %u failed\n", passed, failed);
  return failed == 0 && passed != 0 ? 0 : 1;
}
