/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "handle.h"
#include "pool.h"
#include "virtual_clock.h"

#define SECOND ((uint64_t)FIXTURE_S)

static struct fixture f;

/* P1 and scenario 52: a session that does not end keeps its place, for Close
 * Timeout at most. */
Test(close, keeps_the_place_until_the_session_has_ended, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=2;Close Timeout=4;"
                                 "Mock Script Text=\"logout: hang\"");
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(weir_discard(lease), WEIR_OK);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(fixture_stats(pool).closing, 1);
  fixture_advance(&f, 4 * SECOND - 1);
  cr_assert_eq(fixture_stats(pool).closing, 1);
  cr_assert_eq(fixture_counts(&f).sessions_live, 1);
  fixture_advance(&f, 1);
  AWAIT_STAT(pool, empty, 2);
  cr_assert_eq(fixture_counts(&f).sessions_live, 0);
  fixture_close(&f);
}

Test(close, is_over_when_the_server_has_answered, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Close Timeout=60;"
                                 "Mock Script Text=\"logout: hang\"");
  cr_assert_eq(weir_discard(fixture_acquire(&f, pool)), WEIR_OK);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  AWAIT_STAT(pool, empty, 1);
  cr_assert_eq(fixture_stats(pool).closed, 1);
  fixture_close(&f);
}

/* Somebody needs the place: no more patience. */
Test(close, is_cut_short_by_one_who_waits, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Close Timeout=60;"
                                 "Mock Script Text=\"logout: hang\"");
  cr_assert_eq(weir_discard(fixture_acquire(&f, pool)), WEIR_OK);
  AWAIT_COUNT(&f, hung, 1);
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_number(&f, lease, "session", 0), 2);
  cr_assert_eq(fixture_counts(&f).sessions_max, 1);
  fixture_close(&f);
}

/* And one who waited before is not kept waiting by politeness. */
Test(close, is_rude_when_somebody_waits_already, .timeout = 10) {
  fixture_open(&f);
  struct acquirer w;
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Close Timeout=60;"
                                 "Mock Script Text=\"logout: hang\"");
  weir_h lease = fixture_acquire(&f, pool);
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(weir_discard(lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&w), WEIR_OK);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_LOGOUT], 0);
  fixture_close(&f);
}

/* Scenario 52, the sum: queries doomed all the time, closes that take their
 * time, and never a session too many. */
Test(close, never_has_a_session_too_many_at_the_server, .timeout = 30) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=3;Close Timeout=50ms;"
                                 "Mock Script Text=\"logout: delay 2ms\"");
  for (unsigned i = 0; i < 100; i++) {
    weir_h a = fixture_acquire(&f, pool);
    weir_h b = fixture_acquire(&f, pool);
    (void)fixture_run(&f, a, i % 2 == 0 ? "kill" : "rows 1");
    cr_assert_eq(weir_discard(a), WEIR_OK);
    cr_assert_eq(weir_discard(b), WEIR_OK);
  }
  cr_assert_leq(fixture_counts(&f).sessions_max, 3);
  fixture_close(&f);
}

/* A log-out that offloads work and runs out of time: its connection stays until
 * the function is back. */
Test(close, waits_for_the_offloaded_part_of_a_log_out, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Close Timeout=4;"
                                 "Mock Script Text=\"logout: offload hang\"");
  cr_assert_eq(weir_discard(fixture_acquire(&f, pool)), WEIR_OK);
  fixture_await_offload(&f, 1);
  fixture_advance(&f, 4 * SECOND);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).closing, 1);
  cr_assert_eq(fixture_counts(&f).conns_live, 1);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  AWAIT_STAT(pool, empty, 1);
  cr_assert_eq(fixture_counts(&f).conns_live, 0);
  fixture_close(&f);
}

/* The same when somebody waits for the place meanwhile. */
Test(close, waits_for_the_offloaded_part_although_one_waits, .timeout = 10) {
  fixture_open(&f);
  struct acquirer w;
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Close Timeout=60;"
                                 "Mock Script Text=\"logout: offload hang\"");
  cr_assert_eq(weir_discard(fixture_acquire(&f, pool)), WEIR_OK);
  fixture_await_offload(&f, 1);
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).closing, 1);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(acquirer_join(&w), WEIR_OK);
  fixture_close(&f);
}

/* --------------------------------------------------------- a real stream */

/* A session with a byte stream; its peer's end is the test's. */
static int peer;

static weir_h open_stream_pool(void) {
  struct sockaddr_in at = {.sin_family = AF_INET};
  socklen_t len = sizeof at;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  cr_assert_eq(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
  cr_assert_eq(listen(listener, 4), 0);
  cr_assert_eq(getsockname(listener, (struct sockaddr *)&at, &len), 0);
  weir_h pool = fixture_rogue_pool(&f, "stream %u", ntohs(at.sin_port));
  weir_h lease = fixture_acquire(&f, pool);
  peer = accept(listener, NULL, NULL);
  cr_assert_geq(peer, 0);
  cr_assert_eq(weir_discard(lease), WEIR_OK);
  return pool;
}

/* The half-close arrives at the peer; blocks until it does. */
static void peer_sees_end(void) {
  char byte;
  cr_assert_eq(read(peer, &byte, 1), 0);
}

/* A reset after the end of the stream is told as EPIPE. */
static bool peer_was_reset(void) {
  int error = 0;
  socklen_t len = sizeof error;
  cr_assert_eq(getsockopt(peer, SOL_SOCKET, SO_ERROR, &error, &len), 0);
  return error == EPIPE || error == ECONNRESET;
}

Test(close, half_closes_and_waits_for_the_peers_end, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = open_stream_pool();
  peer_sees_end();
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).closing, 1);
  fixture_advance(&f, 4 * SECOND - 1);
  cr_assert_eq(fixture_stats(pool).closing, 1);
  (void)close(peer);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

/* What the peer still has to say is read and dropped. */
Test(close, does_not_take_a_last_word_for_the_end, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = open_stream_pool();
  peer_sees_end();
  cr_assert_eq(write(peer, "bye", 3), 3);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).closing, 1);
  (void)close(peer);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

Test(close, cuts_off_a_peer_that_does_not_end, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = open_stream_pool();
  peer_sees_end();
  fixture_sync(&f);
  fixture_advance(&f, 4 * SECOND - 1);
  cr_assert_eq(fixture_stats(pool).closing, 1);
  fixture_advance(&f, 1);
  AWAIT_STAT(pool, empty, 1);
  /* Reset, so that the server's session is gone, too. */
  cr_assert(peer_was_reset());
  fixture_close(&f);
}

Test(close, cuts_a_peer_off_at_once_for_one_who_waits, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = open_stream_pool();
  struct acquirer w;
  peer_sees_end();
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(acquirer_join(&w), WEIR_OK);
  cr_assert(peer_was_reset());
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  fixture_close(&f);
}

/* A forked child that forgets the engine says nothing to the server. */
Test(close, is_not_what_a_forked_child_does, .timeout = 10) {
  fixture_open(&f);
  struct sockaddr_in at = {.sin_family = AF_INET};
  socklen_t len = sizeof at;
  int status = 1;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  cr_assert_eq(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
  cr_assert_eq(listen(listener, 4), 0);
  cr_assert_eq(getsockname(listener, (struct sockaddr *)&at, &len), 0);
  weir_h pool = fixture_rogue_pool(&f, "stream %u", ntohs(at.sin_port));
  weir_h lease = fixture_acquire(&f, pool);
  peer = accept(listener, NULL, NULL);
  pid_t child = fork();
  if (child == 0) {
    _exit(weir_forget_after_fork() == WEIR_OK ? 0 : 1);
  }
  cr_assert_eq(waitpid(child, &status, 0), child);
  cr_assert_eq(status, 0);
  char byte;
  cr_assert_eq(recv(peer, &byte, 1, MSG_DONTWAIT), -1);
  cr_assert_eq(errno, EAGAIN);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  fixture_close(&f);
}

/* Hurried once: then it is the driver's turn, and nobody asks again and again. */
Test(close, asks_once_while_a_driver_answers, .timeout = 10) {
  struct acquirer w;
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Close Timeout=60;"
                                 "Mock Script Text=\"logout: offload hang\"");
  cr_assert_eq(weir_discard(fixture_acquire(&f, pool)), WEIR_OK);
  fixture_await_offload(&f, 1);
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  const struct weir__pool *p = weir__handle_find(pool, WEIR_TYPE_POOL);
  for (unsigned i = 0; i < 5; i++) {
    fixture_sync(&f);
  }
  cr_assert_eq(weir__load_seq_u32(&p->tend_posted), 0);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(acquirer_join(&w), WEIR_OK);
  fixture_close(&f);
}
