/* SPDX-License-Identifier: MIT */
/* tds_driver.c - the table that the engine loads. */
#include <string.h>

#include "weir_driver.h"

#include "tds_conn.h"
#include "tds_fail.h"

WEIR_DRV_DRIVER_NOTE(0u);

static weir_drv_status open_driver(const struct weir_drv_host *host,
                                   const struct weir_drv_open_args *a,
                                   weir_drv_drv **out,
                                   struct weir_drv_error *err) {
  (void)a;
  if (host->struct_size < WEIR_DRV_HOST_SIZE_V0) {
    return tds_fail(err, WEIR_DRV_SCOPE_DRIVER, WEIR_DRV_K_UNSUPPORTED,
                    WEIR_DRV_RETRY_NO, "tds: the host's table is too short");
  }
  struct weir_drv_drv *d = host->alloc(host->ctx, sizeof *d, 0);
  if (d == NULL) {
    return tds_fail(err, WEIR_DRV_SCOPE_DRIVER, WEIR_DRV_K_RESOURCE,
                    WEIR_DRV_RETRY_NO, "tds: out of memory");
  }
  memcpy(&d->host, host, sizeof d->host);
  d->mem.ctx = host->ctx;
  d->mem.alloc = host->alloc;
  d->mem.release = host->release;
  *out = d;
  return WEIR_DRV_DONE;
}

static void close_driver(weir_drv_drv *d) {
  d->mem.release(d->mem.ctx, d);
}

static const void *extension(weir_drv_drv *d,
                             const char *name,
                             uint32_t min_version) {
  (void)d;
  bool known = strcmp(name, WEIR_DRV_STMT_NAME) == 0 &&
               min_version <= tds_stmt_api.version;
  return known ? &tds_stmt_api : NULL;
}

static weir_drv_status options(weir_drv_drv *d,
                               const struct weir_drv_option_info **arr,
                               uint32_t *n,
                               uint32_t *stride) {
  (void)d;
  *arr = tds_options_list(n);
  *stride = sizeof **arr;
  return WEIR_DRV_DONE;
}

static weir_drv_status config_create(weir_drv_drv *d,
                                     const struct weir_drv_option *o,
                                     uint32_t n,
                                     weir_drv_cfg **out,
                                     struct weir_drv_error *err) {
  return tds_options_parse(&d->mem, o, n, out, err);
}

static void config_destroy(weir_drv_drv *d, weir_drv_cfg *cfg) {
  (void)d;
  tds_options_free(cfg);
}

static weir_drv_status config_key(weir_drv_drv *d,
                                  const weir_drv_cfg *cfg,
                                  int32_t which,
                                  const struct weir_drv_key_sink *sink) {
  (void)d;
  return tds_options_key(cfg, which, sink);
}

static weir_drv_status config_info(weir_drv_drv *d,
                                   const weir_drv_cfg *cfg,
                                   struct weir_drv_config_info *out) {
  (void)d;
  out->flags = tds_options_cloud(cfg) ? WEIR_DRV_CFG_CLOUD : 0;
  return WEIR_DRV_DONE;
}

static const struct weir_driver table = {
    .struct_size = sizeof table,
    .magic = WEIR_DRV_MAGIC,
    .abi_hash = WEIR_DRV_ABI_HASH,
    .abi_minor = WEIR_DRV_ABI_MINOR,
    .min_host_minor = 0,
    .thread_model = WEIR_DRV_THREAD_PER_CONN,
    .caps = WEIR_DRV_CAP_PARAMS | WEIR_DRV_CAP_CANCEL |
            WEIR_DRV_CAP_RESET_LAZY | WEIR_DRV_CAP_RESET_EAGER |
            WEIR_DRV_CAP_TXN | WEIR_DRV_CAP_IDLE_WATCH,
    .name = "tds",
    .version = "0.1.0",
    .open = open_driver,
    .close = close_driver,
    .extension = extension,
    .options = options,
    .config_create = config_create,
    .config_destroy = config_destroy,
    .config_key = config_key,
    .config_info = config_info,
    .conn_create = tds_conn_create,
    .conn_destroy = tds_conn_destroy,
    .abort_conn = tds_conn_abort,
    .get = tds_conn_get,
    .health = tds_conn_health,
    .idle = tds_conn_idle,
    .connect = tds_connect_start,
    .ping = tds_request_ping,
    .reset = tds_request_reset,
    .txn = tds_txn_start,
    .exec = tds_request_exec,
    .step = tds_conn_step,
    .cancel = tds_request_cancel,
    .columns = tds_conn_columns,
};

const struct weir_driver *weir_driver_entry_v0(uint32_t host_abi_minor) {
  (void)host_abi_minor;
  return &table;
}
