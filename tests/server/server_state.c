/* SPDX-License-Identifier: MIT */
#include "server_state.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "server_text.h"

/* Descriptors count up through the life of the process and are never reused, so
 * that a driver that sends a stale one is always caught. */
static _Atomic uint64_t last_descriptor = 0;

static void copy(char *to, size_t cap, const char *from) {
  (void)snprintf(to, cap, "%s", from);
}

static void set_defaults(struct tdsd_state *state) {
  copy(state->database, sizeof state->database, state->base_database);
  copy(state->language, sizeof state->language, state->base_language);
  state->noptions = 0;
  state->xact_abort = false;
  state->has_context_info = false;
  state->app_role[0] = 0;
  state->nimpersonated = 0;
  state->rowcount = 0;
  state->has_identity = false;
  state->error = 0;
}

void tdsd_state_init(struct tdsd_state *state, const struct tdsd_login *login) {
  *state = (struct tdsd_state){.isolation = 2};
  state->odbc = (login->flags2 & TDSD_LOGIN_ODBC) != 0;
  copy(state->login, sizeof state->login,
       login->fedauth.asked ? "token-identified principal" : login->user);
  copy(state->host, sizeof state->host, login->host);
  copy(state->app, sizeof state->app, login->app);
  copy(state->base_database, sizeof state->base_database,
       login->database[0] != 0 ? login->database : "master");
  copy(state->base_language, sizeof state->base_language,
       login->language[0] != 0 ? login->language : "us_english");
  set_defaults(state);
}

void tdsd_state_reset(struct tdsd_state *state, bool keep_transaction) {
  const struct tdsd_manners *manners = state->manners;
  set_defaults(state);
  if (!keep_transaction) {
    (void)tdsd_state_end(state);
  }
  if (manners != NULL && manners->isolation_resets) {
    state->isolation = 2;
  }
  tdsd_handle_drop_all(&state->handles,
                       manners == NULL || !manners->handles_go_on);
  tdsd_temp_drop_all(&state->temps);
  tdsd_context_clear(&state->context);
  state->resets++;
}

const char *tdsd_state_user(const struct tdsd_state *state) {
  return state->nimpersonated != 0
             ? state->impersonated[state->nimpersonated - 1]
             : state->login;
}

bool tdsd_state_is_other(const struct tdsd_state *state) {
  return state->app_role[0] != 0 || state->nimpersonated != 0;
}

void tdsd_state_join(struct tdsd_state *state, struct tdsd_world *world) {
  state->world = world;
  state->next = world->first;
  world->first = state;
}

void tdsd_state_leave(struct tdsd_state *state) {
  if (state->world == NULL) {
    return;
  }
  struct tdsd_state **at = &state->world->first;
  while (*at != state) {
    at = &(*at)->next;
  }
  *at = state->next;
  state->world = NULL;
}

void tdsd_state_fini(struct tdsd_state *state) {
  tdsd_state_leave(state);
  tdsd_handle_drop_all(&state->handles, true);
  tdsd_temp_drop_all(&state->temps);
  tdsd_context_clear(&state->context);
}

/* Numbered as SQL Server numbers its own. */
static const char *const databases[] = {"",     "master", "tempdb", "model",
                                        "msdb", "weir",   "test"};

int32_t tdsd_state_database_id(const char *name) {
  int32_t id = (int32_t)(sizeof databases / sizeof databases[0]) - 1;
  while (id > 0 && !tdsd_text_same(databases[id], name)) {
    id--;
  }
  return id;
}

const char *tdsd_state_database_name(int32_t id) {
  return id > 0 && id < (int32_t)(sizeof databases / sizeof databases[0])
             ? databases[id]
             : NULL;
}

bool tdsd_state_has_database(const char *name) {
  return tdsd_state_database_id(name) != 0;
}

bool tdsd_state_set(struct tdsd_state *state,
                    const char *name,
                    const char *value) {
  uint32_t i = 0;
  while (i < state->noptions && !tdsd_text_same(state->options[i].name, name)) {
    i++;
  }
  if (i == TDSD_OPTIONS_MAX) {
    return false;
  }
  if (i == state->noptions) {
    state->noptions++;
  }
  copy(state->options[i].name, TDSD_OPTION_BYTES, name);
  copy(state->options[i].value, TDSD_OPTION_BYTES, value);
  return true;
}

const char *tdsd_state_get(const struct tdsd_state *state,
                           const char *name,
                           const char *otherwise) {
  for (uint32_t i = 0; i < state->noptions; i++) {
    if (tdsd_text_same(state->options[i].name, name)) {
      return state->options[i].value;
    }
  }
  return otherwise;
}

bool tdsd_state_begin(struct tdsd_state *state) {
  if (state->tran_count++ > 0) {
    return false;
  }
  /* Relaxed: only uniqueness matters. */
  state->descriptor =
      atomic_fetch_add_explicit(&last_descriptor, 1, memory_order_relaxed) + 1;
  return true;
}

uint64_t tdsd_state_end(struct tdsd_state *state) {
  uint64_t descriptor = state->descriptor;
  if (descriptor != 0) {
    memmove(state->past + 1, state->past,
            sizeof state->past - sizeof state->past[0]);
    state->past[0] = descriptor;
  }
  state->tran_count = 0;
  state->descriptor = 0;
  state->nsavepoints = 0;
  state->doomed = false;
  state->tran_name[0] = 0;
  return descriptor;
}

bool tdsd_state_had(const struct tdsd_state *state, uint64_t descriptor) {
  for (unsigned i = 0; i < TDSD_PAST_DESCRIPTORS; i++) {
    if (state->past[i] == descriptor) {
      return true;
    }
  }
  return false;
}

bool tdsd_state_save(struct tdsd_state *state, const char *name) {
  if (state->nsavepoints == TDSD_SAVEPOINTS_MAX) {
    return false;
  }
  copy(state->savepoints[state->nsavepoints++], TDSD_OPTION_BYTES, name);
  return true;
}

bool tdsd_state_has_savepoint(const struct tdsd_state *state,
                              const char *name) {
  for (uint32_t i = 0; i < state->nsavepoints; i++) {
    if (tdsd_text_same(state->savepoints[i], name)) {
      return true;
    }
  }
  return false;
}

bool tdsd_state_rollback_to(struct tdsd_state *state, const char *name) {
  for (uint32_t i = state->nsavepoints; i > 0; i--) {
    if (tdsd_text_same(state->savepoints[i - 1], name)) {
      state->nsavepoints = i; /* the point itself stays */
      return true;
    }
  }
  return false;
}
