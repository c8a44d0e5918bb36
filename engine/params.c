/* SPDX-License-Identifier: MIT */
#include "params.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "status.h"
#include "sys/mem.h"

#define SAME(t) _Static_assert(WEIR_T_##t == WEIR_DRV_T_##t, #t)
SAME(NULL);
SAME(BOOL);
SAME(INT);
SAME(UINT);
SAME(FLOAT);
SAME(TEXT);
SAME(BYTES);
SAME(DEC);
SAME(TIME);
SAME(UUID);
_Static_assert(WEIR_PARAM_OUT == WEIR_DRV_PARAM_OUT, "flags are passed on");

/* A struct weir_param of the first version of weir.h that had one. */
#define PARAM_SIZE_FIRST ((uint32_t)sizeof(struct weir_param))

/* Packed elements have the size that their first one says. */
static uint32_t stride_of(const struct weir_exec_opts *opts) {
  return opts->params_stride != 0 ? opts->params_stride
                                  : opts->params->struct_size;
}

static const char *raw_at(const struct weir_exec_opts *opts, uint32_t i) {
  return (const char *)opts->params + (size_t)i * stride_of(opts);
}

/* The i-th element, as far as its caller knew it. */
static struct weir_param param_at(const struct weir_exec_opts *opts,
                                  uint32_t i) {
  struct weir_param p = {0};
  uint32_t size = 0;
  memcpy(&size, raw_at(opts, i), sizeof size);
  memcpy(&p, raw_at(opts, i), size < sizeof p ? size : sizeof p);
  return p;
}

static int refuse(uint32_t i, const char *what, struct weir_error *err) {
  return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_EXEC,
                         "parameter %" PRIu32 ": %s", i + 1, what);
}

static bool has_bytes(int32_t type) {
  return type >= WEIR_T_TEXT && type <= WEIR_T_UUID;
}

/* What is wrong with one, or NULL. */
static const char *fault_of(const struct weir_param *p) {
  if ((p->flags & ~WEIR_PARAM_OUT) != 0) {
    return "it has flags that are not known";
  }
  if (p->type < WEIR_T_NULL || p->type > WEIR_T_UUID) {
    return "its type is none of WEIR_T_*";
  }
  if ((p->name == NULL && p->name_len != 0) ||
      (p->native_type == NULL && p->native_type_len != 0)) {
    return "a text of it is NULL but has a length";
  }
  if (p->name_len > WEIR_PARAM_TEXT_MAX ||
      p->native_type_len > WEIR_PARAM_TEXT_MAX) {
    return "its name or its native type has more than 1024 bytes";
  }
  if (has_bytes(p->type) && p->p == NULL && p->n != 0) {
    return "its value is NULL but has a length; NULL is WEIR_T_NULL";
  }
  if (p->type == WEIR_T_UUID && p->n != 16) {
    return "a UUID has 16 bytes";
  }
  if (p->type == WEIR_T_BOOL && p->i != 0 && p->i != 1) {
    return "a BOOL is 0 or 1";
  }
  return NULL;
}

static bool is_zero(const char *p, size_t n) {
  while (n != 0 && *p == 0) {
    p++;
    n--;
  }
  return n == 0;
}

static int check_size(const struct weir_exec_opts *opts,
                      uint32_t i,
                      struct weir_error *err) {
  uint32_t size = 0;
  memcpy(&size, raw_at(opts, i), sizeof size);
  if (size < PARAM_SIZE_FIRST || size > stride_of(opts)) {
    return refuse(i,
                  "its struct_size is too small, or larger than "
                  "params_stride",
                  err);
  }
  if (size > sizeof(struct weir_param) &&
      !is_zero(raw_at(opts, i) + sizeof(struct weir_param),
               size - sizeof(struct weir_param))) {
    return weir__error_set(err, WEIR_E_UNSUPPORTED, WEIR_PHASE_EXEC,
                           "parameter %" PRIu32
                           " uses members this library does not know; update "
                           "it",
                           i + 1);
  }
  return WEIR_OK;
}

static uint64_t value_bytes(const struct weir_param *p) {
  return has_bytes(p->type) ? p->n : 0;
}

/* Each text and each value gets a NUL behind it: no driver needs it, and a
 * debugger is glad. */
static uint64_t bytes_of(const struct weir_param *p) {
  return p->name_len + p->native_type_len + value_bytes(p) + 3;
}

static int check_each(const struct weir_exec_opts *opts,
                      struct weir_error *err) {
  uint64_t room = WEIR_PARAMS_BYTES_MAX;
  for (uint32_t i = 0; i < opts->n_params; i++) {
    int rc = check_size(opts, i, err);
    if (rc != WEIR_OK) {
      return rc;
    }
    struct weir_param p = param_at(opts, i);
    const char *fault = fault_of(&p);
    if (fault != NULL) {
      return refuse(i, fault, err);
    }
    if (value_bytes(&p) > room || bytes_of(&p) > room) {
      return refuse(i, "the parameters have more than 4 GiB", err);
    }
    room -= bytes_of(&p);
  }
  return WEIR_OK;
}

int weir__params_check(const struct weir_exec_opts *opts,
                       struct weir_error *err) {
  if (opts->n_params == 0) {
    return WEIR_OK;
  }
  if (opts->params == NULL) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_EXEC,
                           "params is NULL but n_params is %" PRIu32,
                           opts->n_params);
  }
  if (opts->n_params > WEIR_PARAMS_MAX) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_EXEC,
                           "%" PRIu32 " parameters: at most %u", opts->n_params,
                           WEIR_PARAMS_MAX);
  }
  if (stride_of(opts) < PARAM_SIZE_FIRST) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_EXEC,
                           "params_stride, or struct_size of the first "
                           "parameter, is smaller than a struct weir_param");
  }
  return check_each(opts, err);
}

static const char *put(char **where, const void *p, uint64_t n) {
  char *start = *where;
  if (n != 0) {
    memcpy(start, p, n);
  }
  start[n] = '\0';
  *where += n + 1;
  return start;
}

static struct weir_drv_text put_text(char **where, const char *p, uint64_t n) {
  if (n == 0) {
    return (struct weir_drv_text){NULL, 0};
  }
  return (struct weir_drv_text){put(where, p, n), n};
}

static void put_param(struct weir_drv_param *to,
                      const struct weir_param *from,
                      char **where) {
  to->struct_size = sizeof *to;
  to->flags = from->flags;
  to->name = put_text(where, from->name, from->name_len);
  to->type_hint = put_text(where, from->native_type, from->native_type_len);
  to->value = (struct weir_drv_value){.type = from->type};
  switch (from->type) {
  case WEIR_T_NULL:
    break;
  case WEIR_T_BOOL:
  case WEIR_T_INT:
    to->value.i = from->i;
    break;
  case WEIR_T_UINT:
    to->value.u = from->u;
    break;
  case WEIR_T_FLOAT:
    to->value.f = from->f;
    break;
  default: /* an empty value is not NULL: it has an address */
    to->value.n = from->n;
    to->value.p = put(where, from->p, from->n);
    break;
  }
}

struct weir__params *weir__params_copy(const struct weir_exec_opts *opts) {
  uint64_t bytes = sizeof(struct weir__params) +
                   opts->n_params * sizeof(struct weir_drv_param);
  for (uint32_t i = 0; i < opts->n_params; i++) {
    struct weir_param p = param_at(opts, i);
    bytes += bytes_of(&p);
  }
  struct weir__params *params = weir__mem_resize(NULL, bytes);
  if (params == NULL) {
    return NULL;
  }
  params->bytes = bytes;
  params->n = opts->n_params;
  params->reserved0 = 0;
  char *where = (char *)&params->at[opts->n_params];
  for (uint32_t i = 0; i < opts->n_params; i++) {
    struct weir_param p = param_at(opts, i);
    put_param(&params->at[i], &p, &where);
  }
  return params;
}

void weir__params_free(struct weir__params *params) {
  if (params != NULL) {
    weir__mem_wipe(params, params->bytes);
    weir__mem_free(params);
  }
}
