/* SPDX-License-Identifier: MIT */
/* replay.c - runs a fuzz target once over each file of the folders named on the
 * command line, so that a corpus is a regression test under any compiler. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path) {
  FILE *f = fopen(path, "rb");
  if (f == NULL) {
    perror(path);
    return 1;
  }
  static uint8_t data[1 << 20];
  size_t n = fread(data, 1, sizeof data, f);
  (void)fclose(f);
  /* An exact-size copy, so that a sanitizer sees a read past the end. */
  uint8_t *copy = malloc(n == 0 ? 1 : n);
  if (copy == NULL) {
    return 1;
  }
  for (size_t i = 0; i < n; i++) {
    copy[i] = data[i];
  }
  (void)LLVMFuzzerTestOneInput(copy, n);
  free(copy);
  return 0;
}

static int replay_folder(const char *folder, unsigned *count) {
  struct dirent **names;
  int n = scandir(folder, &names, NULL, alphasort);
  if (n < 0) {
    perror(folder);
    return 1;
  }
  int failed = 0;
  for (int i = 0; i < n; i++) {
    char path[4096];
    if (names[i]->d_name[0] != '.') {
      (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
      failed |= replay_file(path);
      *count += 1;
    }
    free(names[i]);
  }
  free(names);
  return failed;
}

int main(int argc, char **argv) {
  unsigned count = 0;
  int failed = 0;
  for (int i = 1; i < argc; i++) {
    failed |= replay_folder(argv[i], &count);
  }
  if (count == 0) {
    (void)fprintf(stderr, "no corpus\n");
    failed = 1;
  }
  (void)printf("%d passed, %d failed\n", failed ? 0 : 1, failed ? 1 : 0);
  return failed;
}
