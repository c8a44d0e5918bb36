/* SPDX-License-Identifier: MIT */
/* One client's conversation in clear: PRELOGIN, LOGIN7, requests.  It is fed
 * packets and the time, and leaves packets in out; sockets and TLS are its
 * connection's matter.
 *
 *   PRELOGIN --> LOGIN --> ANSWER (login delay) --> READY <--> RUNNING
 *       \__________\___________\_____________________\___________/
 *                                   ENDED
 */
#ifndef TDSD_SERVER_SESSION_H
#define TDSD_SERVER_SESSION_H

#include "server_calls.h"
#include "server_fault.h"
#include "server_script.h"
#include "server_shared.h"
#include "server_wire.h"

enum tdsd_phase {
  TDSD_PHASE_PRELOGIN, /* the first message is awaited */
  TDSD_PHASE_LOGIN,    /* LOGIN7 is awaited */
  TDSD_PHASE_ANSWER,   /* LOGIN7 was read; the delay runs */
  TDSD_PHASE_READY,    /* a request is awaited */
  TDSD_PHASE_RUNNING,  /* a request runs */
  TDSD_PHASE_ENDED,    /* out is to be sent, then the connection closed */
  TDSD_PHASE_TOKEN,    /* a federated token is awaited */
};

/* How much of the reply is cut into packets. */
enum tdsd_cut {
  TDSD_CUT_FULL,    /* full packets; the rest waits */
  TDSD_CUT_PACKET,  /* everything; the message goes on */
  TDSD_CUT_MESSAGE, /* everything, and the message ends */
};

struct tdsd_session {
  struct tdsd_shared *shared;
  enum tdsd_phase phase;
  uint16_t spid;
  bool strict;       /* inside TLS from the first byte */
  bool logged_in;    /* counted in sessions_open */
  bool hung;         /* a fault keeps it from answering */
  bool abort;        /* once ended: RST instead of FIN */
  uint32_t number;   /* of its connection; 1 = the server's first */
  uint32_t requests; /* since the login, the one at hand included */
  uint8_t last_type; /* of the last request's packets; 0 = none came */
  uint32_t listener; /* that it came through, from 1 */
  struct tdsd_script_play play;
  struct tdsd_armed *armed; /* faults that hit the message at hand, or NULL */
  struct tdsd_gates gates;  /* on the way of out */
  uint64_t said;            /* bytes that ever were in out */
  struct tdsd_buf units;    /* lengths of the packets in out, 4 bytes each */
  uint64_t now_ns;          /* as last told */
  uint64_t idle_ns;         /* when an idle fault strikes; 0 = never */
  int32_t idle_word;        /* which */
  bool deaf;                /* nothing more may be read */
  bool late_ack;            /* wake_ns is an acknowledgement's */
  enum tdsd_encryption encryption; /* settled by PRELOGIN */
  bool greeted;                    /* a PRELOGIN was answered */
  bool fedauth_required;           /* and said so about federated tokens */
  uint8_t next_id;                 /* of the client's packets, if strict */
  struct tdsd_joiner joiner;
  struct tdsd_login login;
  struct tdsd_state state;
  struct tdsd_answer_session answerers;
  struct tdsd_calls calls;   /* the request under way */
  bool executing;            /* calls holds something */
  struct tdsd_buf postponed; /* a request of the transaction manager that waits
                                for its commit; empty = none */
  bool attention_late;       /* an attention that waits for a commit */
  struct tdsd_buf reply;     /* tokens not yet cut into packets */
  struct tdsd_buf out;       /* packets to send */
  uint32_t packet_size;      /* of what is sent */
  uint8_t packet_id;
  uint64_t wake_ns; /* when tdsd_session_wake() is due; 0 = never */
  bool full;        /* more comes as soon as out has been sent */
};

void tdsd_session_init(struct tdsd_session *session,
                       struct tdsd_shared *shared,
                       uint16_t spid);

/* Frees everything and counts the session out. */
void tdsd_session_fini(struct tdsd_session *session);

/* Takes at most one packet from in.
 * Returns the bytes taken; 0 if there is no whole packet or the session is busy
 * and it is no attention.  Malformed input ends the session. */
size_t tdsd_session_feed(struct tdsd_session *session,
                         const uint8_t *in,
                         size_t len,
                         uint64_t now_ns);

/* Goes on with what waited: a login delay, WAITFOR, a full reply. */
void tdsd_session_wake(struct tdsd_session *session, uint64_t now_ns);

/* Ends the session with an error of class 20, as KILL does. */
void tdsd_session_kill(struct tdsd_session *session);

/* Runs the request in calls, writing packets, until it waits or ends. */
void tdsd_session_run(struct tdsd_session *session, uint64_t now_ns);

/* For the session's own files. */

/* Nothing more is taken or answered; out is still to be sent. */
void tdsd_session_end(struct tdsd_session *session);

/* A writer of this session's reply. */
struct tdsd_writer tdsd_session_writer(struct tdsd_session *session);
/* Cuts the reply into packets; send also ends the message. */
void tdsd_session_cut(struct tdsd_session *session, enum tdsd_cut how);
void tdsd_session_send(struct tdsd_session *session);
/* Says bytes as they are, which need be no packet. */
void tdsd_session_say(struct tdsd_session *session,
                      const uint8_t *bytes,
                      size_t len);
/* Ends the request under way without a word. */
void tdsd_session_end_calls(struct tdsd_session *session);
/* An attention has come (server_attention.c): faults, scripts, and the usual
 * acknowledgement, whose DONE can also be had alone. */
void tdsd_session_attention(struct tdsd_session *session, uint64_t now_ns);
void tdsd_session_acknowledge(struct tdsd_session *session);
void tdsd_session_attention_done(struct tdsd_session *session);
/* Answers a message as if no script had taken it. */
void tdsd_session_pass(struct tdsd_session *session,
                       const struct tdsd_script_play *play,
                       uint64_t now_ns);
/* The login succeeds: its state begins and is counted.  Writes nothing. */
void tdsd_session_admit(struct tdsd_session *session);
/* Logs and counts what the client did wrong, tells it as an error of class 20
 * where it understands tokens, and ends the session. */
void tdsd_session_refuse(struct tdsd_session *session, const char *problem);
/* LOGIN7 has come complete (server_auth.c). */
void tdsd_session_login(struct tdsd_session *session, uint64_t now_ns);
/* LOGIN7 was good: wait for the delay, then answer. */
void tdsd_session_greet(struct tdsd_session *session, uint64_t now_ns);
/* The message with a federated token has come. */
void tdsd_session_token(struct tdsd_session *session);
/* The login delay is over: answer. */
void tdsd_session_answer(struct tdsd_session *session);
/* A batch, RPC or transaction manager request has come complete
 * (server_request.c). */
void tdsd_session_request(struct tdsd_session *session, uint64_t now_ns);
/* What of it is behind ALL_HEADERS, for a transaction manager request
 * (server_manage.c). */
void tdsd_session_manage(struct tdsd_session *session,
                         const uint8_t *body,
                         size_t len);
/* What was postponed is served again. */
void tdsd_session_manage_again(struct tdsd_session *session);
/* Answers a request with an error and nothing else. */
void tdsd_session_fault(struct tdsd_session *session, struct tdsd_fault *fault);
/* The same for one that a script has passed on; its reset is done. */
void tdsd_session_request_passed(struct tdsd_session *session, uint64_t now_ns);

#endif
