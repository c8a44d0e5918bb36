/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "secret.h"

/* The VmFlags line of the mapping that holds p, from the kernel's own list. */
static void flags_of(const void *p, char *out, size_t cap) {
  FILE *f = fopen("/proc/self/smaps", "r");
  char line[512];
  bool inside = false;
  cr_assert_not_null(f);
  out[0] = '\0';
  while (fgets(line, sizeof line, f) != NULL) {
    uintptr_t from = 0;
    uintptr_t to = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2) {
      inside = (uintptr_t)p >= from && (uintptr_t)p < to;
    } else if (inside && strncmp(line, "VmFlags:", 8) == 0) {
      (void)snprintf(out, cap, "%s", line);
    }
  }
  (void)fclose(f);
}

Test(secret, keeps_a_copy_with_a_nul_behind, .timeout = 5) {
  char value[] = "hunter2";
  struct weir__secret *s = weir__secret_new(value, 7);
  memset(value, 'x', sizeof value);
  cr_assert_eq(weir__secret_len(s), 7);
  cr_assert_str_eq(weir__secret_bytes(s), "hunter2");
  weir__secret_free(s);
}

Test(secret, an_empty_secret_is_a_secret, .timeout = 5) {
  struct weir__secret *s = weir__secret_new(NULL, 0);
  cr_assert_not_null(s);
  cr_assert_eq(weir__secret_len(s), 0);
  cr_assert_str_eq(weir__secret_bytes(s), "");
  weir__secret_free(s);
  weir__secret_free(NULL);
}

Test(secret, pages_stay_out_of_dumps_and_of_children, .timeout = 5) {
  char *p = weir__secret_alloc(100);
  char flags[512];
  p[0] = 1;
  flags_of(p, flags, sizeof flags);
  cr_assert_not_null(strstr(flags, " dd"), "%s", flags);
  cr_assert_not_null(strstr(flags, " wf"), "%s", flags);
  weir__secret_release(p);
}

Test(secret, pages_are_locked_if_the_system_allows, .timeout = 5) {
  char *probe = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bool allowed = mlock(probe, 65536) == 0;
  (void)munmap(probe, 65536);
  if (!allowed) {
    cr_skip("RLIMIT_MEMLOCK is too low here");
  }
  char *p = weir__secret_alloc(100);
  char flags[512];
  flags_of(p, flags, sizeof flags);
  cr_assert_not_null(strstr(flags, " lo"), "%s", flags);
  weir__secret_release(p);
}

Test(secret, many_share_a_page, .timeout = 5) {
  char *a = weir__secret_alloc(64);
  char *b = weir__secret_alloc(65);
  char *c = weir__secret_alloc(1);
  cr_assert_eq(b - a, 64);
  cr_assert_eq(c - b, 128);
  weir__secret_release(b);
  cr_assert_eq(weir__secret_alloc(128), (void *)b, "the gap is used again");
  cr_assert_eq((uintptr_t)a % 64, 0);
}

Test(secret, release_wipes, .timeout = 5) {
  /* A neighbour keeps the page; the region is never unmapped. */
  char *keep = weir__secret_alloc(1);
  char *p = weir__secret_alloc(200);
  memset(p, 0x5a, 200);
  weir__secret_release(p);
  for (size_t i = 0; i < 200; i++) {
    cr_assert_eq(p[i], 0);
  }
  weir__secret_release(keep);
}

Test(secret, fresh_memory_reads_as_zeros_after_any_history, .timeout = 5) {
  enum {
    N = 64
  };
  static const size_t sizes[] = {1,    63,    64,    65,    1000,
                                 4096, 65536, 65537, 200000};
  char *live[N] = {0};
  size_t len[N] = {0};
  uint32_t state = 99;
  for (int round = 0; round < 5000; round++) {
    state = state * 1664525u + 1013904223u;
    size_t k = state >> 8 & (N - 1);
    if (live[k] != NULL) {
      cr_assert_eq(live[k][0], (char)k, "nobody else wrote there");
      cr_assert_eq(live[k][len[k] - 1], (char)k);
      weir__secret_release(live[k]);
      live[k] = NULL;
      continue;
    }
    len[k] = sizes[(state >> 16) % (sizeof sizes / sizeof sizes[0])];
    live[k] = weir__secret_alloc(len[k]);
    cr_assert_not_null(live[k]);
    cr_assert(weir__secret_owns(live[k]));
    cr_assert(weir__secret_owns(live[k] + len[k] - 1));
    cr_assert_eq(live[k][0], 0);
    cr_assert_eq(memcmp(live[k], live[k] + 1, len[k] - 1), 0, "all zeros");
    memset(live[k], (int)k, len[k]);
  }
  for (size_t k = 0; k < N; k++) {
    weir__secret_release(live[k]);
  }
}

Test(secret, owns_nothing_but_its_region, .timeout = 5) {
  int on_stack = 0;
  cr_assert_not(weir__secret_owns(&on_stack));
  char *p = weir__secret_alloc(10);
  cr_assert_not(weir__secret_owns(&on_stack));
  cr_assert_not(weir__secret_owns(NULL));
  cr_assert(weir__secret_owns(p));
  weir__secret_release(p);
}

Test(secret, a_forked_child_sees_zeros, .timeout = 5) {
  char *p = weir__secret_alloc(8);
  memcpy(p, "password", 8);
  pid_t child = fork();
  if (child == 0) {
    static const char zeros[8];
    int same = memcmp(p, zeros, 8) == 0 ? 0 : 1;
    weir__secret_forget();
    char *fresh = weir__secret_alloc(8);
    _exit(same == 0 && fresh != NULL && fresh != p ? 0 : 1);
  }
  int status = 0;
  cr_assert_eq(waitpid(child, &status, 0), child);
  cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  cr_assert_eq(memcmp(p, "password", 8), 0, "the parent keeps it");
  weir__secret_release(p);
}

Test(secret, has_an_end_and_comes_back_from_it, .timeout = 5) {
  enum {
    MOST = 128
  };
  void *all[MOST + 1];
  size_t n = 0;
  cr_assert_null(weir__secret_alloc(WEIR_SECRET_MAX + 1));
  while (n <= MOST && (all[n] = weir__secret_alloc((size_t)1 << 20)) != NULL) {
    n++;
  }
  cr_assert_eq(n, MOST, "128 MiB");
  cr_assert_null(weir__secret_alloc(1));
  cr_assert_null(weir__secret_new("x", 1));
  while (n > 0) {
    weir__secret_release(all[--n]);
  }
  void *p = weir__secret_alloc(1);
  cr_assert_not_null(p);
  weir__secret_release(p);
}
