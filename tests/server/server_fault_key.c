/* SPDX-License-Identifier: MIT */
/* What may stand before a = in a fault: where it strikes and its options. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_fault_read.h"

int tdsd_fault_expected(struct tdsd_fault_reading *reading,
                        const char *format,
                        ...) {
  va_list args;
  va_start(args, format);
  /* It is started.  NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
  (void)vsnprintf(reading->why, reading->cap, format, args);
  va_end(args);
  return -1;
}

/* Copies at most cap - 1 bytes of the first len. */
void tdsd_fault_copy(char *out, size_t cap, const char *text, size_t len) {
  size_t n = len < cap - 1 ? len : cap - 1;
  memcpy(out, text, n);
  out[n] = 0;
}

/* Reads a whole number; base 16 allows 0x. */
bool tdsd_fault_number(const char *text,
                       int base,
                       uint64_t most,
                       uint64_t *out) {
  char *end = NULL;
  errno = 0;
  unsigned long long value = strtoull(text, &end, base);
  if (text[0] == 0 || text[0] == '-' || text[0] == '+' || *end != 0 ||
      errno != 0 || value > most) {
    return false;
  }
  *out = value;
  return true;
}

static int read_u64(struct tdsd_fault_reading *reading,
                    const char *key,
                    const char *text,
                    uint64_t most,
                    uint64_t *out) {
  return tdsd_fault_number(text, 10, most, out)
             ? 0
             : tdsd_fault_expected(
                   reading,
                   "expected a number of at most %llu behind %s=, found "
                   "'%s'",
                   (unsigned long long)most, key, text);
}

/* N, N-M, *, or K/N: the first K of each N. */
static int read_conn(struct tdsd_fault_reading *reading, const char *text) {
  struct tdsd_fault_rule *rule = reading->rule;
  uint64_t from = 0;
  uint64_t to = 0;
  char first[32];
  size_t len = strcspn(text, "-/");
  if (strcmp(text, "*") == 0) {
    return 0;
  }
  tdsd_fault_copy(first, sizeof first, text, len);
  bool ok = tdsd_fault_number(first, 10, UINT32_MAX, &from) && from != 0;
  if (ok && text[len] != 0) {
    ok = tdsd_fault_number(text + len + 1, 10, UINT32_MAX, &to) && to >= from;
  }
  if (!ok) {
    return tdsd_fault_expected(reading,
                               "expected N, N-M, K/N or * behind conn=, found "
                               "'%s'",
                               text);
  }
  if (text[len] == '/') {
    rule->conn_k = (uint32_t)from;
    rule->conn_n = (uint32_t)to;
  } else {
    rule->conn_from = (uint32_t)from;
    rule->conn_to = (uint32_t)(text[len] == '-' ? to : from);
  }
  return 0;
}

static int read_msg(struct tdsd_fault_reading *reading, const char *text) {
  static const char *const names[] = {
      "*",   "connect", "prelogin", "login",     "request", "batch",
      "rpc", "tm",      "reset",    "attention", "ignored", "browser"};
  uint64_t number = 0;
  reading->on_given = true;
  for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(names[i], text) == 0) {
      reading->rule->on = (enum tdsd_fault_on)i;
      return 0;
    }
  }
  if (!tdsd_fault_number(text, 10, UINT32_MAX, &number) || number == 0) {
    return tdsd_fault_expected(
        reading,
        "expected a number, *, prelogin, login, request, batch, "
        "rpc, tm, reset, attention or ignored behind msg=, found "
        "'%s'",
        text);
  }
  reading->rule->on = TDSD_ON_REQUEST;
  reading->rule->msg = (uint32_t)number;
  return 0;
}

/* The index of a word in a list of words separated by blanks; -1 = none. */
int tdsd_fault_word(const char *words, const char *word) {
  size_t len = strlen(word);
  int index = 0;
  while (*words != 0) {
    size_t n = strcspn(words, " ");
    if (n == len && strncmp(words, word, n) == 0) {
      return index;
    }
    words += n;
    words += *words == ' ' ? 1 : 0;
    index++;
  }
  return -1;
}

static int read_token(struct tdsd_fault_reading *reading, const char *text) {
  static const struct {
    const char *name;
    uint8_t token;
  } names[] = {
      {"returnstatus", 0x79}, {"columns", 0x81},      {"tabname", 0xA4},
      {"colinfo", 0xA5},      {"order", 0xA9},        {"error", 0xAA},
      {"info", 0xAB},         {"returnvalue", 0xAC},  {"loginack", 0xAD},
      {"feature", 0xAE},      {"row", 0xD1},          {"nbcrow", 0xD2},
      {"env", 0xE3},          {"sessionstate", 0xE4}, {"sspi", 0xED},
      {"fedauthinfo", 0xEE},  {"done", 0xFD},         {"doneproc", 0xFE},
      {"doneinproc", 0xFF}};
  uint64_t number = 0;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(names[i].name, text) == 0) {
      reading->rule->token = names[i].token;
      return 0;
    }
  }
  if (!tdsd_fault_number(text, 16, 0xFF, &number) || number == 0) {
    return tdsd_fault_expected(
        reading,
        "expected a token's name or number behind token=, "
        "found '%s'",
        text);
  }
  reading->rule->token = (uint8_t)number;
  return 0;
}

static int read_nth(struct tdsd_fault_reading *reading, const char *text) {
  uint64_t nth = 0;
  if (strcmp(text, "all") == 0) {
    reading->rule->nth = -1;
    return 0;
  }
  if (!tdsd_fault_number(text, 10, INT32_MAX, &nth) || nth == 0) {
    return tdsd_fault_expected(
        reading, "expected a number or all behind nth=, found '%s'", text);
  }
  reading->rule->nth = (int32_t)nth;
  return 0;
}

static int hex_value(char c) {
  const char *digits = "0123456789abcdef";
  const char *at =
      c == 0 ? NULL : strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
  return at == NULL ? -1 : (int)(at - digits);
}

static int read_hex(struct tdsd_fault_reading *reading, const char *text) {
  struct tdsd_fault_rule *rule = reading->rule;
  size_t len = strlen(text);
  rule->has_hex = true;
  rule->hex_len = 0;
  for (size_t i = 0; i < len; i += 2) {
    int high = hex_value(text[i]);
    int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0 || rule->hex_len == TDSD_FAULT_BYTES) {
      return tdsd_fault_expected(reading,
                                 "expected at most %u pairs of hexadecimal "
                                 "digits behind hex=, found '%.40s'",
                                 TDSD_FAULT_BYTES, text);
    }
    rule->hex[rule->hex_len++] = (uint8_t)(high << 4 | low);
  }
  return 0;
}

static int read_choice(struct tdsd_fault_reading *reading,
                       const char *key,
                       const char *words,
                       const char *text,
                       int *out) {
  *out = tdsd_fault_word(words, text);
  return *out >= 0 ? 0
                   : tdsd_fault_expected(reading,
                                         "expected one of %s behind %s=, found "
                                         "'%s'",
                                         words, key, text);
}

/* 5, 5ms, 5s. */
bool tdsd_fault_ms(const char *text, uint64_t most, uint64_t *out) {
  char digits[32];
  size_t len = strspn(text, "0123456789");
  tdsd_fault_copy(digits, sizeof digits, text, len);
  if (!tdsd_fault_number(digits, 10, most, out)) {
    return false;
  }
  if (strcmp(text + len, "s") == 0) {
    *out *= 1000;
  } else if (text[len] != 0 && strcmp(text + len, "ms") != 0) {
    return false;
  }
  return *out <= most;
}

static int read_ms(struct tdsd_fault_reading *reading, const char *text) {
  return tdsd_fault_ms(text, 3600000, &reading->rule->ms)
             ? 0
             : tdsd_fault_expected(
                   reading, "expected milliseconds behind ms=, found '%s'",
                   text);
}

static int copy_text(struct tdsd_fault_reading *reading,
                     const char *key,
                     const char *text,
                     char *out) {
  if (strlen(text) >= TDSD_FAULT_BYTES) {
    return tdsd_fault_expected(reading, "expected at most %u bytes behind %s=",
                               TDSD_FAULT_BYTES - 1, key);
  }
  memcpy(out, text, strlen(text) + 1);
  return 0;
}

/* In the order of the keys. */
const char tdsd_fault_keys[] = "conn msg byte times after listener field value "
                               "nth token hex ms state class "
                               "then place db";

enum key {
  KEY_CONN,
  KEY_MSG,
  KEY_BYTE,
  KEY_TIMES,
  KEY_AFTER,
  KEY_LISTENER,
  KEY_FIELD,
  KEY_VALUE,
  KEY_NTH,
  KEY_TOKEN,
  KEY_HEX,
  KEY_MS,
  KEY_STATE,
  KEY_CLASS,
  KEY_THEN,
  KEY_PLACE,
  KEY_DB,
};

static int read_small(struct tdsd_fault_reading *reading,
                      const char *key,
                      const char *text,
                      uint32_t most,
                      uint32_t *out) {
  uint64_t value = 0;
  int rc = read_u64(reading, key, text, most, &value);
  *out = rc == 0 ? (uint32_t)value : *out;
  return rc;
}

static int read_field(struct tdsd_fault_reading *reading, const char *text) {
  enum tdsd_field field = tdsd_field_find(text);
  reading->rule->field = field;
  return field != TDSD_FIELDS
             ? 0
             : tdsd_fault_expected(
                   reading,
                   "expected a field such as token-length behind field=, "
                   "found '%s'",
                   text);
}

static int read_value(struct tdsd_fault_reading *reading, const char *text) {
  reading->rule->has_value = true;
  return tdsd_fault_number(text, 16, UINT64_MAX, &reading->rule->value)
             ? 0
             : tdsd_fault_expected(
                   reading,
                   "expected hexadecimal digits behind value=, found '%s'",
                   text);
}

int tdsd_fault_key(struct tdsd_fault_reading *reading,
                   int key,
                   const char *name,
                   const char *text) {
  struct tdsd_fault_rule *rule = reading->rule;
  int choice = 0;
  switch ((enum key)key) {
  case KEY_CONN:
    return read_conn(reading, text);
  case KEY_MSG:
    return read_msg(reading, text);
  case KEY_BYTE:
    return read_u64(reading, name, text, INT64_MAX, &rule->byte);
  case KEY_TIMES:
    return read_u64(reading, name, text, INT64_MAX, &rule->times);
  case KEY_AFTER:
    return read_u64(reading, name, text, INT64_MAX, &rule->after);
  case KEY_LISTENER:
    return read_small(reading, name, text, 64, &rule->listener);
  case KEY_FIELD:
    return read_field(reading, text);
  case KEY_VALUE:
    return read_value(reading, text);
  case KEY_NTH:
    return read_nth(reading, text);
  case KEY_TOKEN:
    return read_token(reading, text);
  case KEY_HEX:
    return read_hex(reading, text);
  case KEY_MS:
    return read_ms(reading, text);
  case KEY_STATE:
    return read_small(reading, name, text, 255, &rule->state);
  case KEY_CLASS:
    return read_small(reading, name, text, 255, &rule->class);
  case KEY_THEN:
    if (read_choice(reading, name, "stay fin rst", text, &choice) < 0) {
      return -1;
    }
    rule->then = (enum tdsd_fault_then)choice;
    rule->has_then = true;
    return 0;
  case KEY_PLACE:
    if (read_choice(reading, name, "end start middle last", text, &choice) <
        0) {
      return -1;
    }
    rule->place = (enum tdsd_fault_place)choice;
    return 0;
  case KEY_DB:
  default:
    return copy_text(reading, name, text, rule->database);
  }
}
