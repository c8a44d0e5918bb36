/* SPDX-License-Identifier: MIT */
#include "server_conn.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server_conn_impl.h"
#include "server_const.h"

#define READ_BYTES      65536u
#define TLS_CLIENTHELLO 0x16u
#define TLS_ALERT       0x15u
#define TLS_RECORD      5u

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

void tdsd_conn_refuse(struct tdsd_conn *conn, const char *problem) {
  tdsd_log(conn->shared, conn->session.spid, "%s", problem);
  tdsd_count(&conn->shared->counters.violations, 1);
  conn->session.phase = TDSD_PHASE_ENDED;
}

/* Lets the session take one packet.  Returns false if it took none. */
bool tdsd_conn_feed(struct tdsd_conn *conn,
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
  tdsd_send_collect(conn, now_ns);
  return true;
}

/* TDS 8 begins with a ClientHello, all else with a TDS packet. */
static bool first_byte(struct tdsd_conn *conn) {
  if (tdsd_buf_len(&conn->in) == 0) {
    return false;
  }
  if (tdsd_buf_at(&conn->in)[0] == TLS_CLIENTHELLO) {
    if (conn->shared->tls == NULL) {
      tdsd_conn_refuse(conn, "a TLS ClientHello where TLS is off");
      return false;
    }
    return tdsd_conn_start_tls(conn, true);
  }
  if (conn->shared->options.tls == TDSD_TLS_STRICT) {
    tdsd_conn_refuse(conn, "clear bytes where TDS 8 demands TLS first");
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
  if (!tdsd_conn_feed(conn, &conn->in, now_ns)) {
    return false;
  }
  bool tls = session->encryption == TDSD_CRYPT_FULL ||
             session->encryption == TDSD_CRYPT_LOGIN_ONLY;
  if (session->phase == TDSD_PHASE_LOGIN && tls && !conn->tls_over) {
    return tdsd_conn_start_tls(conn, false);
  }
  return true;
}

static bool pump_tls(struct tdsd_conn *conn, uint64_t now_ns) {
  size_t len = tdsd_buf_len(&conn->in);
  if (len != 0) {
    conn->dead =
        conn->dead || !tdsd_tls_give(conn->tls, tdsd_buf_at(&conn->in), len);
    tdsd_buf_consume(&conn->in, len);
    if (!tdsd_conn_decrypt(conn)) {
      return false;
    }
  }
  return tdsd_conn_feed(conn, &conn->clear, now_ns);
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
      more = tdsd_conn_pump_handshake(conn);
      break;
    case TDSD_CONN_LOGIN_ONLY:
      more = tdsd_conn_pump_login_only(conn, now_ns);
      break;
    case TDSD_CONN_TLS:
    default:
      more = pump_tls(conn, now_ns);
      break;
    }
  }
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
  tdsd_send_collect(conn, now_ns);
  give_tickets(conn);
  tdsd_send_transmit(conn);
  tdsd_send_goodbye(conn, now_ns);
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
  tdsd_send_transmit(conn);
  tdsd_send_collect(conn, now_ns);
  tdsd_send_transmit(conn);
  tdsd_send_goodbye(conn, now_ns);
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
  tdsd_send_abort(conn);
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
