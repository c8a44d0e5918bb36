/* SPDX-License-Identifier: MIT */
/* tds_race.c - several addresses of a name at once.
 *
 * As many as one wait can name start together; the others follow when these have
 * all failed or had their share of the time.  Each stream that starts is in the
 * race until it is closed here or becomes the link's.  The winner moves to the
 * front of what is left, and who failed is struck out: should the winner not
 * answer PRELOGIN, the others are raced next. */
#include "tds_race.h"

#include <string.h>

#include "tds_fail.h"

static const struct weir_drv_host *host_of(const struct weir_drv_conn *c) {
  return &c->drv->host;
}

void tds_race_close(struct weir_drv_conn *c) {
  struct tds_race *r = c->race;
  const struct tds_mem *mem = &c->drv->mem;
  if (r == NULL) {
    return;
  }
  for (uint32_t i = 0; i < r->n; i++) {
    if (r->stream[i] != NULL) {
      host_of(c)->stream_close(r->stream[i]);
    }
  }
  mem->release(mem->ctx, r);
  c->race = NULL;
}

static uint32_t window(const struct weir_drv_conn *c) {
  uint32_t left = c->n_addresses - c->address;
  return left < WEIR_DRV_WANT_MAX ? left : WEIR_DRV_WANT_MAX;
}

static bool start(struct weir_drv_conn *c) {
  const struct weir_drv_host *host = host_of(c);
  const struct tds_mem *mem = &c->drv->mem;
  struct tds_race *r = mem->alloc(mem->ctx, sizeof *r, 0);
  if (r == NULL) {
    return false;
  }
  c->race = r;
  c->next_address = tds_connect_share(c, WEIR_DRV_WANT_MAX);
  for (uint32_t n = window(c); r->n < n; r->n++) {
    struct weir_drv_error *err = tds_inner_init(&r->inner);
    weir_drv_stream *stream = NULL;
    if (host->stream_open(host->ctx, c->hc, &c->addresses[c->address + r->n], 0,
                          &stream, err) >= 0) {
      r->stream[r->n] = stream;
    }
  }
  return true;
}

/* The first that is connected, or r->n; closes who has failed. */
static uint32_t look(struct weir_drv_conn *c, uint32_t *out_running) {
  const struct weir_drv_host *host = host_of(c);
  struct tds_race *r = c->race;
  *out_running = 0;
  for (uint32_t i = 0; i < r->n; i++) {
    if (r->stream[i] == NULL) {
      continue;
    }
    struct tds_inner inner;
    weir_drv_status rc =
        host->stream_connected(r->stream[i], tds_inner_init(&inner));
    if (rc == WEIR_DRV_DONE) {
      return i;
    }
    if (rc == WEIR_DRV_E_AGAIN) {
      ++*out_running;
      continue;
    }
    host->stream_close(r->stream[i]);
    r->stream[i] = NULL;
    r->inner = inner;
    r->inner.err.message = r->inner.text;
  }
  return r->n;
}

/* The winner first, then who is still running, then who has not started. */
static void sort_out(struct weir_drv_conn *c, uint32_t winner) {
  const struct tds_race *r = c->race;
  struct weir_drv_addr kept[TDS_ADDRESSES_MAX];
  struct weir_drv_addr *from = &c->addresses[c->address];
  uint32_t left = c->n_addresses - c->address;
  uint32_t n = 0;
  kept[n++] = from[winner];
  for (uint32_t i = 0; i < left; i++) {
    if (i != winner && (i >= r->n || r->stream[i] != NULL)) {
      kept[n++] = from[i];
    }
  }
  memcpy(from, kept, n * sizeof kept[0]);
  c->n_addresses = c->address + n;
}

static weir_drv_status won(struct weir_drv_conn *c, uint32_t winner) {
  sort_out(c, winner);
  c->link.stream = c->race->stream[winner];
  c->link.written = 0;
  c->race->stream[winner] = NULL;
  tds_race_close(c);
  c->next_address = tds_connect_share(c, 1);
  return tds_connect_open(c);
}

/* None of these: those behind them, if there are any. */
static weir_drv_status next_window(struct weir_drv_conn *c,
                                   struct tds_turn *t,
                                   bool all_failed) {
  uint32_t n = c->race->n;
  if (c->address + n < c->n_addresses) {
    tds_race_close(c);
    c->address += n;
    return tds_conn_go(c, TDS_STEP_CONNECT);
  }
  if (!all_failed) {
    return WEIR_DRV_WAIT;
  }
  struct tds_inner inner = c->race->inner;
  inner.err.message = inner.text;
  c->address += n - 1;
  tds_race_close(c);
  return tds_inner_fail(c, t, &inner, WEIR_DRV_K_NETWORK);
}

static weir_drv_status wait_for_all(struct weir_drv_conn *c,
                                    struct tds_turn *t) {
  const struct tds_race *r = c->race;
  t->wait->n_want = 0;
  for (uint32_t i = 0; i < r->n; i++) {
    if (r->stream[i] != NULL) {
      struct weir_drv_want *want = &t->wait->want[t->wait->n_want++];
      want->stream = r->stream[i];
      want->fd = -1;
      want->events = WEIR_DRV_EV_WRITE;
    }
  }
  return WEIR_DRV_WAIT;
}

weir_drv_status tds_race_run(struct weir_drv_conn *c, struct tds_turn *t) {
  uint32_t running = 0;
  if (c->race == NULL && !start(c)) {
    return tds_conn_no_memory(c, t);
  }
  uint32_t winner = look(c, &running);
  if (winner < c->race->n) {
    return won(c, winner);
  }
  bool over = c->next_address != WEIR_DRV_NEVER &&
              host_of(c)->now(host_of(c)->ctx) >= c->next_address;
  if (running == 0 || over) {
    weir_drv_status rc = next_window(c, t, running == 0);
    if (rc != WEIR_DRV_WAIT) {
      return rc;
    }
    over = true;
  }
  t->wait->timer = over ? WEIR_DRV_NEVER : c->next_address;
  return wait_for_all(c, t);
}
