/* SPDX-License-Identifier: MIT */
#include "test_sqlite_support.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "server_const.h"

static uint64_t now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void lite_login(struct lite_client *client, struct tdsd_lite *lite) {
  struct tdsd_buf in = {0};
  struct tdsd_session *session = &client->fixture.session;
  fixture_init(&client->fixture);
  client->lite = lite;
  (void)tdsd_answerers_add(&client->fixture.shared.answerers, &tdsd_sqlite,
                           lite);
  prelogin_packet(&in, TDSD_ENC_NOT_SUP);
  login_packet(&in, TDSD_V74, 32767);
  (void)feed_all(session, &in);
  tdsd_buf_clear(&session->out);
  tdsd_buf_fini(&in);
}

void lite_logout(struct lite_client *client) {
  fixture_fini(&client->fixture);
}

void lite_send_reset(struct lite_client *client,
                     uint32_t status,
                     const char *sql) {
  struct tdsd_buf in = {0};
  struct tdsd_session *session = &client->fixture.session;
  tdsd_buf_clear(&session->out);
  batch_packet(&in, TDSD_ST_EOM | status, session->state.descriptor, sql);
  (void)feed_all(session, &in);
  tdsd_buf_fini(&in);
}

void lite_send(struct lite_client *client, const char *sql) {
  lite_send_reset(client, 0, sql);
}

void lite_attention(struct lite_client *client) {
  struct tdsd_buf in = {0};
  tdsd_packet_write(&in, TDSD_PKT_ATTENTION, TDSD_ST_EOM, 0, 1, NULL, 0);
  (void)feed_all(&client->fixture.session, &in);
  tdsd_buf_fini(&in);
}

/* Sends to nobody: what the client would have read is kept in out. */
static void go_on(struct tdsd_session *session) {
  for (unsigned n = 0; session->full && n < 1000; n++) {
    tdsd_session_wake(session, now_ns());
  }
}

static void ready(void *user, struct tdsd_state *state) {
  (void)user;
  struct tdsd_session *session =
      (void *)((char *)state - offsetof(struct tdsd_session, state));
  tdsd_session_wake(session, now_ns());
  go_on(session);
}

void lite_turn(struct lite_client *const *clients, size_t n) {
  struct tdsd_lite *lite = clients[0]->lite;
  bool waits = false;
  for (size_t i = 0; i < n; i++) {
    go_on(&clients[i]->fixture.session);
    waits = waits || clients[i]->fixture.session.wake_ns != 0;
  }
  struct pollfd poller = {.fd = tdsd_lite_fd(lite), .events = POLLIN};
  (void)poll(&poller, 1, waits ? 2 : 100);
  tdsd_lite_ready(lite, ready, NULL);
  for (size_t i = 0; i < n; i++) {
    struct tdsd_session *session = &clients[i]->fixture.session;
    if (session->wake_ns != 0 && session->wake_ns <= now_ns()) {
      tdsd_session_wake(session, now_ns());
    }
  }
}

bool lite_batch(struct lite_client *client, const char *sql) {
  uint64_t until = now_ns() + UINT64_C(20000000000);
  lite_send(client, sql);
  while (client->fixture.session.phase == TDSD_PHASE_RUNNING) {
    if (now_ns() > until) {
      return false;
    }
    lite_turn(&client, 1);
  }
  return client->fixture.session.phase == TDSD_PHASE_READY;
}

static bool holds(const struct tdsd_buf *buf, const uint8_t *what, size_t len) {
  return memmem(tdsd_buf_at(buf), tdsd_buf_len(buf), what, len) != NULL;
}

bool lite_has_message(const struct lite_client *client, int32_t number) {
  const struct tdsd_buf *out = &client->fixture.session.out;
  const uint8_t *at = tdsd_buf_at(out);
  for (size_t i = 0; i + 7 < tdsd_buf_len(out); i++) {
    if ((at[i] == TDSD_TOK_ERROR || at[i] == TDSD_TOK_INFO) &&
        tdsd_get_u32(at + i + 3) == (uint32_t)number) {
      return true;
    }
  }
  return false;
}

bool lite_has_rows(const struct lite_client *client, uint64_t rows) {
  const struct tdsd_buf *out = &client->fixture.session.out;
  const uint8_t *at = tdsd_buf_at(out);
  for (size_t i = 0; i + 13 <= tdsd_buf_len(out); i++) {
    if (at[i] == TDSD_TOK_DONE && (at[i + 1] & TDSD_DONE_COUNT) != 0 &&
        at[i + 2] == 0 && tdsd_get_u64(at + i + 5) == rows) {
      return true;
    }
  }
  return false;
}

bool lite_has_text(const struct lite_client *client, const char *text) {
  struct tdsd_buf wide = {0};
  (void)tdsd_buf_w16(&wide, text, strlen(text));
  bool found = holds(&client->fixture.session.out, tdsd_buf_at(&wide),
                     tdsd_buf_len(&wide));
  tdsd_buf_fini(&wide);
  return found;
}
