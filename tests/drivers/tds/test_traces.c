/* SPDX-License-Identifier: MIT */
/* test_traces.c - replays what a real server once said.
 *
 * Usage: test_tds_traces [folder].  Prints each trace as replayed or never, with
 * the reason, and fails if any other is not replayed, or gives something else
 * than was recorded, or is listed in REPLAYED and gone. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tds_wire.h"
#include "trace.h"

/* Traces that no decoder can replay: they are tried all the same, and must be
 * refused at that place. */
static const struct never {
  const char *id;
  const char *why;
  const char *says;
} never[] = {
    {"rpc-cursor-raw",
     "its rows hold four bytes more than their metadata announces: an error of "
     "that server",
     "unknown token (token 0x01, byte 52 of the reply)"},
    {"client-close-mid-response-tedious",
     "the last reply is cut: the client closed",
     "the last message of the server is cut"},
    {"login-plain-tlsforced-freetds", "encrypted behind the handshake",
     "unexpected type 18 in the packet header at byte 43"},
};

static const struct never *find_never(const char *id) {
  for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
    if (strcmp(never[i].id, id) == 0) {
      return &never[i];
    }
  }
  return NULL;
}

/* Whole, byte by byte, in random pieces: all must give the same.
 * Returns 0 or -1. */
static int replay(struct trace *t) {
  json_t *whole = NULL;
  int rc = trace_decode(t, 0, 0, &whole);
  if (rc < 0) {
    return -1;
  }
  rc = trace_compare(t, whole);
  for (uint32_t seed = 0; seed < 3 && rc == 0; seed++) {
    json_t *cut = NULL;
    rc = trace_decode(t, 1, seed, &cut);
    if (rc == 0 && !json_equal(whole, cut)) {
      (void)snprintf(t->why, sizeof t->why, "other results in pieces");
      rc = -1;
    }
    json_decref(cut);
  }
  json_decref(whole);
  return rc;
}

/* Read byte by byte, so that every header is cut everywhere, the packets must
 * make the same messages (scenario 164).  Returns 0 or -1. */
static int read_in_pieces(struct trace *t, const char *path) {
  struct trace cut;
  int rc = trace_load(&cut, path, 1);
  if (rc != 0 || !trace_same(t, &cut)) {
    (void)snprintf(t->why, sizeof t->why, "other messages byte by byte: %.200s",
                   cut.why);
    rc = -1;
  }
  trace_free(&cut);
  return rc;
}

struct tally {
  unsigned replayed;
  unsigned never;
  unsigned failed;
  char *listed; /* the text of REPLAYED, a name a line */
};

/* Whether the list has the line. */
static bool is_listed(const struct tally *n, const char *id) {
  char line[300];
  (void)snprintf(line, sizeof line, "\n%s\n", id);
  return strstr(n->listed, line) != NULL;
}

static void judge_never(struct tally *n,
                        const char *path,
                        const struct never *v) {
  struct trace t;
  int rc = trace_load(&t, path, 0);
  rc = rc == 0 ? replay(&t) : rc;
  if (rc != 0 && strcmp(t.why, v->says) == 0) {
    (void)printf("never     %s: %s\n", v->id, v->why);
    n->never++;
  } else {
    (void)printf("FAILED    %s: not refused as it must be: %s\n", v->id,
                 rc == 0 ? "replayed" : t.why);
    n->failed++;
  }
  trace_free(&t);
}

static void judge(struct tally *n, const char *path, const char *id) {
  struct trace t;
  const struct never *v = find_never(id);
  if (v != NULL) {
    judge_never(n, path, v);
    return;
  }
  int rc = trace_load(&t, path, 0);
  rc = rc == 0 ? read_in_pieces(&t, path) : rc;
  rc = rc == 0 ? replay(&t) : rc;
  if (rc == 0) {
    (void)printf("replayed  %s%s\n", id, is_listed(n, id) ? "" : " (new)");
    n->replayed++;
  } else {
    (void)printf("FAILED    %s: %s\n", id, t.why);
    n->failed++;
  }
  trace_free(&t);
}

/* Returns the list with a newline before it, or NULL. */
static char *read_list(const char *folder) {
  char path[4096];
  char *text = calloc(1, 65536);
  (void)snprintf(path, sizeof path, "%s/REPLAYED", folder);
  FILE *f = fopen(path, "r");
  if (text == NULL || f == NULL) {
    perror(path);
    free(text);
    return NULL;
  }
  text[0] = '\n';
  size_t n = fread(text + 1, 1, 65534, f);
  text[n + 1] = '\0';
  (void)fclose(f);
  return text;
}

/* Listed traces whose file is gone. */
static void look_for_lost(struct tally *n, const char *folder) {
  char *save = NULL;
  for (char *id = strtok_r(n->listed, "\n", &save); id != NULL;
       id = strtok_r(NULL, "\n", &save)) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%.200s.json", folder, id);
    FILE *f = fopen(path, "r");
    if (f == NULL) {
      (void)printf("FAILED    %s: listed, but there is no such file\n", id);
      n->failed++;
    } else {
      (void)fclose(f);
    }
  }
}

int main(int argc, char **argv) {
  char folder[2048];
  struct tally n = {0};
  struct dirent **names = NULL;
  /* One thread only.  NOLINTNEXTLINE(concurrency-mt-unsafe) */
  const char *source = getenv("WEIR_SOURCE_DIR");
  (void)snprintf(folder, sizeof folder, "%s/tests/drivers/tds/traces",
                 source == NULL ? "." : source);
  if (argc > 1) {
    (void)snprintf(folder, sizeof folder, "%s", argv[1]);
  }
  n.listed = read_list(folder);
  if (n.listed == NULL) {
    return 1;
  }
  int count = scandir(folder, &names, NULL, alphasort);
  for (int i = 0; i < count; i++) {
    char path[8192];
    char *dot = strstr(names[i]->d_name, ".json");
    if (dot != NULL) {
      (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
      *dot = '\0';
      judge(&n, path, names[i]->d_name);
    }
    free(names[i]);
  }
  free(names);
  look_for_lost(&n, folder);
  free(n.listed);
  (void)printf("%u replayed, %u never\n", n.replayed, n.never);
  (void)printf("%u passed, %u failed\n", n.replayed, n.failed);
  return n.failed > 0 || n.replayed == 0;
}
