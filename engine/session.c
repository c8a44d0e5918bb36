/* SPDX-License-Identifier: MIT */
#include "session.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/container.h"
#include "engine.h"
#include "loader.h"
#include "params.h"
#include "pool.h"
#include "remote.h"
#include "request.h"
#include "rows.h"
#include "secret.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/mem.h"
#include "watch.h"

static _Atomic uint32_t births;

void weir__session_forget_fd(struct weir_drv_hconn *session, weir_drv_fd fd) {
  weir__watch_forget_fd(session, (int)fd);
  if (weir__reactor_here(session->engine->reactor)) {
    weir__remote_forget_fd(session, (int)fd);
  }
}

static struct weir_drv_hconn *of_streams(struct weir__streams *streams) {
  return weir_container_of(streams, struct weir_drv_hconn, streams);
}

/* A descriptor is about to be closed.  Watches of the reactor exist only while it
 * drives, and then this is its thread. */
static void on_stream_closing(struct weir__streams *streams,
                              weir_drv_stream *stream) {
  weir__session_forget_fd(of_streams(streams), weir__stream_fd(stream));
}

/* Drawn once for each connection, so that those born together in a burst do not
 * end together. */
static uint64_t life_end(const struct weir__pool *pool, uint64_t born) {
  uint64_t life = weir__pool_settings(pool)->lifetime_ns;
  uint64_t share = 0;
  if (life == WEIR_NEVER ||
      getrandom(&share, sizeof share, GRND_NONBLOCK) != sizeof share) {
    return weir__clock_add(born, life);
  }
  uint64_t most = life / 100 * weir__pool_settings(pool)->lifetime_jitter;
  return weir__clock_add(born, life - share % (most + 1));
}

struct weir_drv_hconn *weir__session_new(struct weir__engine *engine,
                                         struct weir__pool *pool,
                                         struct weir__slot *slot) {
  struct weir_drv_hconn *s = weir__mem_new(sizeof *s);
  if (s == NULL) {
    return NULL;
  }
  s->engine = engine;
  s->pool = pool;
  s->slot = slot;
  s->driver = pool->driver;
  s->limit = WEIR_NEVER;
  s->birth = weir__add_acq_rel_u32(&births, 1) + 1;
  weir__streams_init(&s->streams);
  s->streams.closing = on_stream_closing;
  uint64_t now = weir__clock_now();
  weir__store_relaxed_u64(&slot->expires, life_end(pool, now));
  weir__store_relaxed_u64(&slot->idle_since, now);
  weir__store_relaxed_u32(&slot->served, 0);
  weir__slot_set_session(slot, s);
  (void)weir__add_acq_rel_u32(&engine->sessions, 1);
  return s;
}

void weir__session_abort(struct weir_drv_hconn *session) {
  WEIR_ASSERT(weir__mutex_none_held());
  if (session->conn != NULL) {
    session->driver->table.abort_conn(session->conn, WEIR_DRV_ABORT_CLOSE);
  }
}

void weir__session_forget(struct weir_drv_hconn *session) {
  if (session->conn != NULL) {
    session->driver->table.abort_conn(session->conn, WEIR_DRV_ABORT_FORGET);
  }
  weir__streams_forget(&session->streams);
}

void weir__session_renew(struct weir_drv_hconn *session) {
  struct weir__slot *slot = session->slot;
  weir__streams_reset(&session->streams);
  weir__session_abort(session);
  if (session->conn != NULL) {
    session->driver->table.conn_destroy(session->conn);
    session->conn = NULL;
  }
  weir__streams_close_all(&session->streams, true);
  session->usable = false;
  session->txn = WEIR_DRV_TXN_NONE;
  session->dirty = 0;
  weir__store_relaxed_u64(&slot->expires,
                          life_end(session->pool, weir__clock_now()));
  weir__store_relaxed_u32(&slot->served, 1);
}

void weir__session_free(struct weir_drv_hconn *session) {
  if (session == NULL) {
    return;
  }
  struct weir__engine *engine = session->engine;
  if (session->reset) {
    /* Before the driver, whose they are, closes them in order. */
    weir__streams_reset(&session->streams);
  }
  weir__session_abort(session);
  if (session->conn != NULL) {
    session->driver->table.conn_destroy(session->conn);
  }
  weir__streams_close_all(&session->streams, session->reset);
  weir__streams_fini(&session->streams);
  weir__batch_free(session->batch);
  weir__mem_free(session->columns);
  weir__mem_free(session->notice);
  weir__secret_free(session->secret);
  weir__mem_free(session->sql);
  weir__params_free(session->params);
  weir__notices_clear(&session->notices);
  weir__mem_wipe(session->text, sizeof session->text);
  weir__mem_free(session);
  (void)weir__sub_acq_rel_u32(&engine->sessions, 1);
  weir__engine_note_end(engine);
}

/* False: of a type that has no text. */
static bool as_text(const struct weir_drv_value *value,
                    char *buf,
                    uint64_t cap,
                    uint64_t *out_len) {
  int n = -1;
  switch (value->type) {
  case WEIR_DRV_T_TEXT:
    *out_len = value->p == NULL ? 0 : value->n;
    if (cap != 0) {
      uint64_t fit = *out_len < cap ? *out_len : cap - 1;
      memcpy(buf, value->p == NULL ? "" : value->p, fit);
      buf[fit] = '\0';
    }
    return true;
  case WEIR_DRV_T_INT:
  case WEIR_DRV_T_BOOL:
    n = snprintf(buf, cap, "%" PRId64, value->i);
    break;
  case WEIR_DRV_T_UINT:
    n = snprintf(buf, cap, "%" PRIu64, value->u);
    break;
  case WEIR_DRV_T_NULL:
    return true;
  default:
    return false;
  }
  *out_len = n < 0 ? 0 : (uint64_t)n;
  return n >= 0;
}

bool weir__session_fact(struct weir_drv_hconn *session,
                        int32_t what,
                        char *buf,
                        uint64_t cap,
                        uint64_t *out_len) {
  struct weir_drv_value value = {.type = WEIR_DRV_T_NULL};
  WEIR_ASSERT(weir__mutex_none_held());
  *out_len = 0;
  if (cap != 0) {
    buf[0] = '\0';
  }
  if (session->conn == NULL || weir__request_offloaded(session) ||
      session->driver->table.get(session->conn, what, &value) !=
          WEIR_DRV_DONE) {
    return false;
  }
  return as_text(&value, buf, cap, out_len);
}
