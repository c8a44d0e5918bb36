/* SPDX-License-Identifier: MIT */
#include "server_login.h"

#include <string.h>

#include <openssl/crypto.h>

#include "server_const.h"
#include "server_text.h"

/* Fixed part before and since TDS 7.2. */
#define FIXED_71 86u
#define FIXED    94u

#define FLAG3_CHANGE_PASSWORD 0x01u
#define FLAG3_EXTENSION       0x10u

#define PASSWORD_AT 44u
#define CHANGE_AT   86u

/* Where one text of LOGIN7 is described and how long it may be. */
struct field {
  const char *name;
  uint16_t at;    /* of ib and cch in the fixed part */
  uint16_t units; /* at most */
};

static const struct field fields[] = {
    {"HostName", 36, 128},   {"UserName", 40, 128},
    {"Password", 44, 128},   {"AppName", 48, 128},
    {"ServerName", 52, 128}, {"CltIntName", 60, 128},
    {"Language", 64, 128},   {"Database", 68, 128},
    {"AtchDBFile", 82, 260}, {"ChangePassword", 86, 128},
};

static uint32_t known_version(uint32_t sent) {
  switch (sent) {
  case 0x71000000u:
  case TDSD_V71:
    return TDSD_V71;
  case TDSD_V72:
  case TDSD_V73A:
  case TDSD_V73B:
  case TDSD_V74:
  case TDSD_V80:
    return sent;
  default:
    return 0;
  }
}

static int check_field(const uint8_t *body,
                       size_t len,
                       size_t fixed,
                       const struct field *field,
                       struct tdsd_problem *problem) {
  size_t offset = tdsd_get_u16(body + field->at);
  size_t units = tdsd_get_u16(body + field->at + 2u);
  if (units > field->units) {
    return tdsd_problem_set(problem,
                            "LOGIN7 field %s has %zu units, at most %u may be",
                            field->name, units, (unsigned)field->units);
  }
  if (units != 0 && offset < fixed) {
    return tdsd_problem_set(problem,
                            "LOGIN7 field %s at %zu lies in the fixed part",
                            field->name, offset);
  }
  if (units != 0 && offset + 2 * units > len) {
    return tdsd_problem_set(problem,
                            "LOGIN7 field %s at %zu of %zu units ends behind "
                            "the record of %zu bytes",
                            field->name, offset, units, len);
  }
  return 0;
}

static void copy_text(const uint8_t *body, uint16_t at, char *out) {
  size_t offset = tdsd_get_u16(body + at);
  size_t units = tdsd_get_u16(body + at + 2);
  size_t n = units == 0 ? 0 : tdsd_text_from_w16(body + offset, units, out);
  out[n] = 0;
}

/* Each byte of the password has its nibbles swapped and is XORed with A5. */
static void copy_password(const uint8_t *body, char *out) {
  uint8_t clear[2 * 128];
  size_t offset = tdsd_get_u16(body + PASSWORD_AT);
  size_t units = tdsd_get_u16(body + PASSWORD_AT + 2);
  for (size_t i = 0; i < 2 * units; i++) {
    unsigned byte = body[offset + i] ^ 0xA5u;
    clear[i] = (uint8_t)(byte << 4 | byte >> 4);
  }
  out[tdsd_text_from_w16(clear, units, out)] = 0;
  OPENSSL_cleanse(clear, sizeof clear);
}

static int read_feature(uint8_t id,
                        const uint8_t *data,
                        size_t len,
                        struct tdsd_login *out,
                        struct tdsd_problem *problem) {
  switch (id) {
  case TDSD_FEAT_UTF8:
    if (len > 1) {
      return tdsd_problem_set(problem,
                              "LOGIN7 feature UTF8_SUPPORT has %zu bytes", len);
    }
    out->utf8_asked = len == 0 || (data[0] & 1) != 0;
    return 0;
  case TDSD_FEAT_FEDAUTH:
    return tdsd_fedauth_parse(data, len, &out->fedauth, problem);
  default:
    return 0; /* unknown features are skipped by their length */
  }
}

static int read_features(const uint8_t *body,
                         size_t len,
                         size_t at,
                         struct tdsd_login *out,
                         struct tdsd_problem *problem) {
  uint8_t seen[32] = {0};
  for (;;) {
    if (at >= len) {
      return tdsd_problem_set(problem, "LOGIN7 feature list has no end");
    }
    uint8_t id = body[at++];
    if (id == TDSD_FEAT_END) {
      return 0;
    }
    if (len - at < 4 || tdsd_get_u32(body + at) > len - at - 4) {
      return tdsd_problem_set(
          problem, "LOGIN7 feature 0x%02x ends behind the record", id);
    }
    if ((seen[id / 8] & 1u << id % 8) != 0) {
      return tdsd_problem_set(problem, "LOGIN7 feature 0x%02x is twice", id);
    }
    seen[id / 8] = (uint8_t)(seen[id / 8] | 1u << id % 8);
    size_t bytes = tdsd_get_u32(body + at);
    if (read_feature(id, body + at + 4, bytes, out, problem) < 0) {
      return -1;
    }
    at += 4 + bytes;
  }
}

/* ibExtension points at a DWORD that points at the list.  Before 7.4 the bit
 * means nothing (tedious sets it all the same). */
static int read_extension(const uint8_t *body,
                          size_t len,
                          size_t fixed,
                          struct tdsd_login *out,
                          struct tdsd_problem *problem) {
  bool older = out->version == TDSD_V71 || out->version == TDSD_V72 ||
               out->version == TDSD_V73A || out->version == TDSD_V73B;
  if (!(out->flags3 & FLAG3_EXTENSION) || older) {
    return 0;
  }
  size_t offset = tdsd_get_u16(body + 56);
  size_t bytes = tdsd_get_u16(body + 58);
  if (bytes < 4 || offset < fixed || offset + 4 > len) {
    return tdsd_problem_set(problem,
                            "LOGIN7 Extension at %zu of %zu bytes is not in "
                            "the record of %zu bytes",
                            offset, bytes, len);
  }
  size_t list = tdsd_get_u32(body + offset);
  if (list < fixed || list >= len) {
    return tdsd_problem_set(
        problem, "LOGIN7 feature list at %zu is not in the record", list);
  }
  return read_features(body, len, list, out, problem);
}

static int read_sspi(const uint8_t *body,
                     size_t len,
                     size_t fixed,
                     struct tdsd_login *out,
                     struct tdsd_problem *problem) {
  size_t offset = tdsd_get_u16(body + 78);
  size_t bytes = tdsd_get_u16(body + 80);
  if (bytes == 0xFFFF && fixed == FIXED && tdsd_get_u32(body + 90) != 0) {
    bytes = tdsd_get_u32(body + 90);
  }
  if (bytes != 0 && (offset < fixed || offset > len || bytes > len - offset)) {
    return tdsd_problem_set(problem,
                            "LOGIN7 SSPI at %zu of %zu bytes is not in the "
                            "record of %zu bytes",
                            offset, bytes, len);
  }
  out->sspi_bytes = (uint32_t)bytes;
  return 0;
}

static int check_head(const uint8_t *body,
                      size_t len,
                      struct tdsd_login *out,
                      struct tdsd_problem *problem) {
  if (len < FIXED_71) {
    return tdsd_problem_set(
        problem, "LOGIN7 of %zu bytes is shorter than its fixed part", len);
  }
  if (tdsd_get_u32(body) != len) {
    return tdsd_problem_set(problem, "LOGIN7 says it has %u bytes but has %zu",
                            (unsigned)tdsd_get_u32(body), len);
  }
  out->tds_version = tdsd_get_u32(body + 4);
  out->version = known_version(out->tds_version);
  if (out->version == 0) {
    return tdsd_problem_set(problem, "LOGIN7 TDS version 0x%08x is not known",
                            (unsigned)out->tds_version);
  }
  out->packet_size = tdsd_get_u32(body + 8);
  if (out->packet_size != 0 && (out->packet_size < TDSD_PACKET_MIN ||
                                out->packet_size > TDSD_PACKET_MAX)) {
    return tdsd_problem_set(problem,
                            "LOGIN7 packet size %u is not in 512..32767",
                            (unsigned)out->packet_size);
  }
  return 0;
}

static int check_fields(const uint8_t *body,
                        size_t len,
                        size_t fixed,
                        struct tdsd_problem *problem) {
  size_t host = tdsd_get_u16(body + 36);
  if (host != FIXED && host != fixed) {
    return tdsd_problem_set(problem, "LOGIN7 ibHostName is %zu, not %zu", host,
                            fixed);
  }
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    if (fields[i].at + 4u <= fixed &&
        check_field(body, len, fixed, &fields[i], problem) < 0) {
      return -1;
    }
  }
  return 0;
}

static void copy_texts(const uint8_t *body, struct tdsd_login *out) {
  copy_text(body, 36, out->host);
  copy_text(body, 40, out->user);
  copy_password(body, out->password);
  copy_text(body, 48, out->app);
  copy_text(body, 52, out->server);
  copy_text(body, 60, out->library);
  copy_text(body, 64, out->language);
  copy_text(body, 68, out->database);
}

int tdsd_login_parse(const uint8_t *body,
                     size_t len,
                     struct tdsd_login *out_login,
                     struct tdsd_problem *problem) {
  struct tdsd_login login = {0};
  if (check_head(body, len, &login, problem) < 0) {
    return -1;
  }
  size_t fixed = login.version == TDSD_V71 ? FIXED_71 : FIXED;
  if (len < fixed) {
    return tdsd_problem_set(
        problem, "LOGIN7 of %zu bytes is shorter than its fixed part", len);
  }
  login.client_pid = tdsd_get_u32(body + 16);
  login.flags1 = body[24];
  login.flags2 = body[25];
  login.type_flags = body[26];
  login.flags3 = body[27];
  login.change_password = (login.flags3 & FLAG3_CHANGE_PASSWORD) != 0;
  if (check_fields(body, len, fixed, problem) < 0 ||
      read_sspi(body, len, fixed, &login, problem) < 0 ||
      read_extension(body, len, fixed, &login, problem) < 0) {
    tdsd_fedauth_wipe(&login.fedauth);
    return -1;
  }
  copy_texts(body, &login);
  *out_login = login;
  OPENSSL_cleanse(login.password, sizeof login.password);
  return 0;
}

void tdsd_login_wipe(struct tdsd_login *login) {
  tdsd_fedauth_wipe(&login->fedauth);
  OPENSSL_cleanse(login, sizeof *login);
}

static void place(const uint8_t *body, size_t at, size_t *from, size_t *to) {
  *from = tdsd_get_u16(body + at);
  *to = *from + 2u * tdsd_get_u16(body + at + 2);
}

/* The token lies behind the header of feature 02, with five bytes of its own
 * before it. */
static void place_token(const uint8_t *body,
                        size_t len,
                        size_t *from,
                        size_t *to) {
  size_t extension = tdsd_get_u16(body + 56);
  if (!(body[27] & FLAG3_EXTENSION)) {
    return;
  }
  *to = SIZE_MAX;
  *from = extension;
  if (extension + 4 > len) {
    return;
  }
  size_t at = tdsd_get_u32(body + extension);
  *from = at;
  while (at < len && body[at] != TDSD_FEAT_END && len - at >= 5) {
    size_t bytes = tdsd_get_u32(body + at + 1);
    if (body[at] == TDSD_FEAT_FEDAUTH) {
      *to = at + 5 + bytes;
      *from = bytes < 5 ? *to : at + 5 + 5;
      return;
    }
    at += 5 + bytes;
  }
  if (at < len && body[at] == TDSD_FEAT_END) {
    *from = *to = 0;
  }
}

void tdsd_login_secrets(const uint8_t *body,
                        size_t len,
                        size_t out_from[TDSD_LOGIN_SECRETS],
                        size_t out_to[TDSD_LOGIN_SECRETS]) {
  for (unsigned i = 0; i < TDSD_LOGIN_SECRETS; i++) {
    out_from[i] = out_to[i] = 0;
  }
  if (len >= FIXED_71) {
    place(body, PASSWORD_AT, &out_from[0], &out_to[0]);
  }
  if (len >= FIXED && known_version(tdsd_get_u32(body + 4)) != TDSD_V71) {
    place(body, CHANGE_AT, &out_from[1], &out_to[1]);
    place_token(body, len, &out_from[2], &out_to[2]);
  }
}
