/* SPDX-License-Identifier: MIT */
/* One client's socket: its bytes go through TLS, if any, to its session and
 * back.
 *
 *   FIRST --> PLAIN --> HANDSHAKE (wrapped) --> TLS, or LOGIN_ONLY --> PLAIN
 *       \--> HANDSHAKE (bare, TDS 8) --> TLS
 */
#ifndef TDSD_SERVER_CONN_H
#define TDSD_SERVER_CONN_H

#include "server_session.h"
#include "server_tap.h"
#include "server_tls.h"

enum tdsd_conn_mode {
  TDSD_CONN_FIRST, /* nothing has come; the first byte decides */
  TDSD_CONN_PLAIN,
  TDSD_CONN_HANDSHAKE,
  TDSD_CONN_LOGIN_ONLY, /* TLS up to the end of LOGIN7's first packet */
  TDSD_CONN_TLS,
};

/* What an epoll event points at; the first member of everything watched. */
enum tdsd_watch_kind {
  TDSD_WATCH_LISTEN,
  TDSD_WATCH_WAKE,
  TDSD_WATCH_SQLITE,
  TDSD_WATCH_CONN,
  TDSD_WATCH_CONTROL_LISTEN,
  TDSD_WATCH_CONTROL,
  TDSD_WATCH_BROWSER,
};

struct tdsd_watch {
  enum tdsd_watch_kind kind;
  int fd;
  uint32_t events; /* as registered */
};

struct tdsd_conn {
  struct tdsd_watch watch;
  struct tdsd_shared *shared;
  struct tdsd_conn *prev, *next; /* all connections, or the dead ones */
  enum tdsd_conn_mode mode;
  bool wrapped;      /* the handshake travels in PRELOGIN packets */
  bool tls_over;     /* login-only TLS is behind us */
  bool said_goodbye; /* FIN was sent; what comes is thrown away */
  bool dead;
  bool silent;  /* reads and never says a word */
  bool stalled; /* says nothing more */
  bool frozen;  /* neither reads nor says anything */
  bool tapped;  /* the packet that is leaving is in the tap */
  struct tdsd_tls_faults tls_faults;
  uint32_t given;    /* pieces of the client's handshake */
  uint64_t passed;   /* bytes of the session's out that have left it */
  uint64_t hold_ns;  /* nothing leaves before */
  uint64_t piece;    /* bytes a write may have; 0 = all */
  uint64_t piece_ns; /* between two of them */
  struct tdsd_tls *tls;
  struct tdsd_buf in;    /* from the socket */
  struct tdsd_buf clear; /* decrypted, not yet taken by the session */
  struct tdsd_buf tx;    /* to the socket */
  struct tdsd_session session;
  struct tdsd_tap_flow flow;
  uint64_t sent;
  uint64_t linger_ns;   /* when a connection that said goodbye is cut */
  uint64_t deadline_ns; /* in the timer heap; 0 = not there */
  size_t heap_index;
};

/* Takes over an accepted, non-blocking socket.  Returns NULL without memory. */
struct tdsd_conn *tdsd_conn_new(struct tdsd_shared *shared,
                                int fd,
                                uint32_t listener,
                                uint16_t spid,
                                uint32_t number,
                                uint16_t peer_port);

/* Closes the socket, counts the connection out and frees it. */
void tdsd_conn_free(struct tdsd_conn *conn);

/* Reads what the socket has, works it off, writes what comes of it.  Sets dead
 * when the connection is over. */
void tdsd_conn_readable(struct tdsd_conn *conn, uint64_t now_ns);
void tdsd_conn_writable(struct tdsd_conn *conn, uint64_t now_ns);

/* Its deadline has passed. */
void tdsd_conn_timer(struct tdsd_conn *conn, uint64_t now_ns);

/* Somebody has what its session waited for. */
void tdsd_conn_wake(struct tdsd_conn *conn, uint64_t now_ns);

/* Ends its session from outside and sends what is left. */
void tdsd_conn_kill(struct tdsd_conn *conn, uint64_t now_ns);

/* Cuts it off with RST. */
void tdsd_conn_drop(struct tdsd_conn *conn);

/* Lets it neither read nor write, or lets it go on. */
void tdsd_conn_freeze(struct tdsd_conn *conn, bool on, uint64_t now_ns);

/* What epoll should watch for, and when the timer should ring (0 = never). */
uint32_t tdsd_conn_wants(const struct tdsd_conn *conn);
uint64_t tdsd_conn_deadline(const struct tdsd_conn *conn, uint64_t now_ns);

#endif
