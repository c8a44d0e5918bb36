/* SPDX-License-Identifier: MIT */
/* tds_conn.h - the connection: what it knows of its session, and its steps.
 *
 *   RESOLVE -> CONNECT | RACE -> [TLS] -> PRELOGIN -> [TLS] -> CREDENTIAL -> LOGIN
 *           [-> TOKEN -> LOGIN] -> IDLE -> [CHECK] -> SEND -> READ -> IDLE ...
 *                                                              -> DEAD
 */
#ifndef TDS_CONN_H
#define TDS_CONN_H

#include "weir_driver.h"

#include "tds_errors.h"
#include "tds_exec.h"
#include "tds_limits.h"
#include "tds_link.h"
#include "tds_options.h"
#include "tds_stmt.h"
#include "tds_token.h"

/* A step ran to its end; go on with the next one.  Apart from all WEIR_DRV_
 * results. */
#define TDS_NEXT INT32_C(100)

enum tds_step {
  TDS_STEP_NEW,        /* created, never connected */
  TDS_STEP_RESOLVE,    /* waits for addresses */
  TDS_STEP_CONNECT,    /* waits for TCP */
  TDS_STEP_RACE,       /* waits for TCP, to several addresses at once */
  TDS_STEP_STRICT,     /* TLS before TDS */
  TDS_STEP_PRELOGIN,   /* writes and reads PRELOGIN */
  TDS_STEP_WRAPPED,    /* TLS inside PRELOGIN packets */
  TDS_STEP_CREDENTIAL, /* waits for the password or token */
  TDS_STEP_LOGIN,      /* writes LOGIN7, or the token */
  TDS_STEP_LOGIN_READ, /* reads its answer */
  TDS_STEP_TOKEN,      /* waits for the token that the server asks for */
  TDS_STEP_IDLE,       /* ready for a request */
  TDS_STEP_CHECK,      /* looks at what is to be sent */
  TDS_STEP_SEND,       /* writes a request */
  TDS_STEP_READ,       /* reads its answer */
  TDS_STEP_DEAD,       /* only get, abort_conn, conn_destroy */
  TDS_STEP_COUNT
};

enum tds_op {
  TDS_OP_NONE,
  TDS_OP_CONNECT,
  TDS_OP_EXEC,
  TDS_OP_PING,
  TDS_OP_RESET,
  TDS_OP_TXN
};

/* The driver instance: one per engine. */
struct weir_drv_drv {
  struct weir_drv_host host; /* a copy: missing tail members are zero */
  struct tds_mem mem;
};

struct weir_drv_conn;
struct tds_race;

/* Where the body of a message comes from, piece by piece, so that a large one is
 * never held whole. */
struct tds_source {
  uint8_t packet; /* TDS_PKT_* */
  /* Puts at most cap bytes.  Returns how many; fewer than cap: none are left. */
  size_t (*fill)(struct weir_drv_conn *c, uint8_t *body, size_t cap);
  /* Whether all has been put. */
  bool (*over)(const struct weir_drv_conn *c);
};

/* A short body, whole in memory. */
struct tds_bytes_out {
  uint8_t bytes[80];
  uint8_t n;
  uint8_t at; /* already put */
};

/* The request that is being sent. */
struct tds_request {
  const struct tds_source *source;
  uint8_t head[22];  /* ALL_HEADERS */
  uint8_t head_left; /* bytes of it still to be put */
  struct tds_text_out text;
  struct tds_bytes_out bytes;
  uint8_t reset; /* TDS_ST_RESET or _RESET_KEEP for the first packet */
  bool started;  /* a packet has been queued */
  bool complete; /* the last one has */
  bool given_up; /* ... with the ignore bit */
  uint64_t mark; /* link.written when it began */
};

/* The error that will end the request: the first, unless a later one costs
 * more. */
struct tds_failure {
  bool set;
  int32_t number;
  uint8_t state;
  uint8_t severity;
  uint32_t line;
  struct tds_error_rule rule;
  size_t text_n; /* full length; text holds at most TDS_ERROR_TEXT of it */
  char text[TDS_ERROR_TEXT];
};

/* What an answer has changed by an ENVCHANGE of its own; the confirmation of a
 * reset that comes behind it must not undo that. */
#define TDS_TOLD_DATABASE  1u
#define TDS_TOLD_LANGUAGE  2u
#define TDS_TOLD_COLLATION 4u
#define TDS_TOLD_BEGUN     8u  /* a transaction */
#define TDS_TOLD_ENDED     16u /* one has ended */

/* What a session starts with and a reset goes back to. */
struct tds_settings {
  struct tds_buf database;
  struct tds_buf language;
  uint8_t collation[5];
  uint8_t collation_n; /* 0 or 5 */
};

/* The user's transaction, as he sees it: a scope from begin to commit or
 * rollback.  The truth is the descriptor, weir_drv_conn.transaction. */
struct tds_scope {
  int32_t verb;  /* WEIR_DRV_TX_* of the request */
  bool open;     /* begin succeeded, and neither commit nor rollback yet */
  bool doomed;   /* the server allows nothing but a rollback */
  uint8_t ended; /* TDS_ENV_* that ended the last transaction */
};

/* The answer that is being read. */
struct tds_reply {
  struct tds_span body; /* of the current packet */
  int held;             /* an event that waits until rows are handed over */
  bool final;           /* a DONE without "more" was seen */
  bool attention;       /* 06 was queued */
  bool acknowledged;    /* DONE with the attention bit was seen */
  bool drain;           /* rows, counts and errors are of no interest */
  bool error_seen;      /* an ERROR since the last DONE */
  uint8_t told;         /* TDS_TOLD_*: state that this answer has changed */
  uint32_t rows;        /* whole rows in the batch */
  uint64_t bytes;       /* bytes taken in the batch */
  weir_drv_batch *batch;
  struct tds_failure failure;
};

/* What the login carries and has learned. */
struct tds_login_state {
  struct tds_buf record; /* the message being sent, in secret memory */
  size_t record_at;      /* bytes of it already queued */
  uint8_t record_type;   /* TDS_PKT_LOGIN7 or _FEDAUTH */
  uint32_t asked;        /* TDS_ASKED_*: features */
  uint32_t acked;
  bool echo;      /* PRELOGIN: the server's FEDAUTHREQUIRED was 1 */
  bool has_nonce; /* ... and it gave a nonce */
  bool informed;  /* FEDAUTHINFO came */
  bool told;      /* the token message is out */
  uint8_t nonce[32];
  struct tds_buf sts; /* of FEDAUTHINFO, UTF-8 */
  struct tds_buf spn;
};

struct weir_drv_conn {
  struct weir_drv_drv *drv;
  const struct weir_drv_cfg *cfg;
  weir_drv_hconn *hc;
  enum tds_step step;
  enum tds_op op;
  bool cancelled; /* cancel() was called for the operation */
  bool missed;    /* ... when its whole answer was here */
  bool suspect;   /* an attention was sent: is its answer all that comes? */
  const char *phase;

  struct tds_link link;
  struct tds_decoder decoder;
  struct tds_sink sink;
  struct tds_request request;
  struct tds_reply reply;
  struct tds_exec exec;
  struct tds_outputs outputs;
  struct tds_stmts stmts;
  uint32_t batch_rows;
  uint64_t batch_bytes;
  bool no_rows;   /* WEIR_DRV_XF_NO_ROWS */
  uint64_t spent; /* bytes handled in this step */

  /* connect */
  struct weir_drv_addr addresses[TDS_ADDRESSES_MAX];
  uint32_t n_addresses;
  uint32_t address;
  weir_drv_time deadline;     /* of the connect, as the engine told it */
  weir_drv_time next_address; /* when this one has had its share of the time */
  struct tds_race *race;      /* while several addresses are tried at once */
  bool asked;                 /* a request to the engine is open */
  bool prelogin_sent;
  struct tds_buf message; /* PRELOGIN reply being joined */
  int channel;            /* TDS_CHANNEL_* */
  uint32_t attempt;
  struct tds_setting app; /* from connect_args */
  struct weir_drv_req_resolve resolve;
  struct weir_drv_req_cred credential;
  struct tds_buf user; /* who logged in, for messages */
  struct tds_login_state login;

  /* session */
  bool logged_in; /* LOGINACK was seen */
  uint32_t version;
  uint8_t server_version[4];
  uint32_t agreed_size;  /* ENVCHANGE 4; 0 = none came */
  struct tds_buf routed; /* where the server wants us to go */
  struct tds_settings now;
  struct tds_settings baseline; /* after login */
  struct tds_buf server_name;
  uint64_t auth_expires_s; /* of the token, since 1970; 0 = not known */
  uint64_t transaction;    /* descriptor, 0 = none */
  struct tds_scope scope;
  uint8_t reset_wanted; /* status bit for the next request */
  bool reset_sent;
  bool reset_done;    /* ENVCHANGE 18 was seen */
  bool reset_rolls;   /* an eager reset rolls back first */
  bool isolation;     /* some text spoke of an isolation level */
  uint32_t dirty;     /* WEIR_DRV_DIRTY_* */
  char scratch[160];  /* texts that get() gives out */
  struct tds_buf own; /* a statement of the driver's own */
  struct weir_drv_column *columns;
  uint32_t n_columns;
  uint32_t columns_cap;
};

/* What a step gets from the engine. */
struct tds_turn {
  const struct weir_drv_wake *wake; /* NULL in the call that starts */
  struct weir_drv_wait *wait;
  struct weir_drv_error *err;
};

typedef weir_drv_status tds_step_fn(struct weir_drv_conn *c,
                                    struct tds_turn *t);

/* Runs steps until one has to wait or the operation ends.  Returns what the
 * driver's step() returns. */
weir_drv_status tds_conn_run(struct weir_drv_conn *c, struct tds_turn *t);

/* Moves to another step and phase. */
weir_drv_status tds_conn_go(struct weir_drv_conn *c, enum tds_step step);

/* The operation ends well, or with t->err filled: writes the session's state
 * into t->wait.  Returns rc. */
weir_drv_status tds_conn_end(struct weir_drv_conn *c,
                             struct tds_turn *t,
                             weir_drv_status rc);

/* The connection is beyond use: "phase: text (host,port)".
 * Returns WEIR_DRV_FAIL. */
__attribute__((format(printf, 5, 6))) weir_drv_status tds_conn_fail(
    struct weir_drv_conn *c,
    struct tds_turn *t,
    int32_t scope,
    int32_t kind,
    const char *format,
    ...);

/* Shorter forms of it. */
weir_drv_status tds_conn_no_memory(struct weir_drv_conn *c, struct tds_turn *t);
weir_drv_status tds_conn_broken(struct weir_drv_conn *c,
                                struct tds_turn *t,
                                int64_t why);

/* Waits for the stream.  Returns WEIR_DRV_WAIT. */
weir_drv_status tds_conn_wait(struct weir_drv_conn *c,
                              struct tds_turn *t,
                              uint32_t events);

/* Gives the CPU back but wants it again.  Returns WEIR_DRV_WAIT. */
weir_drv_status tds_conn_again(struct tds_turn *t);

/* Describes the columns of the decoder for columns().  Returns TDS_OK or
 * TDS_E_NOMEM. */
int tds_conn_keep_columns(struct weir_drv_conn *c);

/* Room for n columns.  Returns TDS_OK or TDS_E_NOMEM. */
int tds_conn_room_for_columns(struct weir_drv_conn *c, uint32_t n);

/* Describes one of them. */
void tds_conn_fill_column(struct weir_drv_column *to,
                          const struct tds_type *type,
                          struct tds_span name);

/* Replaces the contents of a text.  Returns TDS_OK or TDS_E_NOMEM. */
int tds_conn_set(struct tds_buf *b, const char *p, size_t n);

/* Sets an operation up whose request comes from source; rows and errors are told
 * as op asks.  What the source reads was set after tds_request_clear().  Returns
 * TDS_NEXT. */
weir_drv_status tds_request_begin(struct weir_drv_conn *c,
                                  enum tds_op op,
                                  const struct tds_source *source);

/* Sets it up and runs it; statements of a transaction that the server has ended
 * are refused.  Returns as the driver's step(). */
weir_drv_status tds_request_start(struct weir_drv_conn *c,
                                  struct tds_turn *t,
                                  enum tds_op op,
                                  const struct tds_source *source);

/* Ends an operation before it began: nothing was sent.  Returns
 * WEIR_DRV_FAIL. */
weir_drv_status tds_request_refuse(struct weir_drv_conn *c,
                                   struct tds_turn *t,
                                   int32_t kind,
                                   const char *why);

/* Ends an operation that was cancelled before it was sent.  Returns
 * WEIR_DRV_FAIL. */
weir_drv_status tds_request_cancelled(struct weir_drv_conn *c,
                                      struct tds_turn *t);

/* Empties c->request; the source's own fields may then be set. */
void tds_request_clear(struct weir_drv_conn *c);

/* Puts ALL_HEADERS (MS-TDS 2.2.5.3.2), then a short body.  Return the bytes
 * put. */
size_t tds_request_put_head(struct weir_drv_conn *c, uint8_t *body, size_t cap);
size_t tds_bytes_out_put(struct tds_bytes_out *o, uint8_t *body, size_t cap);

/* A batch of text, as the request. */
extern const struct tds_source tds_batch_source; /* tds_batch.c */
void tds_batch_set(struct weir_drv_conn *c, const char *text, size_t n);

/* The steps, by file. */
tds_step_fn tds_connect_resolve, tds_connect_tcp, tds_connect_strict,
    tds_connect_wrapped, tds_connect_prelogin; /* tds_connect.c */
tds_step_fn tds_credential_wait, tds_credential_token,
    tds_credential_send;    /* tds_credential.c */
tds_step_fn tds_race_run;   /* tds_race.c */
tds_step_fn tds_login_read; /* tds_login.c */
tds_step_fn tds_exec_check, tds_request_send,
    tds_reply_read; /* tds_check, _request, _reply.c */

/* Puts a request to the engine, once; whether it is answered; fails because the
 * answer is a refusal, in the engine's words behind what.  Return WEIR_DRV_WAIT
 * and WEIR_DRV_FAIL. */
weir_drv_status tds_connect_ask(struct weir_drv_conn *c,
                                struct tds_turn *t,
                                int32_t request,
                                const void *arg);
bool tds_connect_answered(const struct weir_drv_conn *c,
                          const struct tds_turn *t);
weir_drv_status tds_connect_refused(struct weir_drv_conn *c,
                                    struct tds_turn *t,
                                    int32_t kind,
                                    int32_t scope,
                                    const char *what);

/* Prepares the reading of an answer; sink NULL drops rows. */
void tds_reply_begin(struct weir_drv_conn *c, const struct tds_sink *sink);

/* The sink that fills the engine's batches. */
void tds_reply_sink(struct weir_drv_conn *c);

/* Entry points of the driver table. */
weir_drv_status tds_conn_create(struct weir_drv_drv *d,
                                const struct weir_drv_cfg *cfg,
                                weir_drv_hconn *hc,
                                struct weir_drv_conn **out,
                                struct weir_drv_error *err);
void tds_conn_destroy(struct weir_drv_conn *c);
void tds_conn_abort(struct weir_drv_conn *c, int32_t how);
weir_drv_status tds_conn_get(struct weir_drv_conn *c,
                             int32_t prop,
                             struct weir_drv_value *out);
int32_t tds_conn_health(struct weir_drv_conn *c);
weir_drv_status tds_conn_idle(struct weir_drv_conn *c,
                              struct weir_drv_wait *wait);
weir_drv_status tds_conn_columns(struct weir_drv_conn *c,
                                 const struct weir_drv_column **arr,
                                 uint32_t *n,
                                 uint32_t *stride);
weir_drv_status tds_connect_start(struct weir_drv_conn *c,
                                  const struct weir_drv_connect_args *a,
                                  struct weir_drv_wait *wait,
                                  struct weir_drv_error *err);
weir_drv_status tds_request_exec(struct weir_drv_conn *c,
                                 const struct weir_drv_exec_args *a,
                                 struct weir_drv_wait *wait,
                                 struct weir_drv_error *err);
weir_drv_status tds_request_ping(struct weir_drv_conn *c,
                                 struct weir_drv_wait *wait,
                                 struct weir_drv_error *err);
weir_drv_status tds_request_reset(struct weir_drv_conn *c,
                                  const struct weir_drv_reset_args *a,
                                  struct weir_drv_wait *wait,
                                  struct weir_drv_error *err);
weir_drv_status tds_txn_start(struct weir_drv_conn *c,
                              const struct weir_drv_txn_args *a,
                              struct weir_drv_wait *wait,
                              struct weir_drv_error *err);
weir_drv_status tds_request_cancel(struct weir_drv_conn *c,
                                   struct weir_drv_wait *wait,
                                   struct weir_drv_error *err);
weir_drv_status tds_conn_step(struct weir_drv_conn *c,
                              const struct weir_drv_wake *wake,
                              struct weir_drv_wait *wait,
                              struct weir_drv_error *err);

#endif
