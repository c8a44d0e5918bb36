/* SPDX-License-Identifier: MIT */
/* The rules of a server: adding, removing, finding those of a stage. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_fault.h"

uint32_t tdsd_fault_add(struct tdsd_fault_list *list,
                        const struct tdsd_fault_rule *rule) {
  if (list->n == TDSD_CAP_FAULTS) {
    return 0;
  }
  if (list->rules == NULL) {
    /* All at once, so that a rule stays where it is. */
    list->rules = calloc(TDSD_CAP_FAULTS, sizeof *list->rules);
    if (list->rules == NULL) {
      return 0;
    }
  }
  struct tdsd_fault_rule *at = &list->rules[list->n++];
  *at = *rule;
  at->id = ++list->ids;
  list->by_stage[rule->row->stage]++;
  return at->id;
}

uint32_t tdsd_fault_set_rule(struct tdsd_fault_list *list,
                             const char *spec,
                             char *why,
                             size_t cap) {
  struct tdsd_fault_rule rule;
  if (tdsd_fault_parse(spec, &rule, why, cap) < 0) {
    return 0;
  }
  uint32_t id = tdsd_fault_add(list, &rule);
  if (id == 0) {
    (void)snprintf(why, cap, "expected at most %u faults", TDSD_CAP_FAULTS);
  }
  return id;
}

uint32_t tdsd_fault_remove(struct tdsd_fault_list *list,
                           uint32_t id,
                           const char *alias) {
  uint32_t kept = 0;
  uint32_t before = list->n;
  for (uint32_t i = 0; i < before; i++) {
    const struct tdsd_fault_rule *rule = &list->rules[i];
    bool all = id == 0 && alias == NULL;
    bool named =
        alias != NULL && rule->alias != NULL && strcmp(rule->alias, alias) == 0;
    if (all || named || (id != 0 && rule->id == id)) {
      list->by_stage[rule->row->stage]--;
    } else {
      list->rules[kept++] = *rule;
    }
  }
  list->n = kept;
  return before - kept;
}

void tdsd_fault_list_fini(struct tdsd_fault_list *list) {
  free(list->rules);
  memset(list, 0, sizeof *list);
}

/* The old switches: a rule each.  %s is the number given; those without take on
 * and off. */
static const struct {
  const char *name;
  const char *spec;
} switches[] = {
    {"hang-prelogin", "msg=prelogin hang"},
    {"hang-login", "msg=login hang"},
    {"hang-batch", "msg=request hang"},
    {"ignore-attention", "ack none"},
    {"omit-reset-ack", "reset-ack none"},
    {"login-error", "msg=login error %s"},
    {"fragment", "fragment %s"},
    {"drop-after-bytes", "drop-after-bytes %s"},
};

int tdsd_fault_switch(struct tdsd_fault_list *list,
                      const char *name,
                      const char *value,
                      char *why,
                      size_t cap) {
  char spec[128];
  size_t i = 0;
  while (i < sizeof switches / sizeof switches[0] &&
         strcmp(switches[i].name, name) != 0) {
    i++;
  }
  if (i == sizeof switches / sizeof switches[0]) {
    return 0;
  }
  const char *hole = strstr(switches[i].spec, "%s");
  bool off = strcmp(value, hole == NULL ? "off" : "0") == 0;
  if (hole == NULL && !off && strcmp(value, "on") != 0) {
    (void)snprintf(why, cap, "on or off is needed");
    return -1;
  }
  if (hole != NULL &&
      (value[0] == 0 || strspn(value, "0123456789") != strlen(value))) {
    (void)snprintf(why, cap, "a number is needed, 0 for off");
    return -1;
  }
  struct tdsd_fault_rule rule;
  size_t before = hole == NULL ? strlen(switches[i].spec)
                               : (size_t)(hole - switches[i].spec);
  memcpy(spec, switches[i].spec, before);
  (void)snprintf(spec + before, sizeof spec - before, "%.32s",
                 hole == NULL ? "" : value);
  if (!off && tdsd_fault_parse(spec, &rule, why, cap) < 0) {
    return -1;
  }
  (void)tdsd_fault_remove(list, 0, switches[i].name);
  if (!off) {
    rule.alias = switches[i].name;
    (void)tdsd_fault_add(list, &rule);
  }
  return 1;
}

static bool conn_fits(const struct tdsd_fault_rule *rule, uint32_t conn) {
  if (rule->conn_n != 0 && (conn - 1) % rule->conn_n >= rule->conn_k) {
    return false;
  }
  return rule->conn_from == 0 ||
         (conn >= rule->conn_from && conn <= rule->conn_to);
}

struct tdsd_fault_rule *tdsd_fault_next(struct tdsd_fault_list *list,
                                        enum tdsd_fault_stage stage,
                                        uint32_t conn,
                                        uint32_t listener,
                                        uint32_t *at) {
  if (list->by_stage[stage] == 0) {
    return NULL;
  }
  while (*at < list->n) {
    struct tdsd_fault_rule *rule = &list->rules[(*at)++];
    if (rule->row->stage == stage && conn_fits(rule, conn) &&
        (rule->listener == 0 || rule->listener == listener)) {
      return rule;
    }
  }
  return NULL;
}

bool tdsd_fault_take(struct tdsd_fault_rule *rule) {
  rule->seen++;
  if (rule->seen <= rule->after ||
      (rule->times != 0 && rule->used == rule->times)) {
    return false;
  }
  rule->used++;
  return true;
}

const struct tdsd_fault_rule *tdsd_armed_find(const struct tdsd_armed *armed,
                                              enum tdsd_fault_kind kind) {
  for (uint32_t i = 0; armed != NULL && i < armed->n; i++) {
    if (armed->rules[i].row->kind == kind) {
      return &armed->rules[i];
    }
  }
  return NULL;
}

bool tdsd_gates_add(struct tdsd_gates *gates, struct tdsd_gate gate) {
  if (gates->n == gates->room) {
    size_t room = gates->room == 0 ? 8 : 2 * gates->room;
    struct tdsd_gate *list = realloc(gates->list, room * sizeof *list);
    if (list == NULL) {
      return false;
    }
    gates->list = list;
    gates->room = room;
  }
  size_t at = gates->n;
  while (at > gates->first && gates->list[at - 1].at > gate.at) {
    gates->list[at] = gates->list[at - 1];
    at--;
  }
  gates->list[at] = gate;
  gates->n++;
  return true;
}

const struct tdsd_gate *tdsd_gates_next(const struct tdsd_gates *gates) {
  return gates->first < gates->n ? &gates->list[gates->first] : NULL;
}

void tdsd_gates_pass(struct tdsd_gates *gates) {
  if (++gates->first == gates->n) {
    gates->first = gates->n = 0;
  }
}

void tdsd_gates_fini(struct tdsd_gates *gates) {
  free(gates->list);
  memset(gates, 0, sizeof *gates);
}
