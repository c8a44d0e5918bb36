/* SPDX-License-Identifier: MIT */
/* peerbench - Weir, peers and physical limits under the same workloads, one after
 * another in each round. */
#include <stdio.h>
#include <string.h>

#include "compare.h"

#define ROUNDS       7u
#define ROUNDS_QUICK 3u

struct request {
  bool quick;
  const char *out;
};

static int read_request(int argc, char **argv, struct request *out) {
  out->quick = false;
  out->out = NULL;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--quick") == 0) {
      out->quick = true;
    } else if (strcmp(argv[i], "--out") == 0 && i + 1 < argc) {
      out->out = argv[++i];
    } else {
      return -1;
    }
  }
  return 0;
}

static int write_json(const struct compare *c,
                      const char *path,
                      struct fault *fault) {
  FILE *to = fopen(path, "we");
  if (to == NULL) {
    fault_set(fault, "%s cannot be written", path);
    return -1;
  }
  compare_json(c, to);
  bool failed = ferror(to) != 0;
  if (fclose(to) != 0 || failed) {
    fault_set(fault, "%s could not be written", path);
    return -1;
  }
  return 0;
}

static int compare(const struct request *request, struct fault *fault) {
  struct compare c = {
      .conninfo = "Driver=mock",
      .rounds = request->quick ? ROUNDS_QUICK : ROUNDS,
  };
  int rc = compare_init(&c, fault);
  rc = rc == 0 ? compare_run(&c, fault) : rc;
  if (rc == 0) {
    compare_table(&c, stdout);
  }
  if (rc == 0 && request->out != NULL) {
    rc = write_json(&c, request->out, fault);
  }
  compare_fini(&c);
  return rc;
}

int main(int argc, char **argv) {
  struct request request;
  struct fault fault = {.set = false};
  if (read_request(argc, argv, &request) != 0) {
    (void)fputs("usage: peerbench [--quick] [--out FILE]\n", stderr);
    return 2;
  }
  if (plan_pools[POOL_APR].kind == NULL) {
    (void)fputs("peerbench: built without apr-util: APR reslist is left out\n",
                stderr);
  }
  return compare(&request, &fault) == 0 ? 0 : fault_tell(&fault);
}
