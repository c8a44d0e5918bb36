/* SPDX-License-Identifier: MIT */
#include "host.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "log.h"
#include "notice.h"
#include "pool.h"
#include "rows.h"
#include "secret.h"
#include "session.h"
#include "sys/clock.h"
#include "sys/mem.h"
#include "sys/mutex.h"

static weir_drv_time now(void *ctx) {
  (void)ctx;
  return weir__clock_now();
}

static uint64_t unix_ms(void *ctx) {
  (void)ctx;
  return weir__clock_unix_ms();
}

static void *alloc(void *ctx, uint64_t size, uint32_t flags) {
  (void)ctx;
  if ((flags & WEIR_DRV_V_SECRET) != 0) {
    return weir__secret_alloc(size);
  }
  return weir__mem_new(size == 0 ? 1 : size);
}

static void release(void *ctx, void *p) {
  (void)ctx;
  if (weir__secret_owns(p)) {
    weir__secret_release(p);
  } else {
    weir__mem_free(p);
  }
}

static void wipe(void *ctx, void *p, uint64_t n) {
  (void)ctx;
  weir__mem_wipe(p, n);
}

static weir_drv_status random_bytes(void *ctx, void *p, uint64_t n) {
  unsigned char *at = p;
  (void)ctx;
  while (n != 0) {
    ssize_t got = getrandom(at, n, 0);
    if (got < 0 && errno != EINTR) {
      return WEIR_DRV_FAIL;
    }
    if (got > 0) {
      at += got;
      n -= (uint64_t)got;
    }
  }
  return WEIR_DRV_DONE;
}

static int32_t log_on(void *ctx, int32_t level) {
  return weir__log_on(ctx, level);
}

static void log_text(void *ctx,
                     weir_drv_hconn *hc,
                     int32_t level,
                     const struct weir_drv_text *text) {
  (void)hc;
  weir__log(ctx, level, text->p, text->n);
}

/* Kept for whoever reads the result; a message while connecting, resetting or
 * draining has no reader and is logged. */
static void diag(void *ctx, weir_drv_hconn *hc, const struct weir_drv_diag *d) {
  if (hc->phase == WEIR_PHASE_EXEC && !hc->draining) {
    weir__notices_add(&hc->notices, d);
  } else if (!hc->initing) { /* it might quote a secret */
    weir__log(ctx, WEIR_DRV_LOG_DEBUG, d->message.p, d->message.n);
  }
}

static weir_drv_batch *batch(void *ctx, weir_drv_hconn *hc) {
  (void)ctx;
  if (hc->batch == NULL) {
    hc->batch = weir__batch_new(hc->n_columns);
  }
  return hc->batch;
}

static weir_drv_status stream_open(void *ctx,
                                   weir_drv_hconn *hc,
                                   const struct weir_drv_addr *to,
                                   uint32_t flags,
                                   weir_drv_stream **out,
                                   struct weir_drv_error *err) {
  (void)ctx;
  if (flags != 0) {
    return WEIR_DRV_E_UNSUPPORTED; /* [G9] */
  }
  return weir__stream_open(&hc->streams, to, out, err);
}

static void fd_forget(void *ctx, weir_drv_hconn *hc, weir_drv_fd fd) {
  (void)ctx;
  weir__session_forget_fd(hc, fd);
}

/* ------------------------------------------------------------------- TLS */

/* Tickets are shared among the connections of one pool: they have the same
 * credentials and settings. */
static weir_drv_status tls_open(void *ctx,
                                weir_drv_hconn *hc,
                                const struct weir_drv_tls_args *args,
                                weir_drv_tls **out,
                                struct weir_drv_error *err) {
  struct weir__engine *engine = ctx;
  return weir__tls_open(engine->tls, weir__key_hash(hc->pool->key), args, out,
                        err);
}

static const struct weir_drv_tls_api tls_api = {
    .struct_size = sizeof tls_api,
    .version = 1,
    .open = tls_open,
    .handshake = weir__tls_handshake,
    .feed = weir__tls_feed,
    .drain = weir__tls_drain,
    .read = weir__tls_read,
    .write = weir__tls_write,
    .pending = weir__tls_pending,
    .binding = weir__tls_binding,
    .info = weir__tls_info,
    .close = weir__tls_close,
};

#if WEIR_SEAMS
/* For drivers under test: whether the engine holds a lock (rule T5). */
struct test_api {
  uint32_t struct_size;
  uint32_t version;
  int32_t (*locks_held)(void);
};

static int32_t locks_held(void) {
  return weir__mutex_none_held() ? 0 : 1;
}

static const struct test_api test_api = {
    .struct_size = sizeof test_api,
    .version = 1,
    .locks_held = locks_held,
};
#endif

static const void *service(void *ctx, const char *name, uint32_t min_version) {
  (void)ctx;
  if (strcmp(name, "weir.tls") == 0 && min_version <= tls_api.version) {
    return &tls_api;
  }
#if WEIR_SEAMS
  if (strcmp(name, "weir.test") == 0 && min_version <= test_api.version) {
    return &test_api;
  }
#endif
  return NULL;
}

void weir__host_init(struct weir__engine *engine) {
  engine->host = (struct weir_drv_host){
      .struct_size = sizeof engine->host,
      .abi_minor = WEIR_DRV_ABI_MINOR,
      .ctx = engine,
      .now = now,
      .unix_ms = unix_ms,
      .alloc = alloc,
      .release = release,
      .wipe = wipe,
      .random = random_bytes,
      .log_on = log_on,
      .log = log_text,
      .diag = diag,
      .batch = batch,
      .batch_space = weir__batch_space,
      .batch_grow = weir__batch_grow,
      .batch_cell = weir__batch_cell,
      .stream_open = stream_open,
      .stream_connected = weir__stream_connected,
      .stream_read = weir__stream_read,
      .stream_write = weir__stream_write,
      .stream_peek = weir__stream_peek,
      .stream_close = weir__stream_close,
      .fd_forget = fd_forget,
      .service = service,
  };
}
