/* SPDX-License-Identifier: MIT */
/* The statements that a mock server understands without a script. */
#include <stdio.h>
#include <string.h>

#include "mock.h"

/* What is left of a statement. */
struct rest {
  const char *start; /* of the whole text, for places in messages */
  const char *p;
  uint64_t n;
  struct weir_drv_error *err;
};

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void trim(struct rest *r) {
  while (r->n > 0 && is_blank(r->p[0])) {
    r->p++;
    r->n--;
  }
  while (r->n > 0 && is_blank(r->p[r->n - 1])) {
    r->n--;
  }
}

static struct weir_drv_text take_word(struct rest *r) {
  uint64_t n = 0;
  trim(r);
  while (n < r->n && !is_blank(r->p[n])) {
    n++;
  }
  struct weir_drv_text word = {.p = r->p, .n = n};
  r->p += n;
  r->n -= n;
  trim(r);
  return word;
}

static bool refuse(const struct rest *r, const char *at, const char *wanted) {
  struct mock_failure failure = {.scope = WEIR_DRV_SCOPE_STATEMENT,
                                 .kind = WEIR_DRV_K_SYNTAX};
  char text[160];
  int n = snprintf(text, sizeof text, "mock statement, byte %llu: expected %s",
                   (unsigned long long)(at - r->start) + 1, wanted);
  struct weir_drv_text message = {.p = text, .n = n < 0 ? 0 : (uint64_t)n};
  (void)mock_fail_as(r->err, &failure, &message);
  return false;
}

static bool take_number(struct rest *r,
                        uint64_t max,
                        const char *wanted,
                        uint64_t *out) {
  struct weir_drv_text word = take_word(r);
  return mock_number_parse(word.p, word.n, max, out) ||
         refuse(r, word.p, wanted);
}

static bool parse_rows(struct rest *r, struct mock_action *a) {
  uint64_t cols = 1;
  if (!take_number(r, MOCK_ROWS_MAX, "a number of rows", &a->n)) {
    return false;
  }
  const char *at = r->p;
  if (r->n != 0 &&
      (!take_number(r, MOCK_COLUMNS_MAX, "a number of columns", &cols) ||
       (cols == 0 && !refuse(r, at, "at least one column")))) {
    return false;
  }
  a->n_cols = (uint32_t)cols;
  return true;
}

static bool parse_count(struct rest *r, struct mock_action *a) {
  return take_number(r, INT64_MAX, "a number of rows", &a->n);
}

static bool parse_fail(struct rest *r, struct mock_action *a) {
  uint64_t native;
  if (!take_number(r, INT32_MAX, "the number of the error", &native)) {
    return false;
  }
  a->failure = (struct mock_failure){.scope = WEIR_DRV_SCOPE_STATEMENT,
                                     .kind = WEIR_DRV_K_OTHER,
                                     .txn = -1,
                                     .native = (int32_t)native,
                                     .severity = 16};
  a->text = (struct weir_drv_text){.p = r->p, .n = r->n};
  r->n = 0;
  return true;
}

static bool parse_notice(struct rest *r, struct mock_action *a) {
  uint64_t native;
  uint64_t severity;
  if (!take_number(r, INT32_MAX, "the number of the notice", &native) ||
      !take_number(r, INT32_MAX, "its severity", &severity)) {
    return false;
  }
  a->failure.native = (int32_t)native;
  a->failure.severity = (uint32_t)severity;
  a->text = (struct weir_drv_text){.p = r->p, .n = r->n};
  r->n = 0;
  return true;
}

static bool parse_sleep(struct rest *r, struct mock_action *a) {
  struct weir_drv_text word = take_word(r);
  return mock_duration_parse(word.p, word.n, &a->n) ||
         refuse(r, word.p, "a duration such as 5ms");
}

static bool parse_set(struct rest *r, struct mock_action *a) {
  if (r->n == 0 || r->n > MOCK_STATE_MAX) {
    return refuse(r, r->p, "a text of 1 to 256 bytes");
  }
  a->text = (struct weir_drv_text){.p = r->p, .n = r->n};
  r->n = 0;
  return true;
}

static bool parse_out(struct rest *r, struct mock_action *a) {
  if (!take_number(r, MOCK_PARAMS_MAX, "the number of an output parameter",
                   &a->n)) {
    return false;
  }
  a->text = (struct weir_drv_text){.p = r->p, .n = r->n};
  r->n = 0;
  return true;
}

static const struct {
  const char *name;
  int32_t what;
  bool (*parse)(struct rest *r, struct mock_action *a);
} verbs[] = {
    {"rows", MOCK_ROWS, parse_rows},    {"count", MOCK_AFFECT, parse_count},
    {"fail", MOCK_FAIL, parse_fail},    {"notice", MOCK_NOTICE, parse_notice},
    {"sleep", MOCK_DELAY, parse_sleep}, {"begin", MOCK_BEGIN, NULL},
    {"commit", MOCK_COMMIT, NULL},      {"rollback", MOCK_ROLLBACK, NULL},
    {"set", MOCK_SET, parse_set},       {"show", MOCK_SHOW, NULL},
    {"session", MOCK_SESSION, NULL},    {"kill", MOCK_DIE, NULL},
    {"hang", MOCK_HANG, NULL},          {"params", MOCK_PARAMS, NULL},
    {"out", MOCK_OUT, parse_out},
};

static bool compile_one(struct rest r, struct mock_action *a) {
  struct weir_drv_text whole = {.p = r.p, .n = r.n};
  struct weir_drv_text word = take_word(&r);
  memset(a, 0, sizeof *a);
  for (uint32_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
    if (mock_word_is(word.p, word.n, verbs[i].name)) {
      a->what = verbs[i].what;
      if (verbs[i].parse != NULL && !verbs[i].parse(&r, a)) {
        return false;
      }
      return r.n == 0 || refuse(&r, r.p, "the end of the statement");
    }
  }
  a->what = MOCK_ECHO;
  a->text = whole;
  return true;
}

/* Length up to the next ';' that is not in quotes. */
static uint64_t statement_length(const char *p, uint64_t n) {
  char quote = '\0';
  for (uint64_t i = 0; i < n; i++) {
    if (quote != '\0') {
      if (p[i] == quote) {
        quote = '\0';
      }
    } else if (p[i] == '\'' || p[i] == '"') {
      quote = p[i];
    } else if (p[i] == ';') {
      return i;
    }
  }
  return n;
}

weir_drv_status mock_statement_compile(const struct weir_drv_text *text,
                                       struct mock_action *out,
                                       uint32_t *out_n,
                                       struct weir_drv_error *err) {
  uint32_t count = 0;
  uint64_t at = 0;
  while (at < text->n) {
    struct rest r = {.start = text->p, .p = text->p + at, .err = err};
    r.n = statement_length(r.p, text->n - at);
    at += r.n + 1;
    trim(&r);
    if (r.n == 0) {
      continue;
    }
    if (count == MOCK_STATEMENTS_MAX) {
      (void)refuse(&r, r.p, "no more than 16 statements");
      return WEIR_DRV_FAIL;
    }
    if (!compile_one(r, &out[count])) {
      return WEIR_DRV_FAIL;
    }
    count++;
  }
  *out_n = count;
  return WEIR_DRV_DONE;
}
