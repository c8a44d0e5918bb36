/* SPDX-License-Identifier: MIT */
/* A driver without a server: it does what a script says. */
#include "mock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

WEIR_DRV_DRIVER_NOTE(0);

static weir_drv_status open_driver(const struct weir_drv_host *host,
                                   const struct weir_drv_open_args *a,
                                   weir_drv_drv **out,
                                   struct weir_drv_error *err) {
  (void)a;
  weir_drv_drv *d = host->alloc(host->ctx, sizeof *d, 0);
  if (d == NULL) {
    (void)mock_fail(err, WEIR_DRV_SCOPE_DRIVER, WEIR_DRV_K_RESOURCE,
                    "no memory for the mock driver");
    return WEIR_DRV_E_NOMEM;
  }
  d->host = host;
  d->test = host->service(host->ctx, MOCK_TEST_SERVICE, 1);
  (void)pthread_mutex_init(&d->mu, NULL);
  *out = d;
  return WEIR_DRV_DONE;
}

/* Connections that outlive their driver are a bug of the host: their memory
 * cannot be freed without pulling it from under whoever still uses it. */
static void close_driver(weir_drv_drv *d) {
  uint64_t left = atomic_load_explicit(&d->conns.live, memory_order_acquire);
  if (left != 0) {
    (void)fprintf(stderr, "mock: closed with %llu connection(s) alive\n",
                  (unsigned long long)left);
    if (d->test != NULL) {
      abort();
    }
    return;
  }
  (void)pthread_mutex_destroy(&d->mu);
  d->host->release(d->host->ctx, d);
}

static const void *extension(weir_drv_drv *d,
                             const char *name,
                             uint32_t min_version) {
  (void)d;
  if (strcmp(name, WEIR_DRV_STMT_NAME) == 0 &&
      min_version <= mock_stmt_table.version) {
    return &mock_stmt_table;
  }
  bool known = strcmp(name, MOCK_CONTROL_NAME) == 0 &&
               min_version <= MOCK_CONTROL_VERSION;
  return known ? &mock_control_table : NULL;
}

static const struct weir_driver table = {
    .struct_size = (uint32_t)sizeof(struct weir_driver),
    .magic = WEIR_DRV_MAGIC,
    .abi_hash = WEIR_DRV_ABI_HASH,
    .abi_minor = WEIR_DRV_ABI_MINOR,
    .min_host_minor = 0,
    .thread_model = WEIR_DRV_THREAD_PER_CONN,
    .caps = WEIR_DRV_CAP_CANCEL | WEIR_DRV_CAP_RESET_LAZY |
            WEIR_DRV_CAP_RESET_EAGER | WEIR_DRV_CAP_TXN |
            WEIR_DRV_CAP_IDLE_WATCH | WEIR_DRV_CAP_PARAMS |
            WEIR_DRV_CAP_OWN_FDS,
    .name = "mock",
    .version = "1.0",
    .open = open_driver,
    .close = close_driver,
    .extension = extension,
    .options = mock_options,
    .config_create = mock_config_create,
    .config_destroy = mock_config_destroy,
    .config_key = mock_config_key,
    .config_info = mock_config_info,
    .conn_create = mock_conn_create,
    .conn_destroy = mock_conn_destroy,
    .abort_conn = mock_conn_abort,
    .get = mock_conn_get,
    .health = mock_conn_health,
    .idle = mock_conn_idle,
    .connect = mock_op_connect,
    .ping = mock_op_ping,
    .reset = mock_op_reset,
    .txn = mock_op_txn,
    .exec = mock_op_exec,
    .logout = mock_op_logout,
    .step = mock_op_step,
    .cancel = mock_op_cancel,
    .columns = mock_conn_columns,
};

const struct weir_driver *weir_driver_entry_v0(uint32_t host_abi_minor) {
  (void)host_abi_minor;
  return &table;
}
