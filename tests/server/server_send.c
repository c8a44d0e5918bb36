/* SPDX-License-Identifier: MIT */
/* The way out of a connection: what the session has said goes through the gates of
 * its faults and through TLS to the socket. */
#include <errno.h>
#include <sys/socket.h>

#include "server_conn_impl.h"
#include "server_const.h"

/* Between two pieces, so that the other side meets them one by one. */
#define PIECE_NS UINT64_C(20000)

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

void tdsd_send_transmit(struct tdsd_conn *conn) {
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
void tdsd_send_collect(struct tdsd_conn *conn, uint64_t now_ns) {
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
      tdsd_send_transmit(conn); /* each piece is a write of its own */
      if (tdsd_buf_len(&conn->tx) != 0) {
        break;
      }
    }
    move_bytes(conn, next_piece(conn));
    if (conn->piece != 0) {
      tdsd_send_transmit(conn);
      conn->hold_ns =
          now_ns + (conn->piece_ns != 0 ? conn->piece_ns : PIECE_NS);
    }
  }
  conn->dead = conn->dead || conn->tx.failed;
}

/* RST instead of FIN. */
void tdsd_send_abort(struct tdsd_conn *conn) {
  const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
  (void)setsockopt(conn->watch.fd, SOL_SOCKET, SO_LINGER, &at_once,
                   sizeof at_once);
  conn->dead = true;
}

/* A session that ended sends the rest, then FIN, and stays until the peer's end
 * has been read, so that no reset overtakes its last words.  One that had logged
 * in was ended by force, so TLS is not told: FreeTDS with GnuTLS, which meets a
 * close_notify behind an error of class 20, waits in a circle for ever. */
void tdsd_send_goodbye(struct tdsd_conn *conn, uint64_t now_ns) {
  if (conn->session.phase != TDSD_PHASE_ENDED || conn->said_goodbye ||
      conn->dead || conn->stalled || conn->frozen ||
      tdsd_buf_len(&conn->tx) != 0 || tdsd_buf_len(&conn->session.out) != 0) {
    return;
  }
  if (conn->session.abort) {
    tdsd_send_abort(conn);
    return;
  }
  conn->said_goodbye = true;
  if (conn->mode == TDSD_CONN_TLS && !conn->tls_faults.no_goodbye &&
      !conn->session.logged_in) {
    tdsd_tls_shutdown(conn->tls);
    tdsd_tls_take(conn->tls, &conn->tx);
    tdsd_send_transmit(conn);
  }
  (void)shutdown(conn->watch.fd, SHUT_WR);
  conn->linger_ns = now_ns + TDSD_LINGER_NS;
}
