/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "engine.h"
#include "log.h"

static struct weir__engine engine;
static char text[4096];

/* What one call writes. */
static const char *logged(int32_t level, const char *what, uint64_t n) {
  int fds[2];
  int old = dup(STDERR_FILENO);
  cr_assert_eq(pipe(fds), 0);
  (void)dup2(fds[1], STDERR_FILENO);
  weir__log(&engine, level, what, n);
  (void)dup2(old, STDERR_FILENO);
  (void)close(old);
  (void)close(fds[1]);
  ssize_t got = read(fds[0], text, sizeof text - 1);
  (void)close(fds[0]);
  text[got < 0 ? 0 : got] = '\0';
  return text;
}

Test(log, is_off_unless_asked_for, .timeout = 5) {
  (void)unsetenv("WEIR_LOG");
  cr_assert_eq(weir__log_level(&engine), 0);
  cr_assert_str_eq(logged(WEIR_DRV_LOG_ERROR, "x", 1), "");
}

Test(log, has_the_level_of_the_environment, .timeout = 5) {
  static const struct {
    const char *value;
    int32_t level;
  } cases[] = {{"error", WEIR_DRV_LOG_ERROR},
               {"warn", WEIR_DRV_LOG_WARN},
               {"info", WEIR_DRV_LOG_INFO},
               {"debug", WEIR_DRV_LOG_DEBUG},
               {"", 0},
               {"loud", 0}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    (void)setenv("WEIR_LOG", cases[i].value, 1);
    cr_assert_eq(weir__log_level(&engine), cases[i].level);
  }
  engine.flags = WEIR_ENGINE_NO_ENV;
  (void)setenv("WEIR_LOG", "debug", 1);
  cr_assert_eq(weir__log_level(&engine), 0);
}

Test(log, writes_lines_up_to_its_level, .timeout = 5) {
  engine.log_level = WEIR_DRV_LOG_WARN;
  cr_assert_str_eq(logged(WEIR_DRV_LOG_WARN, "hot", 3), "weir: warn: hot\n");
  cr_assert_str_eq(logged(WEIR_DRV_LOG_INFO, "cold", 4), "");
  cr_assert_str_eq(logged(0, "none", 4), "");
  cr_assert_str_eq(logged(WEIR_DRV_LOG_WARN, NULL, 4), "");
}

/* What a server sends must not forge lines or move the cursor. */
Test(log, shows_control_bytes_as_question_marks, .timeout = 5) {
  engine.log_level = WEIR_DRV_LOG_DEBUG;
  cr_assert_str_eq(logged(WEIR_DRV_LOG_ERROR, "a\nb\x1b[2J\x7f", 8),
                   "weir: error: a?b?[2J?\n");
}

Test(log, cuts_a_long_line, .timeout = 5) {
  static char big[3000];
  memset(big, 'x', sizeof big);
  engine.log_level = WEIR_DRV_LOG_DEBUG;
  const char *line = logged(WEIR_DRV_LOG_ERROR, big, sizeof big);
  cr_assert_eq(strlen(line), 1024);
  cr_assert_eq(line[1023], '\n');
}
