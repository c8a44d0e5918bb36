/* SPDX-License-Identifier: MIT */
#include "server_role.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server_lex.h"
#include "server_session.h"

#define TYPE_READ_ONLY 0x20u

static int bad(char *why, size_t cap, const char *text) {
  (void)snprintf(why, cap,
                 "expected primary, secondary, read-intent, refuse N, gateway "
                 "HOST:PORT or listener HOST:PORT, found '%.100s'",
                 text);
  return -1;
}

static bool read_address(const char *text, struct tdsd_role *role) {
  const char *colon = strrchr(text, ':');
  size_t len = colon == NULL ? 0 : (size_t)(colon - text);
  char *end = NULL;
  if (len == 0 || len >= sizeof role->host || colon[1] < '0' ||
      colon[1] > '9') {
    return false;
  }
  unsigned long port = strtoul(colon + 1, &end, 10);
  memcpy(role->host, text, len);
  role->host[len] = 0;
  role->port = (uint16_t)port;
  return *end == 0 && port <= 65535;
}

int tdsd_role_parse(const char *text,
                    char sep,
                    struct tdsd_role *out_role,
                    char *why,
                    size_t cap) {
  static const char *const names[] = {"primary", "secondary", "read-intent",
                                      "refuse",  "gateway",   "listener"};
  struct tdsd_role role = {.kind = TDSD_ROLE_PRIMARY};
  const char *rest = strchr(text, sep);
  size_t len = rest == NULL ? strlen(text) : (size_t)(rest - text);
  unsigned i = 0;
  while (i < 6 &&
         (strlen(names[i]) != len || strncmp(names[i], text, len) != 0)) {
    i++;
  }
  if (i == 6 || (i < TDSD_ROLE_REFUSE) != (rest == NULL)) {
    return bad(why, cap, text);
  }
  role.kind = (enum tdsd_role_kind)i;
  if (role.kind == TDSD_ROLE_REFUSE) {
    char *end = NULL;
    long number = strtol(rest + 1, &end, 10);
    if (end == rest + 1 || *end != 0 || number <= 0 || number > INT32_MAX) {
      return bad(why, cap, text);
    }
    role.number = (int32_t)number;
  } else if (rest != NULL && !read_address(rest + 1, &role)) {
    return bad(why, cap, text);
  }
  *out_role = role;
  return 0;
}

size_t tdsd_role_print(const struct tdsd_role *role, char *out, size_t cap) {
  int n = 0;
  switch (role->kind) {
  case TDSD_ROLE_REFUSE:
    n = snprintf(out, cap, "refuse %d", (int)role->number);
    break;
  case TDSD_ROLE_GATEWAY:
  case TDSD_ROLE_LISTENER:
    n = snprintf(out, cap, "%s %.90s:%u",
                 role->kind == TDSD_ROLE_GATEWAY ? "gateway" : "listener",
                 role->host, (unsigned)role->port);
    break;
  case TDSD_ROLE_PRIMARY:
  case TDSD_ROLE_SECONDARY:
  case TDSD_ROLE_READ_INTENT:
  default:
    n = snprintf(out, cap, "%s",
                 role->kind == TDSD_ROLE_PRIMARY     ? "primary"
                 : role->kind == TDSD_ROLE_SECONDARY ? "secondary"
                                                     : "read-intent");
    break;
  }
  return n < 0 ? 0 : (size_t)n;
}

static const struct tdsd_role *role_of(const struct tdsd_session *session) {
  return session->listener == 0
             ? NULL
             : &session->shared->roles[session->listener - 1];
}

static void arm_error(struct tdsd_session *session, int32_t number) {
  struct tdsd_fault_rule rule = {.row = &tdsd_fault_rows[TDSD_FAULT_ERROR],
                                 .number = (uint64_t)number,
                                 .class = number == 3906 ? 16 : 14};
  tdsd_fault_arm_own(session, &rule);
}

static void arm_route(struct tdsd_session *session,
                      const struct tdsd_role *role) {
  struct tdsd_fault_rule rule = {.row = &tdsd_fault_rows[TDSD_FAULT_ROUTE],
                                 .number = role->port};
  (void)snprintf(rule.text, sizeof rule.text, "%s", role->host);
  tdsd_fault_arm_own(session, &rule);
}

void tdsd_role_arm_login(struct tdsd_session *session) {
  const struct tdsd_role *role = role_of(session);
  bool read_only = (session->login.type_flags & TYPE_READ_ONLY) != 0;
  if (role == NULL) {
    return;
  }
  if (role->kind == TDSD_ROLE_REFUSE) {
    arm_error(session, role->number);
  } else if (role->kind == TDSD_ROLE_READ_INTENT && !read_only) {
    arm_error(session, 978);
  } else if (role->kind == TDSD_ROLE_GATEWAY ||
             (role->kind == TDSD_ROLE_LISTENER && read_only)) {
    arm_route(session, role);
  }
}

static bool is_word(const struct tdsd_token *token, const char *word) {
  return token->lexeme == TDSD_LEX_WORD && token->len == strlen(word) &&
         strncasecmp(token->text, word, token->len) == 0;
}

/* The words that begin a change, and those that may stand before its target. */
static bool begins_change(const struct tdsd_token *token) {
  static const char *const words[] = {"INSERT", "UPDATE", "DELETE", "MERGE",
                                      "CREATE", "ALTER",  "DROP",   "TRUNCATE"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (is_word(token, words[i])) {
      return true;
    }
  }
  return false;
}

static bool is_filler(const struct tdsd_token *token) {
  return is_word(token, "INTO") || is_word(token, "FROM") ||
         is_word(token, "TABLE");
}

bool tdsd_role_writes(const char *sql, size_t len) {
  struct tdsd_arena arena = {0};
  struct tdsd_fault fault;
  struct tdsd_lexer lexer = {
      .sql = sql, .len = len, .line = 1, .arena = &arena};
  struct tdsd_token token = {.lexeme = TDSD_LEX_WORD};
  bool change = false;
  bool writes = false;
  while (!writes && tdsd_lex_next(&lexer, &token, &fault) == 0 &&
         token.lexeme != TDSD_LEX_END) {
    if (begins_change(&token)) {
      change = true;
    } else if (change && !is_filler(&token)) {
      writes = token.len == 0 || token.text[0] != '#';
      change = false;
    }
  }
  tdsd_arena_fini(&arena);
  return writes;
}

void tdsd_role_arm_request(struct tdsd_session *session,
                           const uint8_t *body,
                           size_t len) {
  const struct tdsd_role *role = role_of(session);
  if (role == NULL || (role->kind != TDSD_ROLE_SECONDARY &&
                       role->kind != TDSD_ROLE_READ_INTENT)) {
    return;
  }
  size_t text_len = 0;
  char *text = tdsd_script_request_text(session, body, len, &text_len);
  if (text != NULL && tdsd_role_writes(text, text_len)) {
    arm_error(session, 3906);
  }
  free(text);
}
