/* SPDX-License-Identifier: MIT */
/* fake_weir.c - the functions of weir.h that weirctl calls, with results told
 * by a script, so that its output and exit codes can be tested with no server.
 *
 * The connection string's Fake=WORD chooses what opening does (struct
 * opening), the SQL what a statement answers (struct script).  A key is the
 * string without its Password; equal strings have the same pool. */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "weir.h"
#include "weir_driver.h"

#define ENGINE     UINT64_C(0x1000000)
#define POOLS      UINT64_C(0x2000000)
#define LEASES     UINT64_C(0x3000000)
#define ROWS       UINT64_C(0x4000000)
#define POOLS_MAX  8
#define LEASES_MAX 4096

/* ------------------------------------------------------------- openings */

static const struct opening {
  const char *word;
  bool at_parse; /* fails when the string is read, else at acquire */
  int32_t rc;
  int32_t phase;
  int32_t kind;
  int32_t native;
  const char *message;
} openings[] = {
    {"parse", true, WEIR_E_ARG, WEIR_PHASE_PARSE, WEIR_DRV_K_CONFIG, 0,
     "unknown setting \"Serverr\" at position 12; did you mean \"Server\"?"},
    {"load", true, WEIR_E_FAIL, WEIR_PHASE_LOAD, WEIR_DRV_K_CONFIG, 0,
     "driver \"nosuch\" was not found"},
    {"name", false, WEIR_E_FAIL, WEIR_PHASE_RESOLVE, WEIR_DRV_K_NAME, 0,
     "no such host: db.invalid"},
    {"refused", false, WEIR_E_FAIL, WEIR_PHASE_CONNECT, WEIR_DRV_K_NETWORK, 0,
     "127.0.0.1:1433: connection refused"},
    {"tls", false, WEIR_E_FAIL, WEIR_PHASE_TLS, WEIR_DRV_K_TLS, 0,
     "certificate: self-signed certificate"},
    {"login", false, WEIR_E_FAIL, WEIR_PHASE_LOGIN, WEIR_DRV_K_AUTH, 18456,
     "Login failed for user 'sa'."},
    {"timeout", false, WEIR_E_TIMEOUT, WEIR_PHASE_LOGIN, WEIR_DRV_K_TIMEOUT, 0,
     "no answer within 2 s"},
    {"overloaded", false, WEIR_E_OVERLOADED, WEIR_PHASE_QUEUE, 0, 0,
     "100 callers wait already"},
    {"down", false, WEIR_E_DOWN, WEIR_PHASE_CONNECT, 0, 0,
     "the endpoint is down"},
    {"other", false, WEIR_E_NOMEM, WEIR_PHASE_NONE, 0, 0, ""},
};

/* -------------------------------------------------------------- scripts */

#define TEXT(s) \
  { (s), sizeof(s) - 1 }
#define NONE \
  { NULL, UINT64_MAX }

#define COLUMN(t, s)                                                     \
  {                                                                      \
    .struct_size = sizeof(struct weir_column), .type = (t), .name = (s), \
    .name_len = sizeof(s) - 1                                            \
  }

static const struct weir_column one_column[] = {COLUMN(WEIR_T_INT, "one")};
static const struct weir_cell one_cell[] = {TEXT("\1\0\0\0\0\0\0\0")};

static const struct weir_column type_columns[] = {
    COLUMN(WEIR_T_INT, "i"),   COLUMN(WEIR_T_UINT, "u"),
    COLUMN(WEIR_T_FLOAT, "f"), COLUMN(WEIR_T_BOOL, "b"),
    COLUMN(WEIR_T_DEC, "d"),   COLUMN(WEIR_T_TEXT, "t"),
    COLUMN(WEIR_T_BYTES, "x"), COLUMN(WEIR_T_TIME, "at"),
    COLUMN(WEIR_T_UUID, "id"), COLUMN(WEIR_T_TEXT, "n"),
};
static const struct weir_cell type_cells[] = {
    TEXT("\0\0\0\0\0\0\0\x80"), /* -2^63 */
    TEXT("\xff\xff\xff\xff\xff\xff\xff\xff"),
    TEXT("\0\0\0\0\0\0\xf8\x3f"), /* 1.5 */
    TEXT("\1"),
    TEXT("-12345678901234567890.10"),
    TEXT("za\xc5\xbc\xc3\xb3\xc5\x82\xc4\x87"),
    TEXT("\0\xff"),
    TEXT("2026-01-02T03:04:05.1234567"),
    TEXT("\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef"),
    NONE,
};

static const struct weir_column text_column[] = {COLUMN(WEIR_T_TEXT, "t")};
static const struct weir_cell text_cells[] = {TEXT("a"), TEXT("b,\"c\"")};
static const struct weir_cell short_cell[] = {TEXT("\1\0")};

static const struct weir_item one_items[] = {
    {.type = WEIR_ITEM_META, .columns = one_column, .n_columns = 1},
    {.type = WEIR_ITEM_ROWS, .cells = one_cell, .n_rows = 1, .n_columns = 1},
    {.type = WEIR_ITEM_COUNT, .row_count = 1},
    {.type = WEIR_ITEM_DONE},
};
static const struct weir_item type_items[] = {
    {.type = WEIR_ITEM_META, .columns = type_columns, .n_columns = 10},
    {.type = WEIR_ITEM_ROWS, .cells = type_cells, .n_rows = 1, .n_columns = 10},
    {.type = WEIR_ITEM_COUNT, .row_count = 1},
    {.type = WEIR_ITEM_DONE},
};
static const struct weir_item set_items[] = {
    {.type = WEIR_ITEM_META, .columns = one_column, .n_columns = 1},
    {.type = WEIR_ITEM_ROWS, .cells = one_cell, .n_rows = 1, .n_columns = 1},
    {.type = WEIR_ITEM_COUNT, .row_count = 1},
    {.type = WEIR_ITEM_COUNT, .row_count = 3},
    {.type = WEIR_ITEM_COUNT, .row_count = UINT64_MAX},
    {.type = WEIR_ITEM_NOTICE,
     .native = 50000,
     .severity = 10,
     .line = 7,
     .message = "half\nway\x1b[2J",
     .message_len = 12},
    {.type = WEIR_ITEM_META, .columns = text_column, .n_columns = 1},
    {.type = WEIR_ITEM_ROWS, .cells = text_cells, .n_rows = 2, .n_columns = 1},
    {.type = WEIR_ITEM_DONE},
};
static const struct weir_item none_items[] = {
    {.type = WEIR_ITEM_COUNT, .row_count = 1},
    {.type = WEIR_ITEM_DONE},
};
static const struct weir_item raise_items[] = {
    {.type = WEIR_ITEM_NOTICE,
     .native = 50001,
     .severity = 16,
     .message = "raised",
     .message_len = 6},
    {.type = WEIR_ITEM_DONE},
};
/* An item of type 0 ends a script with its error. */
static const struct weir_item late_items[] = {
    {.type = WEIR_ITEM_META, .columns = one_column, .n_columns = 1},
    {.type = WEIR_ITEM_ROWS, .cells = one_cell, .n_rows = 1, .n_columns = 1},
    {.type = 0},
};
/* The server's message and the end of the statement are one error. */
static const struct weir_item twice_items[] = {
    {.type = WEIR_ITEM_META, .columns = one_column, .n_columns = 1},
    {.type = WEIR_ITEM_ROWS, .cells = one_cell, .n_rows = 1, .n_columns = 1},
    {.type = WEIR_ITEM_NOTICE,
     .native = 102,
     .severity = 15,
     .line = 3,
     .message = "Incorrect syntax near 'x'.",
     .message_len = 26},
    {.type = 0},
};
static const struct weir_item short_items[] = {
    {.type = WEIR_ITEM_META, .columns = one_column, .n_columns = 1},
    {.type = WEIR_ITEM_ROWS, .cells = short_cell, .n_rows = 1, .n_columns = 1},
    {.type = WEIR_ITEM_DONE},
};

enum how {
  PLAIN,
  FAILS,
  HANGS,
  ENDLESS
};

static const struct script {
  const char *sql;
  const struct weir_item *items;
  enum how how; /* FAILS: at weir_exec() */
  int32_t kind; /* of the error, for FAILS and for an item of type 0 */
} scripts[] = {
    {"SELECT 1 AS one", one_items, PLAIN, 0},
    {"types", type_items, PLAIN, 0},
    {"sets", set_items, PLAIN, 0},
    {"none", none_items, PLAIN, 0},
    {"raise", raise_items, PLAIN, 0},
    {"late", late_items, PLAIN, WEIR_DRV_K_SYNTAX},
    {"twice", twice_items, PLAIN, WEIR_DRV_K_SYNTAX},
    {"cut", late_items, PLAIN, WEIR_DRV_K_NETWORK},
    {"short", short_items, PLAIN, 0},
    {"syntax", NULL, FAILS, WEIR_DRV_K_SYNTAX},
    {"slow", NULL, FAILS, WEIR_DRV_K_TIMEOUT},
    {"hang", one_items, HANGS, 0},
    {"endless", one_items, ENDLESS, 0},
};

/* ---------------------------------------------------------------- state */

struct fake_lease {
  bool used;
  bool running;
  bool cancelled;
  const struct script *script;
  uint32_t at;
  char session[16];
};

static struct {
  pthread_mutex_t mu;
  pthread_cond_t changed;
  bool open;
  uint32_t max_size;
  uint32_t pools;
  char *strings[POOLS_MAX];
  bool opened[LEASES_MAX]; /* a session exists in this place */
  struct fake_lease leases[LEASES_MAX];
  uint64_t connects;
} fake = {.mu = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int32_t fail(struct weir_error *err,
                    int32_t rc,
                    int32_t phase,
                    int32_t kind,
                    const char *message) {
  if (err != NULL) {
    *err = (struct weir_error){
        .struct_size = sizeof *err, .code = rc, .phase = phase, .kind = kind};
    (void)snprintf(err->message, sizeof err->message, "%s", message);
    err->message_len = (uint32_t)strlen(err->message);
  }
  return rc;
}

/* The opening that a connection string asks for, NULL for success. */
static const struct opening *find_opening(const char *conninfo) {
  const char *word = strstr(conninfo, "Fake=");
  for (size_t i = 0; word != NULL && i < sizeof openings / sizeof openings[0];
       i++) {
    size_t len = strlen(openings[i].word);
    if (strncmp(word + 5, openings[i].word, len) == 0) {
      return &openings[i];
    }
  }
  return NULL;
}

static int32_t open_fails(const struct opening *opening,
                          struct weir_error *err) {
  int32_t rc =
      fail(err, opening->rc, opening->phase, opening->kind, opening->message);
  if (err != NULL && opening->native != 0) {
    err->native = opening->native;
    err->native_severity = 14;
  }
  return rc;
}

/* A copy of a connection string with a NUL. */
static char *copy(const char *conninfo, uint64_t len) {
  char *text = calloc(1, len + 1);
  if (text != NULL) {
    memcpy(text, conninfo, len);
  }
  return text;
}

/* ------------------------------------------------------------------ API */

const char *weir_status_name(int32_t code) {
  return code == WEIR_E_NOMEM ? "WEIR_E_NOMEM" : "unknown";
}

uint32_t weir_version(void) {
  return 0x000102;
}

int32_t weir_engine_open(const struct weir_engine_opts *opts,
                         weir_h *out_engine,
                         struct weir_error *err) {
  if (opts != NULL && opts->driver_dirs != NULL &&
      strcmp(opts->driver_dirs, "bad") == 0) {
    return fail(err, WEIR_E_ARG, WEIR_PHASE_NONE, 0, "driver_dirs is bad");
  }
  (void)pthread_mutex_lock(&fake.mu);
  fake.open = true;
  fake.connects = 0;
  memset(fake.opened, 0, sizeof fake.opened);
  memset(fake.leases, 0, sizeof fake.leases);
  (void)pthread_mutex_unlock(&fake.mu);
  *out_engine = ENGINE;
  return WEIR_OK;
}

int32_t weir_engine_shutdown(weir_h engine,
                             int64_t grace_ns,
                             struct weir_error *err) {
  (void)err;
  (void)grace_ns;
  (void)pthread_mutex_lock(&fake.mu);
  bool was_open = fake.open && engine == ENGINE;
  fake.open = false;
  for (uint32_t i = 0; i < fake.pools; i++) {
    free(fake.strings[i]);
    fake.strings[i] = NULL;
  }
  fake.pools = 0;
  (void)pthread_cond_broadcast(&fake.changed);
  (void)pthread_mutex_unlock(&fake.mu);
  return was_open ? WEIR_OK : WEIR_E_HANDLE;
}

int32_t weir_driver_list(weir_h engine,
                         struct weir_driver_info *info,
                         uint32_t cap,
                         uint32_t *out_n,
                         struct weir_error *err) {
  (void)engine;
  (void)err;
  const char *drivers = secure_getenv("FAKE_DRIVERS");
  uint32_t n = drivers == NULL ? 2 : (uint32_t)strtoul(drivers, NULL, 10);
  for (uint32_t i = 0; i < n && i < cap; i++) {
    (void)snprintf(info[i].name, sizeof info[i].name, "drv%u", i);
    (void)snprintf(info[i].version, sizeof info[i].version, "1.%u", i);
    (void)snprintf(info[i].path, sizeof info[i].path, "/lib/drv%u.so", i);
    info[i].status = i == 1 ? WEIR_E_FAIL : WEIR_OK;
    if (i == 1) {
      (void)snprintf(info[i].problem, sizeof info[i].problem,
                     "writable by others");
    }
  }
  *out_n = n;
  return WEIR_OK;
}

/* What weir_conninfo_key() shows: the string without its Password. */
static void drop_password(char *text) {
  char *secret = strstr(text, "Password=");
  if (secret != NULL) {
    char *rest = strchr(secret, ';');
    rest = rest == NULL ? secret + strlen(secret) : rest + 1;
    memmove(secret, rest, strlen(rest) + 1);
  }
}

/* Equal strings are the same; with equal keys the Password differs; else the
 * option that comes first does, and the driver's Order. */
int32_t weir_conninfo_diff(weir_h engine,
                           const char *a,
                           uint64_t a_len,
                           const char *b,
                           uint64_t b_len,
                           char *buf,
                           uint64_t *inout_len,
                           struct weir_error *err) {
  (void)engine;
  (void)err;
  char *x = copy(a, a_len);
  char *y = copy(b, b_len);
  char said[256] = "";
  if (x != NULL && y != NULL && strcmp(x, y) != 0) {
    drop_password(x);
    drop_password(y);
    if (strcmp(x, y) == 0) {
      (void)snprintf(said, sizeof said, "secret Password\n");
    } else {
      size_t n = strcspn(x, "=");
      (void)snprintf(said, sizeof said, "setting %.*s\ndriver Order\n",
                     (int)(n < 200 ? n : 200), x);
    }
  }
  free(x);
  free(y);
  uint64_t need = strlen(said) + 1;
  int32_t rc = *inout_len < need ? WEIR_E_SPACE : WEIR_OK;
  if (rc == WEIR_OK) {
    memcpy(buf, said, need);
  }
  *inout_len = need;
  return rc;
}

int32_t weir_conninfo_key(weir_h engine,
                          const char *conninfo,
                          uint64_t len,
                          char *buf,
                          uint64_t cap,
                          uint64_t *out_need,
                          struct weir_error *err) {
  (void)engine;
  char *text = copy(conninfo, len);
  if (text == NULL) {
    return WEIR_E_NOMEM;
  }
  int32_t rc = WEIR_OK;
  const struct opening *opening = find_opening(text);
  if (opening != NULL && opening->at_parse) {
    rc = open_fails(opening, err);
  } else {
    drop_password(text);
    *out_need = strlen(text) + 1;
    rc = cap < *out_need ? WEIR_E_SPACE : WEIR_OK;
    if (rc == WEIR_OK) {
      memcpy(buf, text, *out_need);
    }
  }
  free(text);
  return rc;
}

static void note_size(const char *text) {
  const char *found = strstr(text, "Max Pool Size=");
  fake.max_size = found == NULL ? 100 : (uint32_t)strtoul(found + 14, NULL, 10);
}

int32_t weir_pool_open(weir_h engine,
                       const char *conninfo,
                       uint64_t len,
                       weir_h *out_pool,
                       struct weir_error *err) {
  (void)engine;
  char *text = copy(conninfo, len);
  if (text == NULL) {
    return WEIR_E_NOMEM;
  }
  const struct opening *opening = find_opening(text);
  if (opening != NULL && opening->at_parse) {
    free(text);
    return open_fails(opening, err);
  }
  (void)pthread_mutex_lock(&fake.mu);
  uint32_t i = 0;
  while (i < fake.pools && strcmp(fake.strings[i], text) != 0) {
    i++;
  }
  if (i == fake.pools && i < POOLS_MAX) {
    fake.strings[fake.pools++] = text;
    note_size(text);
  } else {
    free(text);
  }
  (void)pthread_mutex_unlock(&fake.mu);
  *out_pool = POOLS + i;
  return WEIR_OK;
}

int32_t weir_pool_close(weir_h pool) {
  return pool >= POOLS && pool < POOLS + POOLS_MAX ? WEIR_OK : WEIR_E_HANDLE;
}

/* Fake=surplus: one session too many with Pool Strategy=channel alone. */
static bool is_extra_of(const char *string) {
  return strstr(string, "Fake=surplus") != NULL &&
         strstr(string, "Pool Strategy=channel") != NULL;
}

int32_t weir_pool_stats(weir_h pool, struct weir_pool_stats *out) {
  (void)pthread_mutex_lock(&fake.mu);
  const char *string = fake.strings[pool - POOLS];
  uint32_t extra = string != NULL && (strstr(string, "Fake=extra") != NULL ||
                                      is_extra_of(string))
                       ? 1
                       : 0;
  out->max_size = fake.max_size;
  out->leased = (uint32_t)fake.connects + extra;
  out->connects_begun = fake.connects;
  out->connects_ok = fake.connects;
  (void)pthread_mutex_unlock(&fake.mu);
  return WEIR_OK;
}

/* Takes a free place, one with a session first.  Under fake.mu. */
static uint32_t take_place(void) {
  uint32_t best = LEASES_MAX;
  for (uint32_t i = 0; i < fake.max_size && i < LEASES_MAX; i++) {
    if (!fake.leases[i].used && (best == LEASES_MAX || fake.opened[i])) {
      best = i;
      if (fake.opened[i]) {
        break;
      }
    }
  }
  if (best < LEASES_MAX) {
    fake.connects += fake.opened[best] ? 0 : 1;
    fake.opened[best] = true;
    fake.leases[best] = (struct fake_lease){.used = true};
    (void)snprintf(fake.leases[best].session, sizeof fake.leases[best].session,
                   "%u", 50 + best);
  }
  return best;
}

/* Under fake.mu. */
static int32_t wait_for_place(weir_h *out_lease, struct weir_error *err) {
  uint32_t place = take_place();
  while (place == LEASES_MAX && fake.open) {
    (void)pthread_cond_wait(&fake.changed, &fake.mu);
    place = take_place();
  }
  if (place == LEASES_MAX) {
    return fail(err, WEIR_E_CLOSED, WEIR_PHASE_QUEUE, 0, "the engine closes");
  }
  *out_lease = LEASES + place;
  return WEIR_OK;
}

int32_t weir_acquire(weir_h pool,
                     int64_t timeout_ns,
                     weir_h *out_lease,
                     struct weir_error *err) {
  (void)timeout_ns;
  (void)pthread_mutex_lock(&fake.mu);
  const char *string = fake.strings[pool - POOLS];
  const struct opening *opening = find_opening(string);
  int32_t rc = WEIR_OK;
  if (opening != NULL) {
    rc = open_fails(opening, err);
  } else if (strstr(string, "Fake=hang") != NULL) {
    (void)fputs("fake: waiting\n", stderr);
    while (fake.open) {
      (void)pthread_cond_wait(&fake.changed, &fake.mu);
    }
    rc = fail(err, WEIR_E_CLOSED, WEIR_PHASE_QUEUE, 0, "the engine closes");
  } else {
    rc = wait_for_place(out_lease, err);
  }
  (void)pthread_mutex_unlock(&fake.mu);
  return rc;
}

static struct fake_lease *find_lease(weir_h lease) {
  uint64_t i = lease - LEASES;
  return lease >= LEASES && i < LEASES_MAX && fake.leases[i].used
             ? &fake.leases[i]
             : NULL;
}

int32_t weir_release(weir_h handle) {
  (void)pthread_mutex_lock(&fake.mu);
  struct fake_lease *lease = find_lease(handle);
  if (lease != NULL) {
    lease->used = false;
    (void)pthread_cond_signal(&fake.changed);
  }
  (void)pthread_mutex_unlock(&fake.mu);
  return lease != NULL ? WEIR_OK : WEIR_E_HANDLE;
}

int32_t weir_lease_info(weir_h handle,
                        int32_t what,
                        char *buf,
                        uint64_t cap,
                        uint64_t *out_need) {
  (void)out_need;
  if (what != WEIR_INFO_SESSION_ID && what != WEIR_INFO_TLS) {
    return WEIR_E_UNSUPPORTED;
  }
  (void)pthread_mutex_lock(&fake.mu);
  struct fake_lease *lease = find_lease(handle);
  const char *text = what == WEIR_INFO_TLS ? ""
                     : lease != NULL       ? lease->session
                                           : "?";
  (void)snprintf(buf, cap, "%s", text);
  (void)pthread_mutex_unlock(&fake.mu);
  return WEIR_OK;
}

static const struct script *find_script(const char *sql, uint64_t len) {
  for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
    if (strlen(scripts[i].sql) == len &&
        memcmp(scripts[i].sql, sql, len) == 0) {
      return &scripts[i];
    }
  }
  return NULL;
}

static int32_t statement_fails(const struct script *script,
                               struct weir_error *err) {
  bool slow = script->kind == WEIR_DRV_K_TIMEOUT;
  int32_t rc = fail(err, slow ? WEIR_E_TIMEOUT : WEIR_E_FAIL, WEIR_PHASE_EXEC,
                    script->kind, "Incorrect syntax near 'x'.");
  err->native = 102;
  err->native_severity = 15;
  (void)snprintf(err->sqlstate, sizeof err->sqlstate, "42000");
  return rc;
}

int32_t weir_exec(weir_h handle,
                  const char *sql,
                  uint64_t sql_len,
                  const struct weir_exec_opts *opts,
                  struct weir_error *err) {
  (void)opts;
  const struct script *script = find_script(sql, sql_len);
  if (script == NULL) {
    return fail(err, WEIR_E_FAIL, WEIR_PHASE_EXEC, 0, "no such script");
  }
  if (script->how == FAILS) {
    return statement_fails(script, err);
  }
  (void)pthread_mutex_lock(&fake.mu);
  struct fake_lease *lease = find_lease(handle);
  if (lease != NULL) {
    lease->script = script;
    lease->at = 0;
  }
  (void)pthread_mutex_unlock(&fake.mu);
  return lease != NULL ? WEIR_OK : WEIR_E_HANDLE;
}

/* Waits for weir_cancel().  Under fake.mu. */
static int32_t hang(struct fake_lease *lease, struct weir_error *err) {
  (void)fputs("fake: waiting\n", stderr);
  while (fake.open && !lease->cancelled) {
    (void)pthread_cond_wait(&fake.changed, &fake.mu);
  }
  return fail(err, WEIR_E_CANCELLED, WEIR_PHASE_EXEC, WEIR_DRV_K_CANCELLED,
              "cancelled");
}

/* Reads the next item of a lease's script.  Under fake.mu. */
static int32_t next_item(struct fake_lease *lease,
                         struct weir_item *out,
                         struct weir_error *err) {
  const struct weir_item *item = &lease->script->items[lease->at];
  if (lease->script->how == HANGS && item->type == WEIR_ITEM_COUNT) {
    return hang(lease, err);
  }
  if (item->type == 0) {
    return statement_fails(lease->script, err);
  }
  *out = *item;
  out->struct_size = sizeof *out;
  out->columns_stride = sizeof(struct weir_column);
  out->rows = item->type == WEIR_ITEM_ROWS ? ROWS : 0;
  bool stay = lease->script->how == ENDLESS && item->type == WEIR_ITEM_ROWS;
  lease->at += stay && !lease->cancelled ? 0 : 1;
  return WEIR_OK;
}

int32_t weir_next(weir_h handle,
                  struct weir_item *out,
                  struct weir_error *err) {
  (void)pthread_mutex_lock(&fake.mu);
  struct fake_lease *lease = find_lease(handle);
  int32_t rc = WEIR_E_HANDLE;
  if (lease != NULL && lease->script != NULL) {
    rc = next_item(lease, out, err);
  }
  (void)pthread_mutex_unlock(&fake.mu);
  return rc;
}

int32_t weir_cancel(weir_h handle) {
  (void)pthread_mutex_lock(&fake.mu);
  struct fake_lease *lease = find_lease(handle);
  if (lease != NULL) {
    lease->cancelled = true;
    (void)pthread_cond_broadcast(&fake.changed);
  }
  (void)pthread_mutex_unlock(&fake.mu);
  return lease != NULL ? WEIR_OK : WEIR_E_HANDLE;
}

int32_t weir_rows_free(weir_h rows) {
  return rows == ROWS ? WEIR_OK : WEIR_E_HANDLE;
}
