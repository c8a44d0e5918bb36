/* SPDX-License-Identifier: MIT */
/* mock.h - what the files of the mock driver share.
 *
 * A driver instance (weir_drv_drv) has configurations, each with a script, and
 * connections.  An operation is a program: a list of actions that step() runs
 * one after the other (mock_op.c).  Scripts (mock_script.c) and statements
 * (mock_statement.c) are both compiled to actions. */
#ifndef MOCK_H
#define MOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir_driver.h"

#include "mock_control.h"
#include "mock_script.h"

/* Actions in the longest program: a lazy reset, a rule and a batch of
 * statements, with the delays and the effect around them. */
#define MOCK_PROGRAM_MAX    (2u * MOCK_RULE_ACTIONS_MAX + MOCK_STATEMENTS_MAX + 9u)
#define MOCK_STATEMENTS_MAX 16u
#define MOCK_PARAMS_MAX     255u
#define MOCK_COLUMNS_MAX    1024u
#define MOCK_SCRATCH_MAX    1020u /* facts of all parameters */
#define MOCK_STATE_MAX      256u
#define MOCK_PREPARED_MAX   8u /* statements that a connection keeps prepared */
/* What "params" says of each. */
#define MOCK_PARAM_FACTS    4u

enum mock_counter {
  MOCK_N_FAILED,
  MOCK_N_CANCELLED,
  MOCK_N_DIED,
  MOCK_N_ROWS,
  MOCK_N_RESETS,
  MOCK_N_CREDENTIALS,
  MOCK_N_RESOLVES,
  MOCK_N_OFFLOADS,
  MOCK_N_FORGETS,
  MOCK_N_OVERLAPS,
  MOCK_N_MISUSES,
  MOCK_N_LEAKED,
  MOCK_N_HUNG,
  MOCK_N_BEGINS,
  MOCK_N_COMMITS,
  MOCK_N_ROLLBACKS,
  MOCK_N_SAVES,
  MOCK_N_PREPARED,
  MOCK_N_REUSED,
  MOCK_N_COUNT
};

/* How many there are, and the most there have been. */
struct mock_gauge {
  _Atomic uint64_t live;
  _Atomic uint64_t max;
};

struct weir_drv_drv {
  const struct weir_drv_host *host;
  const struct weir_test_api *test; /* NULL: not a host under test */
  pthread_mutex_t mu; /* leaf; guards the list and what conns say of it */
  struct weir_drv_conn *oldest;
  struct weir_drv_conn *newest;
  uint64_t hang_order; /* guarded by mu: number of the last hang */
  _Atomic uint64_t next_id;
  _Atomic uint64_t calls[MOCK_CALLS];
  _Atomic uint64_t counters[MOCK_N_COUNT];
  struct mock_gauge conns;
  struct mock_gauge sessions;
  struct mock_gauge connects;
  struct mock_gauge running;
};

struct weir_drv_cfg {
  weir_drv_drv *drv;
  weir_drv_cfg *self;         /* for the counters, which are not what it says */
  struct mock_script *script; /* NULL: none */
  uint64_t connect_delay_ns;
  uint64_t exec_delay_ns;
  uint64_t reset_delay_ns;
  bool has_password;
  bool bearer;
  bool strict;
  bool idle_watch;
  bool cloud;
  struct weir_drv_text server; /* these four have a NUL behind them */
  struct weir_drv_text user;
  struct weir_drv_text database;
  struct weir_drv_text source; /* text of the script */
  _Atomic uint64_t refs;  /* the configuration's own and its connections' */
  _Atomic uint64_t conns; /* connections made so far */
};

struct mock_column {
  struct weir_drv_column column;
  char name[16];
};

/* A result set on its way out. */
struct mock_result {
  const struct mock_cell *cells; /* NULL: numbers counted up */
  uint64_t n_rows;
  uint64_t row; /* next row */
  uint32_t n_cols;
  bool varies; /* cells holds every row, not one for all */
};

struct mock_op {
  int32_t kind;  /* enum mock_kind, or -1 while none runs */
  uint32_t n;    /* actions in program */
  uint32_t at;   /* the one that runs */
  uint32_t sub;  /* how far it is: 0 when it starts */
  uint64_t left; /* again: how often still; delay: until when */
  bool sent;     /* the server may have acted: a failure says so */
  bool cancelled;
  bool hangs;   /* it has hung, so that it may have to be taken off the list */
  bool asked;   /* a request to the engine is open */
  int32_t verb; /* txn: WEIR_DRV_TX_*; reset: the mode */
  int32_t isolation; /* txn begin */
  struct weir_drv_exec_args exec;
  uint32_t n_outs; /* parameters whose value is to be given back */
  bool outs_ready; /* outs holds what "out" has set */
  const struct mock_action *program[MOCK_PROGRAM_MAX];
  struct mock_action own[MOCK_STATEMENTS_MAX];
  struct mock_action delays[2];
};

struct weir_drv_conn {
  weir_drv_drv *drv;
  weir_drv_cfg *cfg;
  weir_drv_hconn *hconn;
  struct weir_drv_conn *older; /* guarded by drv->mu, as is newer */
  struct weir_drv_conn *newer;
  uint64_t id;     /* number of the session in the driver */
  uint64_t number; /* of the connection in its configuration */

  /* Shared with control functions and, for inside, with calls that should not
   * have come. */
  _Atomic uint32_t inside;   /* 1 while a driver call runs on it */
  _Atomic uint32_t busy;     /* 1 while an operation runs */
  _Atomic uint32_t live;     /* 1 from the start of connect to its end */
  _Atomic uint32_t killed;   /* 1: the server has ended the session */
  _Atomic uint32_t released; /* 1: the hang is over */
  uint64_t hang_order;       /* guarded by drv->mu; 0: does not hang */
  int event_fd;              /* written by its owner under drv->mu; -1: none */

  /* Owned by whoever makes driver calls. */
  bool connected;
  bool broken; /* failed with scope >= CONN, aborted or logged out */
  bool password_ok;
  bool token_ok;
  int32_t txn;
  int32_t isolation;
  uint32_t dirty;
  int32_t usable_said; /* report usable; -1: not said */
  uint64_t expires_unix_s;
  int32_t pending_reset; /* WEIR_DRV_RESET_* to be done first; 0: none */
  uint64_t resets;
  uint32_t state_len;
  char state[MOCK_STATE_MAX];

  struct mock_op op;
  struct mock_result result;
  struct mock_column *columns;
  uint32_t columns_cap;
  uint32_t n_columns;
  struct mock_cell *scratch; /* MOCK_SCRATCH_MAX cells, once needed */
  struct mock_cell *outs;    /* MOCK_PARAMS_MAX cells, once needed */
  uint64_t prepared[MOCK_PREPARED_MAX]; /* hashes of statements; 0: none */
  uint32_t next_prepared;
  uint64_t n_prepared; /* so far */
  uint64_t n_reused;

  struct weir_drv_req_resolve req_resolve;
  struct weir_drv_req_cred req_cred;
  struct weir_drv_req_offload req_offload;
};

/* ------------------------------------------------------------- mock_count.c */

void mock_count(weir_drv_drv *d, enum mock_counter which);
void mock_gauge_up(struct mock_gauge *g);
void mock_gauge_down(struct mock_gauge *g);

/* Counts a call and asserts that the caller holds no lock of the engine. */
void mock_call_note(weir_drv_drv *d, enum mock_call call);

/* The same for a call on a connection, which from here to mock_call_leave() must
 * be the only one.  False: it is not, T1 is broken; touch nothing. */
bool mock_call_enter(weir_drv_conn *c, enum mock_call call);
void mock_call_leave(weir_drv_conn *c);

/* Counts a call that the contract forbids just now and gives the answer. */
weir_drv_status mock_misuse(weir_drv_conn *c, enum mock_call call);

extern const struct mock_control mock_control_table;

/* ------------------------------------------------------------- mock_error.c */

/* Fills *err (NULL is fine) and returns WEIR_DRV_FAIL. */
weir_drv_status mock_fail(struct weir_drv_error *err,
                          int32_t scope,
                          int32_t kind,
                          const char *format,
                          ...) __attribute__((format(printf, 4, 5)));

/* The same with everything that a script can say. */
weir_drv_status mock_fail_as(struct weir_drv_error *err,
                             const struct mock_failure *failure,
                             const struct weir_drv_text *message);

/* ------------------------------------------------------------ mock_config.c */

weir_drv_status mock_options(weir_drv_drv *d,
                             const struct weir_drv_option_info **arr,
                             uint32_t *n,
                             uint32_t *stride);
weir_drv_status mock_config_create(weir_drv_drv *d,
                                   const struct weir_drv_option *o,
                                   uint32_t n,
                                   weir_drv_cfg **out,
                                   struct weir_drv_error *err);
void mock_config_destroy(weir_drv_drv *d, weir_drv_cfg *c);
void mock_config_unref(weir_drv_cfg *c);
weir_drv_status mock_config_key(weir_drv_drv *d,
                                const weir_drv_cfg *c,
                                int32_t which,
                                const struct weir_drv_key_sink *sink);
weir_drv_status mock_config_info(weir_drv_drv *d,
                                 const weir_drv_cfg *c,
                                 struct weir_drv_config_info *out);

/* -------------------------------------------------------------- mock_conn.c */

weir_drv_status mock_conn_create(weir_drv_drv *d,
                                 const weir_drv_cfg *c,
                                 weir_drv_hconn *hc,
                                 weir_drv_conn **out,
                                 struct weir_drv_error *err);
void mock_conn_destroy(weir_drv_conn *c);
void mock_conn_abort(weir_drv_conn *c, int32_t how);
weir_drv_status mock_conn_get(weir_drv_conn *c,
                              int32_t prop,
                              struct weir_drv_value *out);
int32_t mock_conn_health(weir_drv_conn *c);
weir_drv_status mock_conn_idle(weir_drv_conn *c, struct weir_drv_wait *wait);
weir_drv_status mock_conn_columns(weir_drv_conn *c,
                                  const struct weir_drv_column **arr,
                                  uint32_t *n,
                                  uint32_t *stride);

/* The session is over at the server: it counts no more.  Once is enough. */
void mock_session_end(weir_drv_conn *c);

/* The descriptor through which other threads wake the connection; -errno. */
int mock_event_open(weir_drv_conn *c);
/* Adds it to *wait, if there is one. */
void mock_event_want(const weir_drv_conn *c, struct weir_drv_wait *wait);
void mock_event_drain(const weir_drv_conn *c);

/* Undoes what users leave in a session, as a server's reset does. */
void mock_session_reset(weir_drv_conn *c, int32_t mode);

/* ---------------------------------------------------------------- mock_op.c */

weir_drv_status mock_op_connect(weir_drv_conn *c,
                                const struct weir_drv_connect_args *a,
                                struct weir_drv_wait *wait,
                                struct weir_drv_error *err);
weir_drv_status mock_op_ping(weir_drv_conn *c,
                             struct weir_drv_wait *wait,
                             struct weir_drv_error *err);
weir_drv_status mock_op_reset(weir_drv_conn *c,
                              const struct weir_drv_reset_args *a,
                              struct weir_drv_wait *wait,
                              struct weir_drv_error *err);
weir_drv_status mock_op_txn(weir_drv_conn *c,
                            const struct weir_drv_txn_args *a,
                            struct weir_drv_wait *wait,
                            struct weir_drv_error *err);
weir_drv_status mock_op_exec(weir_drv_conn *c,
                             const struct weir_drv_exec_args *a,
                             struct weir_drv_wait *wait,
                             struct weir_drv_error *err);
/* The extension "weir.stmt". */
extern const struct weir_drv_stmt_api mock_stmt_table;

weir_drv_status mock_op_logout(weir_drv_conn *c,
                               struct weir_drv_wait *wait,
                               struct weir_drv_error *err);
weir_drv_status mock_op_step(weir_drv_conn *c,
                             const struct weir_drv_wake *wake,
                             struct weir_drv_wait *wait,
                             struct weir_drv_error *err);
weir_drv_status mock_op_cancel(weir_drv_conn *c,
                               struct weir_drv_wait *wait,
                               struct weir_drv_error *err);

/* Forgets the running operation, if any; nothing of it may come back. */
void mock_op_drop(weir_drv_conn *c);

/* -------------------------------------------------------------- mock_verb.c */

/* Runs one action.  MOCK_MORE: it is over, go on with the next; otherwise what
 * step() returns.  wake is NULL unless a step() brought us here. */
#define MOCK_MORE INT32_C(100)

weir_drv_status mock_verb_run(weir_drv_conn *c,
                              const struct mock_action *a,
                              const struct weir_drv_wake *wake,
                              struct weir_drv_wait *wait,
                              struct weir_drv_error *err);

/* The server ends the session in the middle of the operation. */
weir_drv_status mock_verb_die(weir_drv_conn *c,
                              const struct weir_drv_text *message,
                              struct weir_drv_error *err);

/* -------------------------------------------------------------- mock_rows.c */

/* Begins a result set of the action's rows, or of the scratch cells. */
weir_drv_status mock_rows_begin(weir_drv_conn *c,
                                const struct mock_action *a,
                                struct weir_drv_error *err);
weir_drv_status mock_rows_begin_scratch(weir_drv_conn *c,
                                        const char *const *names,
                                        uint64_t n_rows,
                                        uint32_t n_cols,
                                        struct weir_drv_error *err);
/* Begins the row of the output values: those of the parameters, named after
 * them, or those of the action. */
weir_drv_status mock_rows_begin_outputs(weir_drv_conn *c,
                                        const struct mock_action *a,
                                        struct weir_drv_error *err);
/* Fills a batch: WEIR_DRV_ROWS, MOCK_MORE when none are left, or a failure. */
weir_drv_status mock_rows_fill(weir_drv_conn *c, struct weir_drv_error *err);

/* Room for MOCK_SCRATCH_MAX cells in c->scratch.  False: no memory. */
bool mock_scratch_open(weir_drv_conn *c);

/* ------------------------------------------------------------- mock_param.c */

/* The i-th parameter of the running request, as far as its struct goes. */
struct weir_drv_param mock_param_at(const weir_drv_conn *c, uint32_t i);
struct mock_cell mock_param_cell(const struct weir_drv_value *v);

/* What the actions about parameters do; called as mock_verb.c calls its own,
 * before they send what they have begun. */
weir_drv_status mock_param_echo(weir_drv_conn *c,
                                const struct weir_drv_text *text,
                                struct weir_drv_error *err);
weir_drv_status mock_param_list(weir_drv_conn *c, struct weir_drv_error *err);
weir_drv_status mock_param_out(weir_drv_conn *c,
                               const struct mock_action *a,
                               struct weir_drv_error *err);
weir_drv_status mock_param_need(const weir_drv_conn *c,
                                uint64_t n,
                                struct weir_drv_error *err);

/* Counts those with WEIR_DRV_PARAM_OUT into op.n_outs and takes the values given
 * for the values to give back.  False: no memory. */
bool mock_param_take(weir_drv_conn *c);

/* --------------------------------------------------------- mock_statement.c */

/* Compiles text to at most MOCK_STATEMENTS_MAX actions that refer to it.
 * WEIR_DRV_DONE, or WEIR_DRV_FAIL with the statement and the place named. */
weir_drv_status mock_statement_compile(const struct weir_drv_text *text,
                                       struct mock_action *out,
                                       uint32_t *out_n,
                                       struct weir_drv_error *err);

#endif
