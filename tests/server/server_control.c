/* SPDX-License-Identifier: MIT */
/* The control language: one line in, one line out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_loop.h"

static int answer(char *reply, size_t cap, const char *text) {
  (void)snprintf(reply, cap, "%s", text);
  return 0;
}

/* Reads a whole number of at most most.  Returns false if it is none. */
static bool number(const char *text, uint64_t most, uint64_t *out) {
  char *end = NULL;
  if (text == NULL || text[0] < '0' || text[0] > '9') {
    return false;
  }
  unsigned long long value = strtoull(text, &end, 10);
  if (*end != 0 || value > most) {
    return false;
  }
  *out = value;
  return true;
}

static int run_stats(struct tdsd *server, char *reply, size_t cap) {
  (void)tdsd_counters_json(&server->shared.counters, reply, cap);
  return 0;
}

static const char *phase_name(enum tdsd_phase phase) {
  static const char *const names[] = {"prelogin", "login",   "answer",
                                      "ready",    "running", "ended"};
  return names[phase];
}

/* One JSON array with what each session is doing, as far as it fits. */
static int run_sessions(struct tdsd *server, char *reply, size_t cap) {
  size_t len = (size_t)snprintf(reply, cap, "[");
  for (struct tdsd_conn *c = server->conns; c != NULL; c = c->next) {
    char one[192];
    const struct tdsd_session *s = &c->session;
    int n = snprintf(one, sizeof one,
                     "%s{\"spid\":%u,\"phase\":\"%s\",\"trancount\":%u,"
                     "\"isolation\":%u,\"packet_size\":%u}",
                     len > 1 ? "," : "", (unsigned)s->spid,
                     phase_name(s->phase), (unsigned)s->state.tran_count,
                     (unsigned)s->state.isolation, (unsigned)s->packet_size);
    if (n < 0 || len + (size_t)n + 2 > cap) {
      break;
    }
    memcpy(reply + len, one, (size_t)n + 1);
    len += (size_t)n;
  }
  (void)snprintf(reply + len, cap - len, "]");
  return 0;
}

/* Kills one session, or all that are logged in if spid is 0.  Returns how many. */
static unsigned kill_sessions(struct tdsd *server, uint64_t spid) {
  uint64_t now_ns = tdsd_loop_now();
  unsigned n = 0;
  struct tdsd_conn *next = NULL;
  for (struct tdsd_conn *c = server->conns; c != NULL; c = next) {
    next = c->next;
    if (spid == 0 ? c->session.logged_in : c->session.spid == spid) {
      tdsd_conn_kill(c, now_ns);
      tdsd_loop_settle(server, c, now_ns);
      n++;
    }
  }
  return n;
}

static int run_kill(struct tdsd *server,
                    const char *argument,
                    char *reply,
                    size_t cap) {
  uint64_t spid = 0;
  if (argument != NULL && strcmp(argument, "all") == 0) {
    (void)snprintf(reply, cap, "ok %u", kill_sessions(server, 0));
    return 0;
  }
  if (!number(argument, 32767, &spid) || spid == 0) {
    return answer(reply, cap, "error: kill needs a session number or all");
  }
  return answer(reply, cap,
                kill_sessions(server, spid) != 0 ? "ok"
                                                 : "error: no such session");
}

/* Finds a fault that is on or off by its name. */
static bool find_switch(struct tdsd_faults *faults,
                        const char *name,
                        bool **out_value) {
  const struct {
    const char *name;
    bool *value;
  } switches[] = {{"hang-prelogin", &faults->hang_prelogin},
                  {"hang-login", &faults->hang_login},
                  {"hang-batch", &faults->hang_batch},
                  {"ignore-attention", &faults->ignore_attention},
                  {"omit-reset-ack", &faults->omit_reset_ack}};
  for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
    if (strcmp(switches[i].name, name) == 0) {
      *out_value = switches[i].value;
      return true;
    }
  }
  return false;
}

static int run_switch(bool *value,
                      const char *argument,
                      char *reply,
                      size_t cap) {
  bool on = argument != NULL && strcmp(argument, "on") == 0;
  bool off = argument != NULL && strcmp(argument, "off") == 0;
  if (!on && !off) {
    return answer(reply, cap, "error: on or off is needed");
  }
  *value = on;
  return answer(reply, cap, "ok");
}

/* Settings that take a number.  Returns -1 if there is none of that name. */
static int run_setting(struct tdsd *server,
                       const char *name,
                       const char *argument,
                       char *reply,
                       size_t cap) {
  struct tdsd_faults *faults = &server->shared.faults;
  const char *const names[] = {"login-error", "login-delay-ms", "fragment",
                               "drop-after-bytes"};
  uint64_t value = 0;
  size_t i = 0;
  while (i < 4 && strcmp(names[i], name) != 0) {
    i++;
  }
  if (i == 4) {
    return -1;
  }
  if (!number(argument, i == 3 ? UINT64_MAX : INT32_MAX, &value)) {
    return answer(reply, cap, "error: a number is needed, 0 for off");
  }
  switch (i) {
  case 0:
    faults->login_error = (int32_t)value;
    break;
  case 1:
    server->shared.options.login_delay_ms = (uint32_t)value;
    break;
  case 2:
    faults->fragment = (uint32_t)value;
    break;
  default:
    faults->drop_after_bytes = value;
    break;
  }
  return answer(reply, cap, "ok");
}

static int run_words(struct tdsd *server,
                     const char *name,
                     const char *argument,
                     char *reply,
                     size_t cap) {
  if (strcmp(name, "stats") == 0) {
    return run_stats(server, reply, cap);
  }
  if (strcmp(name, "sessions") == 0) {
    return run_sessions(server, reply, cap);
  }
  if (strcmp(name, "kill") == 0) {
    return run_kill(server, argument, reply, cap);
  }
  if (strcmp(name, "quit") == 0) {
    tdsd_quit(server);
    return answer(reply, cap, "ok");
  }
  bool *value = NULL;
  if (find_switch(&server->shared.faults, name, &value)) {
    return run_switch(value, argument, reply, cap);
  }
  return run_setting(server, name, argument, reply, cap);
}

void tdsd_control_run(struct tdsd *server,
                      const char *line,
                      char *reply,
                      size_t cap) {
  char words[256];
  char *rest = NULL;
  (void)snprintf(words, sizeof words, "%s", line);
  const char *name = strtok_r(words, " \t\r\n", &rest);
  const char *argument = strtok_r(NULL, " \t\r\n", &rest);
  if (name == NULL || strtok_r(NULL, " \t\r\n", &rest) != NULL ||
      run_words(server, name, argument, reply, cap) < 0) {
    (void)snprintf(reply, cap,
                   "error: unknown command; known are stats, sessions, kill, "
                   "quit, hang-prelogin, hang-login, hang-batch, "
                   "ignore-attention, omit-reset-ack, login-error, "
                   "login-delay-ms, fragment, drop-after-bytes");
  }
}
