/* SPDX-License-Identifier: MIT */
#include "server_prelogin.h"

#include <string.h>

#include "server_const.h"

#define ENTRY_BYTES 5u
#define ENTRIES_MAX 32u

/* The version this server claims, SQL Server 2022's. */
static const uint8_t server_version[6] = {16, 0, 0x03, 0xE8, 0, 0};

struct entry {
  uint8_t token;
  uint16_t offset;
  uint16_t length;
};

static const char *option_name(uint8_t token) {
  static const char *const names[] = {
      "VERSION", "ENCRYPTION", "INSTOPT",         "THREADID",
      "MARS",    "TRACEID",    "FEDAUTHREQUIRED", "NONCE"};
  return token < 8 ? names[token] : "unknown";
}

/* The length an option must have; INSTOPT and unknown ones are free. */
static bool length_fits(uint8_t token, uint16_t length) {
  switch (token) {
  case TDSD_PRE_VERSION:
    return length == 6;
  case TDSD_PRE_ENCRYPTION:
  case TDSD_PRE_MARS:
  case TDSD_PRE_FEDAUTH:
    return length == 1;
  case TDSD_PRE_INSTOPT:
    return length >= 1;
  case TDSD_PRE_THREADID:
    return length == 4 || length == 0;
  case TDSD_PRE_TRACEID:
    return length == 36 || length == 0;
  case TDSD_PRE_NONCE:
    return length == 32;
  default:
    return true;
  }
}

static int check_entry(const struct entry *entry,
                       size_t len,
                       uint32_t seen,
                       struct tdsd_problem *problem) {
  const char *name = option_name(entry->token);
  if (seen == 0 && entry->token != TDSD_PRE_VERSION) {
    return tdsd_problem_set(
        problem, "PRELOGIN begins with option %s, not VERSION", name);
  }
  if (entry->token < 32 && (seen & UINT32_C(1) << entry->token) != 0) {
    return tdsd_problem_set(problem, "PRELOGIN has option 0x%02x twice",
                            entry->token);
  }
  if ((size_t)entry->offset + entry->length > len) {
    return tdsd_problem_set(problem,
                            "PRELOGIN option %s at %u+%u ends behind the "
                            "message of %zu bytes",
                            name, (unsigned)entry->offset,
                            (unsigned)entry->length, len);
  }
  if (!length_fits(entry->token, entry->length)) {
    return tdsd_problem_set(problem, "PRELOGIN option %s has %u bytes", name,
                            (unsigned)entry->length);
  }
  return 0;
}

/* Reads the table.  Returns the number of entries, or -1. */
static int read_table(const uint8_t *body,
                      size_t len,
                      struct entry *entries,
                      struct tdsd_problem *problem) {
  uint32_t seen = 0;
  for (unsigned n = 0;; n++) {
    size_t at = (size_t)n * ENTRY_BYTES;
    if (at >= len) {
      return tdsd_problem_set(problem, "PRELOGIN option table has no end");
    }
    if (body[at] == TDSD_PRE_END) {
      return (int)n;
    }
    if (at + ENTRY_BYTES > len) {
      return tdsd_problem_set(problem, "PRELOGIN option table is cut off");
    }
    if (n == ENTRIES_MAX) {
      return tdsd_problem_set(problem, "PRELOGIN has more than %u options",
                              ENTRIES_MAX);
    }
    entries[n] = (struct entry){.token = body[at],
                                .offset = tdsd_get_u16be(body + at + 1),
                                .length = tdsd_get_u16be(body + at + 3)};
    if (check_entry(&entries[n], len, seen, problem) < 0) {
      return -1;
    }
    seen |= entries[n].token < 32 ? UINT32_C(1) << entries[n].token : 0;
  }
}

/* Values may come in any order, but must lie behind the table and apart. */
static int check_places(const struct entry *entries,
                        size_t n,
                        struct tdsd_problem *problem) {
  size_t table = n * ENTRY_BYTES + 1;
  for (size_t i = 0; i < n; i++) {
    const struct entry *a = &entries[i];
    if (a->length != 0 && a->offset < table) {
      return tdsd_problem_set(problem,
                              "PRELOGIN option %s lies in the option table",
                              option_name(a->token));
    }
    for (size_t j = 0; j < i; j++) {
      const struct entry *b = &entries[j];
      if (a->length != 0 && b->length != 0 &&
          a->offset < b->offset + b->length &&
          b->offset < a->offset + a->length) {
        return tdsd_problem_set(problem, "PRELOGIN options %s and %s overlap",
                                option_name(b->token), option_name(a->token));
      }
    }
  }
  return 0;
}

static int read_instance(const uint8_t *value,
                         size_t len,
                         struct tdsd_prelogin *out,
                         struct tdsd_problem *problem) {
  if (value[len - 1] != 0 || memchr(value, 0, len) != value + len - 1) {
    return tdsd_problem_set(problem,
                            "PRELOGIN option INSTOPT is not ended by one zero");
  }
  if (len > sizeof out->instance) {
    return tdsd_problem_set(problem, "PRELOGIN instance name has %zu bytes",
                            len);
  }
  memcpy(out->instance, value, len);
  return 0;
}

static int read_value(const struct entry *entry,
                      const uint8_t *value,
                      struct tdsd_prelogin *out,
                      struct tdsd_problem *problem) {
  switch (entry->token) {
  case TDSD_PRE_VERSION:
    memcpy(out->version, value, 6);
    return 0;
  case TDSD_PRE_ENCRYPTION:
    out->encryption = value[0] & 0x3F;
    if ((value[0] & 0x60) != 0 || out->encryption > TDSD_ENC_REQ) {
      return tdsd_problem_set(problem, "PRELOGIN option ENCRYPTION is 0x%02x",
                              value[0]);
    }
    return 0;
  case TDSD_PRE_INSTOPT:
    return read_instance(value, entry->length, out, problem);
  case TDSD_PRE_MARS:
    out->mars = value[0];
    return value[0] > 1 ? tdsd_problem_set(
                              problem, "PRELOGIN option MARS is %u", value[0])
                        : 0;
  case TDSD_PRE_FEDAUTH:
    out->fedauth = value[0];
    return value[0] > 1
               ? tdsd_problem_set(
                     problem, "PRELOGIN option FEDAUTHREQUIRED is %u", value[0])
               : 0;
  default:
    return 0;
  }
}

int tdsd_prelogin_parse(const uint8_t *body,
                        size_t len,
                        struct tdsd_prelogin *out_prelogin,
                        struct tdsd_problem *problem) {
  struct entry entries[ENTRIES_MAX];
  if (len == 0) {
    return tdsd_problem_set(problem, "PRELOGIN is empty");
  }
  int n = read_table(body, len, entries, problem);
  if (n < 0 || check_places(entries, (size_t)n, problem) < 0) {
    return -1;
  }
  if (n == 0) {
    return tdsd_problem_set(problem, "PRELOGIN has no VERSION");
  }
  struct tdsd_prelogin prelogin = {0};
  for (int i = 0; i < n; i++) {
    const struct entry *entry = &entries[i];
    if (read_value(entry, body + entry->offset, &prelogin, problem) < 0) {
      return -1;
    }
    prelogin.seen |= entry->token < 32 ? UINT32_C(1) << entry->token : 0;
  }
  *out_prelogin = prelogin;
  return 0;
}

static enum tdsd_encryption decide_optional(uint8_t wanted, uint8_t *value) {
  *value = wanted == TDSD_ENC_REQ ? TDSD_ENC_ON : wanted;
  if (wanted == TDSD_ENC_OFF) {
    return TDSD_CRYPT_LOGIN_ONLY;
  }
  return wanted == TDSD_ENC_NOT_SUP ? TDSD_CRYPT_PLAIN : TDSD_CRYPT_FULL;
}

static enum tdsd_encryption decide_forced(uint8_t wanted, uint8_t *value) {
  bool asked = wanted == TDSD_ENC_ON || wanted == TDSD_ENC_REQ;
  *value = asked ? TDSD_ENC_ON : TDSD_ENC_REQ;
  return wanted == TDSD_ENC_NOT_SUP ? TDSD_CRYPT_REFUSE : TDSD_CRYPT_FULL;
}

enum tdsd_encryption tdsd_prelogin_decide(enum tdsd_tls_mode mode,
                                          const struct tdsd_prelogin *client,
                                          bool inside_tls,
                                          uint8_t *out_value) {
  uint8_t wanted = client->encryption;
  if ((client->seen & UINT32_C(1) << TDSD_PRE_ENCRYPTION) == 0) {
    wanted = TDSD_ENC_NOT_SUP; /* a client that does not know the option */
  }
  if (inside_tls) {
    *out_value = TDSD_ENC_ON;
    return TDSD_CRYPT_FULL;
  }
  switch (mode) {
  case TDSD_TLS_LOGIN_ONLY:
    return decide_optional(wanted, out_value);
  case TDSD_TLS_FULL:
    return decide_forced(wanted, out_value);
  case TDSD_TLS_OFF:
  case TDSD_TLS_STRICT:
  default:
    *out_value = TDSD_ENC_NOT_SUP;
    return wanted == TDSD_ENC_ON || wanted == TDSD_ENC_REQ ? TDSD_CRYPT_REFUSE
                                                           : TDSD_CRYPT_PLAIN;
  }
}

void tdsd_prelogin_reply(struct tdsd_buf *out,
                         const struct tdsd_prelogin *client,
                         uint8_t encryption,
                         uint8_t fedauth) {
  struct entry entries[6] = {
      {TDSD_PRE_VERSION, 0, 6}, {TDSD_PRE_ENCRYPTION, 0, 1},
      {TDSD_PRE_INSTOPT, 0, 1}, {TDSD_PRE_THREADID, 0, 0},
      {TDSD_PRE_MARS, 0, 1},    {TDSD_PRE_FEDAUTH, 0, 1}};
  /* Federated authentication is mentioned only to clients that asked. */
  size_t n = (client->seen & UINT32_C(1) << TDSD_PRE_FEDAUTH) != 0 ? 6 : 5;
  size_t offset = n * ENTRY_BYTES + 1;
  for (size_t i = 0; i < n; i++) {
    tdsd_buf_u8(out, entries[i].token);
    tdsd_buf_u16be(out, (uint32_t)offset);
    tdsd_buf_u16be(out, entries[i].length);
    offset += entries[i].length;
  }
  tdsd_buf_u8(out, TDSD_PRE_END);
  tdsd_buf_bytes(out, server_version, sizeof server_version);
  tdsd_buf_u8(out, encryption);
  tdsd_buf_u8(out, 0); /* INSTOPT: the instance is here */
  tdsd_buf_u8(out, 0); /* MARS: not supported */
  if (n == 6) {
    tdsd_buf_u8(out, fedauth);
  }
}
