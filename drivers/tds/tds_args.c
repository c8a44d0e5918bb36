/* SPDX-License-Identifier: MIT */
/* tds_args.c - the parameters of a statement: names, types, values.
 *
 * All is checked before the first byte is sent, so a bad value costs nothing. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tds_conn.h"
#include "tds_exec.h"
#include "tds_fail.h"
#include "tds_text.h"

/* Bytes of a hint that a message shows. */
#define HINT_SHOWN 60

/* Bytes of the longest name: 128 units of up to three bytes. */
#define NAME_SHOWN 384

struct tds_arg *tds_args_all(const struct weir_drv_conn *c, uint32_t *out_n) {
  void *all = c->exec.args.p; /* aligned for any type: from the allocator */
  *out_n = (uint32_t)(c->exec.args.n / sizeof(struct tds_arg));
  return all;
}

/* ------------------------------------------------------------------ refusals */

/* Nothing was sent, and the session is as it was. */
weir_drv_status tds_exec_refuse(struct weir_drv_conn *c,
                                struct tds_turn *t,
                                int32_t kind,
                                const char *why) {
  (void)tds_conn_go(c, TDS_STEP_IDLE);
  tds_exec_end(c);
  return tds_request_refuse(c, t, kind, why);
}

__attribute__((format(printf, 4, 5))) static weir_drv_status refuse_arg(
    struct weir_drv_conn *c,
    struct tds_turn *t,
    const struct tds_arg *a,
    const char *format,
    ...) {
  char why[256];
  char name[NAME_SHOWN + 1];
  char text[NAME_SHOWN + sizeof why + 16];
  va_list args;
  va_start(args, format);
  /* The analyzer of clang 14 does not see what va_start did.
   * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
  (void)vsnprintf(why, sizeof why, format, args);
  va_end(args);
  tds_fail_trim(why, sizeof why);
  size_t n = a->name.n < NAME_SHOWN ? a->name.n : NAME_SHOWN;
  memcpy(name, a->name.p, n);
  name[n] = '\0';
  (void)snprintf(text, sizeof text, "parameter %s%s", name, why);
  return tds_exec_refuse(c, t, WEIR_DRV_K_OTHER, text);
}

/* "parameter @a (decimal(10,2)): out of range". */
weir_drv_status tds_exec_refuse_value(struct weir_drv_conn *c,
                                      struct tds_turn *t,
                                      const struct tds_arg *a,
                                      const char *why) {
  char type[TDS_HINT_TEXT_MAX];
  (void)tds_hint_print(&a->type, type);
  return refuse_arg(c, t, a, " (%s): %s", type, why);
}

weir_drv_status tds_exec_no_memory(struct weir_drv_conn *c,
                                   struct tds_turn *t) {
  return tds_exec_refuse(c, t, WEIR_DRV_K_RESOURCE, "out of memory");
}

/* ----------------------------------------------------------------- arguments */

/* What T-SQL takes for the end of a name must not be in one: the names become
 * part of a declaration. */
static bool is_in_name(uint32_t code) {
  bool letter = (code | 0x20) >= 'a' && (code | 0x20) <= 'z' && code < 0x80;
  bool digit = code >= '0' && code <= '9';
  bool blank = code <= 0xA0 || (code >= 0x2000 && code <= 0x206F) ||
               code == 0x1680 || code == 0x3000 || code == 0xFEFF;
  return letter || digit || code == '_' || code == '@' || code == '#' ||
         code == '$' || (code >= 0x80 && !blank);
}

/* "@" and more, at most 128 UTF-16 units. */
static bool is_name(struct tds_span s) {
  const size_t most = TDS_LOGIN_UNITS;
  struct tds_measure m = {s, TDS_CHARSET_UTF16, NULL, 0, 0};
  if (s.n < 2 || s.p[0] != '@' || s.n > most * 3 ||
      tds_measure_more(&m, s.n) != TDS_OK || m.bytes > most * 2) {
    return false;
  }
  while (s.n > 0) {
    if (!is_in_name(tds_text_next(&s))) {
      return false;
    }
  }
  return true;
}

/* What a caller of a newer version may have put behind what we know. */
static bool has_unknown(const struct weir_drv_param *p) {
  const uint8_t *bytes = (const uint8_t *)p;
  if ((p->flags & ~WEIR_DRV_PARAM_OUT) != 0) {
    return true;
  }
  for (size_t i = sizeof *p; i < p->struct_size; i++) {
    if (bytes[i] != 0) {
      return true;
    }
  }
  return false;
}

static weir_drv_status set_name(struct weir_drv_conn *c,
                                struct tds_turn *t,
                                const struct weir_drv_param *p,
                                uint32_t i,
                                struct tds_arg *a) {
  int n = snprintf(a->given, sizeof a->given, "@P%u", i + 1);
  a->name.p = (const uint8_t *)a->given;
  a->name.n = (size_t)n;
  if (p->name.n == 0) {
    return TDS_NEXT;
  }
  struct tds_span name = {(const uint8_t *)p->name.p, (size_t)p->name.n};
  if (!is_name(name)) {
    char why[160];
    (void)snprintf(why, sizeof why,
                   "the name of parameter %u is none: '@' and up to 127 "
                   "letters, digits, _ @ # $",
                   i + 1);
    return tds_exec_refuse(c, t, WEIR_DRV_K_SYNTAX, why);
  }
  a->name = name;
  return TDS_NEXT;
}

static weir_drv_status set_type(struct weir_drv_conn *c,
                                struct tds_turn *t,
                                const struct weir_drv_param *p,
                                struct tds_arg *a) {
  const char *why = NULL;
  struct tds_reason reason;
  size_t n = (size_t)p->type_hint.n;
  if (n == 0) {
    return tds_param_guess(&a->value, a->returns, &a->type, &reason) == TDS_OK
               ? TDS_NEXT
               : refuse_arg(c, t, a, ": %s", reason.text);
  }
  if (tds_hint_parse(p->type_hint.p, n, &a->type, &why) == TDS_OK) {
    tds_param_close(&a->type, &a->value, a->returns);
    return TDS_NEXT;
  }
  bool shown = tds_text_valid(p->type_hint.p, n) == n;
  return refuse_arg(c, t, a, ": type '%.*s': %s",
                    shown ? (int)(n < HINT_SHOWN ? n : HINT_SHOWN) : 1,
                    shown ? p->type_hint.p : "?", why);
}

/* A value with a length and no bytes would be read where nothing is. */
static bool is_empty_lie(const struct weir_drv_value *v) {
  bool pointed = v->type >= WEIR_DRV_T_TEXT && v->type <= WEIR_DRV_T_UUID;
  return pointed && v->p == NULL && v->n > 0;
}

static weir_drv_status set_arg(struct weir_drv_conn *c,
                               struct tds_turn *t,
                               const struct weir_drv_param *p,
                               uint32_t i,
                               struct tds_arg *a) {
  struct tds_reason why;
  weir_drv_status rc = set_name(c, t, p, i, a);
  a->value = p->value;
  a->returns = (p->flags & WEIR_DRV_PARAM_OUT) != 0;
  if ((a->value.flags & WEIR_DRV_V_SECRET) != 0) {
    c->exec.secret = true;
  }
  if (rc == TDS_NEXT && is_empty_lie(&a->value)) {
    return refuse_arg(c, t, a, ": the value has a length and no bytes");
  }
  rc = rc == TDS_NEXT ? set_type(c, t, p, a) : rc;
  if (rc == TDS_NEXT && a->type.frame != TDS_LONG_NONE &&
      tds_param_check(&a->type, &a->value, &why) != TDS_OK) {
    return tds_exec_refuse_value(c, t, a, why.text);
  }
  return rc;
}

static const struct weir_drv_param *param_at(const struct weir_drv_exec_args *a,
                                             uint32_t i) {
  const void *p = (const uint8_t *)a->params + (size_t)i * a->params_stride;
  return p;
}

weir_drv_status tds_args_take(struct weir_drv_conn *c,
                              struct tds_turn *t,
                              const struct weir_drv_exec_args *a) {
  struct tds_buf *b = &c->exec.args;
  if (a->n_params > TDS_PARAMS_MAX) {
    return tds_exec_refuse(c, t, WEIR_DRV_K_RESOURCE,
                           "more parameters than the server takes (2097)");
  }
  b->n = 0;
  if (a->n_params == 0) {
    return TDS_NEXT;
  }
  if (tds_buf_room(b, a->n_params * sizeof(struct tds_arg)) != TDS_OK) {
    return tds_exec_no_memory(c, t);
  }
  memset(b->p, 0, a->n_params * sizeof(struct tds_arg));
  b->n = a->n_params * sizeof(struct tds_arg);
  for (uint32_t i = 0; i < a->n_params; i++) {
    const struct weir_drv_param *p = param_at(a, i);
    uint32_t n = 0;
    if (p->struct_size < WEIR_DRV_PARAM_SIZE_V0) {
      return tds_exec_refuse(c, t, WEIR_DRV_K_INTERNAL,
                             "a parameter is too short");
    }
    if (has_unknown(p)) {
      return tds_exec_refuse(
          c, t, WEIR_DRV_K_UNSUPPORTED,
          "a parameter asks for what this driver does not know");
    }
    weir_drv_status rc = set_arg(c, t, p, i, &tds_args_all(c, &n)[i]);
    if (rc != TDS_NEXT) {
      return rc;
    }
  }
  return TDS_NEXT;
}

/* ------------------------------------------------------- types and collation */

const uint8_t *tds_args_collation(const struct weir_drv_conn *c) {
  /* What a server has that does not tell: Latin1_General, code page 1252. */
  static const uint8_t latin1[5] = {0x09, 0x04, 0xD0, 0x00, 0x34};
  return c->now.collation_n == sizeof latin1 ? c->now.collation : latin1;
}

/* The charset of a value on the wire. */
uint8_t tds_args_charset(const struct weir_drv_conn *c,
                         const struct tds_hint *type) {
  if (type->kind == TDS_KIND_BYTES) {
    return TDS_CHARSET_NONE;
  }
  return type->wide ? TDS_CHARSET_UTF16
                    : tds_text_charset(tds_args_collation(c));
}

struct tds_span tds_args_types(const struct weir_drv_conn *c) {
  struct tds_span s = {c->exec.types.p, c->exec.types.n};
  if (s.n == 0) {
    s.p = NULL;
  }
  return s;
}

/* --------------------------------------------------------------------- values */

/* "@a int,@b nvarchar(4000) OUTPUT".  Names hold no character that would need
 * more than their UTF-8. */
int tds_args_declare(struct weir_drv_conn *c) {
  struct tds_buf *b = &c->exec.types;
  uint32_t n = 0;
  const struct tds_arg *args = tds_args_all(c, &n);
  b->n = 0;
  for (uint32_t i = 0; i < n; i++) {
    char type[TDS_HINT_TEXT_MAX + 10];
    size_t k = tds_hint_print(&args[i].type, type + 1);
    type[0] = ' ';
    k++;
    if (args[i].returns) {
      memcpy(type + k, " OUTPUT", 7);
      k += 7;
    }
    if ((i > 0 && tds_buf_add(b, ",", 1) != TDS_OK) ||
        tds_buf_add(b, args[i].name.p, args[i].name.n) != TDS_OK ||
        tds_buf_add(b, type, k) != TDS_OK) {
      return TDS_E_NOMEM;
    }
  }
  struct tds_measure m = {{b->p, b->n}, TDS_CHARSET_UTF16, NULL, 0, 0};
  (void)tds_measure_more(&m, b->n);
  c->exec.types_bytes = m.bytes;
  return TDS_OK;
}

static struct tds_span value_span(const struct weir_drv_value *v) {
  static const uint8_t nothing;
  struct tds_span s = {v->p == NULL ? &nothing : v->p, (size_t)v->n};
  if (v->type == WEIR_DRV_T_NULL) {
    s.p = NULL;
    s.n = 0;
  }
  return s;
}

/* The values.  Returns TDS_NEXT, or as a step does. */
weir_drv_status tds_args_put(struct weir_drv_conn *c, struct tds_turn *t) {
  struct tds_rpc *r = &c->exec.rpc;
  uint32_t n = 0;
  const struct tds_arg *args = tds_args_all(c, &n);
  for (uint32_t i = 0; i < n; i++) {
    const struct tds_arg *a = &args[i];
    struct tds_reason why;
    uint8_t scalar[TDS_SCALAR_MAX];
    size_t k = 0;
    int rc = tds_rpc_head(r, a->name, a->returns ? TDS_PARAM_RETURNS : 0,
                          &a->type, tds_args_collation(c));
    if (rc == TDS_OK && a->type.frame != TDS_LONG_NONE) {
      rc = tds_rpc_long(r, &a->type, value_span(&a->value), a->bytes,
                        tds_args_charset(c, &a->type));
    } else if (rc == TDS_OK) {
      if (tds_param_scalar(&a->type, &a->value, scalar, &k, &why) != TDS_OK) {
        return tds_exec_refuse_value(c, t, a, why.text);
      }
      rc = tds_rpc_add(r, scalar, k);
    }
    if (rc != TDS_OK) {
      return tds_exec_no_memory(c, t);
    }
  }
  return TDS_NEXT;
}
