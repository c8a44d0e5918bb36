/* SPDX-License-Identifier: MIT */
/* A driver that does nothing, correctly, unless a definition says otherwise:
 * tests/abi/CMakeLists.txt builds one file per defect from it.
 *
 * NAME, TABLE_SIZE, MAGIC, TABLE_HASH, MIN_HOST, CAPS, THREADS and NOTE_*
 * replace one value each; NO_EXEC, NO_NOTE and NO_ENTRY leave something out;
 * OPEN_FAILS, OPEN_NOTHING and ROWDY change what open() does; REFUSES is an
 * entry that gives nothing; UNRESOLVED calls a function that nobody has. */
#include <string.h>

#include "weir_driver.h"

#ifndef NAME
#  define NAME "good"
#endif
#ifndef TABLE_SIZE
#  define TABLE_SIZE sizeof(struct weir_driver)
#endif
#ifndef MAGIC
#  define MAGIC WEIR_DRV_MAGIC
#endif
#ifndef TABLE_HASH
#  define TABLE_HASH WEIR_DRV_ABI_HASH
#endif
#ifndef MIN_HOST
#  define MIN_HOST 0u
#endif
#ifndef CAPS
#  define CAPS 0u
#endif
#ifndef THREADS
#  define THREADS WEIR_DRV_THREAD_PER_CONN
#endif
struct weir_drv_drv {
  const struct weir_drv_host *host;
};

#if defined(UNRESOLVED)
int weir_test_nobody_has_this(void);
#endif

#if defined(OPEN_FAILS)
static void say(struct weir_drv_error *err) {
  static const char text[] = "the licence server is not there";
  err->scope = WEIR_DRV_SCOPE_DRIVER;
  err->kind = WEIR_DRV_K_RESOURCE;
  err->native = 4711;
  memcpy(err->sqlstate, "08001", 6);
  memcpy(err->message, text, sizeof text);
  err->message_len = sizeof text - 1;
}
#endif

#if defined(ROWDY)
#  include <pthread.h>
#  include <unistd.h>

/* Everything a driver must not do, and what dlclose() would turn into a crash:
 * a thread that never ends and a destructor that runs at a thread's exit. */
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void at_thread_exit(void *value) {
  const struct weir_drv_host *host = value;
  host->log(host->ctx, NULL, WEIR_DRV_LOG_INFO, NULL);
}

static void *stay(void *arg) {
  for (;;) {
    (void)pause();
  }
  return arg;
}

static void start(void) {
  pthread_t thread;
  (void)pthread_key_create(&key, at_thread_exit);
  if (pthread_create(&thread, NULL, stay, NULL) == 0) {
    (void)pthread_detach(thread);
  }
}
#endif

static weir_drv_status open_driver(const struct weir_drv_host *host,
                                   const struct weir_drv_open_args *a,
                                   weir_drv_drv **out,
                                   struct weir_drv_error *err) {
  (void)a;
  (void)err;
#if defined(OPEN_FAILS)
  (void)host;
  (void)out;
  say(err);
  return WEIR_DRV_FAIL;
#elif defined(OPEN_NOTHING)
  (void)host;
  (void)out;
  return WEIR_DRV_DONE;
#else
  weir_drv_drv *d = host->alloc(host->ctx, sizeof *d, 0);
  if (d == NULL) {
    return WEIR_DRV_E_NOMEM;
  }
  d->host = host;
  *out = d;
#  if defined(ROWDY)
  (void)pthread_once(&once, start);
  (void)pthread_setspecific(key, host);
#  endif
#  if defined(UNRESOLVED)
  return weir_test_nobody_has_this();
#  else
  return WEIR_DRV_DONE;
#  endif
#endif
}

static void close_driver(weir_drv_drv *d) {
  const struct weir_drv_host *host = d->host;
  host->release(host->ctx, d);
}

static weir_drv_status list_options(weir_drv_drv *d,
                                    const struct weir_drv_option_info **arr,
                                    uint32_t *n,
                                    uint32_t *stride) {
  (void)d;
  *arr = NULL;
  *n = 0;
  *stride = sizeof(struct weir_drv_option_info);
  return WEIR_DRV_DONE;
}

static weir_drv_status make_config(weir_drv_drv *d,
                                   const struct weir_drv_option *o,
                                   uint32_t n,
                                   weir_drv_cfg **out,
                                   struct weir_drv_error *err) {
  (void)d;
  (void)o;
  (void)n;
  (void)out;
  (void)err;
  return WEIR_DRV_E_UNSUPPORTED;
}

static void drop_config(weir_drv_drv *d, weir_drv_cfg *c) {
  (void)d;
  (void)c;
}

static weir_drv_status tell_key(weir_drv_drv *d,
                                const weir_drv_cfg *c,
                                int32_t which,
                                const struct weir_drv_key_sink *sink) {
  (void)d;
  (void)c;
  (void)which;
  (void)sink;
  return WEIR_DRV_E_UNSUPPORTED;
}

static weir_drv_status make_conn(weir_drv_drv *d,
                                 const weir_drv_cfg *c,
                                 weir_drv_hconn *hc,
                                 weir_drv_conn **out,
                                 struct weir_drv_error *err) {
  (void)d;
  (void)c;
  (void)hc;
  (void)out;
  (void)err;
  return WEIR_DRV_E_UNSUPPORTED;
}

static void drop_conn(weir_drv_conn *c) {
  (void)c;
}

static void stop_conn(weir_drv_conn *c, int32_t how) {
  (void)c;
  (void)how;
}

static weir_drv_status get(weir_drv_conn *c,
                           int32_t prop,
                           struct weir_drv_value *out) {
  (void)c;
  (void)prop;
  (void)out;
  return WEIR_DRV_E_UNSUPPORTED;
}

static int32_t health(weir_drv_conn *c) {
  (void)c;
  return WEIR_DRV_ALIVE_NO;
}

static weir_drv_status run_connect(weir_drv_conn *c,
                                   const struct weir_drv_connect_args *a,
                                   struct weir_drv_wait *wait,
                                   struct weir_drv_error *err) {
  (void)c;
  (void)a;
  (void)wait;
  (void)err;
  return WEIR_DRV_FAIL;
}

#if !defined(NO_EXEC)
static weir_drv_status run_exec(weir_drv_conn *c,
                                const struct weir_drv_exec_args *a,
                                struct weir_drv_wait *wait,
                                struct weir_drv_error *err) {
  (void)c;
  (void)a;
  (void)wait;
  (void)err;
  return WEIR_DRV_FAIL;
}
#  define EXEC run_exec
#else
#  define EXEC NULL
#endif

static weir_drv_status step(weir_drv_conn *c,
                            const struct weir_drv_wake *wake,
                            struct weir_drv_wait *wait,
                            struct weir_drv_error *err) {
  (void)c;
  (void)wake;
  (void)wait;
  (void)err;
  return WEIR_DRV_FAIL;
}

static weir_drv_status columns(weir_drv_conn *c,
                               const struct weir_drv_column **arr,
                               uint32_t *n,
                               uint32_t *stride) {
  (void)c;
  (void)arr;
  (void)n;
  (void)stride;
  return WEIR_DRV_FAIL;
}

/* By hand, since each member is somebody's defect. */
#if !defined(NO_NOTE)
#  ifndef NOTE_MAJOR
#    define NOTE_MAJOR WEIR_DRV_ABI_MAJOR
#  endif
#  ifndef NOTE_HASH
#    define NOTE_HASH WEIR_DRV_ABI_HASH
#  endif
#  ifndef NOTE_MIN_HOST
#    define NOTE_MIN_HOST 0u
#  endif
__attribute__((section(WEIR_DRV_NOTE_SECTION),
               used,
               aligned(4))) static const struct weir_drv_elf_note note = {
    5u,
    24u,
    NOTE_MAJOR,
    {'W', 'E', 'I', 'R', 0, 0, 0, 0},
    WEIR_DRV_ABI_MINOR,
    NOTE_MIN_HOST,
    (uint32_t)(NOTE_HASH & 0xFFFFFFFFu),
    (uint32_t)(NOTE_HASH >> 32),
    0u,
    0u};
#endif

static const struct weir_driver table = {.struct_size = (uint32_t)TABLE_SIZE,
                                         .magic = MAGIC,
                                         .abi_hash = TABLE_HASH,
                                         .abi_minor = WEIR_DRV_ABI_MINOR,
                                         .min_host_minor = MIN_HOST,
                                         .thread_model = THREADS,
                                         .caps = CAPS,
                                         .name = NAME,
                                         .version = "1.2.3",
                                         .open = open_driver,
                                         .close = close_driver,
                                         .options = list_options,
                                         .config_create = make_config,
                                         .config_destroy = drop_config,
                                         .config_key = tell_key,
                                         .conn_create = make_conn,
                                         .conn_destroy = drop_conn,
                                         .abort_conn = stop_conn,
                                         .get = get,
                                         .health = health,
                                         .connect = run_connect,
                                         .exec = EXEC,
                                         .step = step,
                                         .columns = columns};

#if defined(NO_ENTRY)
WEIR_DRV_EXPORT const struct weir_driver *weir_driver_entry_v9999(
    uint32_t host_abi_minor);
#  define ENTRY weir_driver_entry_v9999
#else
#  define ENTRY weir_driver_entry_v0
#endif

WEIR_DRV_EXPORT const struct weir_driver *ENTRY(uint32_t host_abi_minor) {
#if defined(REFUSES)
  return host_abi_minor == UINT32_MAX ? &table : NULL;
#else
  (void)host_abi_minor;
  return &table;
#endif
}
