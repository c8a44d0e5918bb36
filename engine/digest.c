/* SPDX-License-Identifier: MIT */
#include "digest.h"

#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include "secret.h"
#include "sys/atomic.h"

#define KEY_BYTES 32

/* Address of the key, 0 before there is one.  Behind the key stands a 1, which
 * in a forked child is wiped with it: then a new key is made.  Release and
 * acquire hand over the bytes. */
static _Atomic uint64_t key_word;

static const uint8_t *make_key(uint64_t old) {
  uint8_t *key = weir__secret_alloc(KEY_BYTES + 1);
  if (key == NULL || RAND_bytes(key, KEY_BYTES) != 1) {
    weir__secret_release(key);
    return NULL;
  }
  key[KEY_BYTES] = 1;
  uint64_t seen = old;
  if (weir__cas_acq_rel_u64(&key_word, &seen, (uint64_t)(uintptr_t)key)) {
    return key;
  }
  weir__secret_release(key); /* another thread was first */
  return (const uint8_t *)(uintptr_t)seen;
}

static const uint8_t *process_key(void) {
  uint64_t word = weir__load_acquire_u64(&key_word);
  const uint8_t *key = (const uint8_t *)(uintptr_t)word;
  return key != NULL && key[KEY_BYTES] == 1 ? key : make_key(word);
}

static bool run(EVP_MAC_CTX *ctx,
                const struct weir__digest_piece *pieces,
                size_t n,
                uint8_t *out) {
  const uint8_t *key = process_key();
  char sha[] = "SHA256";
  OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string("digest", sha, sizeof sha - 1),
      OSSL_PARAM_construct_end()};
  if (key == NULL || EVP_MAC_init(ctx, key, KEY_BYTES, params) != 1) {
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    if (pieces[i].n != 0 &&
        EVP_MAC_update(ctx, pieces[i].p, pieces[i].n) != 1) {
      return false;
    }
  }
  size_t len = 0;
  return EVP_MAC_final(ctx, out, &len, WEIR_DIGEST_BYTES) == 1 &&
         len == WEIR_DIGEST_BYTES;
}

bool weir__digest(const struct weir__digest_piece *pieces,
                  size_t n,
                  uint8_t out[WEIR_DIGEST_BYTES]) {
  EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
  EVP_MAC_CTX *ctx = mac != NULL ? EVP_MAC_CTX_new(mac) : NULL;
  bool done = ctx != NULL && run(ctx, pieces, n, out);
  EVP_MAC_CTX_free(ctx);
  EVP_MAC_free(mac);
  return done;
}
