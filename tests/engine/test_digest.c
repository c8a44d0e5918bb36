/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "digest.h"
#include "secret.h"

static void digest_of(const char *text, uint8_t out[WEIR_DIGEST_BYTES]) {
  struct weir__digest_piece piece = {text, strlen(text)};
  cr_assert(weir__digest(&piece, 1, out));
}

Test(digest, equal_inputs_have_equal_digests, .timeout = 5) {
  uint8_t a[WEIR_DIGEST_BYTES];
  uint8_t b[WEIR_DIGEST_BYTES];
  struct weir__digest_piece two[] = {{"sec", 3}, {"ret", 3}};
  digest_of("secret", a);
  cr_assert(weir__digest(two, 2, b));
  cr_assert_eq(memcmp(a, b, sizeof a), 0);
  digest_of("Secret", b);
  cr_assert_neq(memcmp(a, b, sizeof a), 0);
}

Test(digest, is_not_the_plain_hash, .timeout = 5) {
  /* SHA-256 of the empty text begins so; a random key gives another. */
  static const uint8_t plain[4] = {0xe3, 0xb0, 0xc4, 0x42};
  uint8_t a[WEIR_DIGEST_BYTES];
  cr_assert(weir__digest(NULL, 0, a));
  cr_assert_neq(memcmp(a, plain, sizeof plain), 0);
}

Test(digest, a_forked_child_has_a_key_of_its_own, .timeout = 5) {
  uint8_t a[WEIR_DIGEST_BYTES];
  uint8_t b[WEIR_DIGEST_BYTES];
  digest_of("secret", a);
  int ends[2];
  cr_assert_eq(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    weir__secret_forget();
    struct weir__digest_piece piece = {"secret", 6};
    bool done = weir__digest(&piece, 1, b);
    _exit(done && write(ends[1], b, sizeof b) == (ssize_t)sizeof b ? 0 : 1);
  }
  cr_assert_eq(read(ends[0], b, sizeof b), (ssize_t)sizeof b);
  cr_assert_neq(memcmp(a, b, sizeof a), 0);
  cr_assert_eq(waitpid(child, NULL, 0), child);
}
