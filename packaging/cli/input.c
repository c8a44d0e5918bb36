/* SPDX-License-Identifier: MIT */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diag.h"
#include "exit_code.h"
#include "utf8.h"

static const char *error_text(int error) {
  const char *text = strerrordesc_np(error);
  return text != NULL ? text : "unknown error";
}

/* Reads fd to its end, at most max bytes.  Returns 0 or an errno. */
static int read_all(int fd, size_t max, struct text_buf *to) {
  char part[16384];
  int error = 0;
  for (;;) {
    ssize_t n = read(fd, part, sizeof part);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      error = n < 0 ? errno : 0;
      break;
    }
    if ((size_t)n > max - to->len) {
      error = EFBIG;
      break;
    }
    text_buf_add(to, part, (size_t)n);
  }
  explicit_bzero(part, sizeof part);
  return error == 0 && to->failed ? ENOMEM : error;
}

/* Opens path and warns when its text is no secret. */
static int open_secret(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  struct stat st;
  if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
      (st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    diag_line("warning: %s can be read or changed by others (mode %03o); "
              "chmod 600 keeps its secret",
              path, (unsigned)(st.st_mode & 0777));
  }
  return fd;
}

/* Takes the lines that begin with # out, which are for people. */
static void drop_comments(struct text_buf *text) {
  size_t from = 0;
  size_t to = 0;
  while (from < text->len) {
    const char *line = text->p + from;
    const char *end = memchr(line, '\n', text->len - from);
    size_t n = end == NULL ? text->len - from : (size_t)(end - line) + 1;
    if (line[0] != '#') {
      memmove(text->p + to, line, n);
      to += n;
    }
    from += n;
  }
  text->len = to;
}

/* Reads the file of "-c @FILE".  The whole text is reserved at once: growing
 * would leave copies of a password in freed memory. */
static int read_secret(const char *path, struct text_buf *to) {
  int fd = open_secret(path);
  int error = fd < 0 ? errno : 0;
  if (error == 0) {
    text_buf_add_fill(to, '\0', INPUT_CONNINFO_MAX + 1);
    to->len = 0;
    error = read_all(fd, INPUT_CONNINFO_MAX, to);
    (void)close(fd);
  }
  if (error == EFBIG) {
    diag_line("%s: a connection string has at most %zu bytes", path,
              INPUT_CONNINFO_MAX);
  } else if (error != 0) {
    diag_line("cannot read the connection string from %s: %s", path,
              error_text(error));
  }
  drop_comments(to);
  while (to->len > 0 && strchr("\r\n", to->p[to->len - 1]) != NULL) {
    to->len--;
  }
  return error == 0 ? EXIT_CODE_OK : EXIT_CODE_CONNINFO;
}

static int check_conninfo(const struct text_buf *conninfo) {
  if (conninfo->failed) {
    return diag_output(-ENOMEM);
  }
  if (conninfo->len > INPUT_CONNINFO_MAX) {
    diag_line("a connection string has at most %zu bytes", INPUT_CONNINFO_MAX);
    return EXIT_CODE_CONNINFO;
  }
  if (conninfo->len == 0) {
    diag_line("the connection string is empty");
    return EXIT_CODE_CONNINFO;
  }
  return EXIT_CODE_OK;
}

/* Tells that there is no string. */
static int refuse_none(const char *verb, bool is_empty, bool may_give) {
  if (may_give) {
    (void)diag_usage(verb, "no connection string: give -c CONNINFO or -c "
                           "@FILE, or set " INPUT_CONNINFO_ENV);
  } else {
    (void)diag_usage(verb, INPUT_CONNINFO_ENV " is %s",
                     is_empty ? "empty" : "not set");
  }
  return EXIT_CODE_CONNINFO;
}

int input_conninfo(const char *verb,
                   char *arg,
                   bool may_give,
                   struct text_buf *out_conninfo) {
  struct text_buf text = {0};
  int code = EXIT_CODE_OK;
  if (arg == NULL) {
    const char *env = secure_getenv(INPUT_CONNINFO_ENV);
    if (env == NULL || env[0] == '\0') {
      return refuse_none(verb, env != NULL, may_give);
    }
    text_buf_add_str(&text, env);
  } else if (arg[0] == '@') {
    code = read_secret(arg + 1, &text);
  } else {
    text_buf_add_str(&text, arg);
    explicit_bzero(arg, strlen(arg));
  }
  if (code == EXIT_CODE_OK) {
    code = check_conninfo(&text);
  }
  if (code != EXIT_CODE_OK) {
    text_buf_wipe(&text);
    return code;
  }
  *out_conninfo = text;
  return EXIT_CODE_OK;
}

static int read_sql(const char *path, struct text_buf *to) {
  bool from_stdin = strcmp(path, "-") == 0;
  int fd = from_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  int error = fd < 0 ? errno : read_all(fd, INPUT_SQL_MAX, to);
  if (fd >= 0 && !from_stdin) {
    (void)close(fd);
  }
  if (error == 0) {
    return EXIT_CODE_OK;
  }
  if (error == EFBIG) {
    diag_line("%s: SQL has at most %zu bytes", path, INPUT_SQL_MAX);
  } else {
    diag_line("cannot read SQL from %s: %s",
              from_stdin ? "standard input" : path, error_text(error));
  }
  return EXIT_CODE_USAGE;
}

static int check_sql(const char *verb, struct text_buf *sql) {
  if (sql->failed) {
    return diag_output(-ENOMEM);
  }
  if (sql->len >= 3 && memcmp(sql->p, "\xEF\xBB\xBF", 3) == 0) {
    sql->len -= 3;
    memmove(sql->p, sql->p + 3, sql->len);
  }
  if (sql->len == 0) {
    return diag_usage(verb, "the SQL is empty");
  }
  size_t bad = utf8_find_bad(sql->p, sql->len);
  if (bad < sql->len) {
    return diag_usage(verb, "the SQL is not UTF-8: byte 0x%02x at offset %zu",
                      (unsigned)(unsigned char)sql->p[bad], bad);
  }
  return EXIT_CODE_OK;
}

int input_sql(const char *verb,
              const char *arg,
              const char *file,
              struct text_buf *out_sql) {
  struct text_buf sql = {0};
  int code = EXIT_CODE_OK;
  if (file != NULL || strcmp(arg, "-") == 0) {
    code = read_sql(file != NULL ? file : "-", &sql);
  } else {
    text_buf_add_str(&sql, arg);
  }
  if (code == EXIT_CODE_OK) {
    code = check_sql(verb, &sql);
  }
  if (code != EXIT_CODE_OK) {
    text_buf_free(&sql);
    return code;
  }
  *out_sql = sql;
  return EXIT_CODE_OK;
}
