/* SPDX-License-Identifier: MIT */
/* fuzz_server_login7.c - tdsd's decoder of LOGIN7: whatever comes is refused
 * with a sentence or read into texts that end; the places of the secrets, which
 * may lie in a packet that is still to come, are none that wrap around. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server_login.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_end(const char *text) {
  if (memchr(text, 0, TDSD_NAME_BYTES) == NULL) {
    abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct tdsd_login login;
  struct tdsd_problem problem = {""};
  size_t from[TDSD_LOGIN_SECRETS] = {0};
  size_t to[TDSD_LOGIN_SECRETS] = {0};
  tdsd_login_secrets(data, size, from, to);
  for (unsigned i = 0; i < TDSD_LOGIN_SECRETS; i++) {
    bool token = i == 2; /* ends behind everything if its place is not known */
    if (from[i] > to[i] || (!token && to[i] > (size_t)3 * 65536)) {
      abort();
    }
  }
  if (tdsd_login_parse(data, size, &login, &problem) < 0) {
    if (problem.text[0] == 0) {
      abort();
    }
    return 0;
  }
  expect_end(login.host);
  expect_end(login.user);
  expect_end(login.password);
  expect_end(login.app);
  expect_end(login.server);
  expect_end(login.library);
  expect_end(login.language);
  expect_end(login.database);
  tdsd_login_wipe(&login);
  if (login.password[0] != 0) {
    abort();
  }
  return 0;
}
