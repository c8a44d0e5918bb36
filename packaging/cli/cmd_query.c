/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "duration.h"
#include "exit_code.h"
#include "input.h"
#include "interrupt.h"
#include "out.h"
#include "query_args.h"
#include "weirctl.h"

const char cmd_query_help[] =
    "Usage: weirctl query [-c CONNINFO] [OPTION]... SQL\n"
    "       weirctl query [-c CONNINFO] [OPTION]... -f FILE\n"
    "\n"
    "Runs SQL on one connection and prints every result set.\n"
    "\n"
    "  -c, --conninfo=CONNINFO  connection string; @FILE reads it from a "
    "file;\n"
    "                           without -c it is taken from WEIR_CONNINFO\n"
    "  -f, --file=FILE          read the SQL from FILE, - is standard input\n"
    "  -t, --timeout=TIME       limit for everything, such as 2, 500ms, 1min;\n"
    "                           0 is no limit; without it Connect Timeout= "
    "and\n"
    "                           Command Timeout= hold\n"
    "      --table              an aligned table (default)\n"
    "      --json               one JSON object per row and line\n"
    "      --csv                CSV with a header (RFC 4180)\n"
    "      --max-width=N        table: cut values longer than N columns\n"
    "      --param=NAME[:TYPE][=VALUE]\n"
    "                           a parameter, such as @id:int=5; may be given "
    "again\n"
    "      --out=NAME[:TYPE][=VALUE]\n"
    "                           the same, and its value is shown at the end\n"
    "      --prepared           have the driver prepare the statement\n"
    "  -v, --verbose            tell about the connection on standard error\n"
    "  -q, --quiet              no notices and counts of changed rows\n"
    "      --driver-dir=DIRS    look for drivers here first\n"
    "\n"
    "SQL may be - for standard input.  Server messages go to standard error.\n"
    "\n"
    "NAME is as the statement writes it.  TYPE is the server's, such as\n"
    "nvarchar(50) or decimal(10,2), and says how VALUE is read: numbers, bit "
    "as 1\n"
    "or 0, binary as 0x and hexadecimal digits, dates as 2026-11-30T12:00:00;\n"
    "without TYPE it is text.  Without =VALUE it is NULL.\n"
    "\n"
    "Table: NULL is the bare word (a text that reads NULL is quoted), bytes "
    "are\n"
    "0x and hexadecimal digits, truth values 1 and 0; line ends and controls "
    "are\n"
    "written as \\n, \\t, \\x1b.  JSON: INT, UINT and FLOAT are numbers with "
    "all\n"
    "digits, also beyond 2^53, where many readers round; decimals, dates, "
    "UUIDs,\n"
    "NaN and infinities are strings, so that nothing is lost; bytes are "
    "strings\n"
    "0x...; nameless columns become column_N, repeated names NAME_2, NAME_3.\n"
    "CSV: NULL is an empty field, the empty text \"\"; sets are separated by "
    "an\n"
    "empty line.\n"
    "\n"
    "Exit codes: weirctl help exit-codes\n"
    "\n"
    "Examples:\n"
    "  weirctl query -c @prod.conn \"SELECT name FROM sys.databases\"\n"
    "  weirctl query -c @prod.conn --param @n:int=3 \"SELECT @n + 1\"\n"
    "  echo \"SELECT 1 AS one\" | weirctl query -c @prod.conn --json -\n";

/* Errors of the server that are kept, as bytes: enough for the first ones. */
#define TOLD_MAX ((size_t)16 << 10)

/* One run. */
struct query {
  const struct query_args *args;
  struct text_buf conninfo;
  struct text_buf sql;
  struct out out;
  weir_h engine;
  weir_h pool;
  weir_h lease;
  char *key;
  int64_t begun;
  bool in_set;          /* out_begin() was called, out_end() was not */
  bool server_error;    /* a notice was an error */
  struct text_buf told; /* number and text of each such notice */
  bool sent;            /* the server may have the statement */
};

/* Time left of --timeout; without it the library's own setting. */
static int64_t time_left(const struct query *q, int64_t by_default) {
  int64_t limit = q->args->timeout_ns;
  if (limit < 0) {
    return by_default;
  }
  if (limit == 0) {
    return WEIR_TIMEOUT_NEVER;
  }
  int64_t left = limit - (duration_now() - q->begun);
  return left > 0 ? left : 1;
}

/* Keeps the number and the text of an error that was printed, because the
 * request may end with it. */
static void note_told(struct query *q, const struct weir_item *item) {
  if (q->told.len < TOLD_MAX && item->message != NULL) {
    text_buf_add(&q->told, &item->native, sizeof item->native);
    text_buf_add(&q->told, item->message, (size_t)item->message_len);
  }
}

static bool was_told(const struct query *q, const struct weir_error *err) {
  struct text_buf wanted = {0};
  text_buf_add(&wanted, &err->native, sizeof err->native);
  text_buf_add_str(&wanted, err->message);
  bool told = err->message[0] != '\0' && q->told.len > 0 && !wanted.failed &&
              memmem(q->told.p, q->told.len, wanted.p, wanted.len) != NULL;
  text_buf_free(&wanted);
  return told;
}

static int fail(const struct query *q,
                int32_t rc,
                const struct weir_error *err,
                const char *doing,
                int64_t since) {
  struct diag_try tried = {
      doing, q->key, since < 0 ? -1 : duration_now() - since, was_told(q, err)};
  /* After Ctrl-C whatever fails, fails because of it. */
  if (interrupt_code() != 0) {
    diag_line("interrupted while %s", doing);
    if (q->sent) {
      diag_maybe_executed(stderr);
    }
    return interrupt_code();
  }
  return diag_error(stderr, rc, err, &tried);
}

static void tell_connection(const struct query *q) {
  static const struct {
    int32_t what;
    const char *name;
  } facts[] = {
      {WEIR_INFO_SERVER_NAME, "server"},
      {WEIR_INFO_SERVER_VERSION, "version"},
      {WEIR_INFO_SESSION_ID, "session"},
      {WEIR_INFO_DATABASE, "database"},
      {WEIR_INFO_TLS, "TLS"},
      {WEIR_INFO_PEER, "peer"},
      {WEIR_INFO_PACKET_SIZE, "packets of"},
  };
  char text[512];
  char took[32];
  diag_line("connected in %s", duration_text(duration_now() - q->begun, took));
  for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
    int32_t rc =
        weir_lease_info(q->lease, facts[i].what, text, sizeof text, NULL);
    if (rc == WEIR_OK) {
      (void)fprintf(stderr, "  %-11s %s\n", facts[i].name,
                    text[0] == '\0' ? "none" : text);
    }
  }
}

static int connect_it(struct query *q) {
  struct weir_error err = WEIR_ERROR_INIT;
  int32_t rc;
  q->key = weirctl_key(q->engine, q->conninfo.p, q->conninfo.len, &rc, &err);
  if (q->key == NULL) {
    return fail(q, rc, &err, "reading the connection string", -1);
  }
  rc = weirctl_pool(q->engine, q->conninfo.p, q->conninfo.len, &q->pool, &err);
  if (rc != WEIR_OK) {
    q->pool = 0;
    return fail(q, rc, &err, "opening the pool", -1);
  }
  int64_t since = duration_now();
  rc = weir_acquire(q->pool, time_left(q, WEIR_TIMEOUT_POOL), &q->lease, &err);
  if (rc != WEIR_OK) {
    q->lease = 0;
    return fail(q, rc, &err, "connecting", since);
  }
  interrupt_set_lease(q->lease);
  if (q->args->verbose) {
    tell_connection(q);
  }
  return EXIT_CODE_OK;
}

/* Ends the set that is open, if one is. */
static int end_set(struct query *q, bool whole) {
  if (!q->in_set) {
    return 0;
  }
  q->in_set = false;
  return out_end(&q->out, whole);
}

/* A count without a set tells the rows a statement changed.  It is part of the
 * table, but would be no row of JSON or CSV. */
static int show_count(struct query *q, uint64_t count) {
  if (q->in_set || count == UINT64_MAX || q->args->quiet) {
    return end_set(q, true);
  }
  FILE *to = q->args->format == &out_table ? stdout : stderr;
  (void)fprintf(to, "(%" PRIu64 " row%s affected)\n", count,
                count == 1 ? "" : "s");
  return to == stdout ? out_check(&q->out) : 0;
}

static void show_notice(struct query *q, const struct weir_item *item) {
  bool error = item->severity > 10;
  q->server_error = q->server_error || error;
  if (error) {
    note_told(q, item);
  }
  if (error || !q->args->quiet) {
    /* What was printed before the message was sent before it. */
    (void)fflush(stdout);
    diag_notice(stderr, item);
  }
}

/* The values of the output parameters, as a set of one row. */
static int show_outputs(struct query *q, const struct weir_item *item) {
  int rc = end_set(q, true);
  if (rc == 0) {
    rc = out_begin(&q->out, item->columns, item->n_columns,
                   item->columns_stride);
  }
  if (rc == 0) {
    rc = out_rows(&q->out, item->cells, item->n_rows);
  }
  (void)weir_rows_free(item->rows);
  if (rc == 0) {
    rc = out_end(&q->out, false);
  }
  if (rc == 0 && q->args->format == &out_table) {
    (void)puts("(output values)");
    rc = out_check(&q->out);
  }
  return rc;
}

/* Shows one piece of the result.  Returns as the out_ functions. */
static int show_item(struct query *q, const struct weir_item *item) {
  int rc = 0;
  switch (item->type) {
  case WEIR_ITEM_META:
    rc = end_set(q, true);
    if (rc == 0) {
      q->in_set = true;
      rc = out_begin(&q->out, item->columns, item->n_columns,
                     item->columns_stride);
    }
    break;
  case WEIR_ITEM_ROWS:
    rc = out_rows(&q->out, item->cells, item->n_rows);
    (void)weir_rows_free(item->rows);
    break;
  case WEIR_ITEM_OUTPUT:
    rc = show_outputs(q, item);
    break;
  case WEIR_ITEM_COUNT:
    rc = show_count(q, item->row_count);
    break;
  case WEIR_ITEM_NOTICE:
    show_notice(q, item);
    break;
  case WEIR_ITEM_DONE:
    rc = end_set(q, true);
    break;
  default: /* A kind younger than this program. */
    break;
  }
  return rc;
}

static int read_result(struct query *q, int64_t since) {
  for (;;) {
    struct weir_error err = WEIR_ERROR_INIT;
    struct weir_item item = {.struct_size = sizeof item};
    int32_t rc = weir_next(q->lease, &item, &err);
    if (rc != WEIR_OK) {
      (void)end_set(q, false);
      return fail(q, rc, &err, "running the statement", since);
    }
    int shown = show_item(q, &item);
    if (shown < 0) {
      return diag_output(shown);
    }
    if (item.type == WEIR_ITEM_DONE) {
      return q->server_error ? EXIT_CODE_STATEMENT : EXIT_CODE_OK;
    }
  }
}

/* A statement that failed at once may have printed before it did. */
static void show_notices_left(struct query *q) {
  struct weir_item item = {.struct_size = sizeof item};
  while (weir_next(q->lease, &item, NULL) == WEIR_OK &&
         item.type == WEIR_ITEM_NOTICE) {
    show_notice(q, &item);
  }
}

static int run_statement(struct query *q) {
  struct weir_error err = WEIR_ERROR_INIT;
  struct weir_exec_opts opts = {
      .struct_size = sizeof opts,
      .flags = q->args->prepared ? WEIR_EXEC_PREPARED : 0,
      .timeout_ns = time_left(q, 0),
      .params = q->args->params.at,
      .n_params = q->args->params.n,
  };
  int64_t since = duration_now();
  if (interrupt_code() != 0) {
    return fail(q, WEIR_E_CANCELLED, &err, "running the statement", since);
  }
  q->sent = true;
  int32_t rc = weir_exec(q->lease, q->sql.p, q->sql.len, &opts, &err);
  if (rc != WEIR_OK) {
    show_notices_left(q);
    return fail(q, rc, &err, "running the statement", since);
  }
  return read_result(q, since);
}

static int run(struct query *q) {
  int code = weirctl_engine(q->args->driver_dirs, &q->engine);
  if (code != EXIT_CODE_OK) {
    return code;
  }
  code = connect_it(q);
  if (code == EXIT_CODE_OK) {
    code = run_statement(q);
  }
  interrupt_set_lease(0);
  if (q->lease != 0) {
    /* Stale after Ctrl-C, which is as good. */
    (void)weir_release(q->lease);
  }
  if (q->pool != 0) {
    (void)weir_pool_close(q->pool);
  }
  weirctl_engine_end(q->engine);
  return code;
}

int cmd_query(int argc, char **argv) {
  struct query_args args = {.format = &out_table, .timeout_ns = -1};
  int code = query_args_parse(&args, argc, argv);
  if (code != EXIT_CODE_OK || args.help) {
    (void)fputs(code == EXIT_CODE_OK ? cmd_query_help : "", stdout);
    params_free(&args.params);
    return code;
  }
  struct query q = {.args = &args, .begun = duration_now()};
  code = input_conninfo("query", args.conninfo, true, &q.conninfo);
  if (code == EXIT_CODE_OK) {
    code = input_sql("query", args.sql, args.file, &q.sql);
  }
  if (code == EXIT_CODE_OK) {
    out_init(&q.out, args.format, stdout);
    q.out.max_width = args.max_width;
    code = run(&q);
    out_fini(&q.out);
  }
  params_free(&args.params);
  text_buf_wipe(&q.conninfo);
  text_buf_free(&q.sql);
  text_buf_free(&q.told);
  free(q.key);
  return code;
}
