/* SPDX-License-Identifier: MIT */
/* The part of the control language that acts on many at once: listeners and
 * their roles, links that are cut or frozen, handles that start again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_loop.h"

static int answer(char *reply, size_t cap, const char *text) {
  (void)snprintf(reply, cap, "%s", text);
  return 0;
}

/* Reads a whole number and moves *text behind it. */
static bool number(const char **text, unsigned long most, uint32_t *out) {
  char *end = NULL;
  unsigned long value = strtoul(*text, &end, 10);
  if (**text < '0' || **text > '9' || value > most) {
    return false;
  }
  *text = end + strspn(end, " \t");
  *out = (uint32_t)value;
  return true;
}

/* What is done to each connection that is meant. */
typedef void act_fn(struct tdsd_conn *conn, uint64_t now_ns);

/* Who is meant: all, listener N, or the number of a session. */
struct whom {
  bool all;
  uint32_t listener;
  uint32_t spid;
};

static bool read_whom(const char *text, struct whom *out) {
  *out = (struct whom){.all = strcmp(text, "all") == 0};
  if (out->all) {
    return true;
  }
  if (strncmp(text, "listener ", 9) == 0) {
    text += 9;
    return number(&text, TDSD_LISTENERS_MAX, &out->listener) && *text == 0 &&
           out->listener != 0;
  }
  return number(&text, 32767, &out->spid) && *text == 0 && out->spid != 0;
}

static bool is_meant(const struct whom *whom, const struct tdsd_conn *conn) {
  return whom->all ||
         (whom->listener != 0 && conn->session.listener == whom->listener) ||
         (whom->spid != 0 && conn->session.spid == whom->spid);
}

static unsigned for_each(struct tdsd *server,
                         const struct whom *whom,
                         act_fn *act) {
  uint64_t now_ns = tdsd_loop_now();
  struct tdsd_conn *next = NULL;
  unsigned n = 0;
  for (struct tdsd_conn *c = server->conns; c != NULL; c = next) {
    next = c->next;
    if (is_meant(whom, c)) {
      act(c, now_ns);
      tdsd_loop_settle(server, c, now_ns);
      n++;
    }
  }
  return n;
}

static void drop(struct tdsd_conn *conn, uint64_t now_ns) {
  (void)now_ns;
  tdsd_conn_drop(conn);
}

static void freeze(struct tdsd_conn *conn, uint64_t now_ns) {
  tdsd_conn_freeze(conn, true, now_ns);
}

static void thaw(struct tdsd_conn *conn, uint64_t now_ns) {
  tdsd_conn_freeze(conn, false, now_ns);
}

static void forget_handles(struct tdsd_conn *conn, uint64_t now_ns) {
  (void)now_ns;
  tdsd_handle_drop_all(&conn->session.state.handles, true);
}

static int run_for_each(struct tdsd *server,
                        const char *argument,
                        act_fn *act,
                        char *reply,
                        size_t cap) {
  struct whom whom;
  if (!read_whom(argument, &whom)) {
    return answer(reply, cap,
                  "error: a session number, all or listener N is needed");
  }
  unsigned n = for_each(server, &whom, act);
  if (n == 0 && whom.spid != 0) {
    return answer(reply, cap, "error: no such session");
  }
  (void)snprintf(reply, cap, "ok %u", n);
  return 0;
}

/* refuse on|off [N]. */
static int run_refuse(struct tdsd *server,
                      const char *argument,
                      char *reply,
                      size_t cap) {
  bool on = strncmp(argument, "on", 2) == 0;
  const char *rest = argument + (on ? 2 : 3);
  uint32_t only = 0;
  bool good = on || strncmp(argument, "off", 3) == 0;
  if (good && *rest != 0) {
    rest += strspn(rest, " \t");
    good = number(&rest, server->nlisteners, &only) && *rest == 0 && only != 0;
  }
  if (!good) {
    return answer(reply, cap, "error: on or off, and a listener's number");
  }
  int rc = 0;
  for (uint32_t i = 0; i < server->nlisteners; i++) {
    if (only == 0 || only == i + 1) {
      rc |= tdsd_listener_refuse(server, &server->listeners[i], on);
    }
  }
  return answer(reply, cap, rc == 0 ? "ok" : "error: the port is taken");
}

static int list_roles(struct tdsd *server, char *reply, size_t cap) {
  size_t len = 0;
  reply[0] = 0;
  for (uint32_t i = 0; i < server->nlisteners; i++) {
    char role[128];
    char one[256];
    (void)tdsd_role_print(&server->shared.roles[i], role, sizeof role);
    int n = snprintf(one, sizeof one, "%s%u %.64s:%u %s", i == 0 ? "" : " | ",
                     (unsigned)i + 1, server->listeners[i].address,
                     (unsigned)server->listeners[i].port, role);
    if (n < 0 || (size_t)n >= cap - len) {
      break;
    }
    memcpy(reply + len, one, (size_t)n + 1);
    len += (size_t)n;
  }
  return 0;
}

/* Ends a session without a word, as a failover does. */
static void end_quietly(struct tdsd_conn *conn, uint64_t now_ns) {
  conn->session.phase = TDSD_PHASE_ENDED;
  tdsd_conn_writable(conn, now_ns);
}

/* Two listeners change places, and whoever was connected to them is gone. */
static int swap_roles(struct tdsd *server,
                      uint32_t a,
                      uint32_t b,
                      char *reply,
                      size_t cap) {
  struct tdsd_role role = server->shared.roles[a - 1];
  struct whom whom = {.listener = a};
  server->shared.roles[a - 1] = server->shared.roles[b - 1];
  server->shared.roles[b - 1] = role;
  unsigned n = for_each(server, &whom, end_quietly);
  whom.listener = b;
  n += for_each(server, &whom, end_quietly);
  (void)snprintf(reply, cap, "ok %u", n);
  return 0;
}

/* role | role N ROLE | role swap [A B]. */
static int run_role(struct tdsd *server,
                    const char *argument,
                    char *reply,
                    size_t cap) {
  uint32_t a = 1;
  uint32_t b = 2;
  char why[256];
  if (argument[0] == 0) {
    return list_roles(server, reply, cap);
  }
  if (strncmp(argument, "swap", 4) == 0) {
    const char *rest = argument + 4 + strspn(argument + 4, " \t");
    bool good = *rest == 0 || (number(&rest, server->nlisteners, &a) &&
                               number(&rest, server->nlisteners, &b));
    if (!good || *rest != 0 || a == 0 || b == 0 || a == b ||
        b > server->nlisteners) {
      return answer(reply, cap, "error: role swap needs two listeners");
    }
    return swap_roles(server, a, b, reply, cap);
  }
  if (!number(&argument, server->nlisteners, &a) || a == 0) {
    return answer(reply, cap, "error: role needs a listener's number, or swap");
  }
  if (tdsd_role_parse(argument, ' ', &server->shared.roles[a - 1], why,
                      sizeof why) < 0) {
    (void)snprintf(reply, cap, "error: %s", why);
    return 0;
  }
  return answer(reply, cap, "ok");
}

int tdsd_control_cluster(struct tdsd *server,
                         const char *name,
                         const char *argument,
                         char *reply,
                         size_t cap) {
  static const struct {
    const char *name;
    act_fn *act;
  } acts[] = {{"drop", drop},
              {"freeze", freeze},
              {"thaw", thaw},
              {"restart-handles", forget_handles}};
  for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
    if (strcmp(acts[i].name, name) == 0) {
      bool all = acts[i].act == forget_handles && argument[0] == 0;
      return run_for_each(server, all ? "all" : argument, acts[i].act, reply,
                          cap);
    }
  }
  if (strcmp(name, "refuse") == 0) {
    return run_refuse(server, argument, reply, cap);
  }
  return strcmp(name, "role") == 0 ? run_role(server, argument, reply, cap)
                                   : -1;
}
