/* SPDX-License-Identifier: MIT */
/* What a logged-in session remembers: where it is, its options, its
 * transaction.  What a reset restores and what survives it is decided here. */
#ifndef TDSD_SERVER_STATE_H
#define TDSD_SERVER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "server_context.h"
#include "server_handle.h"
#include "server_login.h"
#include "server_temp.h"
#include "server_value.h"

#define TDSD_SAVEPOINTS_MAX   32u
/* Descriptors of the past that are remembered. */
#define TDSD_PAST_DESCRIPTORS 8u
#define TDSD_OPTIONS_MAX      48u
#define TDSD_OPTION_BYTES     64u

/* One SET that was sent. */
struct tdsd_option {
  char name[TDSD_OPTION_BYTES];
  char value[TDSD_OPTION_BYTES];
};

/* Ways in which this server may differ from SQL Server, to provoke clients. */
struct tdsd_manners {
  bool handles_go_on;    /* a reset does not start handle numbers again */
  bool isolation_resets; /* a reset restores the isolation level, too */
  bool strict;           /* --strict-client */
};

/* What the sessions of a server see of one another. */
struct tdsd_world {
  struct tdsd_state *first; /* those that are logged in */
  /* Ends a session as KILL does.  Returns false if there is none of that number.
   * NULL = nobody can be killed. */
  bool (*kill)(void *user, uint16_t spid);
  void *user;
};

/* EXECUTE AS within one another. */
#define TDSD_IMPERSONATIONS_MAX 32u

struct tdsd_state {
  struct tdsd_world *world; /* NULL = alone */
  struct tdsd_state *next;  /* in the world */
  uint16_t spid;
  uint32_t version;
  char login[TDSD_NAME_BYTES];
  char host[TDSD_NAME_BYTES];
  char app[TDSD_NAME_BYTES];
  char database[TDSD_NAME_BYTES];
  char language[TDSD_NAME_BYTES];
  char base_database[TDSD_NAME_BYTES]; /* as after the login */
  char base_language[TDSD_NAME_BYTES];
  struct tdsd_option options[TDSD_OPTIONS_MAX];
  uint32_t noptions;
  uint8_t isolation; /* 1 to 5; a reset keeps it, as SQL Server does */
  bool xact_abort;
  uint32_t tran_count;
  uint64_t descriptor;                  /* 0 outside a transaction */
  uint64_t past[TDSD_PAST_DESCRIPTORS]; /* of transactions that are over */
  bool doomed;                          /* an error has left only ROLLBACK */
  char tran_name[TDSD_OPTION_BYTES];    /* of the outermost; may be empty */
  char savepoints[TDSD_SAVEPOINTS_MAX][TDSD_OPTION_BYTES];
  uint32_t nsavepoints;
  struct tdsd_handles handles;
  struct tdsd_temps temps;
  struct tdsd_session_context context;
  uint8_t context_info[128];
  bool has_context_info;
  char app_role[TDSD_OPTION_BYTES]; /* of sp_setapprole; empty = none */
  /* Who EXECUTE AS has made of the session, the innermost last. */
  char impersonated[TDSD_IMPERSONATIONS_MAX][TDSD_OPTION_BYTES];
  uint32_t nimpersonated;
  uint32_t resets;                    /* how often it was reset */
  bool utf8;                          /* feature 0A was acknowledged */
  bool odbc;                          /* the login asked for ODBC's options */
  const struct tdsd_fault *caught;    /* by the CATCH at hand; NULL = none */
  const struct tdsd_manners *manners; /* NULL = as SQL Server does */
  int64_t rowcount;                   /* @@ROWCOUNT */
  int32_t error;                      /* @@ERROR */
  bool has_identity;                  /* a row has had one */
  int64_t identity;                   /* @@IDENTITY, SCOPE_IDENTITY() */
};

/* Starts a session's state from its login; spid and version are set after. */
void tdsd_state_init(struct tdsd_state *state, const struct tdsd_login *login);

/* What RESETCONNECTION does: everything back to the login's baseline but the
 * isolation level; the transaction is rolled back unless keep_transaction. */
void tdsd_state_reset(struct tdsd_state *state, bool keep_transaction);

/* Who the session acts as. */
const char *tdsd_state_user(const struct tdsd_state *state);

/* Whether a reset cannot be: an application role, an EXECUTE AS that was not
 * reverted. */
bool tdsd_state_is_other(const struct tdsd_state *state);

/* The number of a database, and its name; 0 and NULL if there is none. */
int32_t tdsd_state_database_id(const char *name);
const char *tdsd_state_database_name(int32_t id);

/* Makes the session seen by others, until it leaves or tdsd_state_fini(). */
void tdsd_state_join(struct tdsd_state *state, struct tdsd_world *world);
void tdsd_state_leave(struct tdsd_state *state);

/* Frees what the state holds, and leaves the world. */
void tdsd_state_fini(struct tdsd_state *state);

/* Whether the server has this database. */
bool tdsd_state_has_database(const char *name);

/* Records SET name value.  Returns false if there is no room for more. */
bool tdsd_state_set(struct tdsd_state *state,
                    const char *name,
                    const char *value);

/* The value last set, or otherwise. */
const char *tdsd_state_get(const struct tdsd_state *state,
                           const char *name,
                           const char *otherwise);

/* Transactions.  begin returns true if a new one began (not nested); end clears
 * it and returns the descriptor it had. */
bool tdsd_state_begin(struct tdsd_state *state);
uint64_t tdsd_state_end(struct tdsd_state *state);

bool tdsd_state_has_savepoint(const struct tdsd_state *state, const char *name);

/* Whether the session had this descriptor a short while ago. */
bool tdsd_state_had(const struct tdsd_state *state, uint64_t descriptor);

/* Remembers a savepoint, and goes back to one; false if there is no such name
 * or no room. */
bool tdsd_state_save(struct tdsd_state *state, const char *name);
bool tdsd_state_rollback_to(struct tdsd_state *state, const char *name);

#endif
