/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <openssl/err.h>

#include "net/tls.h"
#include "net/tls_internal.h"
#include "sys/clock.h"
#include "sys/seams.h"
#include "tls_peer.h"

static struct weir__tls *tls;
static struct peer_cert authority;
static struct peer_cert good; /* for db.example and 127.0.0.1, by authority */
static struct weir_drv_tls_args args;
static char message[512];
static struct weir_drv_error err;
static size_t chunk; /* ciphertext moves in pieces of this size */

static struct weir_drv_text text(const char *s) {
  struct weir_drv_text t = {s, strlen(s)};
  return t;
}

static void set_up(void) {
  cr_assert_eq(weir__tls_new(&tls), 0);
  authority = peer_cert_new("Test Authority", NULL, -PEER_DAY, PEER_DAY, NULL);
  good = peer_cert_new("db.example", "DNS:db.example,IP:127.0.0.1", -PEER_DAY,
                       PEER_DAY, &authority);
  args.struct_size = sizeof args;
  args.server_name = text("db.example");
  args.ca_file = text(peer_cert_file(&authority, false));
  args.peer = text("db.example:1433");
  err.struct_size = sizeof err;
  err.message = message;
  err.message_cap = sizeof message;
  chunk = 4096;
}

static void tear_down(void) {
  unlink(args.ca_file.p);
  weir__tls_free(tls);
  peer_cert_free(&good);
  peer_cert_free(&authority);
}

TestSuite(tls, .init = set_up, .fini = tear_down, .timeout = 20);

/* ------------------------------------------------------ client and a server */

struct session {
  SSL_CTX *server;
  SSL *peer;
  weir_drv_tls *client;
};

static weir_drv_tls *open_in(uint64_t partition) {
  weir_drv_tls *t = NULL;
  weir_drv_status st = weir__tls_open(tls, partition, &args, &t, &err);
  cr_assert_eq(st, WEIR_DRV_DONE, "%d %s", st, message);
  return t;
}

static struct session session_in(uint64_t partition, SSL_CTX *server) {
  struct session s = {server, peer_accept(server), open_in(partition)};
  return s;
}

static struct session session_with(const struct peer_cert *cert, int max) {
  return session_in(1, peer_server(cert, max));
}

static void end_keeping_server(struct session *s) {
  weir__tls_close(s->client);
  SSL_free(s->peer);
}

static void end(struct session *s) {
  end_keeping_server(s);
  SSL_CTX_free(s->server);
}

/* Moves all ciphertext both ways; true if there was any. */
static bool pump(struct session *s) {
  char buffer[4096];
  bool moved = false;
  int64_t out;
  size_t in;
  while ((out = weir__tls_drain(s->client, buffer, chunk)) > 0) {
    peer_feed(s->peer, buffer, (size_t)out);
    (void)SSL_do_handshake(s->peer);
    moved = true;
  }
  while ((in = peer_drain(s->peer, buffer, chunk)) > 0) {
    if (weir__tls_feed(s->client, buffer, in) < 0) {
      return false;
    }
    moved = true;
    if (chunk == 1) {
      (void)weir__tls_handshake(s->client, &err);
    }
  }
  return moved;
}

static weir_drv_status shake(struct session *s) {
  weir_drv_status st;
  do {
    st = weir__tls_handshake(s->client, &err);
    (void)pump(s);
  } while (st == WEIR_DRV_WAIT);
  return st;
}

static void shaken(struct session *s) {
  weir_drv_status st = shake(s);
  cr_assert_eq(st, WEIR_DRV_DONE, "%d %s", st, message);
  (void)pump(s);
  cr_assert_eq(SSL_is_init_finished(s->peer), 1);
}

static void refused(const struct peer_cert *cert, const char *why) {
  struct session s = session_with(cert, 0);
  cr_assert_eq(shake(&s), WEIR_DRV_FAIL);
  cr_assert_not_null(strstr(message, why), "'%s' lacks '%s'", message, why);
  cr_assert_eq(err.kind, WEIR_DRV_K_TLS);
  cr_assert_eq(err.scope, WEIR_DRV_SCOPE_CONFIG);
  cr_assert_eq(err.retry, WEIR_DRV_RETRY_NO);
  end(&s);
}

static void accepted(const struct peer_cert *cert) {
  struct session s = session_with(cert, 0);
  shaken(&s);
  end(&s);
}

static void exchange(struct session *s) {
  char got[64];
  cr_assert_eq(weir__tls_write(s->client, "request", 7), 7);
  (void)pump(s);
  cr_assert_eq(SSL_read(s->peer, got, sizeof got), 7);
  cr_assert_eq(SSL_write(s->peer, "an answer", 9), 9);
  (void)pump(s);
  cr_assert_eq(weir__tls_pending(s->client), 1);
  cr_assert_eq(weir__tls_read(s->client, got, sizeof got), 9);
  cr_assert_eq(memcmp(got, "an answer", 9), 0);
  cr_assert_eq(weir__tls_pending(s->client), 0);
  cr_assert_eq(weir__tls_read(s->client, got, sizeof got), WEIR_DRV_E_AGAIN);
}

/* ---------------------------------------------------------------- transform */

Test(tls, carries_plaintext_over_1_3) {
  char info[64];
  struct session s = session_with(&good, 0);
  shaken(&s);
  exchange(&s);
  int64_t n = weir__tls_info(s.client, info, sizeof info);
  cr_assert_eq(memcmp(info, "TLSv1.3 TLS_AES_256_GCM_SHA384", (size_t)n), 0);
  cr_assert_eq(weir__tls_handshake(s.client, &err), WEIR_DRV_DONE);
  end(&s);
}

Test(tls, is_capped_at_1_2_where_the_protocol_wraps_the_handshake) {
  char info[8];
  args.flags = WEIR_DRV_TLS_MAX_1_2;
  struct session s = session_with(&good, 0);
  shaken(&s);
  exchange(&s);
  cr_assert_gt(weir__tls_info(s.client, info, sizeof info), 8);
  cr_assert_eq(memcmp(info, "TLSv1.2 ", 8), 0);
  end(&s);
}

Test(tls, takes_ciphertext_byte_by_byte) {
  static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
  chunk = 1;
  for (size_t i = 0; i < 2; i++) {
    struct session s = session_with(&good, versions[i]);
    shaken(&s);
    exchange(&s);
    end(&s);
  }
}

Test(tls, moves_more_than_a_record) {
  static char data[100000];
  static char got[sizeof data];
  struct session s = session_with(&good, 0);
  shaken(&s);
  for (size_t i = 0; i < sizeof data; i++) {
    data[i] = (char)(i * 7);
  }
  size_t sent = 0;
  size_t received = 0;
  while (received < sizeof data) {
    if (sent < sizeof data) {
      int64_t n = weir__tls_write(s.client, data + sent, sizeof data - sent);
      cr_assert_gt(n, 0);
      sent += (size_t)n;
    }
    (void)pump(&s);
    int n = SSL_read(s.peer, got + received, (int)(sizeof got - received));
    cr_assert_gt(n, 0);
    received += (size_t)n;
  }
  cr_assert_eq(memcmp(data, got, sizeof data), 0);
  end(&s);
}

Test(tls, shows_plaintext_that_a_reader_left_behind) {
  char got[64];
  struct session s = session_with(&good, 0);
  shaken(&s);
  cr_assert_eq(SSL_write(s.peer, "0123456789", 10), 10);
  (void)pump(&s);
  cr_assert_eq(weir__tls_read(s.client, got, 4), 4);
  cr_assert_eq(weir__tls_pending(s.client), 1);
  cr_assert_eq(weir__tls_read(s.client, got, sizeof got), 6);
  cr_assert_eq(weir__tls_pending(s.client), 0);
  end(&s);
}

Test(tls, shows_a_second_record_behind_the_first) {
  char got[64];
  struct session s = session_with(&good, 0);
  shaken(&s);
  cr_assert_eq(SSL_write(s.peer, "first", 5), 5);
  cr_assert_eq(SSL_write(s.peer, "second", 6), 6);
  (void)pump(&s);
  cr_assert_eq(weir__tls_read(s.client, got, sizeof got), 5);
  cr_assert_eq(weir__tls_pending(s.client), 1);
  cr_assert_eq(weir__tls_read(s.client, got, sizeof got), 6);
  end(&s);
}

Test(tls, does_not_take_half_a_record_for_something_to_read) {
  char record[256];
  struct session s = session_with(&good, 0);
  shaken(&s);
  cr_assert_eq(SSL_write(s.peer, "first", 5), 5);
  size_t n = peer_drain(s.peer, record, sizeof record);
  cr_assert_eq(weir__tls_feed(s.client, record, n - 1), (int64_t)n - 1);
  cr_assert_eq(weir__tls_pending(s.client), 0);
  cr_assert_eq(weir__tls_feed(s.client, record + n - 1, 1), 1);
  cr_assert_eq(weir__tls_pending(s.client), 1);
  end(&s);
}

Test(tls, takes_tickets_and_key_updates_in_silence) {
  struct session s = session_with(&good, 0);
  shaken(&s); /* two tickets have been fed */
  cr_assert_eq(weir__tls_pending(s.client), 0);
  cr_assert_eq(SSL_key_update(s.peer, SSL_KEY_UPDATE_REQUESTED), 1);
  cr_assert_eq(SSL_do_handshake(s.peer), 1);
  (void)pump(&s);
  cr_assert_eq(weir__tls_pending(s.client), 0);
  exchange(&s);
  end(&s);
}

Test(tls, tells_the_end_from_a_pause) {
  char byte;
  struct session s = session_with(&good, 0);
  shaken(&s);
  (void)SSL_shutdown(s.peer);
  (void)pump(&s);
  cr_assert_eq(weir__tls_pending(s.client), 1);
  cr_assert_eq(weir__tls_read(s.client, &byte, 1), WEIR_DRV_E_CLOSED);
  cr_assert_eq(weir__tls_read(s.client, &byte, 1), WEIR_DRV_E_CLOSED);
  end(&s);
}

Test(tls, dies_of_a_forged_record) {
  char record[256];
  char byte;
  struct session s = session_with(&good, 0);
  shaken(&s);
  cr_assert_eq(SSL_write(s.peer, "first", 5), 5);
  size_t n = peer_drain(s.peer, record, sizeof record);
  record[n - 1] ^= 1;
  cr_assert_eq(weir__tls_feed(s.client, record, n), (int64_t)n);
  cr_assert_eq(weir__tls_pending(s.client), 1);
  cr_assert_eq(weir__tls_read(s.client, &byte, 1), WEIR_DRV_FAIL);
  cr_assert_eq(weir__tls_write(s.client, "x", 1), WEIR_DRV_FAIL);
  cr_assert_eq(weir__tls_feed(s.client, "x", 1), WEIR_DRV_FAIL);
  cr_assert_eq(weir__tls_error(s.client, &err), WEIR_DRV_FAIL);
  cr_assert_not_null(strstr(message, "the session broke: "));
  cr_assert_eq(err.scope, WEIR_DRV_SCOPE_CONN);
  cr_assert_gt(weir__tls_drain(s.client, record, sizeof record), 0);
  end(&s);
}

Test(tls, refuses_to_move_plaintext_before_its_time) {
  char byte = 0;
  struct session s = session_with(&good, 0);
  cr_assert_eq(weir__tls_read(s.client, &byte, 1), WEIR_DRV_E_INVALID);
  cr_assert_eq(weir__tls_write(s.client, &byte, 1), WEIR_DRV_E_INVALID);
  cr_assert_eq(weir__tls_info(s.client, &byte, 1), WEIR_DRV_E_INVALID);
  cr_assert_eq(weir__tls_binding(s.client, 1, &byte, 1), WEIR_DRV_E_INVALID);
  cr_assert_eq(weir__tls_pending(s.client), 0);
  shaken(&s);
  cr_assert_eq(weir__tls_read(s.client, &byte, 0), WEIR_DRV_E_INVALID);
  cr_assert_eq(weir__tls_write(s.client, &byte, 0), WEIR_DRV_E_INVALID);
  end(&s);
}

Test(tls, buffers_only_so_much_ciphertext) {
  static char data[65536];
  struct session s = session_with(&good, 0);
  shaken(&s);
  uint64_t fed = 0;
  while (fed + 2 * sizeof data <= WEIR_TLS_FEED_MAX) {
    cr_assert_eq(weir__tls_feed(s.client, data, sizeof data), sizeof data);
    fed += sizeof data;
  }
  uint64_t left = WEIR_TLS_FEED_MAX - BIO_ctrl_pending(s.client->in);
  cr_assert_leq(left, sizeof data);
  cr_assert_eq(weir__tls_feed(s.client, data, left), (int64_t)left);
  cr_assert_eq(weir__tls_feed(s.client, data, 1), WEIR_DRV_FAIL);
  (void)weir__tls_error(s.client, &err);
  cr_assert_not_null(strstr(message, "more was received than may be"));
  end(&s);
}

Test(tls, asks_to_be_drained_before_it_takes_more) {
  static char data[16384];
  static char out[WEIR_TLS_WRITE_MAX * 2];
  struct session s = session_with(&good, 0);
  shaken(&s);
  int64_t rc = 1;
  uint64_t taken = 0;
  while (rc > 0 && taken < 2 * WEIR_TLS_WRITE_MAX) {
    rc = weir__tls_write(s.client, data, sizeof data);
    taken += rc > 0 ? (uint64_t)rc : 0;
  }
  cr_assert_eq(rc, WEIR_DRV_E_AGAIN);
  cr_assert_gt(weir__tls_drain(s.client, out, sizeof out), 0);
  cr_assert_gt(weir__tls_write(s.client, data, sizeof data), 0);
  end(&s);
}

/* ------------------------------------------------------------ verification */

Test(tls, accepts_a_trusted_certificate_for_the_name) {
  accepted(&good);
}

Test(tls, names_the_hosts_that_a_certificate_is_for) {
  struct peer_cert other =
      peer_cert_new("x", "DNS:a.example,DNS:b.example,IP:10.0.0.1", -PEER_DAY,
                    PEER_DAY, &authority);
  refused(&other, "it is not valid for 'db.example' but for a.example, "
                  "b.example, 10.0.0.1");
  peer_cert_free(&other);
}

Test(tls, shows_hostile_names_harmlessly_and_not_all) {
  struct peer_cert other = peer_cert_new(
      "x", "DNS:a\x1B[2J,DNS:b,DNS:c,DNS:d,DNS:e,DNS:f,DNS:g,DNS:h", -PEER_DAY,
      PEER_DAY, &authority);
  refused(&other, "but for a?[2J, b, c, d, e, f, ...");
  cr_assert_null(strstr(message, ", g"));
  peer_cert_free(&other);
}

Test(tls, verifies_another_name_when_told_to) {
  args.server_name = text("alias.example");
  args.verify_name = text("db.example.");
  accepted(&good);
  args.verify_name = text("alias.example");
  refused(&good, "'alias.example'");
}

Test(tls, verifies_an_address_against_the_addresses) {
  args.server_name = text("127.0.0.1");
  accepted(&good);
  args.server_name = text("127.0.0.2");
  refused(&good, "it is not valid for '127.0.0.2' but for db.example, "
                 "127.0.0.1");
}

Test(tls, refuses_a_wildcard_within_a_label) {
  struct peer_cert wild =
      peer_cert_new("x", "DNS:d*.example", -PEER_DAY, PEER_DAY, &authority);
  refused(&wild, "but for d*.example");
  peer_cert_free(&wild);
}

Test(tls, accepts_a_wildcard_for_a_label) {
  struct peer_cert wild =
      peer_cert_new("x", "DNS:*.db.example", -PEER_DAY, PEER_DAY, &authority);
  args.server_name = text("one.db.example");
  accepted(&wild);
  args.server_name = text("two.one.db.example");
  refused(&wild, "but for *.db.example");
  peer_cert_free(&wild);
}

Test(tls, refuses_a_self_signed_certificate) {
  struct peer_cert own =
      peer_cert_new("db.example", "DNS:db.example", -PEER_DAY, PEER_DAY, NULL);
  refused(&own, "it is self-signed ('db.example') and not trusted here");
  peer_cert_free(&own);
}

Test(tls, accepts_a_self_signed_certificate_that_the_file_holds) {
  struct peer_cert own =
      peer_cert_new("db.example", "DNS:db.example", -PEER_DAY, PEER_DAY, NULL);
  const char *path = peer_cert_file(&own, false);
  const struct weir_drv_text ca_file = args.ca_file;
  args.ca_file = text(path);
  accepted(&own);
  args.ca_file = ca_file;
  unlink(path);
  peer_cert_free(&own);
}

Test(tls, refuses_an_unknown_authority) {
  struct peer_cert unknown =
      peer_cert_new("Nobody", NULL, -PEER_DAY, PEER_DAY, NULL);
  struct peer_cert cert = peer_cert_new("db.example", "DNS:db.example",
                                        -PEER_DAY, PEER_DAY, &unknown);
  refused(&cert, "it was issued by 'Nobody', an authority that is not trusted");
  peer_cert_free(&cert);
  peer_cert_free(&unknown);
}

Test(tls, trusts_the_system_s_store_when_no_file_is_given) {
  const struct weir_drv_text ca_file = args.ca_file;
  args.ca_file = text("");
  refused(&good, "an authority that is not trusted here");
  args.ca_file = ca_file;
}

Test(tls, refuses_a_certificate_that_has_expired) {
  struct peer_cert old = peer_cert_new("db.example", "DNS:db.example",
                                       -2 * PEER_DAY, -PEER_DAY, &authority);
  refused(&old, "it has expired on 20");
  peer_cert_free(&old);
}

Test(tls, refuses_a_certificate_of_the_future) {
  struct peer_cert young = peer_cert_new("db.example", "DNS:db.example",
                                         PEER_DAY, 2 * PEER_DAY, &authority);
  refused(&young, "it is not valid before 20");
  peer_cert_free(&young);
}

static uint64_t in_two_days(void) {
  return weir__clock_read(CLOCK_REALTIME) / WEIR_NS_PER_MS +
         UINT64_C(2) * PEER_DAY * 1000;
}

Test(tls, asks_the_engine_s_clock_for_the_date) {
  weir__seams.unix_ms = in_two_days;
  refused(&good, "it has expired on ");
}

Test(tls, accepts_any_certificate_when_told_to) {
  struct peer_cert other =
      peer_cert_new("x", "DNS:other.example", -2 * PEER_DAY, -PEER_DAY, NULL);
  args.flags = WEIR_DRV_TLS_NO_VERIFY;
  accepted(&other);
  args.server_name = text("");
  accepted(&other);
  peer_cert_free(&other);
}

Test(tls, accepts_exactly_the_pinned_certificate) {
  struct peer_cert own =
      peer_cert_new("x", "DNS:other.example", -2 * PEER_DAY, -PEER_DAY, NULL);
  for (int der = 0; der < 2; der++) {
    const char *path = peer_cert_file(&own, der == 1);
    args.pin_file = text(path);
    args.flags = 0;
    accepted(&own);
    refused(&good, "'db.example' is not the one in the file it must equal");
    args.flags = WEIR_DRV_TLS_NO_VERIFY;
    refused(&good, "is not the one in the file");
    unlink(path);
  }
  peer_cert_free(&own);
}

Test(tls, tells_the_server_by_an_alert_why_it_left) {
  char record[256];
  struct peer_cert own =
      peer_cert_new("db.example", "DNS:db.example", -PEER_DAY, PEER_DAY, NULL);
  struct session s = session_with(&own, TLS1_2_VERSION);
  cr_assert_eq(shake(&s), WEIR_DRV_FAIL);
  (void)SSL_read(s.peer, record, sizeof record);
  cr_assert_eq(ERR_GET_REASON(ERR_peek_last_error()),
               SSL_R_TLSV1_ALERT_UNKNOWN_CA);
  ERR_clear_error();
  cr_assert_eq(weir__tls_handshake(s.client, &err), WEIR_DRV_FAIL);
  cr_assert_not_null(strstr(message, "self-signed"));
  end(&s);
  peer_cert_free(&own);
}

/* ------------------------------------------------------------ negotiation */

Test(tls, insists_on_1_3_when_told_to) {
  args.min_version = text("1.3");
  struct session s = session_with(&good, TLS1_2_VERSION);
  cr_assert_eq(shake(&s), WEIR_DRV_FAIL);
  cr_assert_not_null(strstr(message, "the handshake failed: "));
  cr_assert_not_null(strstr(message, "protocol version"), "%s", message);
  cr_assert_eq(err.kind, WEIR_DRV_K_TLS);
  cr_assert_eq(err.scope, WEIR_DRV_SCOPE_ENDPOINT);
  end(&s);
}

Test(tls, says_that_the_answer_is_not_tls) {
  static const char *const answers[] = {
      "HTTP/1.1 400 Bad Request\r\n\r\n",
      "\x04\x01\x00\x25\x00\x00\x01\x00\x00\x00\x15\x00\x06",
  };
  for (size_t i = 0; i < 2; i++) {
    struct session s = session_with(&good, 0);
    cr_assert_eq(weir__tls_handshake(s.client, &err), WEIR_DRV_WAIT);
    cr_assert_eq(weir__tls_feed(s.client, answers[i], 13), 13);
    cr_assert_eq(weir__tls_handshake(s.client, &err), WEIR_DRV_FAIL);
    cr_assert_not_null(strstr(message, "is not TLS"), "%s", message);
    end(&s);
  }
}

static int choose_alpn(SSL *ssl,
                       const unsigned char **out,
                       unsigned char *out_n,
                       const unsigned char *in,
                       unsigned in_n,
                       void *arg) {
  (void)ssl;
  (void)arg;
  cr_assert_eq(in_n, 8);
  *out = in + 1;
  *out_n = in[0];
  return SSL_TLSEXT_ERR_OK;
}

Test(tls, offers_the_protocol_by_name) {
  const unsigned char *chosen;
  unsigned n;
  args.alpn = text("tds/8.0");
  struct session s = session_with(&good, 0);
  SSL_CTX_set_alpn_select_cb(s.server, choose_alpn, NULL);
  shaken(&s);
  SSL_get0_alpn_selected(s.peer, &chosen, &n);
  cr_assert_eq(n, 7);
  cr_assert_eq(memcmp(chosen, "tds/8.0", 7), 0);
  end(&s);
}

Test(tls, sends_a_host_name_but_never_an_address) {
  struct session s = session_with(&good, 0);
  shaken(&s);
  cr_assert_str_eq(SSL_get_servername(s.peer, TLSEXT_NAMETYPE_host_name),
                   "db.example");
  end(&s);
  args.server_name = text("127.0.0.1");
  s = session_with(&good, 0);
  shaken(&s);
  cr_assert_null(SSL_get_servername(s.peer, TLSEXT_NAMETYPE_host_name));
  end(&s);
}

/* ----------------------------------------------------------------- tickets */

/* Whether a second handshake with the same server resumes the first. */
static int32_t resumes(SSL_CTX *server, uint64_t partition) {
  struct session s = session_in(partition, server);
  shaken(&s);
  exchange(&s);
  int32_t resumed = weir__tls_resumed(s.client);
  end_keeping_server(&s);
  return resumed;
}

Test(tls, resumes_with_a_ticket_of_the_same_partition_only) {
  static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
  for (size_t i = 0; i < 2; i++) {
    SSL_CTX *server = peer_server(&good, versions[i]);
    uint64_t partition = i * 10;
    cr_assert_eq(resumes(server, partition), 0);
    cr_assert_eq(resumes(server, partition), 1);
    cr_assert_eq(resumes(server, partition), 1);
    cr_assert_eq(resumes(server, partition + 1), 0);
    SSL_CTX_free(server);
  }
}

Test(tls, resumes_nothing_across_verification_settings) {
  SSL_CTX *server = peer_server(&good, 0);
  args.flags = WEIR_DRV_TLS_NO_VERIFY;
  cr_assert_eq(resumes(server, 1), 0);
  args.flags = 0;
  cr_assert_eq(resumes(server, 1), 0);
  args.verify_name = text("127.0.0.1");
  cr_assert_eq(resumes(server, 1), 0);
  args.verify_name = text("");
  args.peer = text("db.example:1434");
  cr_assert_eq(resumes(server, 1), 0);
  SSL_CTX_free(server);
}

Test(tls, keeps_no_ticket_when_told_not_to_or_without_a_peer) {
  SSL_CTX *server = peer_server(&good, 0);
  args.flags = WEIR_DRV_TLS_NO_TICKET;
  cr_assert_eq(resumes(server, 1), 0);
  cr_assert_eq(resumes(server, 1), 0);
  args.flags = 0;
  args.peer = text("");
  cr_assert_eq(resumes(server, 1), 0);
  cr_assert_eq(resumes(server, 1), 0);
  cr_assert_eq(tls->n_tickets, 0);
  SSL_CTX_free(server);
}

/* How many tickets of an earlier session are gone after offering one. */
static uint32_t gone_after_offering(int version) {
  SSL_CTX *server = peer_server(&good, version);
  cr_assert_eq(resumes(server, (uint64_t)version), 0);
  uint32_t before = tls->n_tickets;
  cr_assert_gt(before, 0);
  weir__tls_close(open_in((uint64_t)version));
  uint32_t gone = before - tls->n_tickets;
  SSL_CTX_free(server);
  return gone;
}

Test(tls, offers_a_ticket_of_1_3_once_and_of_1_2_again) {
  cr_assert_eq(gone_after_offering(TLS1_3_VERSION), 1);
  cr_assert_eq(gone_after_offering(TLS1_2_VERSION), 0);
}

Test(tls, keeps_a_few_tickets_for_each_peer) {
  SSL_CTX *server = peer_server(&good, 0);
  struct session s[4];
  for (int i = 0; i < 4; i++) {
    s[i] = session_in(1, server);
  }
  for (int i = 0; i < 4; i++) {
    shaken(&s[i]); /* a full one each, with two tickets */
    exchange(&s[i]);
  }
  cr_assert_eq(tls->n_tickets, WEIR_TLS_TICKETS_PEER_MAX);
  for (int i = 0; i < 4; i++) {
    end_keeping_server(&s[i]);
  }
  SSL_CTX_free(server);
}

Test(tls, offers_no_ticket_that_is_out_of_date) {
  args.flags = WEIR_DRV_TLS_NO_VERIFY;
  SSL_CTX *server = peer_server(&good, 0);
  cr_assert_eq(resumes(server, 1), 0);
  weir__seams.unix_ms = in_two_days;
  cr_assert_eq(resumes(server, 1), 0);
  SSL_CTX_free(server);
}

/* ---------------------------------------------------------------- bindings */

Test(tls, binds_to_the_server_s_certificate) {
  uint8_t ours[64];
  uint8_t theirs[64];
  unsigned n = 0;
  struct session s = session_with(&good, 0);
  shaken(&s);
  cr_assert_eq(X509_digest(good.x509, EVP_sha256(), theirs, &n), 1);
  cr_assert_eq(weir__tls_binding(s.client, WEIR_DRV_TLS_BIND_END_POINT, ours,
                                 sizeof ours),
               32);
  cr_assert_arr_eq(ours, theirs, 32);
  cr_assert_eq(
      weir__tls_binding(s.client, WEIR_DRV_TLS_BIND_END_POINT, ours, 31),
      WEIR_DRV_E_SPACE);
  cr_assert_eq(weir__tls_binding(s.client, WEIR_DRV_TLS_BIND_UNIQUE, ours, 64),
               WEIR_DRV_E_UNSUPPORTED);
  cr_assert_eq(weir__tls_binding(s.client, 77, ours, 64),
               WEIR_DRV_E_UNSUPPORTED);
  end(&s);
}

Test(tls, binds_to_the_session_in_1_2) {
  SSL_CTX *server = peer_server(&good, TLS1_2_VERSION);
  for (int resumed = 0; resumed < 2; resumed++) {
    uint8_t ours[64];
    uint8_t theirs[64];
    struct session s = session_in(1, server);
    shaken(&s);
    size_t n = resumed ? SSL_get_finished(s.peer, theirs, sizeof theirs)
                       : SSL_get_peer_finished(s.peer, theirs, sizeof theirs);
    cr_assert_eq(weir__tls_resumed(s.client), resumed);
    cr_assert_eq(weir__tls_binding(s.client, WEIR_DRV_TLS_BIND_UNIQUE, ours,
                                   sizeof ours),
                 (int64_t)n);
    cr_assert_arr_eq(ours, theirs, n);
    end_keeping_server(&s);
  }
  SSL_CTX_free(server);
}

/* ----------------------------------------------------------- configuration */

static void open_fails(weir_drv_status expected, const char *why) {
  weir_drv_tls *t = NULL;
  message[0] = '\0';
  cr_assert_eq(weir__tls_open(tls, 1, &args, &t, &err), expected);
  cr_assert_null(t);
  cr_assert_not_null(strstr(message, why), "'%s' lacks '%s'", message, why);
}

Test(tls, names_what_is_wrong_with_its_arguments) {
  char hole[600];
  memset(hole, 'a', sizeof hole);
  const struct weir_drv_tls_args right = args;
  args.ca_file = text("/nonexistent/ca.pem");
  open_fails(WEIR_DRV_FAIL, "cannot read the file of authorities "
                            "/nonexistent/ca.pem: No such file or directory");
  cr_assert_eq(err.kind, WEIR_DRV_K_CONFIG);
  cr_assert_eq(err.scope, WEIR_DRV_SCOPE_CONFIG);
  args.ca_file = text("/etc");
  open_fails(WEIR_DRV_FAIL, "/etc is not a file");
  args.ca_file = text("/etc/passwd");
  open_fails(WEIR_DRV_FAIL, "/etc/passwd holds no readable PEM certificate");
  args = right;
  args.pin_file = text("/etc/passwd");
  open_fails(WEIR_DRV_FAIL, "/etc/passwd holds no certificate");
  args = right;
  args.min_version = text("1.1");
  open_fails(WEIR_DRV_FAIL, "version '1.1' is neither 1.2 nor 1.3");
  args.min_version = text("1.3");
  args.flags = WEIR_DRV_TLS_MAX_1_2;
  open_fails(WEIR_DRV_FAIL, "at least version 1.3 is asked for");
  args = right;
  args.server_name = text("");
  open_fails(WEIR_DRV_FAIL, "there is no name to verify");
  args.server_name = text("a b");
  open_fails(WEIR_DRV_FAIL, "characters that no host name has");
  args.server_name.p = hole;
  args.server_name.n = sizeof hole;
  open_fails(WEIR_DRV_FAIL, "too long");
  args = right;
  args.alpn = args.server_name;
  args.alpn.p = hole;
  args.alpn.n = sizeof hole;
  open_fails(WEIR_DRV_FAIL, "at most 255 bytes");
  args = right;
}

Test(tls, refuses_flags_and_sizes_that_it_does_not_know) {
  struct {
    struct weir_drv_tls_args args;
    uint64_t more;
  } larger = {.args = args};
  weir_drv_tls *t = NULL;
  args.flags = 1u << 30;
  open_fails(WEIR_DRV_E_UNSUPPORTED, "");
  args.flags = 0;
  args.struct_size = 8;
  open_fails(WEIR_DRV_E_UNSUPPORTED, "");
  larger.args.struct_size = sizeof larger;
  larger.more = 1;
  cr_assert_eq(weir__tls_open(tls, 1, &larger.args, &t, &err),
               WEIR_DRV_E_UNSUPPORTED);
  larger.more = 0;
  cr_assert_eq(weir__tls_open(tls, 1, &larger.args, &t, &err), WEIR_DRV_DONE);
  weir__tls_close(t);
}

Test(tls, shares_a_configuration_until_its_file_changes) {
  weir_drv_tls *a = open_in(1);
  weir_drv_tls *b = open_in(2);
  cr_assert_eq(a->config, b->config);
  FILE *file = fopen(args.ca_file.p, "ab");
  fputs("\n", file);
  fclose(file);
  weir_drv_tls *c = open_in(1);
  cr_assert_neq(a->config, c->config);
  weir__tls_close(a);
  weir__tls_close(b);
  weir__tls_close(c);
}

Test(tls, keeps_only_so_many_configurations) {
  char name[16];
  for (unsigned i = 0; i < WEIR_TLS_CONFIGS_MAX + 10; i++) {
    (void)snprintf(name, sizeof name, "p/%u", i);
    args.alpn = text(name);
    weir__tls_close(open_in(1));
  }
  cr_assert_eq(tls->n_configs, WEIR_TLS_CONFIGS_MAX);
  weir__tls_close(NULL);
}

static int allocations_left;

static void *few_allocations(size_t n) {
  return allocations_left-- > 0 ? calloc(1, n) : NULL;
}

Test(tls, says_so_when_there_is_no_memory) {
  weir_drv_tls *t = NULL;
  weir__seams.alloc = few_allocations;
  for (int i = 0; i < 2; i++) {
    allocations_left = i;
    cr_assert_eq(weir__tls_open(tls, 1, &args, &t, &err), WEIR_DRV_E_NOMEM);
  }
  weir__seams_reset();
}
