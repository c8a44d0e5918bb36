/* SPDX-License-Identifier: MIT */
/* Any text as a script: it is compiled or refused in words, and what compiles
 * can be played a while. */
#include <stddef.h>
#include <stdint.h>

#include "server_const.h"
#include "server_script.h"
#include "test_support.h"

/* Turns that an answer may take, so that endless loops end. */
#define TURNS 16u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void play(struct tdsd_script *script, uint32_t version) {
  struct fixture fixture;
  struct tdsd_session *session = &fixture.session;
  fixture_login(&fixture, version);
  fixture.shared.script = script;
  fixture_batch(&fixture, "SELECT 1");
  for (unsigned i = 0; i < TURNS; i++) {
    if (!session->full && session->wake_ns == 0) {
      break;
    }
    tdsd_buf_clear(&session->out);
    tdsd_session_wake(session, session->wake_ns);
  }
  fixture_fini(&fixture);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tdsd_script *script = NULL;
  char why[300];
  if (tdsd_script_parse("fuzz", (const char *)data, size, &script, why,
                        sizeof why) == 0) {
    play(script, TDSD_V74);
    play(script, TDSD_V71);
    tdsd_script_drop(script);
  }
  return 0;
}
