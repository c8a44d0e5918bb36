/* SPDX-License-Identifier: MIT */
/* test_traces.c - replays what clients that nobody here wrote once sent to
 * another server: each packet of theirs goes through the session's decoders.
 *
 * Usage: test_server_traces [folder].  A conversation is clean if nothing the
 * client sent is called a violation; those that break a rule are listed with a
 * part of the sentence that says so, and then must be refused by it. */
#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_const.h"
#include "test_support.h"

/* Turns that one request may take. */
#define TURNS 100000u

#define NO_BULK  "a bulk load where a request was expected"
#define BAD_SIZE "is not in 512..32767"

/* What the clients did wrong, and what tdsd does not speak: bulk load, table
 * valued parameters, distributed transactions. */
static const struct {
  const char *id;
  const char *says;
} refused[] = {
    {"bad-packet-length-raw", "packet length 4 is less"},
    {"batch-without-headers-raw", "ALL_HEADERS of 6619251 bytes"},
    {"bulk-error-tedious", NO_BULK},
    {"bulk-freebcp-in", NO_BULK},
    {"bulk-raw", NO_BULK},
    {"bulk-unknown-table-tedious", NO_BULK},
    {"login-packet-size-256", BAD_SIZE},
    {"login-packet-size-40000", BAD_SIZE},
    {"login-plain-tlsforced-freetds", "a LOGIN7 was expected"},
    {"login-version-tds70", "TDS version 0x70000000 is not known"},
    /* The server of that day had agreed on 32764. */
    {"packet-size-32767-rows-tedious", "inside a message must have 32767"},
    /* tedious writes the declared length before a shorter value. */
    {"param-binary-short-tedious", "a binary parameter with a length of 4"},
    {"prelogin-empty", "PRELOGIN is empty"},
    {"prelogin-no-terminator", "ends behind the message of 38 bytes"},
    /* 80 ended a call before TDS 7.2 only; here it is a name's length. */
    {"rpc-batch-80-raw", "a name of 128 units in an RPC does not fit"},
    {"rpc-garbage-type-raw", "a parameter of unknown type 0x99"},
    {"tm-promote-dtc-raw", "transaction manager request 0 is not supported"},
    {"unknown-packet-type-raw", "packet type 0x55 is none"},
};

static const char *reason_of(const char *id) {
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    if (strcmp(refused[i].id, id) == 0) {
      return refused[i].says;
    }
  }
  return NULL;
}

struct replay {
  struct fixture fixture;
  struct tdsd_buf in; /* from the client, not yet taken */
  uint64_t now_ns;
  unsigned packets;
  unsigned left; /* packets that came after the session had ended */
};

/* Lets what runs run to its end; time passes at once. */
static void settle(struct replay *replay) {
  struct tdsd_session *session = &replay->fixture.session;
  for (unsigned i = 0; i < TURNS; i++) {
    if (!session->full && session->wake_ns == 0) {
      return;
    }
    if (session->wake_ns > replay->now_ns) {
      replay->now_ns = session->wake_ns;
    }
    tdsd_buf_clear(&session->out);
    tdsd_session_wake(session, replay->now_ns);
  }
}

/* The descriptor was given out by the server of that day: ours takes its
 * place, where the packet begins a request that has one. */
static void fix_descriptor(struct replay *replay, uint8_t *packet, size_t n) {
  const struct tdsd_session *session = &replay->fixture.session;
  bool request = packet[0] == TDSD_PKT_BATCH || packet[0] == TDSD_PKT_RPC ||
                 packet[0] == TDSD_PKT_TM;
  bool headers = n >= 30 && tdsd_get_u32(packet + 8) == 22 &&
                 tdsd_get_u32(packet + 12) == 18 &&
                 tdsd_get_u16(packet + 16) == 2;
  if (!request || session->joiner.open || !headers ||
      session->state.version == TDSD_V71) {
    return;
  }
  for (unsigned i = 0; i < 8; i++) {
    packet[18 + i] = (uint8_t)(session->state.descriptor >> (8 * i));
  }
}

/* The databases of that server are not here: the client names none.  Its text
 * stays in the record, where nothing points at it. */
static void forget_database(uint8_t *packet, size_t n) {
  if (packet[0] == TDSD_PKT_LOGIN7 && n >= TDSD_HEADER_BYTES + 72) {
    memset(packet + TDSD_HEADER_BYTES + 70, 0, 2);
  }
}

static uint8_t *unhex(const char *text, size_t *out_n) {
  struct tdsd_buf buf = {0};
  hex(&buf, text);
  *out_n = tdsd_buf_len(&buf);
  uint8_t *p = malloc(*out_n + 1);
  if (p != NULL && *out_n > 0) {
    memcpy(p, tdsd_buf_at(&buf), *out_n);
  }
  tdsd_buf_fini(&buf);
  return p;
}

/* One recorded packet. */
static void feed(struct replay *replay, const char *text) {
  struct tdsd_session *session = &replay->fixture.session;
  size_t n = 0;
  uint8_t *packet = unhex(text, &n);
  settle(replay);
  if (n >= TDSD_HEADER_BYTES) {
    fix_descriptor(replay, packet, n);
    forget_database(packet, n);
  }
  tdsd_buf_bytes(&replay->in, packet, n);
  free(packet);
  size_t taken = 0;
  do {
    taken = tdsd_session_feed(session, tdsd_buf_at(&replay->in),
                              tdsd_buf_len(&replay->in), replay->now_ns);
    tdsd_buf_consume(&replay->in, taken);
    replay->packets += taken > 0;
    settle(replay);
    tdsd_buf_clear(&session->out);
  } while (taken > 0 && tdsd_buf_len(&replay->in) > 0);
}

static uint64_t violations(const struct replay *replay) {
  return atomic_load(&replay->fixture.shared.counters.violations);
}

static void replay_all(struct replay *replay, json_t *root) {
  size_t i = 0;
  json_t *message = NULL;
  memset(replay, 0, sizeof *replay);
  replay->now_ns = 1000;
  fixture_init(&replay->fixture);
  replay->fixture.shared.options.any_login = true;
  replay->fixture.shared.options.tls = TDSD_TLS_LOGIN_ONLY;
  json_array_foreach(json_object_get(root, "messages"), i, message) {
    const char *dir = json_string_value(json_object_get(message, "dir"));
    const char *text = json_string_value(json_object_get(message, "hex"));
    if (strcmp(dir, "c2s") != 0) {
      continue;
    }
    if (replay->fixture.session.phase == TDSD_PHASE_ENDED) {
      replay->left++;
    } else {
      feed(replay, text);
    }
  }
}

/* What came behind the last whole packet. */
static void feed_trailing(struct replay *replay, const json_t *root) {
  json_t *trailing = json_object_get(root, "trailing");
  const char *text = json_string_value(json_object_get(trailing, "c2s"));
  if (text != NULL && replay->fixture.session.phase != TDSD_PHASE_ENDED) {
    feed(replay, text);
  }
}

struct tally {
  unsigned clean;
  unsigned refused;
  unsigned failed;
};

static void fail(struct tally *tally, const char *id, const char *why) {
  (void)printf("FAILED    %s: %s\n", id, why);
  tally->failed++;
}

static void judge(struct tally *tally, const char *id, json_t *root) {
  struct replay replay;
  const char *says = reason_of(id);
  replay_all(&replay, root);
  feed_trailing(&replay, root);
  const char *log = replay.fixture.log;
  if (replay.packets == 0 && violations(&replay) == 0) {
    fail(tally, id, "nothing of it was read");
  } else if (says == NULL && violations(&replay) > 0) {
    fail(tally, id, log);
  } else if (says == NULL && tdsd_buf_len(&replay.in) > 0) {
    fail(tally, id, "bytes are left that are no packet");
  } else if (says == NULL && replay.left > 0) {
    fail(tally, id, "the session ended before its client did");
  } else if (says == NULL) {
    (void)printf("clean     %s: %u packets\n", id, replay.packets);
    tally->clean++;
  } else if (violations(&replay) == 0 || strstr(log, says) == NULL) {
    (void)printf("FAILED    %s: should be refused by '%s', was told '%s'\n", id,
                 says, log);
    tally->failed++;
  } else {
    (void)printf("refused   %s: %s\n", id, log);
    tally->refused++;
  }
  tdsd_buf_fini(&replay.in);
  fixture_fini(&replay.fixture);
}

static void judge_file(struct tally *tally, const char *folder, char *name) {
  char path[4096];
  json_error_t error;
  char *dot = strstr(name, ".json");
  if (dot == NULL) {
    return;
  }
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  *dot = '\0';
  json_t *root = json_load_file(path, JSON_DECODE_INT_AS_REAL, &error);
  if (root == NULL) {
    fail(tally, name, error.text);
    return;
  }
  judge(tally, name, root);
  json_decref(root);
}

int main(int argc, char **argv) {
  char folder[2048];
  struct tally tally = {0};
  struct dirent **names = NULL;
  /* One thread only.  NOLINTNEXTLINE(concurrency-mt-unsafe) */
  const char *source = getenv("WEIR_SOURCE_DIR");
  (void)snprintf(folder, sizeof folder, "%s/tests/drivers/tds/traces",
                 source == NULL ? "." : source);
  if (argc > 1) {
    (void)snprintf(folder, sizeof folder, "%s", argv[1]);
  }
  int count = scandir(folder, &names, NULL, alphasort);
  for (int i = 0; i < count; i++) {
    judge_file(&tally, folder, names[i]->d_name);
    free(names[i]);
  }
  free(names);
  (void)printf("%u clean, %u refused as they should be\n", tally.clean,
               tally.refused);
  (void)printf("%u passed, %u failed\n", tally.clean + tally.refused,
               tally.failed);
  return tally.failed > 0 || tally.clean == 0;
}
