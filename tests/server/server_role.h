/* SPDX-License-Identifier: MIT */
/* What part a listener plays in a cluster.  Roles act through the same armed
 * rules as faults: a login is refused or redirected, a write is error 3906. */
#ifndef TDSD_SERVER_ROLE_H
#define TDSD_SERVER_ROLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tdsd_role_kind {
  TDSD_ROLE_PRIMARY,     /* everything */
  TDSD_ROLE_SECONDARY,   /* everybody may log in and read */
  TDSD_ROLE_READ_INTENT, /* as secondary, for ApplicationIntent=ReadOnly only */
  TDSD_ROLE_REFUSE,      /* every login fails with a number */
  TDSD_ROLE_GATEWAY,     /* every login is redirected */
  TDSD_ROLE_LISTENER,    /* logins with read-only intent are redirected */
};

struct tdsd_role {
  enum tdsd_role_kind kind;
  int32_t number; /* of REFUSE */
  char host[96];  /* of GATEWAY and LISTENER */
  uint16_t port;
};

/* Reads "primary", "secondary", "read-intent", "refuse N", "gateway HOST:PORT" or
 * "listener HOST:PORT"; sep stands between the two words.
 * Returns 0, or -1 with the sentence in why. */
int tdsd_role_parse(const char *text,
                    char sep,
                    struct tdsd_role *out_role,
                    char *why,
                    size_t cap);

/* Writes it the same way, with a blank.  Returns its length. */
size_t tdsd_role_print(const struct tdsd_role *role, char *out, size_t cap);

struct tdsd_session;

/* The role's part in arming a login (server_fault.h). */
void tdsd_role_arm_login(struct tdsd_session *session);

/* Arms error 3906 if the request writes where only reading is allowed.  body is
 * what lies behind ALL_HEADERS. */
void tdsd_role_arm_request(struct tdsd_session *session,
                           const uint8_t *body,
                           size_t len);

/* Whether a text has a statement that changes something but #temp tables. */
bool tdsd_role_writes(const char *sql, size_t len);

#endif
