/* SPDX-License-Identifier: MIT */
/* Configurations: the keywords, the key, and reading a script file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mock.h"

#define TEXT(s) \
  { .p = (s), .n = sizeof(s) - 1 }
#define OPTION(type_, flags_, name_, aliases_, fallback_, help_)  \
  {                                                               \
    .struct_size = (uint32_t)sizeof(struct weir_drv_option_info), \
    .type = (type_), .flags = (flags_), .name = TEXT(name_),      \
    .aliases = TEXT(aliases_), .fallback = TEXT(fallback_),       \
    .help = TEXT(help_)                                           \
  }

static const struct weir_drv_option_info infos[] = {
    OPTION(WEIR_DRV_T_TEXT,
           WEIR_DRV_OPT_KEY,
           "Mock Server",
           "Server,Data Source",
           "mock",
           "Name of the server: connections to one name share an endpoint"),
    OPTION(WEIR_DRV_T_TEXT,
           WEIR_DRV_OPT_KEY,
           "Database",
           "Initial Catalog",
           "",
           "Name of the database"),
    OPTION(WEIR_DRV_T_TEXT,
           WEIR_DRV_OPT_KEY,
           "User ID",
           "UID,User",
           "",
           "Name to log in with"),
    OPTION(WEIR_DRV_T_TEXT,
           WEIR_DRV_OPT_KEY | WEIR_DRV_OPT_SECRET,
           "Password",
           "PWD",
           "",
           "Password to log in with; asked for when it is given"),
    OPTION(WEIR_DRV_T_TEXT,
           WEIR_DRV_OPT_KEY | WEIR_DRV_OPT_SECRET,
           "Access Token",
           "",
           "",
           "Token to log in with; asked for when it is given"),
    OPTION(WEIR_DRV_T_BOOL,
           WEIR_DRV_OPT_KEY,
           "Mock Bearer",
           "",
           "false",
           "Ask for an access token, given or not"),
    OPTION(WEIR_DRV_T_TEXT,
           WEIR_DRV_OPT_KEY,
           "Mock Connect Delay",
           "",
           "0",
           "How long a login takes, e.g. 5ms"),
    OPTION(WEIR_DRV_T_TEXT,
           WEIR_DRV_OPT_KEY,
           "Mock Exec Delay",
           "",
           "0",
           "How long a statement takes"),
    OPTION(WEIR_DRV_T_TEXT,
           WEIR_DRV_OPT_KEY,
           "Mock Reset Delay",
           "",
           "0",
           "How long a reset takes"),
    OPTION(WEIR_DRV_T_TEXT,
           WEIR_DRV_OPT_KEY,
           "Mock Script",
           "",
           "",
           "File with a script"),
    OPTION(WEIR_DRV_T_TEXT,
           WEIR_DRV_OPT_KEY,
           "Mock Script Text",
           "",
           "",
           "The script itself"),
    OPTION(WEIR_DRV_T_BOOL,
           WEIR_DRV_OPT_KEY,
           "Mock Strict",
           "",
           "false",
           "Abort when the engine breaks the contract, not only count"),
    OPTION(WEIR_DRV_T_BOOL,
           WEIR_DRV_OPT_KEY,
           "Mock Idle Watch",
           "",
           "true",
           "Offer a descriptor by which a dead idle session is noticed"),
    OPTION(WEIR_DRV_T_BOOL,
           WEIR_DRV_OPT_KEY,
           "Mock Cloud",
           "",
           "false",
           "Say that the server is a cloud host"),
};

weir_drv_status mock_options(weir_drv_drv *d,
                             const struct weir_drv_option_info **arr,
                             uint32_t *n,
                             uint32_t *stride) {
  (void)d;
  *arr = infos;
  *n = (uint32_t)(sizeof infos / sizeof infos[0]);
  *stride = (uint32_t)sizeof infos[0];
  return WEIR_DRV_DONE;
}

/* ------------------------------------------------------------------ values */

static weir_drv_status bad_option(struct weir_drv_error *err,
                                  const struct weir_drv_option *o,
                                  const char *wanted) {
  return mock_fail(err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_CONFIG,
                   "%.*s: expected %s", (int)(o->name.n < 64 ? o->name.n : 64),
                   o->name.p, wanted);
}

static weir_drv_status keep_text(weir_drv_cfg *c,
                                 const struct weir_drv_text *text,
                                 struct weir_drv_text *out,
                                 struct weir_drv_error *err) {
  const struct weir_drv_host *host = c->drv->host;
  char *copy = host->alloc(host->ctx, text->n + 1, 0);
  if (copy == NULL) {
    (void)mock_fail(err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_RESOURCE,
                    "no memory for the configuration");
    return WEIR_DRV_E_NOMEM;
  }
  if (text->n != 0) {
    memcpy(copy, text->p, text->n);
  }
  if (out->p != NULL) {
    void *old;
    memcpy(&old, &out->p, sizeof old);
    host->release(host->ctx, old);
  }
  *out = (struct weir_drv_text){.p = copy, .n = text->n};
  return WEIR_DRV_DONE;
}

/* Names and file names; a byte 0 in one would be cut off silently. */
static weir_drv_status take_text(weir_drv_cfg *c,
                                 const struct weir_drv_option *o,
                                 struct weir_drv_text *out,
                                 struct weir_drv_error *err) {
  struct weir_drv_text text = {.p = o->value.p, .n = o->value.n};
  if (o->value.type != WEIR_DRV_T_TEXT || text.n > MOCK_SCRIPT_BYTES_MAX ||
      (text.n != 0 && memchr(text.p, '\0', text.n) != NULL)) {
    return bad_option(err, o, "a text of at most 65536 bytes without NUL");
  }
  return keep_text(c, &text, out, err);
}

static weir_drv_status take_duration(const struct weir_drv_option *o,
                                     uint64_t *out,
                                     struct weir_drv_error *err) {
  const struct weir_drv_value *v = &o->value;
  if (v->type == WEIR_DRV_T_INT && v->i >= 0 && v->i <= INT32_MAX) {
    *out = (uint64_t)v->i * UINT64_C(1000000000);
    return WEIR_DRV_DONE;
  }
  if (v->type != WEIR_DRV_T_TEXT || !mock_duration_parse(v->p, v->n, out)) {
    return bad_option(err, o, "a duration such as 5ms or 1.5 s");
  }
  return WEIR_DRV_DONE;
}

static weir_drv_status take_bool(const struct weir_drv_option *o,
                                 bool *out,
                                 struct weir_drv_error *err) {
  const struct weir_drv_value *v = &o->value;
  bool text = v->type == WEIR_DRV_T_TEXT;
  bool yes =
      text ? mock_word_is(v->p, v->n, "true") || mock_word_is(v->p, v->n, "yes")
           : v->i == 1;
  bool no =
      text ? mock_word_is(v->p, v->n, "false") || mock_word_is(v->p, v->n, "no")
           : v->i == 0;
  if ((!text && v->type != WEIR_DRV_T_BOOL) || yes == no) {
    return bad_option(err, o, "true or false");
  }
  *out = yes;
  return WEIR_DRV_DONE;
}

/* ------------------------------------------------------------------ script */

/* The one read of a file in this driver.  It happens while a configuration is
 * made, never while a connection is used, and from a regular file only, so that
 * a pipe cannot make it wait. */
static weir_drv_status read_file(const char *path,
                                 char *buf,
                                 uint64_t cap,
                                 uint64_t *out_n,
                                 struct weir_drv_error *err) {
  struct stat st = {0};
  uint64_t n = 0;
  ssize_t got = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  int rc = fd < 0 || fstat(fd, &st) != 0 ? errno : 0;
  if (rc == 0 && !S_ISREG(st.st_mode)) {
    rc = EINVAL;
  }
  while (rc == 0 && n < cap) {
    got = read(fd, buf + n, cap - n);
    if (got <= 0) {
      rc = got == 0 ? 0 : errno;
      break;
    }
    n += (uint64_t)got;
  }
  if (fd >= 0) {
    (void)close(fd);
  }
  if (rc != 0) {
    return mock_fail(err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_CONFIG,
                     "Mock Script: cannot read %.300s: %s", path,
                     rc == EINVAL ? "not a regular file" : strerrordesc_np(rc));
  }
  *out_n = n;
  return WEIR_DRV_DONE;
}

static weir_drv_status load_file(weir_drv_cfg *c,
                                 const char *path,
                                 struct weir_drv_error *err) {
  const struct weir_drv_host *host = c->drv->host;
  /* One byte more than allowed, so that the parser sees a file that is too
   * long. */
  struct weir_drv_text text = {.n = 0};
  char *buf = host->alloc(host->ctx, MOCK_SCRIPT_BYTES_MAX + 1, 0);
  if (buf == NULL) {
    (void)mock_fail(err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_RESOURCE,
                    "no memory for the script");
    return WEIR_DRV_E_NOMEM;
  }
  text.p = buf;
  weir_drv_status rc =
      read_file(path, buf, MOCK_SCRIPT_BYTES_MAX + 1, &text.n, err);
  if (rc == WEIR_DRV_DONE) {
    rc = keep_text(c, &text, &c->source, err);
  }
  host->release(host->ctx, buf);
  return rc;
}

static weir_drv_status load_script(weir_drv_cfg *c,
                                   const struct weir_drv_text *path,
                                   struct weir_drv_error *err) {
  weir_drv_status rc = WEIR_DRV_DONE;
  if (path->n != 0 && c->source.n != 0) {
    return mock_fail(err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_CONFIG,
                     "Mock Script and Mock Script Text: give one, not both");
  }
  if (path->n != 0) {
    rc = load_file(c, path->p, err);
  }
  if (rc == WEIR_DRV_DONE && c->source.n != 0) {
    rc = mock_script_parse(c->drv->host, &c->source, &c->script, err);
  }
  return rc;
}

/* ---------------------------------------------------------------- creation */

static weir_drv_status take_option(weir_drv_cfg *c,
                                   const struct weir_drv_option *o,
                                   struct weir_drv_text *path,
                                   struct weir_drv_error *err) {
  struct {
    const char *name;
    struct weir_drv_text *text;
    uint64_t *ns;
    bool *flag;
  } targets[] = {{"mock server", &c->server, NULL, NULL},
                 {"database", &c->database, NULL, NULL},
                 {"user id", &c->user, NULL, NULL},
                 {"mock script", path, NULL, NULL},
                 {"mock script text", &c->source, NULL, NULL},
                 {"mock connect delay", NULL, &c->connect_delay_ns, NULL},
                 {"mock exec delay", NULL, &c->exec_delay_ns, NULL},
                 {"mock reset delay", NULL, &c->reset_delay_ns, NULL},
                 {"mock bearer", NULL, NULL, &c->bearer},
                 {"mock strict", NULL, NULL, &c->strict},
                 {"mock idle watch", NULL, NULL, &c->idle_watch},
                 {"mock cloud", NULL, NULL, &c->cloud}};
  if (mock_word_is(o->name.p, o->name.n, "password")) {
    c->has_password = true;
    return WEIR_DRV_DONE;
  }
  if (mock_word_is(o->name.p, o->name.n, "access token")) {
    c->bearer = true;
    return WEIR_DRV_DONE;
  }
  for (uint32_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
    if (!mock_word_is(o->name.p, o->name.n, targets[i].name)) {
      continue;
    }
    return targets[i].text != NULL ? take_text(c, o, targets[i].text, err)
           : targets[i].ns != NULL ? take_duration(o, targets[i].ns, err)
                                   : take_bool(o, targets[i].flag, err);
  }
  return mock_fail(err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_CONFIG,
                   "unknown option '%.*s'",
                   (int)(o->name.n < 64 ? o->name.n : 64), o->name.p);
}

static void release_text(weir_drv_drv *d, const struct weir_drv_text *text) {
  if (text->p != NULL) {
    void *p;
    memcpy(&p, &text->p, sizeof p);
    d->host->release(d->host->ctx, p);
  }
}

void mock_config_unref(weir_drv_cfg *c) {
  weir_drv_drv *d = c->drv;
  /* Acquire on the last: what the others did to it happened before. */
  if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) {
    return;
  }
  mock_script_free(d->host, c->script);
  release_text(d, &c->server);
  release_text(d, &c->user);
  release_text(d, &c->database);
  release_text(d, &c->source);
  d->host->release(d->host->ctx, c);
}

static weir_drv_status fill(weir_drv_cfg *c,
                            const struct weir_drv_option *o,
                            uint32_t n,
                            struct weir_drv_error *err) {
  struct weir_drv_text path = {.p = NULL};
  struct weir_drv_text server = TEXT("mock");
  weir_drv_status rc = keep_text(c, &server, &c->server, err);
  for (uint32_t i = 0; i < n && rc == WEIR_DRV_DONE; i++) {
    rc = take_option(c, &o[i], &path, err);
  }
  if (rc == WEIR_DRV_DONE) {
    rc = load_script(c, &path, err);
  }
  release_text(c->drv, &path);
  return rc;
}

weir_drv_status mock_config_create(weir_drv_drv *d,
                                   const struct weir_drv_option *o,
                                   uint32_t n,
                                   weir_drv_cfg **out,
                                   struct weir_drv_error *err) {
  mock_call_note(d, MOCK_CONFIG_CREATE);
  weir_drv_cfg *c = d->host->alloc(d->host->ctx, sizeof *c, 0);
  if (c == NULL) {
    (void)mock_fail(err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_RESOURCE,
                    "no memory for the configuration");
    return WEIR_DRV_E_NOMEM;
  }
  c->drv = d;
  c->self = c;
  c->idle_watch = true;
  atomic_store_explicit(&c->refs, 1, memory_order_relaxed);
  weir_drv_status rc = fill(c, o, n, err);
  if (rc != WEIR_DRV_DONE) {
    mock_config_unref(c);
    return rc;
  }
  *out = c;
  return WEIR_DRV_DONE;
}

void mock_config_destroy(weir_drv_drv *d, weir_drv_cfg *c) {
  if (c == NULL) {
    return;
  }
  mock_call_note(d, MOCK_CONFIG_DESTROY);
  uint64_t conns = atomic_load_explicit(&c->refs, memory_order_relaxed) - 1;
  (void)atomic_fetch_add_explicit(&d->counters[MOCK_N_LEAKED], conns,
                                  memory_order_relaxed);
  mock_config_unref(c);
}

/* --------------------------------------------------------------------- key */

static weir_drv_status part(const struct weir_drv_key_sink *sink,
                            const char *name,
                            const void *p,
                            uint64_t n) {
  struct weir_drv_text label = {.p = name, .n = strlen(name)};
  struct weir_drv_bytes value = {.p = p, .n = n};
  return n == 0 ? WEIR_DRV_DONE : sink->part(sink->ctx, 0, &label, &value);
}

static weir_drv_status text_part(const struct weir_drv_key_sink *sink,
                                 const char *name,
                                 const struct weir_drv_text *text) {
  return part(sink, name, text->p, text->n);
}

/* Numbers as decimal text, so that a key reads the same everywhere. */
static weir_drv_status number_part(const struct weir_drv_key_sink *sink,
                                   const char *name,
                                   uint64_t v,
                                   uint64_t fallback) {
  char text[24];
  int n = snprintf(text, sizeof text, "%llu", (unsigned long long)v);
  return v == fallback ? WEIR_DRV_DONE : part(sink, name, text, (uint64_t)n);
}

static weir_drv_status pool_parts(const weir_drv_cfg *c,
                                  const struct weir_drv_key_sink *sink) {
  const struct {
    const char *name;
    uint64_t value;
    uint64_t fallback;
  } numbers[] = {{"mock connect delay", c->connect_delay_ns, 0},
                 {"mock exec delay", c->exec_delay_ns, 0},
                 {"mock reset delay", c->reset_delay_ns, 0},
                 {"mock bearer", c->bearer, 0},
                 {"mock strict", c->strict, 0},
                 {"mock idle watch", c->idle_watch, 1},
                 {"mock cloud", c->cloud, 0}};
  weir_drv_status rc = text_part(sink, "mock script text", &c->source);
  for (uint32_t i = 0;
       i < sizeof numbers / sizeof numbers[0] && rc == WEIR_DRV_DONE; i++) {
    rc = number_part(sink, numbers[i].name, numbers[i].value,
                     numbers[i].fallback);
  }
  return rc;
}

weir_drv_status mock_config_key(weir_drv_drv *d,
                                const weir_drv_cfg *c,
                                int32_t which,
                                const struct weir_drv_key_sink *sink) {
  (void)d;
  if (which < WEIR_DRV_KEY_POOL || which > WEIR_DRV_KEY_DISPLAY) {
    return WEIR_DRV_E_UNSUPPORTED;
  }
  weir_drv_status rc = text_part(sink, "mock server", &c->server);
  if (which == WEIR_DRV_KEY_ENDPOINT) {
    return rc;
  }
  rc = rc == WEIR_DRV_DONE ? text_part(sink, "database", &c->database) : rc;
  rc = rc == WEIR_DRV_DONE ? text_part(sink, "user id", &c->user) : rc;
  if (rc == WEIR_DRV_DONE && which == WEIR_DRV_KEY_POOL) {
    rc = pool_parts(c, sink);
  }
  return rc;
}

weir_drv_status mock_config_info(weir_drv_drv *d,
                                 const weir_drv_cfg *c,
                                 struct weir_drv_config_info *out) {
  (void)d;
  out->flags = c->cloud ? WEIR_DRV_CFG_CLOUD : 0;
  return WEIR_DRV_DONE;
}
