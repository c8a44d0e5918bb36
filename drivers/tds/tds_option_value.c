/* SPDX-License-Identifier: MIT */
/* tds_option_value.c - values of options, and the words for refusing them. */
#include <string.h>
#include <strings.h>

#include "tds_fail.h"
#include "tds_limits.h"
#include "tds_option.h"
#include "tds_text.h"

static weir_drv_status refuse(struct weir_drv_error *err,
                              int kind,
                              enum tds_option o,
                              const char *why) {
  return tds_fail(err, WEIR_DRV_SCOPE_CONFIG, kind, WEIR_DRV_RETRY_NO, "%s: %s",
                  tds_option_name(o), why);
}

weir_drv_status tds_option_bad(struct weir_drv_error *err,
                               enum tds_option o,
                               const char *why) {
  return refuse(err, WEIR_DRV_K_CONFIG, o, why);
}

weir_drv_status tds_option_unsupported(struct weir_drv_error *err,
                                       enum tds_option o,
                                       const char *why) {
  return refuse(err, WEIR_DRV_K_UNSUPPORTED, o, why);
}

weir_drv_status tds_option_no_memory(struct weir_drv_error *err) {
  return tds_fail(err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_RESOURCE,
                  WEIR_DRV_RETRY_NO, "out of memory");
}

bool tds_option_same(struct weir_drv_text a, const char *b) {
  return a.n == strlen(b) && strncasecmp(a.p, b, a.n) == 0;
}

bool tds_option_same_loosely(struct weir_drv_text a, const char *word) {
  uint64_t i = 0;
  for (; i < a.n; i++) {
    if (a.p[i] == ' ') {
      continue;
    }
    if (*word == '\0' || strncasecmp(&a.p[i], word, 1) != 0) {
      return false;
    }
    word++;
  }
  return *word == '\0';
}

struct weir_drv_text tds_option_text(const struct weir_drv_value *v) {
  struct weir_drv_text t = {NULL, 0};
  if (v->type == WEIR_DRV_T_TEXT) {
    t.p = v->p;
    t.n = v->n;
  }
  return t;
}

int tds_option_bool(const struct weir_drv_value *v) {
  struct weir_drv_text t = tds_option_text(v);
  if (v->type == WEIR_DRV_T_BOOL || v->type == WEIR_DRV_T_INT) {
    return v->i == 0 ? 0 : v->i == 1 ? 1 : -1;
  }
  if (tds_option_same(t, "true") || tds_option_same(t, "yes")) {
    return 1;
  }
  return tds_option_same(t, "false") || tds_option_same(t, "no") ? 0 : -1;
}

int64_t tds_option_digits(const char *p, size_t n) {
  int64_t v = 0;
  if (n == 0 || n > 5) {
    return -1;
  }
  for (size_t i = 0; i < n; i++) {
    if (p[i] < '0' || p[i] > '9') {
      return -1;
    }
    v = v * 10 + (p[i] - '0');
  }
  return v > 65535 ? -1 : v;
}

int64_t tds_option_number(const struct weir_drv_value *v) {
  struct weir_drv_text t = tds_option_text(v);
  if (v->type == WEIR_DRV_T_INT) {
    return v->i;
  }
  if (v->type == WEIR_DRV_T_UINT) {
    return v->u > INT32_MAX ? -1 : (int64_t)v->u;
  }
  return tds_option_digits(t.p, (size_t)t.n);
}

/* ------------------------------------------------------------ setting text */

int tds_option_copy(const struct tds_mem *mem,
                    struct tds_setting *s,
                    const char *p,
                    size_t n) {
  char *to = mem->alloc(mem->ctx, n + 1, 0);
  if (to == NULL) {
    return TDS_E_NOMEM;
  }
  if (n > 0) {
    memcpy(to, p, n);
  }
  to[n] = '\0';
  if (s->p != NULL) {
    mem->release(mem->ctx, s->p);
  }
  s->p = to;
  s->n = n;
  return TDS_OK;
}

weir_drv_status tds_option_set_text(struct weir_drv_cfg *cfg,
                                    struct tds_setting *s,
                                    enum tds_option o,
                                    const struct weir_drv_value *v,
                                    struct weir_drv_error *err) {
  struct weir_drv_text t = tds_option_text(v);
  if (v->type != WEIR_DRV_T_TEXT) {
    return tds_option_bad(err, o, "must be text");
  }
  if (t.n > TDS_OPTION_MAX) {
    return tds_option_bad(err, o, "is too long");
  }
  if (memchr(t.n > 0 ? t.p : "", '\0', (size_t)t.n) != NULL) {
    return tds_option_bad(err, o, "contains a zero byte");
  }
  if (tds_text_valid(t.p, (size_t)t.n) != t.n) {
    return tds_option_bad(err, o, "is not valid UTF-8");
  }
  return tds_option_copy(cfg->mem, s, t.p, (size_t)t.n) == TDS_OK
             ? WEIR_DRV_DONE
             : tds_option_no_memory(err);
}

weir_drv_status tds_option_set_login_text(struct weir_drv_cfg *cfg,
                                          struct tds_setting *s,
                                          enum tds_option o,
                                          const struct weir_drv_value *v,
                                          struct weir_drv_error *err) {
  uint8_t units[TDS_LOGIN_UNITS * 2];
  size_t n = 0;
  weir_drv_status rc = tds_option_set_text(cfg, s, o, v, err);
  if (rc == WEIR_DRV_DONE &&
      tds_text_to16(s->p, s->n, units, sizeof units, &n) != TDS_OK) {
    return tds_option_bad(err, o, "is longer than 128 characters");
  }
  return rc;
}
