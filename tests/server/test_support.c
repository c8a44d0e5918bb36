/* SPDX-License-Identifier: MIT */
#include "test_support.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_const.h"

void hex(struct tdsd_buf *out, const char *text) {
  while (*text != 0) {
    if (*text == '"') {
      const char *end = strchr(text + 1, '"');
      (void)tdsd_buf_w16(out, text + 1, (size_t)(end - text - 1));
      text = end + 1;
    } else if (isxdigit((unsigned char)*text)) {
      char digits[3] = {text[0], text[1], 0};
      tdsd_buf_u8(out, (uint32_t)strtoul(digits, NULL, 16));
      text += 2;
    } else {
      text++;
    }
  }
}

bool holds_hex(const struct tdsd_buf *buf, const char *text) {
  struct tdsd_buf wanted = {0};
  hex(&wanted, text);
  size_t len = tdsd_buf_len(&wanted);
  bool same =
      len == tdsd_buf_len(buf) &&
      (len == 0 || memcmp(tdsd_buf_at(&wanted), tdsd_buf_at(buf), len) == 0);
  tdsd_buf_fini(&wanted);
  return same;
}

bool contains_hex(const struct tdsd_buf *buf, const char *text) {
  struct tdsd_buf wanted = {0};
  hex(&wanted, text);
  bool found = tdsd_buf_len(buf) != 0 &&
               memmem(tdsd_buf_at(buf), tdsd_buf_len(buf), tdsd_buf_at(&wanted),
                      tdsd_buf_len(&wanted)) != NULL;
  tdsd_buf_fini(&wanted);
  return found;
}

void prelogin_packet(struct tdsd_buf *out, uint8_t encryption) {
  struct tdsd_buf body = {0};
  hex(&body, "00 000B 0006  01 0011 0001  FF  090000000000");
  tdsd_buf_u8(&body, encryption);
  tdsd_packet_write(out, TDSD_PKT_PRELOGIN, TDSD_ST_EOM, 0, 1,
                    tdsd_buf_at(&body), tdsd_buf_len(&body));
  tdsd_buf_fini(&body);
}

void login_packet(struct tdsd_buf *out, uint32_t version, uint32_t size) {
  struct tdsd_buf body = {0};
  tdsd_buf_u32(&body, 94 + 6);
  tdsd_buf_u32(&body, version);
  tdsd_buf_u32(&body, size);
  hex(&body, "00000007 01000000 00000000 E0030000 00000000 09040000");
  hex(&body, "5E00 0000  5E00 0200  6200 0100"); /* host, user, password */
  for (unsigned i = 0; i < 6; i++) {
    hex(&body, "6400 0000"); /* app to database, all empty */
  }
  hex(&body, "020000000001  6400 0000  6400 0000  6400 0000  00000000");
  hex(&body, "\"sa\" 22A5");
  tdsd_packet_write(out, TDSD_PKT_LOGIN7, TDSD_ST_EOM, 0, 1, tdsd_buf_at(&body),
                    tdsd_buf_len(&body));
  tdsd_buf_fini(&body);
}

void batch_packet(struct tdsd_buf *out,
                  uint32_t status,
                  uint64_t descriptor,
                  const char *sql) {
  struct tdsd_buf body = {0};
  hex(&body, "16000000 12000000 0200");
  tdsd_buf_u64(&body, descriptor);
  tdsd_buf_u32(&body, 1);
  (void)tdsd_buf_w16(&body, sql, strlen(sql));
  tdsd_packet_write(out, TDSD_PKT_BATCH, status, 0, 1, tdsd_buf_at(&body),
                    tdsd_buf_len(&body));
  tdsd_buf_fini(&body);
}

size_t feed_all(struct tdsd_session *session, const struct tdsd_buf *in) {
  const uint8_t *at = tdsd_buf_at(in);
  size_t left = tdsd_buf_len(in);
  for (;;) {
    size_t taken = tdsd_session_feed(session, at, left, 1000);
    if (taken == 0) {
      return left;
    }
    at += taken;
    left -= taken;
  }
}

static void keep_line(void *user, const char *line) {
  struct fixture *fixture = user;
  (void)snprintf(fixture->log, sizeof fixture->log, "%s", line);
}

void fixture_init(struct fixture *fixture) {
  memset(fixture, 0, sizeof *fixture);
  fixture->account = (struct tdsd_account){"sa", "x"};
  fixture->shared.accounts = &fixture->account;
  fixture->shared.options.naccounts = 1;
  fixture->shared.options.log = keep_line;
  fixture->shared.options.log_user = fixture;
  tdsd_session_init(&fixture->session, &fixture->shared, 51);
}

void fixture_login(struct fixture *fixture, uint32_t version) {
  struct tdsd_buf in = {0};
  fixture_init(fixture);
  prelogin_packet(&in, TDSD_ENC_NOT_SUP);
  login_packet(&in, version, 4096);
  (void)feed_all(&fixture->session, &in);
  tdsd_buf_clear(&fixture->session.out);
  tdsd_buf_fini(&in);
}

void fixture_fini(struct fixture *fixture) {
  tdsd_session_fini(&fixture->session);
}

static void run_whole(struct tdsd_session *session, struct tdsd_buf *in) {
  tdsd_buf_clear(&session->out);
  (void)feed_all(session, in);
  while (session->full) {
    tdsd_session_wake(session, 1000);
  }
  tdsd_buf_fini(in);
}

void fixture_batch(struct fixture *fixture, const char *sql) {
  struct tdsd_buf in = {0};
  struct tdsd_session *session = &fixture->session;
  batch_packet(&in, TDSD_ST_EOM, session->state.descriptor, sql);
  run_whole(session, &in);
}

void rpc_text(struct tdsd_buf *out, const char *text) {
  hex(out, "00 00 E7 FFFF 0904D00034 FEFFFFFFFFFFFFFF");
  size_t at = tdsd_buf_len(out);
  tdsd_buf_u32(out, 0);
  size_t units = tdsd_buf_w16(out, text, strlen(text));
  tdsd_buf_put_u32(out, at, (uint32_t)(2 * units));
  tdsd_buf_u32(out, 0);
}

void fixture_rpc(struct fixture *fixture, const struct tdsd_buf *body) {
  struct tdsd_buf message = {0};
  struct tdsd_buf in = {0};
  struct tdsd_session *session = &fixture->session;
  hex(&message, "16000000 12000000 0200");
  tdsd_buf_u64(&message, session->state.descriptor);
  tdsd_buf_u32(&message, 1);
  tdsd_buf_bytes(&message, tdsd_buf_at(body), tdsd_buf_len(body));
  tdsd_packet_write(&in, TDSD_PKT_RPC, TDSD_ST_EOM, 0, 1, tdsd_buf_at(&message),
                    tdsd_buf_len(&message));
  run_whole(session, &in);
  tdsd_buf_fini(&message);
}
