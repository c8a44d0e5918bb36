/* SPDX-License-Identifier: MIT */
/* A conversation of arbitrary bytes: whatever a client sends, the session takes
 * it, refuses it, or waits for more; it never crashes or grows without bound.
 * The first byte chooses whether the login is already behind it. */
#include <stddef.h>
#include <stdint.h>

#include "server_const.h"
#include "test_support.h"

/* Turns that a request may take, so that endless loops end. */
#define TURNS 64u

static void run_on(struct tdsd_session *session, uint64_t *now_ns) {
  for (unsigned i = 0; i < TURNS; i++) {
    if (!session->full && session->wake_ns == 0) {
      return;
    }
    if (session->wake_ns > *now_ns) {
      *now_ns = session->wake_ns;
    }
    tdsd_buf_clear(&session->out);
    tdsd_session_wake(session, *now_ns);
  }
  tdsd_session_kill(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const uint32_t versions[] = {TDSD_V71, TDSD_V72, TDSD_V73A, TDSD_V73B,
                                      TDSD_V74};
  struct fixture fixture;
  uint64_t now_ns = 1000;
  if (size == 0) {
    return 0;
  }
  if (data[0] == 0) {
    fixture_init(&fixture);
  } else {
    fixture_login(&fixture, versions[data[0] % 5]);
  }
  for (size_t at = 1; at < size;) {
    size_t taken =
        tdsd_session_feed(&fixture.session, data + at, size - at, now_ns);
    run_on(&fixture.session, &now_ns);
    if (taken == 0) {
      break;
    }
    at += taken;
  }
  fixture_fini(&fixture);
  return 0;
}
