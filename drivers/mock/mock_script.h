/* SPDX-License-Identifier: MIT */
/* mock_script.h - scripts: what a mock server does, and when.
 *
 * README.md describes the language.  Everything is capped; a script that goes
 * beyond, or is wrong, is refused with its line and column. */
#ifndef MOCK_SCRIPT_H
#define MOCK_SCRIPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir_driver.h"

#define MOCK_SCRIPT_BYTES_MAX 65536u
#define MOCK_RULES_MAX        256u
#define MOCK_RULE_ACTIONS_MAX 32u
#define MOCK_CELLS_MAX        16384u
#define MOCK_ROWS_MAX         UINT64_C(1000000000)
#define MOCK_AGAIN_MAX        UINT64_C(1000000)

enum mock_kind {
  MOCK_K_CONNECT,
  MOCK_K_EXEC,
  MOCK_K_RESET,
  MOCK_K_PING,
  MOCK_K_TXN,
  MOCK_K_LOGOUT,
  MOCK_K_STEP,
  MOCK_K_HEALTH,
  MOCK_K_CANCEL,
  MOCK_KINDS
};

enum mock_what {
  /* in scripts */
  MOCK_SUCCEED,
  MOCK_FAIL,
  MOCK_DIE,
  MOCK_DELAY,
  MOCK_AGAIN,
  MOCK_HANG,
  MOCK_OFFLOAD,
  MOCK_OFFLOAD_HANG,
  MOCK_RESOLVE,
  MOCK_NOTICE,
  MOCK_ROWS,
  MOCK_AFFECT, /* "count" */
  MOCK_REPORT,
  MOCK_PASSWORD,
  MOCK_TOKEN,
  MOCK_NEED,    /* so many parameters */
  MOCK_OUTPUTS, /* output values of the script's */
  MOCK_ALIVE,
  MOCK_DEAD,
  MOCK_PENDING,
  /* in statements */
  MOCK_BEGIN,
  MOCK_COMMIT,
  MOCK_ROLLBACK,
  MOCK_SET,
  MOCK_SHOW,
  MOCK_ECHO,
  MOCK_SESSION,
  MOCK_PARAMS, /* what the parameters are */
  MOCK_OUT,    /* sets the output value of one */
  /* around them */
  MOCK_CREDENTIAL,   /* ask the engine for the password */
  MOCK_BEARER,       /* ask the engine for an access token */
  MOCK_GIVE_OUTPUTS, /* the output values of the parameters, if there are any */
  MOCK_RESET_EFFECT, /* a lazy reset reaches the server */
  MOCK_FINISH,       /* the operation takes effect and ends */
  MOCK_CANCELLED,    /* a cancel() is acknowledged */
  MOCK_WHATS
};

struct mock_failure {
  int32_t scope;
  int32_t kind;
  int32_t retry;
  int32_t txn; /* -1: as the session's */
  int32_t native;
  uint32_t severity;
  uint32_t retry_after_ms;
  uint32_t flags;
  uint32_t state;
  uint32_t line;
  char sqlstate[8];
};

struct mock_cell {
  int32_t type; /* WEIR_DRV_T_* */
  int64_t i;    /* BOOL, INT; UINT and FLOAT as their bits */
  struct weir_drv_text text;
};

/* One action.  Which fields count depends on what. */
struct mock_action {
  int32_t what; /* enum mock_what */
  uint64_t n;   /* ns, times, rows, count, port, number */
  struct weir_drv_text text;
  struct weir_drv_text procedure; /* of a notice */
  struct mock_failure failure;
  uint32_t first_cell; /* of the script's cells */
  uint32_t n_cells;
  uint32_t n_cols;
  const struct mock_cell *cells; /* the same once the script is complete */
  int32_t txn;                   /* report; -1: not said, as below */
  int32_t usable;
  int64_t dirty;
  int64_t expires_unix_s;
};

struct mock_rule {
  int32_t kind;  /* enum mock_kind */
  bool replaces; /* the statement of exec, or the rest of another operation */
  uint64_t from; /* ordinals it is for */
  uint64_t to;
  uint64_t stride;
  uint64_t on;    /* number of the connection; 0: all */
  uint32_t first; /* of the script's actions */
  uint32_t n_actions;
  _Atomic uint64_t seen; /* operations that it could have been for */
};

struct mock_script {
  char *text; /* its own copy; strings are decoded in place */
  struct mock_rule *rules;
  struct mock_action *actions;
  struct mock_cell *cells;
  uint32_t n_rules;
  uint32_t n_actions;
  uint32_t n_cells;
  uint32_t rules_cap;
  uint32_t actions_cap;
  uint32_t cells_cap;
};

/* Parses text.  On failure *err names the line, the column and what was
 * expected there; *out_script is untouched. */
weir_drv_status mock_script_parse(const struct weir_drv_host *host,
                                  const struct weir_drv_text *text,
                                  struct mock_script **out_script,
                                  struct weir_drv_error *err);
void mock_script_free(const struct weir_drv_host *host, struct mock_script *s);

/* The first rule for this operation, or NULL.  Counts it in every rule that it
 * could be for.  Threads: any. */
const struct mock_rule *mock_script_match(struct mock_script *s,
                                          enum mock_kind kind,
                                          uint64_t conn);

/* "5", "5ms", "2.5 s" without the blank: seconds unless a unit is given, which
 * is one of ns us ms s min h.  False: not one, or over 2^63 ns. */
bool mock_duration_parse(const char *p, uint64_t n, uint64_t *out_ns);

/* Decimal digits, at most max.  False: anything else. */
bool mock_number_parse(const char *p, uint64_t n, uint64_t max, uint64_t *out);

/* True if p,n is word, whatever its case. */
bool mock_word_is(const char *p, uint64_t n, const char *word);

#endif
