/* SPDX-License-Identifier: MIT */
#include "server_fedauth.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "server_const.h"
#include "server_text.h"

#define INFO_STS_URL 1u
#define INFO_SPN     2u

void tdsd_fedauth_wipe(struct tdsd_fedauth *fedauth) {
  if (fedauth->token != NULL) {
    OPENSSL_cleanse(fedauth->token, strlen(fedauth->token));
    free(fedauth->token);
  }
  OPENSSL_cleanse(fedauth, sizeof *fedauth);
}

/* len(4) token(W16) [nonce(32)] */
static int read_token(const uint8_t *body,
                      size_t len,
                      struct tdsd_fedauth *out,
                      struct tdsd_problem *problem) {
  size_t bytes = len < 4 ? 0 : tdsd_get_u32(body);
  if (len < 4 || bytes > len - 4 || bytes % 2 != 0 || bytes == 0) {
    return tdsd_problem_set(problem,
                            "a federated token of %zu bytes in a field of %zu",
                            bytes, len);
  }
  size_t rest = len - 4 - bytes;
  if (rest != 0 && rest != TDSD_FEDAUTH_NONCE) {
    return tdsd_problem_set(
        problem, "%zu bytes behind a federated token are no nonce", rest);
  }
  char *token = calloc(1, bytes / 2 * 3 + 1);
  if (token == NULL) {
    return tdsd_problem_set(problem, "no memory for a federated token");
  }
  (void)tdsd_text_from_w16(body + 4, bytes / 2, token);
  out->token = token;
  out->nonce = rest != 0;
  if (rest != 0) {
    memcpy(out->nonce_bytes, body + 4 + bytes, rest);
  }
  return 0;
}

int tdsd_fedauth_parse(const uint8_t *data,
                       size_t len,
                       struct tdsd_fedauth *out,
                       struct tdsd_problem *problem) {
  struct tdsd_fedauth fedauth = {.asked = true};
  if (len == 0) {
    return tdsd_problem_set(problem, "LOGIN7 feature FEDAUTH is empty");
  }
  fedauth.echo = (data[0] & 1) != 0;
  fedauth.library = data[0] >> 1;
  if (fedauth.library == TDSD_FEDAUTH_TOKEN) {
    if (read_token(data + 1, len - 1, &fedauth, problem) < 0) {
      return -1;
    }
  } else if (fedauth.library == TDSD_FEDAUTH_ASK) {
    if (len != 2 || data[1] < 1 || data[1] > 3) {
      return tdsd_problem_set(problem,
                              "LOGIN7 feature FEDAUTH has %zu bytes or an "
                              "unknown workflow",
                              len);
    }
    fedauth.workflow = data[1];
  } else if (fedauth.library != TDSD_FEDAUTH_LIVE) {
    return tdsd_problem_set(problem, "LOGIN7 feature FEDAUTH has library %u",
                            (unsigned)fedauth.library);
  }
  *out = fedauth;
  return 0;
}

int tdsd_fedauth_parse_token(const uint8_t *body,
                             size_t len,
                             struct tdsd_fedauth *fedauth,
                             struct tdsd_problem *problem) {
  if (len < 4 || tdsd_get_u32(body) != len - 4) {
    return tdsd_problem_set(
        problem, "a federated token message of %zu bytes says it has %u", len,
        len < 4 ? 0 : (unsigned)tdsd_get_u32(body));
  }
  return read_token(body + 4, len - 4, fedauth, problem);
}

static void write_option(struct tdsd_buf *reply,
                         uint32_t id,
                         size_t len,
                         size_t offset) {
  tdsd_buf_u8(reply, id);
  tdsd_buf_u32(reply, (uint32_t)len);
  tdsd_buf_u32(reply, (uint32_t)offset);
}

/* Offsets count from the number of options on. */
void tdsd_write_fedauthinfo(const struct tdsd_writer *writer) {
  struct tdsd_buf *reply = writer->reply;
  const size_t url = 2 * (sizeof TDSD_STS_URL - 1);
  const size_t spn = 2 * (sizeof TDSD_SPN - 1);
  const size_t data = 4 + 2 * 9;
  tdsd_buf_u8(reply, TDSD_TOK_FEDAUTHINFO);
  tdsd_buf_u32(reply, (uint32_t)(data + url + spn));
  tdsd_buf_u32(reply, 2);
  write_option(reply, INFO_STS_URL, url, data);
  write_option(reply, INFO_SPN, spn, data + url);
  (void)tdsd_buf_w16(reply, TDSD_STS_URL, sizeof TDSD_STS_URL - 1);
  (void)tdsd_buf_w16(reply, TDSD_SPN, sizeof TDSD_SPN - 1);
}
