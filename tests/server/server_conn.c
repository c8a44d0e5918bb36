/* SPDX-License-Identifier: MIT */
#include "server_conn.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "server_const.h"

#define READ_BYTES      65536u
/* Between two pieces, so that the other side meets them one by one. */
#define PIECE_NS        UINT64_C(20000)
#define TLS_CLIENTHELLO 0x16u
#define TLS_ALERT       0x15u
#define TLS_RECORD      5u
#define TLS_RECORD_MAX  (16384u + 2048u)

struct tdsd_conn *tdsd_conn_new(struct tdsd_shared *shared,
                                int fd,
                                uint32_t listener,
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
  conn->session.listener = listener;
  tdsd_tap_begin(shared->tap, &conn->flow, number, peer_port);
  tdsd_count(&shared->counters.connections_total, 1);
  tdsd_count_up(&shared->counters.connections_open,
                &shared->counters.connections_max);
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

static void transmit(struct tdsd_conn *conn);

/* Bytes of the packet at hand that are still in the session's out. */
static size_t unit_left(const struct tdsd_conn *conn) {
  const struct tdsd_buf *units = &conn->session.units;
  size_t len = tdsd_buf_len(&conn->session.out);
  return tdsd_buf_len(units) >= 4 ? tdsd_get_u32(tdsd_buf_at(units)) : len;
}

/* n bytes of the packet at hand have left. */
static void use_unit(struct tdsd_conn *conn, size_t n) {
  struct tdsd_buf *units = &conn->session.units;
  if (tdsd_buf_len(units) < 4) {
    return;
  }
  uint32_t left = tdsd_get_u32(tdsd_buf_at(units)) - (uint32_t)n;
  if (left != 0) {
    tdsd_buf_put_u32(units, 0, left);
  } else {
    tdsd_buf_consume(units, 4);
    conn->tapped = false;
  }
}

/* Moves n bytes of the packet at hand to the socket's buffer, one TLS write for
 * each packet, as servers do, or for each piece of it. */
static void move_bytes(struct tdsd_conn *conn, size_t n) {
  struct tdsd_buf *out = &conn->session.out;
  const uint8_t *bytes = tdsd_buf_at(out);
  if (!conn->tapped) {
    tdsd_count(&conn->shared->counters.packets_out, 1);
    tdsd_tap_packet(conn->shared->tap, &conn->flow, false, bytes,
                    unit_left(conn));
    conn->tapped = true;
  }
  if (conn->mode == TDSD_CONN_TLS) {
    if (!tdsd_tls_write(conn->tls, bytes, n)) {
      conn->dead = true;
      return;
    }
    tdsd_tls_take(conn->tls, &conn->tx);
  } else {
    tdsd_buf_bytes(&conn->tx, bytes, n);
  }
  tdsd_buf_consume(out, n);
  use_unit(conn, n);
  conn->passed += n;
}

/* What is still to be said is never said. */
static void drop_output(struct tdsd_conn *conn) {
  tdsd_buf_clear(&conn->session.out);
  tdsd_buf_clear(&conn->session.units);
}

static void pass_gate(struct tdsd_conn *conn, uint64_t now_ns) {
  const struct tdsd_gate gate = *tdsd_gates_next(&conn->session.gates);
  tdsd_gates_pass(&conn->session.gates);
  switch (gate.kind) {
  case TDSD_GATE_PAUSE:
    conn->hold_ns = now_ns + gate.arg;
    break;
  case TDSD_GATE_PIECES:
    conn->piece = gate.arg;
    conn->piece_ns = gate.piece_ns;
    break;
  case TDSD_GATE_STALL:
    conn->stalled = true;
    break;
  case TDSD_GATE_FREEZE:
    conn->frozen = true;
    break;
  case TDSD_GATE_CLOSE:
  case TDSD_GATE_RST:
  default:
    conn->session.abort = gate.kind == TDSD_GATE_RST;
    conn->session.phase = TDSD_PHASE_ENDED;
    drop_output(conn);
    break;
  }
}

/* How many bytes may leave in one go. */
static size_t next_piece(const struct tdsd_conn *conn) {
  const struct tdsd_gate *gate = tdsd_gates_next(&conn->session.gates);
  size_t n = tdsd_buf_len(&conn->session.out);
  size_t unit = unit_left(conn);
  n = unit < n ? unit : n;
  if (gate != NULL && gate->at - conn->passed < n) {
    n = (size_t)(gate->at - conn->passed);
  }
  return conn->piece != 0 && conn->piece < n ? (size_t)conn->piece : n;
}

static bool at_gate(const struct tdsd_conn *conn) {
  const struct tdsd_gate *gate = tdsd_gates_next(&conn->session.gates);
  return gate != NULL && gate->at <= conn->passed;
}

/* Moves what the session has said to the socket's buffer, as far as the gates on
 * the way allow. */
static void collect(struct tdsd_conn *conn, uint64_t now_ns) {
  while (!conn->dead && !conn->frozen && conn->hold_ns <= now_ns) {
    if (conn->stalled) {
      drop_output(conn);
      break;
    }
    if (at_gate(conn)) {
      pass_gate(conn, now_ns);
      continue;
    }
    if (tdsd_buf_len(&conn->session.out) == 0) {
      break;
    }
    if (conn->piece != 0) {
      transmit(conn); /* each piece is a write of its own */
      if (tdsd_buf_len(&conn->tx) != 0) {
        break;
      }
    }
    move_bytes(conn, next_piece(conn));
    if (conn->piece != 0) {
      transmit(conn);
      conn->hold_ns =
          now_ns + (conn->piece_ns != 0 ? conn->piece_ns : PIECE_NS);
    }
  }
  conn->dead = conn->dead || conn->tx.failed;
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
    tdsd_count(&conn->shared->counters.packets_in, 1);
    tdsd_tap_packet(conn->shared->tap, &conn->flow, true, bytes, taken);
  }
  tdsd_buf_consume(from, taken);
  collect(conn, now_ns);
  return true;
}

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

static bool start_tls(struct tdsd_conn *conn, bool strict) {
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
  if (++conn->given == conn->tls_faults.stall) {
    conn->stalled = true;
    conn->silent = true;
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
  /* The answer is in clear. */
  conn->mode = conn->tls_faults.kept ? TDSD_CONN_TLS : TDSD_CONN_PLAIN;
  if (!feed(conn, &conn->clear, now_ns)) {
    conn->mode = TDSD_CONN_LOGIN_ONLY;
    return true;
  }
  if (conn->tls_faults.kept) {
    conn->mode = TDSD_CONN_TLS;
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
  struct tdsd_fault_rule *rule = NULL;
  size_t len = tdsd_buf_len(&conn->tx);
  uint32_t at = 0;
  while ((rule = tdsd_fault_next(&conn->shared->faults, TDSD_STAGE_WIRE,
                                 conn->session.number, conn->session.listener,
                                 &at)) != NULL) {
    uint64_t most = rule->number;
    if (rule->row->kind == TDSD_FAULT_DROP_AFTER) {
      most = most > conn->sent ? most - conn->sent : 0;
    }
    len = len > most ? (size_t)most : len;
  }
  if (conn->mode == TDSD_CONN_HANDSHAKE && conn->tls_faults.pieces != 0 &&
      len > conn->tls_faults.pieces) {
    len = conn->tls_faults.pieces;
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

/* RST instead of FIN. */
static void abort_conn(struct tdsd_conn *conn) {
  const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
  (void)setsockopt(conn->watch.fd, SOL_SOCKET, SO_LINGER, &at_once,
                   sizeof at_once);
  conn->dead = true;
}

/* A session that ended sends the rest, then FIN, and stays until the peer's end
 * has been read, so that no reset overtakes its last words.  One that had logged
 * in was ended by force, so TLS is not told: FreeTDS with GnuTLS, which meets a
 * close_notify behind an error of class 20, waits in a circle for ever. */
static void say_goodbye(struct tdsd_conn *conn, uint64_t now_ns) {
  if (conn->session.phase != TDSD_PHASE_ENDED || conn->said_goodbye ||
      conn->dead || conn->stalled || conn->frozen ||
      tdsd_buf_len(&conn->tx) != 0 || tdsd_buf_len(&conn->session.out) != 0) {
    return;
  }
  if (conn->session.abort) {
    abort_conn(conn);
    return;
  }
  conn->said_goodbye = true;
  if (conn->mode == TDSD_CONN_TLS && !conn->tls_faults.no_goodbye &&
      !conn->session.logged_in) {
    tdsd_tls_shutdown(conn->tls);
    tdsd_tls_take(conn->tls, &conn->tx);
    transmit(conn);
  }
  (void)shutdown(conn->watch.fd, SHUT_WR);
  conn->linger_ns = now_ns + TDSD_LINGER_NS;
}

static bool is_silent(const struct tdsd_conn *conn) {
  return conn->silent || conn->shared->options.silent;
}

/* Session tickets that were kept back until the login was over. */
static void give_tickets(struct tdsd_conn *conn) {
  if (conn->tls_faults.late_tickets && conn->mode == TDSD_CONN_TLS &&
      conn->session.phase == TDSD_PHASE_READY) {
    conn->tls_faults.late_tickets = false;
    tdsd_tls_unasked(conn->tls, TDSD_TLS_TICKET);
    tdsd_tls_take(conn->tls, &conn->tx);
  }
}

static void work(struct tdsd_conn *conn, uint64_t now_ns) {
  if (!is_silent(conn)) {
    pump(conn, now_ns);
  }
  collect(conn, now_ns);
  give_tickets(conn);
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

/* Nothing may be read: the peer's end is not noticed, only its reset. */
static bool is_deaf(const struct tdsd_conn *conn) {
  return conn->frozen || conn->session.deaf;
}

void tdsd_conn_readable(struct tdsd_conn *conn, uint64_t now_ns) {
  if (is_deaf(conn)) {
    conn->dead = true; /* only an error or the end of both ways gets here */
    return;
  }
  bool alive = input_len(conn) < TDSD_CAP_INPUT && read_some(conn);
  if (conn->said_goodbye || is_silent(conn)) {
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
  collect(conn, now_ns);
  transmit(conn);
  say_goodbye(conn, now_ns);
}

static bool due(uint64_t deadline_ns, uint64_t now_ns) {
  return deadline_ns != 0 && deadline_ns <= now_ns;
}

static void strike_idle(struct tdsd_conn *conn) {
  static const enum tdsd_tls_thing things[] = {
      [TDSD_IDLE_TICKET] = TDSD_TLS_TICKET,
      [TDSD_IDLE_KEYUPDATE] = TDSD_TLS_KEYUPDATE,
      [TDSD_IDLE_RENEGOTIATE] = TDSD_TLS_RENEGOTIATE,
  };
  enum tdsd_idle what = tdsd_fault_idle(&conn->session);
  if (what != TDSD_IDLE_DONE && conn->mode == TDSD_CONN_TLS) {
    tdsd_tls_unasked(conn->tls, things[what]);
    tdsd_tls_take(conn->tls, &conn->tx);
  }
}

void tdsd_conn_timer(struct tdsd_conn *conn, uint64_t now_ns) {
  if (conn->said_goodbye) {
    conn->dead = true;
    return;
  }
  if (conn->session.full || due(conn->session.wake_ns, now_ns)) {
    tdsd_session_wake(&conn->session, now_ns);
  }
  if (due(conn->session.idle_ns, now_ns)) {
    strike_idle(conn);
  }
  work(conn, now_ns);
}

void tdsd_conn_wake(struct tdsd_conn *conn, uint64_t now_ns) {
  if (!conn->said_goodbye) {
    tdsd_session_wake(&conn->session, now_ns);
    work(conn, now_ns);
  }
}

void tdsd_conn_kill(struct tdsd_conn *conn, uint64_t now_ns) {
  tdsd_session_kill(&conn->session);
  work(conn, now_ns);
}

void tdsd_conn_drop(struct tdsd_conn *conn) {
  abort_conn(conn);
}

void tdsd_conn_freeze(struct tdsd_conn *conn, bool on, uint64_t now_ns) {
  conn->frozen = on;
  if (!on) {
    conn->session.deaf = false;
    work(conn, now_ns);
  }
}

uint32_t tdsd_conn_wants(const struct tdsd_conn *conn) {
  if (is_deaf(conn)) {
    uint32_t more =
        conn->frozen || tdsd_buf_len(&conn->tx) == 0 ? 0u : (uint32_t)EPOLLOUT;
    return (uint32_t)(EPOLLHUP | EPOLLERR) | more;
  }
  uint32_t events = EPOLLRDHUP;
  events |= input_len(conn) < TDSD_CAP_INPUT ? (uint32_t)EPOLLIN : 0u;
  events |= tdsd_buf_len(&conn->tx) != 0 ? (uint32_t)EPOLLOUT : 0u;
  return events;
}

static uint64_t sooner(uint64_t a, uint64_t b) {
  return a == 0 ? b : b == 0 || a < b ? a : b;
}

uint64_t tdsd_conn_deadline(const struct tdsd_conn *conn, uint64_t now_ns) {
  const struct tdsd_session *session = &conn->session;
  size_t waiting = tdsd_buf_len(&conn->tx) + tdsd_buf_len(&session->out);
  if (conn->said_goodbye) {
    return conn->linger_ns;
  }
  if (conn->frozen) {
    return 0;
  }
  if (session->full && waiting < TDSD_CAP_OUTPUT) {
    return now_ns; /* go on at the next turn */
  }
  uint64_t deadline =
      sooner(session->full ? 0 : session->wake_ns, session->idle_ns);
  bool held =
      conn->hold_ns > now_ns && (tdsd_buf_len(&session->out) != 0 ||
                                 tdsd_gates_next(&session->gates) != NULL);
  return held ? sooner(deadline, conn->hold_ns) : deadline;
}
