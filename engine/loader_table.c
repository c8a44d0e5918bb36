/* SPDX-License-Identifier: MIT */
/* The engine never tests a slot for NULL: a mandatory one is checked here, an
 * optional one is replaced here. */
#include "loader_table.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "loader_file.h"
#include "loader_search.h"
#include "status.h"

/* ------------------------------------------------------------------- stubs */

/* err: memory of ours, so its size is known; the session is as it was. */
static weir_drv_status absent(struct weir_drv_error *err, const char *slot) {
  if (err != NULL) {
    err->scope = WEIR_DRV_SCOPE_STATEMENT;
    err->kind = WEIR_DRV_K_UNSUPPORTED;
    err->retry = WEIR_DRV_RETRY_NO;
    if (err->message != NULL && err->message_cap != 0) {
      err->message_len =
          weir__text_format(err->message, err->message_cap,
                            "the driver does not offer %s()", slot);
    }
  }
  return WEIR_DRV_E_UNSUPPORTED;
}

static const void *no_extension(weir_drv_drv *d,
                                const char *name,
                                uint32_t min_version) {
  (void)d;
  (void)name;
  (void)min_version;
  return NULL;
}

static weir_drv_status no_config_info(weir_drv_drv *d,
                                      const weir_drv_cfg *c,
                                      struct weir_drv_config_info *out) {
  (void)d;
  (void)c;
  (void)out;
  return WEIR_DRV_E_UNSUPPORTED;
}

static void no_interrupt(weir_drv_conn *c) {
  (void)c;
}

static weir_drv_status no_idle(weir_drv_conn *c, struct weir_drv_wait *wait) {
  (void)c;
  (void)wait;
  return WEIR_DRV_E_UNSUPPORTED;
}

static weir_drv_status no_ping(weir_drv_conn *c,
                               struct weir_drv_wait *wait,
                               struct weir_drv_error *err) {
  (void)c;
  (void)wait;
  return absent(err, "ping");
}

static weir_drv_status no_reset(weir_drv_conn *c,
                                const struct weir_drv_reset_args *a,
                                struct weir_drv_wait *wait,
                                struct weir_drv_error *err) {
  (void)c;
  (void)a;
  (void)wait;
  return absent(err, "reset");
}

static weir_drv_status no_txn(weir_drv_conn *c,
                              const struct weir_drv_txn_args *a,
                              struct weir_drv_wait *wait,
                              struct weir_drv_error *err) {
  (void)c;
  (void)a;
  (void)wait;
  return absent(err, "txn");
}

static weir_drv_status no_logout(weir_drv_conn *c,
                                 struct weir_drv_wait *wait,
                                 struct weir_drv_error *err) {
  (void)c;
  (void)wait;
  return absent(err, "logout");
}

static weir_drv_status no_cancel(weir_drv_conn *c,
                                 struct weir_drv_wait *wait,
                                 struct weir_drv_error *err) {
  (void)c;
  (void)wait;
  return absent(err, "cancel");
}

/* ------------------------------------------------------------------ checks */

/* What the text of a refusal needs. */
struct place {
  const char *path;
  struct weir_error *err;
};

static int refuse(const struct place *at,
                  const char *found,
                  const char *wanted,
                  const char *advice) {
  return weir__driver_refuse(at->err, "driver", at->path, found, wanted,
                             advice);
}

/* The mandatory slots, and which optional one each capability demands. */
struct slot {
  const char *name;
  size_t at;
  uint64_t caps; /* mandatory if the driver claims one of these; 0: always */
};

#define ALWAYS(slot) \
  { #slot, offsetof(struct weir_driver, slot), 0 }
#define WITH(slot, cap) \
  { #slot, offsetof(struct weir_driver, slot), (cap) }

static const struct slot slots[] = {
    ALWAYS(open),
    ALWAYS(close),
    ALWAYS(options),
    ALWAYS(config_create),
    ALWAYS(config_destroy),
    ALWAYS(config_key),
    ALWAYS(conn_create),
    ALWAYS(conn_destroy),
    ALWAYS(abort_conn),
    ALWAYS(get),
    ALWAYS(health),
    ALWAYS(connect),
    ALWAYS(exec),
    ALWAYS(step),
    ALWAYS(columns),
    WITH(idle, WEIR_DRV_CAP_IDLE_WATCH),
    WITH(reset, WEIR_DRV_CAP_RESET_LAZY | WEIR_DRV_CAP_RESET_EAGER),
    WITH(txn, WEIR_DRV_CAP_TXN | WEIR_DRV_CAP_2PC),
    WITH(cancel, WEIR_DRV_CAP_CANCEL)};

#undef ALWAYS
#undef WITH

/* True if a slot of a table is NULL.  Function pointers of all types have one
 * representation here, and zeros are NULL. */
static bool is_null(const struct weir_driver *t, size_t at) {
  void (*fn)(void);
  memcpy(&fn, (const char *)t + at, sizeof fn);
  return fn == NULL;
}

/* The optional slots and their bits. */
static const struct {
  size_t at;
  uint32_t bit;
} optional[] = {
    {offsetof(struct weir_driver, extension), WEIR_DRIVER_HAS_EXTENSION},
    {offsetof(struct weir_driver, config_info), WEIR_DRIVER_HAS_CONFIG_INFO},
    {offsetof(struct weir_driver, interrupt), WEIR_DRIVER_HAS_INTERRUPT},
    {offsetof(struct weir_driver, idle), WEIR_DRIVER_HAS_IDLE},
    {offsetof(struct weir_driver, ping), WEIR_DRIVER_HAS_PING},
    {offsetof(struct weir_driver, reset), WEIR_DRIVER_HAS_RESET},
    {offsetof(struct weir_driver, txn), WEIR_DRIVER_HAS_TXN},
    {offsetof(struct weir_driver, logout), WEIR_DRIVER_HAS_LOGOUT},
    {offsetof(struct weir_driver, cancel), WEIR_DRIVER_HAS_CANCEL}};

/* Sets d->has and puts a stub where a driver has nothing. */
static void fill_optional(struct weir__driver *d) {
  struct weir_driver *t = &d->table;
  d->has = 0;
  for (size_t i = 0; i < sizeof optional / sizeof optional[0]; i++) {
    d->has |= is_null(t, optional[i].at) ? 0 : optional[i].bit;
  }
  t->extension = t->extension == NULL ? no_extension : t->extension;
  t->config_info = t->config_info == NULL ? no_config_info : t->config_info;
  t->interrupt = t->interrupt == NULL ? no_interrupt : t->interrupt;
  t->idle = t->idle == NULL ? no_idle : t->idle;
  t->ping = t->ping == NULL ? no_ping : t->ping;
  t->reset = t->reset == NULL ? no_reset : t->reset;
  t->txn = t->txn == NULL ? no_txn : t->txn;
  t->logout = t->logout == NULL ? no_logout : t->logout;
  t->cancel = t->cancel == NULL ? no_cancel : t->cancel;
}

static int check_slots(const struct weir_driver *t, const struct place *at) {
  for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
    const struct slot *s = &slots[i];
    if (!is_null(t, s->at) || (s->caps != 0 && (t->caps & s->caps) == 0)) {
      continue;
    }
    char found[96];
    (void)weir__text_format(found, sizeof found,
                            "that the slot %s of its table is NULL", s->name);
    return refuse(at, found,
                  s->caps == 0 ? "a function: the slot is mandatory"
                               : "a function: its capabilities promise one",
                  "report this to the author of the driver");
  }
  return WEIR_OK;
}

/* The first members, which say whether the rest may be believed. */
static int check_head(const struct weir_driver *theirs,
                      const struct place *at) {
  char found[96];
  char wanted[96];
  const uint32_t size = theirs->struct_size;
  if (size < WEIR_DRV_DRIVER_SIZE_V0) {
    (void)weir__text_format(found, sizeof found, "a table of %" PRIu32 " bytes",
                            size);
    (void)weir__text_format(wanted, sizeof wanted, "at least %u",
                            WEIR_DRV_DRIVER_SIZE_V0);
    return refuse(at, found, wanted,
                  "set struct_size to sizeof(struct weir_driver)");
  }
  if (theirs->magic != WEIR_DRV_MAGIC) {
    (void)weir__text_format(found, sizeof found,
                            "a table with magic %08" PRIx32, theirs->magic);
    (void)weir__text_format(wanted, sizeof wanted, "%08" PRIx32,
                            WEIR_DRV_MAGIC);
    return refuse(at, found, wanted, "set magic to WEIR_DRV_MAGIC");
  }
  if (theirs->abi_hash != WEIR_DRV_ABI_HASH) {
    (void)weir__text_format(found, sizeof found,
                            "a table with hash %016" PRIx64, theirs->abi_hash);
    (void)weir__text_format(wanted, sizeof wanted, "%016" PRIx64,
                            WEIR_DRV_ABI_HASH);
    return refuse(at, found, wanted,
                  "rebuild the driver with the weir_driver.h of this engine");
  }
  return WEIR_OK;
}

/* What the driver asks of an engine that this one does not do. */
static int check_demands(const struct weir_driver *t, const struct place *at) {
  char found[96];
  if (t->min_host_minor > WEIR_DRV_ABI_MINOR) {
    (void)weir__text_format(found, sizeof found,
                            "that it needs driver ABI %u.%" PRIu32,
                            WEIR_DRV_ABI_MAJOR, t->min_host_minor);
    char wanted[32];
    (void)weir__text_format(wanted, sizeof wanted, "at most %u.%u",
                            WEIR_DRV_ABI_MAJOR, WEIR_DRV_ABI_MINOR);
    return refuse(at, found, wanted, "update the engine");
  }
  if ((t->caps & WEIR_DRV_CAP_BLOCKING) != 0) {
    return refuse(at, "a blocking driver (WEIR_DRV_CAP_BLOCKING)",
                  "one whose calls do not block",
                  "this engine does not run blocking drivers yet");
  }
  if (t->thread_model != WEIR_DRV_THREAD_PER_CONN) {
    (void)weir__text_format(found, sizeof found, "thread model %" PRId32,
                            t->thread_model);
    return refuse(at, found, "WEIR_DRV_THREAD_PER_CONN",
                  "this engine does not run drivers of other models yet");
  }
  return WEIR_OK;
}

/* Copies a name of the driver's; false if it is not one. */
static bool copy_name(char to[WEIR_DRIVER_NAME_MAX], const char *from) {
  const size_t n = strnlen(from, WEIR_DRIVER_NAME_MAX);
  if (!weir__driver_name_ok(from, n)) {
    return false;
  }
  memcpy(to, from, n);
  to[n] = '\0';
  return true;
}

static int check_name(const struct weir_driver *t,
                      const char *wanted_name,
                      char out_name[WEIR_DRIVER_NAME_MAX],
                      const struct place *at) {
  char found[96];
  char wanted[96];
  if (t->name == NULL || !copy_name(out_name, t->name)) {
    return refuse(at, "a table without a proper name",
                  "1 to 31 of a-z, 0-9 and _",
                  "report this to the author of the driver");
  }
  if (wanted_name != NULL && strcmp(out_name, wanted_name) != 0) {
    (void)weir__text_format(found, sizeof found, "a driver called %s",
                            out_name);
    (void)weir__text_format(wanted, sizeof wanted, "one called %s",
                            wanted_name);
    return refuse(at, found, wanted, "name the file as the driver is called");
  }
  return WEIR_OK;
}

int weir__driver_table_take(struct weir__driver *d,
                            const struct weir_driver *theirs,
                            const char *path,
                            const char *wanted_name,
                            struct weir_error *err) {
  const struct place at = {path, err};
  struct weir_driver ours = {0};
  char name[WEIR_DRIVER_NAME_MAX];
  int rc = check_head(theirs, &at);
  if (rc != WEIR_OK) {
    return rc;
  }
  const size_t size = theirs->struct_size;
  memcpy(&ours, theirs, size < sizeof ours ? size : sizeof ours);
  ours.struct_size = sizeof ours;
  rc = check_demands(&ours, &at);
  rc = rc == WEIR_OK ? check_name(&ours, wanted_name, name, &at) : rc;
  rc = rc == WEIR_OK ? check_slots(&ours, &at) : rc;
  if (rc != WEIR_OK) {
    return rc;
  }
  d->table = ours;
  memcpy(d->name, name, sizeof d->name);
  (void)weir__text_copy(
      d->version, sizeof d->version, ours.version == NULL ? "" : ours.version,
      ours.version == NULL ? 0 : strnlen(ours.version, sizeof d->version));
  fill_optional(d);
  return WEIR_OK;
}

void weir__driver_stmt_take(struct weir__driver *d) {
  const struct weir_drv_stmt_api *theirs =
      d->table.extension(d->instance, WEIR_DRV_STMT_NAME, 1);
  struct weir_drv_stmt_api ours = {0};
  if (theirs == NULL || theirs->struct_size < WEIR_DRV_STMT_API_SIZE_V0) {
    return;
  }
  memcpy(&ours, theirs,
         theirs->struct_size < sizeof ours ? theirs->struct_size : sizeof ours);
  if (ours.version >= 1 && ours.exec != NULL) {
    d->stmt = ours;
  }
}
