/* SPDX-License-Identifier: MIT */
/* The control language: one line in, one line out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_const.h"
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

static int run_stats(struct tdsd *server,
                     char *argument,
                     char *reply,
                     size_t cap) {
  (void)argument;
  (void)tdsd_counters_json(&server->shared.counters, reply, cap);
  return 0;
}

static const char *phase_name(enum tdsd_phase phase) {
  static const char *const names[] = {"prelogin", "login", "answer", "ready",
                                      "running",  "ended", "token"};
  return names[phase];
}

/* One JSON array with what each session is doing, as far as it fits. */
static int run_sessions(struct tdsd *server,
                        char *argument,
                        char *reply,
                        size_t cap) {
  (void)argument;
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
                    char *argument,
                    char *reply,
                    size_t cap) {
  uint64_t spid = 0;
  if (strcmp(argument, "all") == 0) {
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
  bool on = strcmp(argument, "on") == 0;
  bool off = strcmp(argument, "off") == 0;
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

static int run_script(struct tdsd *server,
                      char *argument,
                      char *reply,
                      size_t cap) {
  struct tdsd_script *script = NULL;
  char why[300];
  if (argument[0] == 0) {
    return answer(reply, cap, "error: script needs a FILE, or off");
  }
  if (strcmp(argument, "off") != 0 &&
      tdsd_script_load(argument, &script, why, sizeof why) < 0) {
    (void)snprintf(reply, cap, "error: %s", why);
    return 0;
  }
  /* Answers under way go on with the script they began with. */
  tdsd_script_drop(server->shared.script);
  server->shared.script = script;
  return answer(reply, cap, "ok");
}

static int run_quit(struct tdsd *server,
                    char *argument,
                    char *reply,
                    size_t cap) {
  (void)argument;
  tdsd_quit(server);
  return answer(reply, cap, "ok");
}

/* The commands.  argument is what follows the name, without blanks at its ends;
 * it may be changed. */
static const struct command {
  const char *name;
  int (*run)(struct tdsd *server, char *argument, char *reply, size_t cap);
} commands[] = {
    {"stats", run_stats},   {"sessions", run_sessions}, {"kill", run_kill},
    {"script", run_script}, {"quit", run_quit},
};

static int run_named(struct tdsd *server,
                     const char *name,
                     char *argument,
                     char *reply,
                     size_t cap) {
  bool *value = NULL;
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    if (strcmp(commands[i].name, name) == 0) {
      return commands[i].run(server, argument, reply, cap);
    }
  }
  if (find_switch(&server->shared.faults, name, &value)) {
    return run_switch(value, argument, reply, cap);
  }
  return run_setting(server, name, argument, reply, cap);
}

/* Cuts blanks off both ends. */
static char *trim(char *text) {
  size_t len = strlen(text);
  while (len != 0 && strchr(" \t\r\n", text[len - 1]) != NULL) {
    text[--len] = 0;
  }
  return text + strspn(text, " \t");
}

void tdsd_control_run(struct tdsd *server,
                      const char *line,
                      char *reply,
                      size_t cap) {
  char words[TDSD_CAP_CONTROL_LINE];
  (void)snprintf(words, sizeof words, "%s", line);
  char *name = trim(words);
  size_t len = strcspn(name, " \t");
  char *argument = name[len] == 0 ? name + len : trim(name + len + 1);
  name[len] = 0;
  if (run_named(server, name, argument, reply, cap) < 0) {
    (void)snprintf(reply, cap,
                   "error: unknown command; known are stats, sessions, kill, "
                   "script, quit, hang-prelogin, hang-login, hang-batch, "
                   "ignore-attention, omit-reset-ack, login-error, "
                   "login-delay-ms, fragment, drop-after-bytes");
  }
}
