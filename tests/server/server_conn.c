/* SPDX-License-Identifier: MIT */
#include "server_conn.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server_const.h"

#define READ_BYTES      65536u
#define TLS_CLIENTHELLO 0x16u
#define TLS_ALERT       0x15u
#define TLS_RECORD      5u
#define TLS_RECORD_MAX  (16384u + 2048u)

struct tdsd_conn *tdsd_conn_new(struct tdsd_shared *shared,
                                int fd,
                                uint16_t spid,
                                uint32_t number,
                                uint16_t peer_port) {
  struct tdsd_conn *conn = calloc(1, sizeof *conn);
  if (conn == NULL) {
    return NULL;
  }
  conn->watch = (struct tdsd_watch){.kind = TDSD_WATCH_CONN, .fd = fd};
  conn->shared = shared;
  tdsd_session_init(&conn->session, shared, spid);
  conn->session.number = number + 1;
  tdsd_tap_begin(shared->tap, &conn->flow, number, peer_port);
  tdsd_count(&shared->counters.connections_total, 1);
  tdsd_count(&shared->counters.connections_open, 1);
  return conn;
}

void tdsd_conn_free(struct tdsd_conn *conn) {
  tdsd_tap_end(conn->shared->tap, &conn->flow);
  tdsd_session_fini(&conn->session);
  tdsd_tls_free(conn->tls);
  tdsd_buf_wipe(&conn->in);
  tdsd_buf_wipe(&conn->clear);
  tdsd_buf_fini(&conn->tx);
  (void)close(conn->watch.fd);
  tdsd_uncount(&conn->shared->counters.connections_open);
  free(conn);
}

static void refuse(struct tdsd_conn *conn, const char *problem) {
  tdsd_log(conn->shared, conn->session.spid, "%s", problem);
  tdsd_count(&conn->shared->counters.violations, 1);
  conn->session.phase = TDSD_PHASE_ENDED;
}

/* Moves whole packets of the session to the socket's buffer, one TLS write for
 * each, as servers do. */
static void collect(struct tdsd_conn *conn) {
  struct tdsd_buf *out = &conn->session.out;
  while (tdsd_buf_len(out) >= TDSD_HEADER_BYTES) {
    const uint8_t *packet = tdsd_buf_at(out);
    size_t len = tdsd_get_u16be(packet + 2);
    tdsd_tap_packet(conn->shared->tap, &conn->flow, false, packet, len);
    if (conn->mode == TDSD_CONN_TLS) {
      if (!tdsd_tls_write(conn->tls, packet, len)) {
        conn->dead = true;
        return;
      }
      tdsd_tls_take(conn->tls, &conn->tx);
    } else {
      tdsd_buf_bytes(&conn->tx, packet, len);
    }
    tdsd_buf_consume(out, len);
  }
  if (conn->tx.failed) {
    conn->dead = true;
  }
}

/* Lets the session take one packet.  Returns false if it took none. */
static bool feed(struct tdsd_conn *conn,
                 struct tdsd_buf *from,
                 uint64_t now_ns) {
  const uint8_t *bytes = tdsd_buf_at(from);
  size_t len = tdsd_buf_len(from);
  size_t taken = tdsd_session_feed(&conn->session, bytes, len, now_ns);
  if (taken == 0) {
    return false;
  }
  if (taken >= TDSD_HEADER_BYTES && taken == tdsd_get_u16be(bytes + 2)) {
    tdsd_tap_packet(conn->shared->tap, &conn->flow, true, bytes, taken);
  }
  tdsd_buf_consume(from, taken);
  collect(conn);
  return true;
}

static bool start_tls(struct tdsd_conn *conn, bool strict) {
  conn->tls = tdsd_tls_new(conn->shared->tls, strict);
  if (conn->tls == NULL) {
    conn->dead = true;
    return false;
  }
  conn->mode = TDSD_CONN_HANDSHAKE;
  conn->wrapped = !strict;
  conn->session.strict = strict;
  return true;
}

/* TDS 8 begins with a ClientHello, all else with a TDS packet. */
static bool first_byte(struct tdsd_conn *conn) {
  if (tdsd_buf_len(&conn->in) == 0) {
    return false;
  }
  if (tdsd_buf_at(&conn->in)[0] == TLS_CLIENTHELLO) {
    if (conn->shared->tls == NULL) {
      refuse(conn, "a TLS ClientHello where TLS is off");
      return false;
    }
    return start_tls(conn, true);
  }
  if (conn->shared->options.tls == TDSD_TLS_STRICT) {
    refuse(conn, "clear bytes where TDS 8 demands TLS first");
    return false;
  }
  conn->mode = TDSD_CONN_PLAIN;
  return true;
}

/* After login-only TLS a client may still say goodbye to TLS; pass over it. */
static bool skip_alert(struct tdsd_conn *conn) {
  const uint8_t *in = tdsd_buf_at(&conn->in);
  size_t len = tdsd_buf_len(&conn->in);
  if (!conn->tls_over || len < TLS_RECORD || in[0] != TLS_ALERT || in[1] != 3 ||
      len < TLS_RECORD + tdsd_get_u16be(in + 3)) {
    return false;
  }
  tdsd_buf_consume(&conn->in, TLS_RECORD + tdsd_get_u16be(in + 3));
  return true;
}

static bool pump_plain(struct tdsd_conn *conn, uint64_t now_ns) {
  const struct tdsd_session *session = &conn->session;
  if (skip_alert(conn)) {
    return true;
  }
  if (!feed(conn, &conn->in, now_ns)) {
    return false;
  }
  bool tls = session->encryption == TDSD_CRYPT_FULL ||
             session->encryption == TDSD_CRYPT_LOGIN_ONLY;
  if (session->phase == TDSD_PHASE_LOGIN && tls && !conn->tls_over) {
    return start_tls(conn, false);
  }
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
      refuse(conn, problem.text);
    }
    return false;
  }
  if (packet.type != TDSD_PKT_PRELOGIN || (packet.status & ~TDSD_ST_EOM) != 0) {
    refuse(conn, "the TLS handshake is not in PRELOGIN packets");
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
  const size_t most = TDSD_PACKET_DEFAULT - TDSD_HEADER_BYTES;
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
static bool decrypt(struct tdsd_conn *conn) {
  char why[256];
  int rc = tdsd_tls_read(conn->tls, &conn->clear, why, sizeof why);
  if (rc < 0) {
    refuse(conn, why);
  } else if (rc > 0) {
    conn->dead = true; /* a goodbye is the end, as EOF is */
  }
  tdsd_tls_take(conn->tls, &conn->tx);
  return rc == 0;
}

static bool pump_handshake(struct tdsd_conn *conn) {
  char why[256];
  if (!(conn->wrapped ? give_wrapped(conn) : give_bare(conn))) {
    return false;
  }
  int rc = tdsd_tls_handshake(conn->tls, why, sizeof why);
  send_handshake(conn);
  if (rc < 0) {
    refuse(conn, why);
    return false;
  }
  if (rc > 0) {
    handshake_over(conn);
    /* A bare handshake's last bytes may have brought the first request. */
    return conn->wrapped || decrypt(conn);
  }
  return true;
}

/* Exactly one TLS record at a time, because what follows LOGIN7's first packet
 * is in clear and must not reach TLS. */
static bool pump_login_only(struct tdsd_conn *conn, uint64_t now_ns) {
  const uint8_t *in = tdsd_buf_at(&conn->in);
  size_t len = tdsd_buf_len(&conn->in);
  if (len < TLS_RECORD) {
    return false;
  }
  size_t record = TLS_RECORD + tdsd_get_u16be(in + 3);
  if (record > TLS_RECORD + TLS_RECORD_MAX) {
    refuse(conn, "no TLS record where an encrypted LOGIN7 was expected");
    return false;
  }
  if (len < record) {
    return false;
  }
  conn->dead = conn->dead || !tdsd_tls_give(conn->tls, in, record);
  tdsd_buf_consume(&conn->in, record);
  if (!decrypt(conn)) {
    return false;
  }
  conn->mode = TDSD_CONN_PLAIN; /* the answer is in clear */
  if (!feed(conn, &conn->clear, now_ns)) {
    conn->mode = TDSD_CONN_LOGIN_ONLY;
    return true;
  }
  conn->tls_over = true;
  if (tdsd_buf_len(&conn->clear) != 0) {
    refuse(conn, "encrypted bytes behind the first packet of LOGIN7");
  }
  tdsd_tls_free(conn->tls);
  conn->tls = NULL;
  return true;
}

static bool pump_tls(struct tdsd_conn *conn, uint64_t now_ns) {
  size_t len = tdsd_buf_len(&conn->in);
  if (len != 0) {
    conn->dead =
        conn->dead || !tdsd_tls_give(conn->tls, tdsd_buf_at(&conn->in), len);
    tdsd_buf_consume(&conn->in, len);
    if (!decrypt(conn)) {
      return false;
    }
  }
  return feed(conn, &conn->clear, now_ns);
}

static void pump(struct tdsd_conn *conn, uint64_t now_ns) {
  bool more = true;
  while (more && !conn->dead && conn->session.phase != TDSD_PHASE_ENDED) {
    switch (conn->mode) {
    case TDSD_CONN_FIRST:
      more = first_byte(conn);
      break;
    case TDSD_CONN_PLAIN:
      more = pump_plain(conn, now_ns);
      break;
    case TDSD_CONN_HANDSHAKE:
      more = pump_handshake(conn);
      break;
    case TDSD_CONN_LOGIN_ONLY:
      more = pump_login_only(conn, now_ns);
      break;
    case TDSD_CONN_TLS:
    default:
      more = pump_tls(conn, now_ns);
      break;
    }
  }
}

/* How much one send may carry under the faults that are on. */
static size_t allowance(const struct tdsd_conn *conn) {
  const struct tdsd_faults *faults = &conn->shared->faults;
  size_t len = tdsd_buf_len(&conn->tx);
  if (faults->fragment != 0 && len > faults->fragment) {
    len = faults->fragment;
  }
  if (faults->drop_after_bytes != 0) {
    uint64_t left = faults->drop_after_bytes > conn->sent
                        ? faults->drop_after_bytes - conn->sent
                        : 0;
    len = len > left ? (size_t)left : len;
  }
  return len;
}

static void transmit(struct tdsd_conn *conn) {
  while (!conn->dead && tdsd_buf_len(&conn->tx) != 0) {
    size_t len = allowance(conn);
    if (len == 0) {
      conn->dead = true; /* drop-after-bytes has come true */
      return;
    }
    ssize_t n = send(conn->watch.fd, tdsd_buf_at(&conn->tx), len, MSG_NOSIGNAL);
    if (n < 0) {
      conn->dead = errno != EAGAIN && errno != EINTR;
      return;
    }
    conn->sent += (uint64_t)n;
    tdsd_count(&conn->shared->counters.bytes_out, (uint64_t)n);
    tdsd_buf_consume(&conn->tx, (size_t)n);
  }
}

/* A session that ended sends the rest, then FIN, and stays until the peer's end
 * has been read, so that no reset overtakes its last words.  One that had logged
 * in was ended by force, so TLS is not told: FreeTDS with GnuTLS, which meets a
 * close_notify behind an error of class 20, waits in a circle for ever. */
static void say_goodbye(struct tdsd_conn *conn, uint64_t now_ns) {
  if (conn->session.phase != TDSD_PHASE_ENDED || conn->said_goodbye ||
      conn->dead || tdsd_buf_len(&conn->tx) != 0) {
    return;
  }
  conn->said_goodbye = true;
  if (conn->mode == TDSD_CONN_TLS && !conn->session.logged_in) {
    tdsd_tls_shutdown(conn->tls);
    tdsd_tls_take(conn->tls, &conn->tx);
    transmit(conn);
  }
  (void)shutdown(conn->watch.fd, SHUT_WR);
  conn->linger_ns = now_ns + TDSD_LINGER_NS;
}

static void work(struct tdsd_conn *conn, uint64_t now_ns) {
  if (!conn->shared->options.silent) {
    pump(conn, now_ns);
  }
  collect(conn);
  transmit(conn);
  say_goodbye(conn, now_ns);
}

static size_t input_len(const struct tdsd_conn *conn) {
  return tdsd_buf_len(&conn->in) + tdsd_buf_len(&conn->clear);
}

/* Reads once.  Returns false at the end of the stream. */
static bool read_some(struct tdsd_conn *conn) {
  uint8_t *to = tdsd_buf_reserve(&conn->in, READ_BYTES);
  if (to == NULL) {
    return false;
  }
  ssize_t n = recv(conn->watch.fd, to, READ_BYTES, 0);
  if (n > 0) {
    tdsd_buf_commit(&conn->in, (size_t)n);
    tdsd_count(&conn->shared->counters.bytes_in, (uint64_t)n);
    return true;
  }
  return n < 0 && (errno == EAGAIN || errno == EINTR);
}

void tdsd_conn_readable(struct tdsd_conn *conn, uint64_t now_ns) {
  bool alive = input_len(conn) < TDSD_CAP_INPUT && read_some(conn);
  if (conn->said_goodbye || conn->shared->options.silent) {
    tdsd_buf_clear(&conn->in);
  }
  if (!conn->said_goodbye) {
    work(conn, now_ns);
  }
  /* Whoever hangs up while its input is full is gone, too. */
  conn->dead = conn->dead || !alive;
}

void tdsd_conn_writable(struct tdsd_conn *conn, uint64_t now_ns) {
  transmit(conn);
  say_goodbye(conn, now_ns);
}

void tdsd_conn_timer(struct tdsd_conn *conn, uint64_t now_ns) {
  if (conn->said_goodbye) {
    conn->dead = true;
    return;
  }
  tdsd_session_wake(&conn->session, now_ns);
  work(conn, now_ns);
}

void tdsd_conn_kill(struct tdsd_conn *conn, uint64_t now_ns) {
  tdsd_session_kill(&conn->session);
  work(conn, now_ns);
}

uint32_t tdsd_conn_wants(const struct tdsd_conn *conn) {
  uint32_t events = EPOLLRDHUP;
  events |= input_len(conn) < TDSD_CAP_INPUT ? (uint32_t)EPOLLIN : 0u;
  events |= tdsd_buf_len(&conn->tx) != 0 ? (uint32_t)EPOLLOUT : 0u;
  return events;
}

uint64_t tdsd_conn_deadline(const struct tdsd_conn *conn, uint64_t now_ns) {
  if (conn->said_goodbye) {
    return conn->linger_ns;
  }
  if (conn->session.full && tdsd_buf_len(&conn->tx) < TDSD_CAP_OUTPUT) {
    return now_ns; /* go on at the next turn */
  }
  return conn->session.wake_ns;
}
