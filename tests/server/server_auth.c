/* SPDX-License-Identifier: MIT */
/* Who may log in, and what is answered to whom. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "server_const.h"
#include "server_session.h"
#include "server_text.h"

#define FLAGS2_INTEGRATED 0x80u

/* Compares without telling by its time how much was right. */
static bool same_secret(const char *a, const char *b) {
  size_t a_len = strlen(a);
  return a_len == strlen(b) && CRYPTO_memcmp(a, b, a_len) == 0;
}

static bool knows(const struct tdsd_shared *shared,
                  const struct tdsd_login *login) {
  if (shared->options.any_login) {
    return true;
  }
  for (size_t i = 0; i < shared->options.naccounts; i++) {
    if (tdsd_text_same(shared->accounts[i].user, login->user)) {
      return same_secret(shared->accounts[i].password, login->password);
    }
  }
  return false;
}

/* All are compared, so that the time tells nothing. */
static bool knows_token(const struct tdsd_shared *shared,
                        const struct tdsd_fedauth *fedauth) {
  bool known = shared->options.any_login;
  for (size_t i = 0; i < shared->options.ntokens; i++) {
    bool same = fedauth->token != NULL &&
                same_secret(shared->tokens[i], fedauth->token);
    known = known || same;
  }
  return known;
}

/* Decides.  Returns 0, or -1 with the fault for the client. */
static int check(const struct tdsd_session *session, struct tdsd_fault *fault) {
  const struct tdsd_login *login = &session->login;
  if ((login->flags2 & FLAGS2_INTEGRATED) != 0 || login->sspi_bytes != 0) {
    return tdsd_fault_set(fault, 18452, 14,
                          "Login failed. The login is from an untrusted domain "
                          "and cannot be used with Integrated authentication.");
  }
  if (login->change_password) {
    return tdsd_fault_set(fault, 18456, 14,
                          "Login failed: this server knows no changes of "
                          "passwords.");
  }
  if (login->fedauth.asked && !knows_token(session->shared, &login->fedauth)) {
    return tdsd_fault_set(fault, 18456, 14,
                          "Login failed for user '<token-identified "
                          "principal>'.");
  }
  if (!login->fedauth.asked && !knows(session->shared, login)) {
    return tdsd_fault_set(fault, 18456, 14, "Login failed for user '%.128s'.",
                          login->user);
  }
  if (login->database[0] != 0 && !tdsd_state_has_database(login->database)) {
    return tdsd_fault_set(fault, 4060, 11,
                          "Cannot open database \"%.128s\" requested by the "
                          "login. The login failed.",
                          login->database);
  }
  return 0;
}

static void write_welcome(struct tdsd_session *session, uint32_t size) {
  struct tdsd_writer writer = tdsd_session_writer(session);
  const struct tdsd_state *state = &session->state;
  struct tdsd_fault info = {.class = 10, .state = 1, .line = 1};
  char now[16];
  char before[16];
  tdsd_write_env_text(&writer, TDSD_ENV_DATABASE, state->database, "master");
  info.number = 5701;
  (void)snprintf(info.text, sizeof info.text,
                 "Changed database context to '%s'.", state->database);
  tdsd_write_message(&writer, &info);
  tdsd_write_env_bytes(&writer, TDSD_ENV_COLLATION, tdsd_collation,
                       sizeof tdsd_collation, "", 0);
  tdsd_write_env_text(&writer, TDSD_ENV_LANGUAGE, state->language, "");
  info.number = 5703;
  (void)snprintf(info.text, sizeof info.text, "Changed language setting to %s.",
                 state->language);
  tdsd_write_message(&writer, &info);
  (void)snprintf(now, sizeof now, "%u", (unsigned)size);
  (void)snprintf(before, sizeof before, "%u", (unsigned)session->packet_size);
  tdsd_write_env_text(&writer, TDSD_ENV_PACKET_SIZE, now, before);
  tdsd_write_loginack(&writer);
  const struct tdsd_fedauth *fedauth = &session->login.fedauth;
  tdsd_write_features(&writer, fedauth->asked ? fedauth : NULL, state->utf8);
  tdsd_write_done(&writer, TDSD_TOK_DONE, 0, 0, 0);
}

/* The size both can live with; a packet of full TLS must fit one record. */
static uint32_t agreed_size(const struct tdsd_session *session) {
  uint32_t size = session->login.packet_size;
  const struct tdsd_fault_rule *rule =
      tdsd_armed_find(session->armed, TDSD_FAULT_PACKET_SIZE);
  if (rule != NULL && rule->number >= TDSD_PACKET_MIN &&
      rule->number <= TDSD_PACKET_MAX) {
    return (uint32_t)rule->number;
  }
  if (size == 0) {
    return TDSD_PACKET_DEFAULT;
  }
  bool tls = session->encryption == TDSD_CRYPT_FULL;
  return tls && size > TDSD_PACKET_MAX_TLS ? TDSD_PACKET_MAX_TLS : size;
}

static void count_session(struct tdsd_session *session) {
  struct tdsd_counters *counters = &session->shared->counters;
  session->logged_in = true;
  tdsd_count(&counters->logins_ok, 1);
  tdsd_count_up(&counters->sessions_open, &counters->sessions_max);
}

void tdsd_session_admit(struct tdsd_session *session) {
  uint32_t version = session->state.version;
  tdsd_state_init(&session->state, &session->login);
  session->state.version = version;
  session->state.spid = session->spid;
  session->state.utf8 =
      session->login.utf8_asked && (version == TDSD_V74 || version == TDSD_V80);
  session->state.manners = &session->shared->manners;
  tdsd_state_join(&session->state, &session->shared->world);
  tdsd_answer_session_open(&session->answerers, &session->shared->answerers,
                           &session->state);
  count_session(session);
}

static void welcome(struct tdsd_session *session) {
  uint32_t size = agreed_size(session);
  tdsd_session_admit(session);
  write_welcome(session, size);
  tdsd_session_send(session);
  /* The new size holds from the message after this one. */
  session->packet_size = size;
  session->joiner.packet_size = size;
  session->phase = TDSD_PHASE_READY;
}

static void turn_away(struct tdsd_session *session, struct tdsd_fault *fault) {
  struct tdsd_writer writer = tdsd_session_writer(session);
  tdsd_count(&session->shared->counters.logins_failed, 1);
  tdsd_log(session->shared, session->spid,
           "login of '%s' refused with error %d",
           session->login.fedauth.asked ? "a token" : session->login.user,
           (int)fault->number);
  fault->line = 1;
  tdsd_write_message(&writer, fault);
  tdsd_write_done(&writer, TDSD_TOK_DONE, TDSD_DONE_ERROR, 0, 0);
  tdsd_session_send(session);
  session->phase = TDSD_PHASE_ENDED;
}

/* The client has no token yet: it is told where to get one. */
static void ask_for_token(struct tdsd_session *session) {
  struct tdsd_writer writer = tdsd_session_writer(session);
  tdsd_write_fedauthinfo(&writer);
  tdsd_session_send(session);
  session->phase = TDSD_PHASE_TOKEN;
}

void tdsd_session_token(struct tdsd_session *session) {
  struct tdsd_problem problem;
  const struct tdsd_buf *message = &session->joiner.message;
  if (session->joiner.type != TDSD_PKT_FEDAUTH) {
    tdsd_session_refuse(session, "a federated token was expected");
    return;
  }
  if (tdsd_fedauth_parse_token(tdsd_buf_at(message), tdsd_buf_len(message),
                               &session->login.fedauth, &problem) < 0) {
    tdsd_session_refuse(session, problem.text);
    return;
  }
  tdsd_session_answer(session);
}

void tdsd_session_answer(struct tdsd_session *session) {
  struct tdsd_fault fault;
  const struct tdsd_fedauth *fedauth = &session->login.fedauth;
  if (fedauth->library == TDSD_FEDAUTH_ASK && fedauth->token == NULL) {
    ask_for_token(session);
    return;
  }
  if (check(session, &fault) < 0) {
    turn_away(session, &fault);
  } else {
    welcome(session);
  }
  tdsd_login_wipe(&session->login);
}

/* The echo says what PRELOGIN said; with a token there is no other identity. */
static int check_fedauth(struct tdsd_session *session) {
  const struct tdsd_login *login = &session->login;
  const char *problem = NULL;
  if (!login->fedauth.asked) {
    return 0;
  }
  if (login->fedauth.echo != session->fedauth_required) {
    problem = "LOGIN7 does not repeat what FEDAUTHREQUIRED said";
  } else if (login->flags2 & FLAGS2_INTEGRATED) {
    problem = "LOGIN7 wants both integrated and federated authentication";
  } else if (session->shared->manners.strict &&
             session->encryption != TDSD_CRYPT_FULL) {
    problem = "a federated token outside of full encryption";
  }
  if (problem == NULL) {
    return 0;
  }
  tdsd_session_refuse(session, problem);
  return -1;
}

void tdsd_session_login(struct tdsd_session *session, uint64_t now_ns) {
  struct tdsd_problem problem;
  const struct tdsd_buf *message = &session->joiner.message;
  if (tdsd_login_parse(tdsd_buf_at(message), tdsd_buf_len(message),
                       &session->login, &problem) < 0) {
    tdsd_session_refuse(session, problem.text);
    return;
  }
  if (session->login.version == TDSD_V80 && !session->strict) {
    tdsd_session_refuse(session, "TDS 8.0 outside strict TLS");
    return;
  }
  if (check_fedauth(session) < 0) {
    return;
  }
  session->state.version = session->login.version;
  session->phase = TDSD_PHASE_ANSWER;
  tdsd_fault_arm(session, TDSD_ON_LOGIN);
  if (tdsd_fault_answer(session)) {
    tdsd_login_wipe(&session->login);
    return;
  }
  const char *user = session->login.user;
  const struct tdsd_script_rule *rule = tdsd_script_look(
      session, TDSD_SCRIPT_LOGIN, (const uint8_t *)user, strlen(user));
  if (rule != NULL) {
    tdsd_script_start(session, rule, TDSD_SCRIPT_LOGIN, now_ns);
  } else {
    tdsd_session_greet(session, now_ns);
  }
}

void tdsd_session_greet(struct tdsd_session *session, uint64_t now_ns) {
  uint64_t delay_ms = session->shared->options.login_delay_ms;
  if (delay_ms == 0) {
    tdsd_session_answer(session);
  } else {
    session->wake_ns = now_ns + delay_ms * UINT64_C(1000000);
  }
}
