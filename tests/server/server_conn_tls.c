/* SPDX-License-Identifier: MIT */
/* TLS of a connection: wrapped in PRELOGIN packets, bare, or for LOGIN7 only. */
#include <time.h>

#include "server_conn_impl.h"
#include "server_const.h"

#define TLS_RECORD     5u
#define TLS_RECORD_MAX (16384u + 2048u)

/* The faults that hit this connection's TLS. */
static void find_tls_faults(struct tdsd_conn *conn) {
  struct tdsd_tls_faults *faults = &conn->tls_faults;
  struct tdsd_fault_rule *rule = NULL;
  uint32_t at = 0;
  while ((rule = tdsd_fault_next(&conn->shared->faults, TDSD_STAGE_TLS,
                                 conn->session.number, conn->session.listener,
                                 &at)) != NULL) {
    if (!tdsd_fault_take(rule)) {
      continue;
    }
    unsigned kind = rule->row->kind;
    switch (kind) {
    case TDSD_FAULT_TLS_CERT:
      faults->cert = (enum tdsd_cert_kind)(rule->word + 1);
      break;
    case TDSD_FAULT_TLS_ALPN:
      faults->alpn = (enum tdsd_alpn)(rule->word + 1);
      break;
    case TDSD_FAULT_TLS_NO_GOODBYE:
      faults->no_goodbye = true;
      break;
    case TDSD_FAULT_TLS_PIECES:
      faults->pieces = (uint32_t)rule->number;
      break;
    case TDSD_FAULT_TLS_LATE_TICKETS:
      faults->late_tickets = true;
      break;
    case TDSD_FAULT_TLS_BURN:
      faults->burn_ms = (uint32_t)rule->ms;
      break;
    case TDSD_FAULT_TLS_KEPT:
      faults->kept = true;
      break;
    default:
      faults->stall = (uint32_t)rule->number;
      break;
    }
  }
}

/* Uses up CPU time, as a server does that signs with large keys. */
static void burn(uint32_t ms) {
  struct timespec begun;
  struct timespec now;
  int64_t left = (int64_t)ms * 1000000;
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
  while (left > 0) {
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    left = (int64_t)ms * 1000000 -
           ((int64_t)(now.tv_sec - begun.tv_sec) * 1000000000 + now.tv_nsec -
            begun.tv_nsec);
  }
}

bool tdsd_conn_start_tls(struct tdsd_conn *conn, bool strict) {
  find_tls_faults(conn);
  burn(conn->tls_faults.burn_ms);
  conn->tls = tdsd_tls_new(conn->shared->tls, strict, &conn->tls_faults);
  if (conn->tls == NULL) {
    conn->dead = true;
    return false;
  }
  conn->mode = TDSD_CONN_HANDSHAKE;
  conn->wrapped = !strict;
  conn->session.strict = strict;
  return true;
}

/* Gives TLS the next piece of the client's handshake.  Returns false if there is
 * none yet, or if it is no PRELOGIN packet. */
static bool give_wrapped(struct tdsd_conn *conn) {
  struct tdsd_packet packet;
  struct tdsd_problem problem;
  int rc = tdsd_packet_parse(tdsd_buf_at(&conn->in), tdsd_buf_len(&conn->in),
                             &packet, &problem);
  if (rc <= 0) {
    if (rc < 0) {
      tdsd_conn_refuse(conn, problem.text);
    }
    return false;
  }
  if (packet.type != TDSD_PKT_PRELOGIN || (packet.status & ~TDSD_ST_EOM) != 0) {
    tdsd_conn_refuse(conn, "the TLS handshake is not in PRELOGIN packets");
    return false;
  }
  bool given =
      tdsd_tls_give(conn->tls, packet.body, packet.length - TDSD_HEADER_BYTES);
  conn->dead = conn->dead || !given;
  tdsd_buf_consume(&conn->in, packet.length);
  return given;
}

static bool give_bare(struct tdsd_conn *conn) {
  size_t len = tdsd_buf_len(&conn->in);
  if (len == 0) {
    return false;
  }
  bool given = tdsd_tls_give(conn->tls, tdsd_buf_at(&conn->in), len);
  conn->dead = conn->dead || !given;
  tdsd_buf_consume(&conn->in, len);
  return given;
}

/* Sends what TLS has to say, wrapped in packets of 4096 bytes at most with the
 * end of message on the last of a flight. */
static void send_handshake(struct tdsd_conn *conn) {
  if (!conn->wrapped) {
    tdsd_tls_take(conn->tls, &conn->tx);
    return;
  }
  struct tdsd_buf flight = {0};
  const size_t most = conn->tls_faults.pieces != 0
                          ? conn->tls_faults.pieces
                          : TDSD_PACKET_DEFAULT - TDSD_HEADER_BYTES;
  tdsd_tls_take(conn->tls, &flight);
  for (uint8_t id = 1; tdsd_buf_len(&flight) != 0; id++) {
    size_t len = tdsd_buf_len(&flight);
    size_t piece = len < most ? len : most;
    tdsd_packet_write(&conn->tx, TDSD_PKT_PRELOGIN,
                      piece == len ? TDSD_ST_EOM : 0, 0, id,
                      tdsd_buf_at(&flight), piece);
    tdsd_buf_consume(&flight, piece);
  }
  tdsd_buf_fini(&flight);
}

static void handshake_over(struct tdsd_conn *conn) {
  struct tdsd_counters *counters = &conn->shared->counters;
  tdsd_count(&counters->tls_handshakes, 1);
  tdsd_count(&counters->tls_resumed, tdsd_tls_resumed(conn->tls) ? 1 : 0);
  conn->mode = conn->session.encryption == TDSD_CRYPT_LOGIN_ONLY
                   ? TDSD_CONN_LOGIN_ONLY
                   : TDSD_CONN_TLS;
}

/* Decrypts; false if nothing more can come of it. */
bool tdsd_conn_decrypt(struct tdsd_conn *conn) {
  char why[256];
  int rc = tdsd_tls_read(conn->tls, &conn->clear, why, sizeof why);
  if (rc < 0) {
    tdsd_conn_refuse(conn, why);
  } else if (rc > 0) {
    conn->dead = true; /* a goodbye is the end, as EOF is */
  }
  tdsd_tls_take(conn->tls, &conn->tx);
  return rc == 0;
}

bool tdsd_conn_pump_handshake(struct tdsd_conn *conn) {
  char why[256];
  if (!(conn->wrapped ? give_wrapped(conn) : give_bare(conn))) {
    return false;
  }
  if (++conn->given == conn->tls_faults.stall) {
    conn->stalled = true;
    conn->silent = true;
    return false;
  }
  int rc = tdsd_tls_handshake(conn->tls, why, sizeof why);
  send_handshake(conn);
  if (rc < 0) {
    tdsd_conn_refuse(conn, why);
    return false;
  }
  if (rc > 0) {
    handshake_over(conn);
    /* A bare handshake's last bytes may have brought the first request. */
    return conn->wrapped || tdsd_conn_decrypt(conn);
  }
  return true;
}

/* Exactly one TLS record at a time, because what follows LOGIN7's first packet
 * is in clear and must not reach TLS. */
bool tdsd_conn_pump_login_only(struct tdsd_conn *conn, uint64_t now_ns) {
  const uint8_t *in = tdsd_buf_at(&conn->in);
  size_t len = tdsd_buf_len(&conn->in);
  if (len < TLS_RECORD) {
    return false;
  }
  size_t record = TLS_RECORD + tdsd_get_u16be(in + 3);
  if (record > TLS_RECORD + TLS_RECORD_MAX) {
    tdsd_conn_refuse(conn,
                     "no TLS record where an encrypted LOGIN7 was expected");
    return false;
  }
  if (len < record) {
    return false;
  }
  conn->dead = conn->dead || !tdsd_tls_give(conn->tls, in, record);
  tdsd_buf_consume(&conn->in, record);
  if (!tdsd_conn_decrypt(conn)) {
    return false;
  }
  /* The answer is in clear. */
  conn->mode = conn->tls_faults.kept ? TDSD_CONN_TLS : TDSD_CONN_PLAIN;
  if (!tdsd_conn_feed(conn, &conn->clear, now_ns)) {
    conn->mode = TDSD_CONN_LOGIN_ONLY;
    return true;
  }
  if (conn->tls_faults.kept) {
    conn->mode = TDSD_CONN_TLS;
    return true;
  }
  conn->tls_over = true;
  if (tdsd_buf_len(&conn->clear) != 0) {
    tdsd_conn_refuse(conn, "encrypted bytes behind the first packet of LOGIN7");
  }
  tdsd_tls_free(conn->tls);
  conn->tls = NULL;
  return true;
}
