/* SPDX-License-Identifier: MIT */
/*
 * pool_shell.c - one pool, driven by lines of input, for tests that break its
 * server between two calls.
 *
 *   open CONNINFO   acquire N   exec N SQL   release N   stats   clear   shutdown
 *   call N SQL   prepared N SQL   begin N   commit N   rollback N
 *   start N SQL   batch N
 *
 * N is 0 to 99.  call has two parameters, @a and @b, that are integers and come
 * back; their values are its answer.  prepared is exec of a statement that is
 * prepared.  start sends and reads nothing; batch reads the next piece of what was
 * started.  Each line is answered by one: code, phase, milliseconds, and the
 * message of the failure, else the first cell, the session's number, or counts;
 * tabs between.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weir.h"

#define LEASES     100
#define LINE_BYTES 70000

struct shell {
  weir_h engine;
  weir_h pool;
  weir_h leases[LEASES];
  struct weir_error err;
  char text[200];
};

static int64_t now_ms(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int32_t open_pool(struct shell *sh, const char *conninfo) {
  int32_t rc = weir_engine_open(NULL, &sh->engine, &sh->err);
  return rc != WEIR_OK ? rc
                       : weir_pool_open(sh->engine, conninfo, strlen(conninfo),
                                        &sh->pool, &sh->err);
}

static int32_t acquire(struct shell *sh, weir_h *lease) {
  int32_t rc = weir_acquire(sh->pool, WEIR_TIMEOUT_POOL, lease, &sh->err);
  return rc != WEIR_OK ? rc
                       : weir_lease_info(*lease, WEIR_INFO_SESSION_ID, sh->text,
                                         sizeof sh->text, NULL);
}

/* The first cell, if it is an integer or a text. */
static void keep(struct shell *sh, const struct weir_item *item) {
  const struct weir_cell *cell = &item->cells[0];
  int64_t number = 0;
  if (sh->text[0] != '\0' || cell->p == NULL) {
    return;
  }
  if (cell->n == sizeof number) {
    memcpy(&number, cell->p, sizeof number);
    (void)snprintf(sh->text, sizeof sh->text, "%" PRId64, number);
  } else {
    size_t n = cell->n < sizeof sh->text ? cell->n : sizeof sh->text - 1;
    memcpy(sh->text, cell->p, n);
    sh->text[n] = '\0';
  }
}

/* The output values by their names. */
static void keep_outputs(struct shell *sh, const struct weir_item *item) {
  for (uint32_t i = 0; i < item->n_columns; i++) {
    const struct weir_cell *cell = &item->cells[i];
    int64_t number = 0;
    size_t len = strlen(sh->text);
    if (cell->p != NULL && cell->n == sizeof number) {
      char one[64];
      memcpy(&number, cell->p, sizeof number);
      int n = snprintf(one, sizeof one, "%.8s=%" PRId64 " ",
                       item->columns[i].name, number);
      if (n > 0 && (size_t)n < sizeof sh->text - len) {
        memcpy(sh->text + len, one, (size_t)n + 1);
      }
    }
  }
}

static int32_t execute_with(struct shell *sh,
                            weir_h lease,
                            const char *sql,
                            const struct weir_exec_opts *opts) {
  struct weir_item item = {.struct_size = sizeof item};
  int32_t rc = weir_exec(lease, sql, strlen(sql), opts, &sh->err);
  while (rc == WEIR_OK && item.type != WEIR_ITEM_DONE) {
    rc = weir_next(lease, &item, &sh->err);
    if (rc != WEIR_OK) {
      break;
    }
    if (item.type == WEIR_ITEM_ROWS) {
      keep(sh, &item);
      (void)weir_rows_free(item.rows);
    } else if (item.type == WEIR_ITEM_OUTPUT) {
      keep_outputs(sh, &item);
      (void)weir_rows_free(item.rows);
    }
  }
  return rc;
}

static int32_t execute(struct shell *sh, weir_h lease, const char *sql) {
  return execute_with(sh, lease, sql, NULL);
}

static int32_t prepared(struct shell *sh, weir_h lease, const char *sql) {
  const struct weir_exec_opts opts = {.struct_size = sizeof opts,
                                      .flags = WEIR_EXEC_PREPARED};
  return execute_with(sh, lease, sql, &opts);
}

/* Sends, and leaves the answer unread. */
static int32_t start(struct shell *sh, weir_h lease, const char *sql) {
  return weir_exec(lease, sql, strlen(sql), NULL, &sh->err);
}

/* Reads one piece of what was started. */
static int32_t batch(struct shell *sh, weir_h lease) {
  struct weir_item item = {.struct_size = sizeof item};
  int32_t rc = weir_next(lease, &item, &sh->err);
  if (rc == WEIR_OK && item.type == WEIR_ITEM_ROWS) {
    (void)weir_rows_free(item.rows);
  }
  return rc;
}

static int32_t call(struct shell *sh, weir_h lease, const char *sql) {
  struct weir_param params[2];
  memset(params, 0, sizeof params);
  for (size_t i = 0; i < 2; i++) {
    params[i].struct_size = sizeof params[i];
    params[i].flags = WEIR_PARAM_OUT;
    params[i].type = WEIR_T_INT;
    params[i].name = i == 0 ? "@a" : "@b";
    params[i].name_len = 2;
  }
  const struct weir_exec_opts opts = {
      .struct_size = sizeof opts, .params = params, .n_params = 2};
  return execute_with(sh, lease, sql, &opts);
}

static int32_t stats(struct shell *sh) {
  struct weir_pool_stats s = {.struct_size = sizeof s};
  int32_t rc = weir_pool_stats(sh->pool, &s);
  (void)snprintf(sh->text, sizeof sh->text,
                 "idle=%" PRIu32 " leased=%" PRIu32 " connecting=%" PRIu32
                 " closing=%" PRIu32 " waiters=%" PRIu32,
                 s.idle, s.leased, s.connecting, s.closing, s.waiters);
  return rc;
}

/* What is done with a lease; sql is what stands behind its number. */
static int32_t run_leased(struct shell *sh,
                          const char *verb,
                          weir_h *lease,
                          const char *sql) {
  if (strcmp(verb, "acquire") == 0) {
    return acquire(sh, lease);
  }
  if (strcmp(verb, "release") == 0) {
    return weir_release(*lease);
  }
  if (strcmp(verb, "exec") == 0) {
    return execute(sh, *lease, sql);
  }
  if (strcmp(verb, "call") == 0) {
    return call(sh, *lease, sql);
  }
  if (strcmp(verb, "prepared") == 0) {
    return prepared(sh, *lease, sql);
  }
  if (strcmp(verb, "start") == 0) {
    return start(sh, *lease, sql);
  }
  if (strcmp(verb, "batch") == 0) {
    return batch(sh, *lease);
  }
  if (strcmp(verb, "begin") == 0) {
    return weir_begin(*lease, WEIR_ISO_DEFAULT, &sh->err);
  }
  if (strcmp(verb, "commit") == 0) {
    return weir_commit(*lease, &sh->err);
  }
  return strcmp(verb, "rollback") == 0 ? weir_rollback(*lease, &sh->err)
                                       : WEIR_E_ARG;
}

static int32_t run(struct shell *sh, char *line) {
  char *rest = strchr(line, ' ');
  char *end = NULL;
  if (rest != NULL) {
    *rest++ = '\0';
  }
  if (strcmp(line, "stats") == 0) {
    return stats(sh);
  }
  if (strcmp(line, "clear") == 0) {
    return weir_pool_clear(sh->pool);
  }
  if (strcmp(line, "shutdown") == 0) {
    return weir_engine_shutdown(sh->engine, INT64_C(1000000000), &sh->err);
  }
  if (rest != NULL && strcmp(line, "open") == 0) {
    return open_pool(sh, rest);
  }
  unsigned long i = rest == NULL ? LEASES : strtoul(rest, &end, 10);
  if (i >= LEASES) {
    return WEIR_E_ARG;
  }
  return run_leased(sh, line, &sh->leases[i], end);
}

int main(void) {
  static char line[LINE_BYTES];
  static struct shell sh;
  while (fgets(line, (int)sizeof line, stdin) != NULL) {
    memset(&sh.err, 0, sizeof sh.err);
    sh.err.struct_size = sizeof sh.err;
    sh.text[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    int64_t begun = now_ms();
    int32_t rc = run(&sh, line);
    (void)printf("%" PRId32 "\t%" PRId32 "\t%" PRId64 "\t%s\n", rc,
                 sh.err.phase, now_ms() - begun,
                 rc == WEIR_OK ? sh.text : sh.err.message);
    (void)fflush(stdout);
  }
  return 0;
}
