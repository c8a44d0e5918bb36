/* SPDX-License-Identifier: MIT */
/* The control language: one line in, one line out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_const.h"
#include "server_loop.h"
#include "server_manners.h"

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

/* The last request by its packet type. */
static const char *last_name(uint8_t type) {
  switch (type) {
  case TDSD_PKT_BATCH:
    return "batch";
  case TDSD_PKT_RPC:
    return "rpc";
  case TDSD_PKT_TM:
    return "transaction";
  case TDSD_PKT_BULK:
    return "bulk";
  default:
    return "none";
  }
}

/* One JSON array with what each session is doing, as far as it fits. */
static int run_sessions(struct tdsd *server,
                        char *argument,
                        char *reply,
                        size_t cap) {
  (void)argument;
  size_t len = (size_t)snprintf(reply, cap, "[");
  for (struct tdsd_conn *c = server->conns; c != NULL; c = c->next) {
    char one[384];
    const struct tdsd_session *s = &c->session;
    int n = snprintf(
        one, sizeof one,
        "%s{\"spid\":%u,\"phase\":\"%s\",\"trancount\":%u,"
        "\"isolation\":%u,\"packet_size\":%u,\"conn\":%u,"
        "\"listener\":%u,\"requests\":%u,\"last\":\"%s\","
        "\"descriptor\":%" PRIu64 ",\"frozen\":%s}",
        len > 1 ? "," : "", (unsigned)s->spid, phase_name(s->phase),
        (unsigned)s->state.tran_count, (unsigned)s->state.isolation,
        (unsigned)s->packet_size, (unsigned)s->number, (unsigned)s->listener,
        (unsigned)s->requests, last_name(s->last_type), s->state.descriptor,
        c->frozen || s->deaf ? "true" : "false");
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

static int run_login_delay(struct tdsd *server,
                           char *argument,
                           char *reply,
                           size_t cap) {
  uint64_t value = 0;
  if (!number(argument, INT32_MAX, &value)) {
    return answer(reply, cap, "error: a number is needed, 0 for off");
  }
  server->shared.options.login_delay_ms = (uint32_t)value;
  return answer(reply, cap, "ok");
}

/* Appends a line to the reply as far as it fits; lines are joined by " | ",
 * because an answer has one. */
static void append_text(char *reply, size_t cap, const char *text) {
  size_t len = strlen(reply);
  (void)snprintf(reply + len, cap - len, "%s%s", len == 0 ? "" : " | ", text);
}

static int list_faults(struct tdsd *server, char *reply, size_t cap) {
  const struct tdsd_fault_list *list = &server->shared.faults;
  for (uint32_t i = 0; i < list->n; i++) {
    char one[128];
    const struct tdsd_fault_rule *rule = &list->rules[i];
    (void)snprintf(
        one, sizeof one, "%u %s%s%s seen %" PRIu64 " used %" PRIu64,
        (unsigned)rule->id, rule->row->name, rule->alias == NULL ? "" : " by ",
        rule->alias == NULL ? "" : rule->alias, rule->seen, rule->used);
    append_text(reply, cap, one);
  }
  return list->n != 0 ? 0 : answer(reply, cap, "none");
}

static int list_rows(char *reply, size_t cap) {
  for (unsigned i = 0; i < TDSD_FAULT_KINDS; i++) {
    char one[256];
    const struct tdsd_fault_row *row = &tdsd_fault_rows[i];
    (void)snprintf(one, sizeof one, "%s%s%s (%s): %s", row->name,
                   row->words[0] == 0 ? "" : " ", row->words, row->items,
                   row->help);
    append_text(reply, cap, one);
  }
  return 0;
}

static int clear_faults(struct tdsd *server,
                        const char *argument,
                        char *reply,
                        size_t cap) {
  uint64_t id = 0;
  if (argument[0] != 0 && !number(argument, UINT32_MAX, &id)) {
    return answer(reply, cap, "error: fault clear needs an id or nothing");
  }
  uint32_t n = tdsd_fault_remove(&server->shared.faults, (uint32_t)id, NULL);
  if (id != 0 && n == 0) {
    return answer(reply, cap, "error: no such fault");
  }
  (void)snprintf(reply, cap, "ok %u", (unsigned)n);
  return 0;
}

/* fault SPEC | fault list | fault rows | fault clear [ID]. */
static int run_fault(struct tdsd *server,
                     char *argument,
                     char *reply,
                     size_t cap) {
  char why[300];
  reply[0] = 0;
  if (strcmp(argument, "list") == 0) {
    return list_faults(server, reply, cap);
  }
  if (strcmp(argument, "rows") == 0) {
    return list_rows(reply, cap);
  }
  if (strncmp(argument, "clear", 5) == 0 &&
      (argument[5] == 0 || argument[5] == ' ')) {
    return clear_faults(server, argument + 5 + (argument[5] != 0), reply, cap);
  }
  uint32_t id =
      tdsd_fault_set_rule(&server->shared.faults, argument, why, sizeof why);
  if (id == 0) {
    (void)snprintf(reply, cap, "error: %s", why);
  } else {
    (void)snprintf(reply, cap, "ok %u", (unsigned)id);
  }
  return 0;
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

/* manner NAME on|off */
static int run_manner(struct tdsd *server,
                      char *argument,
                      char *reply,
                      size_t cap) {
  char *rest = NULL;
  const char *name = strtok_r(argument, " \t", &rest);
  const char *value = strtok_r(NULL, " \t", &rest);
  bool on = value != NULL && strcmp(value, "on") == 0;
  bool off = value != NULL && strcmp(value, "off") == 0;
  if ((!on && !off) || strtok_r(NULL, " \t", &rest) != NULL ||
      !tdsd_manner_set(&server->shared.manners, name, on)) {
    return answer(reply, cap,
                  "error: manner needs handles-go-on, isolation-resets or "
                  "strict-client, and on or off");
  }
  return answer(reply, cap, "ok");
}

/* The commands.  argument is what follows the name, without blanks at its ends;
 * it may be changed. */
static const struct command {
  const char *name;
  int (*run)(struct tdsd *server, char *argument, char *reply, size_t cap);
} commands[] = {
    {"stats", run_stats},   {"sessions", run_sessions},
    {"kill", run_kill},     {"script", run_script},
    {"quit", run_quit},     {"fault", run_fault},
    {"manner", run_manner}, {"login-delay-ms", run_login_delay},
};

static int run_named(struct tdsd *server,
                     const char *name,
                     char *argument,
                     char *reply,
                     size_t cap) {
  char why[300];
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    if (strcmp(commands[i].name, name) == 0) {
      return commands[i].run(server, argument, reply, cap);
    }
  }
  if (tdsd_control_cluster(server, name, argument, reply, cap) == 0) {
    return 0;
  }
  int rc = tdsd_fault_switch(&server->shared.faults, name, argument, why,
                             sizeof why);
  if (rc > 0) {
    return answer(reply, cap, "ok");
  }
  if (rc < 0) {
    (void)snprintf(reply, cap, "error: %s", why);
  }
  return rc < 0 ? 0 : -1;
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
    (void)snprintf(
        reply, cap,
        "error: unknown command; known are stats, sessions, kill, "
        "script, fault, manner, role, refuse, drop, freeze, thaw, "
        "restart-handles, quit, hang-prelogin, hang-login, hang-batch, "
        "ignore-attention, omit-reset-ack, login-error, "
        "login-delay-ms, fragment, drop-after-bytes");
  }
}
