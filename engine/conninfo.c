/* SPDX-License-Identifier: MIT */
/* One pass over the text, after one that checks the encoding.  Names and values
 * are decoded into one block of secret memory, which also holds a copy of the
 * text and the array of pairs; decoding never makes anything longer. */
#include "conninfo.h"

#include <stdio.h>
#include <string.h>

#include "weir.h"

#include "names.h"
#include "secret.h"
#include "settings.h"
#include "status.h"

struct parse {
  const unsigned char *text;
  size_t at;
  size_t end;
  char *out; /* where the next decoded byte goes */
  struct weir__conninfo_pair *pairs;
  size_t n;
  struct weir_error *err;
};

/* Names that may be shown in an error, beside those of the engine. */
static const char well_known[] =
    "Server,Data Source,Address,Addr,Network Address,Host,Port,Database,"
    "Initial Catalog,User ID,UID,User,Username,Password,PWD,Access Token,"
    "Integrated Security,Trusted_Connection,Authentication,Encrypt,"
    "TrustServerCertificate,HostNameInCertificate,ServerCertificate,"
    "Application Name,App,Workstation ID,WSID,Current Language,Language,"
    "ApplicationIntent,MultiSubnetFailover,Failover Partner,Packet Size,"
    "Persist Security Info,SSL Mode";

/* ------------------------------------------------------------ characters */

/* Length of the UTF-8 character at p of n bytes, 0 if it is none. */
static size_t char_len(const unsigned char *p, size_t n) {
  static const struct {
    unsigned char mask, lead;
    uint32_t least;
  } forms[] = {{0x80, 0x00, 0},
               {0xe0, 0xc0, 0x80},
               {0xf0, 0xe0, 0x800},
               {0xf8, 0xf0, 0x10000}};
  for (size_t k = 0; k < 4; k++) {
    if ((p[0] & forms[k].mask) != forms[k].lead) {
      continue;
    }
    uint32_t c = p[0] & (uint32_t)(unsigned char)~forms[k].mask;
    for (size_t i = 1; i <= k; i++) {
      if (i >= n || (p[i] & 0xc0) != 0x80) {
        return 0;
      }
      c = c << 6 | (p[i] & 0x3fu);
    }
    bool surrogate = c >= 0xd800 && c <= 0xdfff;
    return c < forms[k].least || c > 0x10ffff || surrogate ? 0 : k + 1;
  }
  return 0;
}

/* Index of the first byte that is not UTF-8, or n. */
static size_t utf8_end(const unsigned char *p, size_t n) {
  size_t at = 0;
  while (at < n) {
    size_t len = char_len(p + at, n - at);
    if (len == 0) {
      return at;
    }
    at += len;
  }
  return n;
}

/* Length of the blank at `at`, 0 if what stands there is none.  The list is
 * what .NET calls white space. */
static size_t blank_len(const struct parse *ps, size_t at) {
  static const char wide[][4] = {"\xe1\x9a\x80", "\xe2\x80\xa8",
                                 "\xe2\x80\xa9", "\xe2\x80\xaf",
                                 "\xe2\x81\x9f", "\xe3\x80\x80"};
  const unsigned char *p = ps->text + at;
  size_t left = ps->end - at;
  if (left == 0) {
    return 0;
  }
  if (p[0] == ' ' || (p[0] >= '\t' && p[0] <= '\r')) {
    return 1;
  }
  if (left >= 2 && p[0] == 0xc2 && (p[1] == 0x85 || p[1] == 0xa0)) {
    return 2;
  }
  if (left < 3) {
    return 0;
  }
  if (p[0] == 0xe2 && p[1] == 0x80 && p[2] >= 0x80 && p[2] <= 0x8a) {
    return 3;
  }
  for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
    if (memcmp(p, wide[i], 3) == 0) {
      return 3;
    }
  }
  return 0;
}

static bool is_control(const struct parse *ps, size_t at) {
  const unsigned char *p = ps->text + at;
  return p[0] < 0x20 || p[0] == 0x7f ||
         (p[0] == 0xc2 && at + 1 < ps->end && p[1] < 0xa0);
}

static void skip_blanks(struct parse *ps) {
  size_t n = 0;
  while ((n = blank_len(ps, ps->at)) != 0) {
    ps->at += n;
  }
}

static void copy(struct parse *ps, size_t n) {
  memcpy(ps->out, ps->text + ps->at, n);
  ps->out += n;
  ps->at += n;
}

/* ---------------------------------------------------------------- errors */

static bool may_show(const struct weir__conninfo_pair *pair) {
  return weir__settings_find(pair->name, pair->name_len) != NULL ||
         weir__names_listed(pair->name, pair->name_len, well_known,
                            sizeof well_known - 1);
}

/* what: said of the option being read; at: index of the offending byte. */
static int fail(const struct parse *ps, size_t at, const char *what) {
  const struct weir__conninfo_pair *pair = &ps->pairs[ps->n];
  if (pair->name != NULL && may_show(pair)) {
    return weir__error_set(ps->err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                           "connection string, byte %zu (\"%s\"): %s", at + 1,
                           pair->name, what);
  }
  return weir__error_set(ps->err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                         "connection string, byte %zu (option %zu): %s", at + 1,
                         ps->n + 1, what);
}

static int fail_control(const struct parse *ps, const char *what) {
  return ps->text[ps->at] == 0 ? fail(ps, ps->at, "a NUL byte is not allowed")
                               : fail(ps, ps->at, what);
}

/* --------------------------------------------------------------- grammar */

static int read_name(struct parse *ps) {
  size_t start = ps->at;
  char *name = ps->out;
  char *name_end = name; /* behind the last character that is no blank */
  for (; ps->at < ps->end; name_end = ps->out) {
    size_t blank = 0;
    while ((blank = blank_len(ps, ps->at)) != 0) {
      copy(ps, blank);
    }
    if (ps->at == ps->end) {
      break;
    }
    if (ps->text[ps->at] == '=') {
      if (ps->at + 1 == ps->end || ps->text[ps->at + 1] != '=') {
        break;
      }
      ps->at++;
    } else if (is_control(ps, ps->at)) {
      return fail_control(ps, "a control character in a name");
    }
    copy(ps, 1);
  }
  if (ps->at == ps->end) {
    return fail(ps, start, "a name without \"=\" behind it");
  }
  if (name_end == name) {
    return fail(ps, start, "\"=\" without a name before it");
  }
  if (name_end - name > WEIR_NAME_MAX) {
    return fail(ps, start, "the name is longer than 128 bytes");
  }
  ps->at++; /* the "=" */
  *name_end = '\0';
  ps->out = name_end + 1;
  ps->pairs[ps->n].name = name;
  ps->pairs[ps->n].name_len = (uint32_t)(name_end - name);
  ps->pairs[ps->n].position = (uint32_t)start + 1;
  return WEIR_OK;
}

static int read_unquoted(struct parse *ps) {
  char *value_end = ps->out;
  while (ps->at < ps->end && ps->text[ps->at] != ';') {
    size_t blank = blank_len(ps, ps->at);
    if (blank != 0) {
      copy(ps, blank);
      continue;
    }
    if (is_control(ps, ps->at)) {
      return fail_control(ps, "a control character in an unquoted value");
    }
    copy(ps, 1);
    value_end = ps->out;
  }
  struct weir__conninfo_pair *pair = &ps->pairs[ps->n];
  pair->value_len = (uint32_t)(value_end - pair->value);
  pair->raw_len = pair->value_len;
  if (pair->value_len != 0 && (value_end[-1] == '"' || value_end[-1] == '\'')) {
    return fail(ps, pair->raw_at + pair->raw_len - 1u,
                "the value ends with a quote but does not begin with one");
  }
  ps->out = value_end;
  return WEIR_OK;
}

static int read_quoted(struct parse *ps, unsigned char close) {
  struct weir__conninfo_pair *pair = &ps->pairs[ps->n];
  for (ps->at++; ps->at < ps->end; copy(ps, 1)) {
    if (ps->text[ps->at] == '\0') {
      return fail(ps, ps->at, "a NUL byte is not allowed");
    }
    if (ps->text[ps->at] != close) {
      continue;
    }
    ps->at++;
    if (ps->at == ps->end || ps->text[ps->at] != close) {
      pair->quoted = true;
      pair->value_len = (uint32_t)(ps->out - pair->value);
      pair->raw_len = (uint32_t)ps->at - pair->raw_at;
      return WEIR_OK;
    }
  }
  return fail(ps, pair->raw_at,
              close == '}' ? "the brace that opens here is never closed"
                           : "the quote that opens here is never closed");
}

static int read_value(struct parse *ps) {
  skip_blanks(ps);
  struct weir__conninfo_pair *pair = &ps->pairs[ps->n];
  pair->value = ps->out;
  pair->raw_at = (uint32_t)ps->at;
  unsigned char first = ps->at < ps->end ? ps->text[ps->at] : ';';
  int rc = WEIR_OK;
  if (first == '"' || first == '\'') {
    rc = read_quoted(ps, first);
  } else if (first == '{') {
    rc = read_quoted(ps, '}');
  } else {
    rc = read_unquoted(ps);
  }
  if (rc != WEIR_OK) {
    return rc;
  }
  *ps->out++ = '\0';
  skip_blanks(ps);
  if (ps->at < ps->end && ps->text[ps->at] != ';') {
    return fail(ps, ps->at, "only \";\" may follow a quoted value");
  }
  return WEIR_OK;
}

static int read_pairs(struct parse *ps) {
  for (;;) {
    skip_blanks(ps);
    while (ps->at < ps->end && ps->text[ps->at] == ';') {
      ps->at++;
      skip_blanks(ps);
    }
    if (ps->at == ps->end) {
      return WEIR_OK;
    }
    if (ps->n == WEIR_CONNINFO_OPTIONS_MAX) {
      return weir__error_set(
          ps->err, WEIR_E_ARG, WEIR_PHASE_PARSE,
          "connection string, byte %zu: more than %d options", ps->at + 1,
          WEIR_CONNINFO_OPTIONS_MAX);
    }
    int rc = read_name(ps);
    if (rc == WEIR_OK) {
      rc = read_value(ps);
    }
    if (rc != WEIR_OK) {
      return rc;
    }
    ps->n++;
  }
}

/* ---------------------------------------------------------------- memory */

/* Everything in one block: pairs, the text, the decoded bytes.  One pair more
 * than there can be, so that an error has one to speak of. */
struct block {
  struct weir__conninfo_pair *pairs;
  char *text;
  char *out;
};

static size_t count_options(const char *text, size_t len) {
  size_t n = 0;
  for (size_t i = 0; i < len; i++) {
    n += text[i] == '=';
  }
  return n < WEIR_CONNINFO_OPTIONS_MAX ? n : WEIR_CONNINFO_OPTIONS_MAX;
}

static void *new_block(const char *text, size_t len, struct block *out) {
  size_t n = count_options(text, len);
  size_t pairs = (n + 1) * sizeof(struct weir__conninfo_pair);
  /* Each pair adds two NULs and loses its "=" at least. */
  char *p = weir__secret_alloc(pairs + len + 1 + len + 2 * n + 2);
  if (p == NULL) {
    return NULL;
  }
  out->pairs = (struct weir__conninfo_pair *)(void *)p;
  out->text = p + pairs;
  out->out = out->text + len + 1;
  if (len != 0) {
    memcpy(out->text, text, len);
  }
  return p;
}

/* Where the string ends: behind its last character that is neither a NUL nor
 * one of the usual blanks.  Callers count a terminating NUL now and then. */
static size_t trimmed(const char *text, size_t len) {
  while (len != 0 && (text[len - 1] == '\0' || text[len - 1] == ' ' ||
                      (text[len - 1] >= '\t' && text[len - 1] <= '\r'))) {
    len--;
  }
  return len;
}

int weir__conninfo_parse(const char *text,
                         uint64_t len,
                         struct weir__conninfo *out,
                         struct weir_error *err) {
  if (len > WEIR_CONNINFO_MAX) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                           "connection string: longer than %d bytes",
                           WEIR_CONNINFO_MAX);
  }
  struct block block;
  void *memory = new_block(text, len, &block);
  if (memory == NULL) {
    return weir__error_set(err, WEIR_E_NOMEM, WEIR_PHASE_PARSE,
                           "connection string: no memory for secrets");
  }
  struct parse ps = {.text = (const unsigned char *)block.text,
                     .end = trimmed(block.text, len),
                     .out = block.out,
                     .pairs = block.pairs,
                     .err = err};
  size_t good = utf8_end(ps.text, ps.end);
  int rc = WEIR_OK;
  if (good != ps.end) {
    rc = weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                         "connection string, byte %zu: not UTF-8", good + 1);
  } else {
    bool bom = ps.end >= 3 && memcmp(ps.text, "\xef\xbb\xbf", 3) == 0;
    ps.at = bom ? 3 : 0;
    rc = read_pairs(&ps);
  }
  if (rc != WEIR_OK) {
    weir__secret_release(memory);
    return rc;
  }
  *out = (struct weir__conninfo){.text = block.text,
                                 .text_len = (uint32_t)len,
                                 .n = (uint32_t)ps.n,
                                 .pairs = block.pairs,
                                 .memory = memory};
  return WEIR_OK;
}

void weir__conninfo_fini(struct weir__conninfo *ci) {
  weir__secret_release(ci->memory);
  *ci = (struct weir__conninfo){0};
}

const struct weir__conninfo_pair *weir__conninfo_find(
    const struct weir__conninfo *ci,
    const char *name) {
  for (uint32_t i = ci->n; i > 0; i--) {
    const struct weir__conninfo_pair *pair = &ci->pairs[i - 1];
    if (weir__names_equal(pair->name, pair->name_len, name, strlen(name))) {
      return pair;
    }
  }
  return NULL;
}

/* --------------------------------------------------------------- writing */

/* The value between quotes[0] and quotes[1], the latter doubled inside; as it
 * is if quotes is "". */
static size_t enclose(const char *value,
                      size_t len,
                      const char *quotes,
                      char *buf,
                      size_t cap) {
  bool bare = quotes[0] == '\0';
  size_t need = bare ? len : len + 2;
  for (size_t i = 0; i < len && !bare; i++) {
    need += value[i] == quotes[1];
  }
  if (need >= cap) {
    return need;
  }
  if (!bare) {
    *buf++ = quotes[0];
  }
  for (size_t i = 0; i < len; i++) {
    *buf++ = value[i];
    if (!bare && value[i] == quotes[1]) {
      *buf++ = value[i];
    }
  }
  if (!bare) {
    *buf++ = quotes[1];
  }
  *buf = '\0';
  return need;
}

/* True if the value reads back unchanged without quotes: visible ASCII and
 * nothing that means something at either end or anywhere. */
static bool plain(const char *value, size_t len) {
  for (size_t i = 0; i < len; i++) {
    bool inner = i != 0 && i + 1 != len && value[i] == ' ';
    bool safe = value[i] > ' ' && value[i] < 0x7f &&
                strchr(";'\"{}=", value[i]) == NULL;
    if (!inner && !safe) {
      return false;
    }
  }
  return len != 0;
}

size_t weir__conninfo_quote(const char *value,
                            size_t len,
                            char *buf,
                            size_t cap) {
  if (plain(value, len)) {
    return enclose(value, len, "", buf, cap);
  }
  bool has_double = len != 0 && memchr(value, '"', len) != NULL;
  bool has_single = len != 0 && memchr(value, '\'', len) != NULL;
  const char *quotes = has_double && !has_single ? "''" : "\"\"";
  return enclose(value, len, quotes, buf, cap);
}

size_t weir__conninfo_brace(const char *value,
                            size_t len,
                            char *buf,
                            size_t cap) {
  return enclose(value, len, "{}", buf, cap);
}
