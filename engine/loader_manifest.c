/* SPDX-License-Identifier: MIT */
#include "loader_manifest.h"

#include <stdbool.h>
#include <string.h>

#include "weir_driver.h"

#include "loader_file.h"
#include "status.h"

/* A stretch of the text; not NUL-terminated. */
struct piece {
  const char *p;
  size_t n;
};

/* Where we are and what has been seen. */
struct reader {
  const char *path;
  struct weir_error *err;
  unsigned line;
  unsigned seen; /* bit i: keys[i] was given */
  struct weir__manifest out;
};

static int refuse(const struct reader *r,
                  const char *what,
                  struct piece which,
                  const char *wanted) {
  char found[128];
  (void)weir__text_format(found, sizeof found, "%s '%.*s' in line %u", what,
                          (int)(which.n < 48 ? which.n : 48), which.p, r->line);
  return weir__driver_refuse(r->err, "manifest", r->path, found, wanted,
                             "correct the manifest or install it again");
}

static bool is(struct piece a, const char *b) {
  return a.n == strlen(b) && memcmp(a.p, b, a.n) == 0;
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

static struct piece trim(struct piece a) {
  while (a.n != 0 && is_blank(a.p[0])) {
    a.p++;
    a.n--;
  }
  while (a.n != 0 && is_blank(a.p[a.n - 1])) {
    a.n--;
  }
  return a;
}

/* Copies a value with a NUL; false if it is empty or does not fit. */
static bool copy(char *to, size_t cap, struct piece value) {
  if (value.n == 0 || value.n >= cap) {
    return false;
  }
  memcpy(to, value.p, value.n);
  to[value.n] = '\0';
  return true;
}

static int take_format(struct reader *r, struct piece v) {
  return is(v, "1") ? WEIR_OK : refuse(r, "format", v, "format 1");
}

static int take_name(struct reader *r, struct piece v) {
  return copy(r->out.name, sizeof r->out.name, v)
             ? WEIR_OK
             : refuse(r, "name", v, "1 to 31 characters");
}

/* A manifest must not lead out of the directory that was checked. */
static int take_file(struct reader *r, struct piece v) {
  const bool good = copy(r->out.file, sizeof r->out.file, v) &&
                    r->out.file[0] != '/' && strstr(r->out.file, "..") == NULL;
  return good ? WEIR_OK
              : refuse(r, "file", v,
                       "a path relative to the manifest, without '..'");
}

static int take_abi(struct reader *r, struct piece v) {
  char ours[16];
  (void)weir__text_format(ours, sizeof ours, "%u", WEIR_DRV_ABI_MAJOR);
  char wanted[32];
  (void)weir__text_format(wanted, sizeof wanted, "abi %s", ours);
  return is(v, ours) ? WEIR_OK : refuse(r, "abi", v, wanted);
}

static int take_sha256(struct reader *r, struct piece v) {
  static const char wanted[] = "64 hexadecimal digits";
  if (v.n != 64) {
    return refuse(r, "sha256", v, wanted);
  }
  for (size_t i = 0; i < v.n; i++) {
    const char c = v.p[i];
    const bool upper = c >= 'A' && c <= 'F';
    if (!upper && !(c >= 'a' && c <= 'f') && !(c >= '0' && c <= '9')) {
      return refuse(r, "sha256", v, wanted);
    }
    r->out.sha256[i] = (char)(upper ? c + ('a' - 'A') : c);
  }
  return WEIR_OK;
}

static const struct {
  const char *name;
  int (*take)(struct reader *r, struct piece value);
  bool required;
} keys[] = {{"format", take_format, true},
            {"name", take_name, true},
            {"file", take_file, true},
            {"abi", take_abi, true},
            {"sha256", take_sha256, false}};

#define N_KEYS (sizeof keys / sizeof keys[0])

static int take_line(struct reader *r, struct piece line) {
  line = trim(line);
  if (line.n == 0 || line.p[0] == '#') {
    return WEIR_OK;
  }
  const char *colon = memchr(line.p, ':', line.n);
  if (colon == NULL || memchr(line.p, '\0', line.n) != NULL) {
    return refuse(r, "the text", line, "key: value");
  }
  const size_t at = (size_t)(colon - line.p);
  const struct piece key = trim((struct piece){line.p, at});
  const struct piece value = trim((struct piece){colon + 1, line.n - at - 1});
  for (unsigned i = 0; i < N_KEYS; i++) {
    if (is(key, keys[i].name)) {
      if ((r->seen >> i & 1u) != 0) {
        return refuse(r, "a second", key, "each key once");
      }
      r->seen |= 1u << i;
      return keys[i].take(r, value);
    }
  }
  return WEIR_OK;
}

static int check_complete(const struct reader *r) {
  for (unsigned i = 0; i < N_KEYS; i++) {
    if (keys[i].required && (r->seen >> i & 1u) == 0) {
      char found[64];
      (void)weir__text_format(found, sizeof found, "no key '%s'", keys[i].name);
      return weir__driver_refuse(r->err, "manifest", r->path, found,
                                 "format, name, file and abi",
                                 "correct the manifest or install it again");
    }
  }
  return WEIR_OK;
}

int weir__manifest_parse(const char *text,
                         size_t n,
                         const char *path,
                         struct weir__manifest *out_manifest,
                         struct weir_error *err) {
  struct reader r = {.path = path, .err = err};
  while (n != 0) {
    const char *end = memchr(text, '\n', n);
    const size_t len = end == NULL ? n : (size_t)(end - text);
    const size_t used = end == NULL ? len : len + 1;
    r.line++;
    const int rc = take_line(&r, (struct piece){text, len});
    if (rc != WEIR_OK) {
      return rc;
    }
    text += used;
    n -= used;
  }
  const int rc = check_complete(&r);
  if (rc == WEIR_OK) {
    *out_manifest = r.out;
  }
  return rc;
}

int weir__manifest_read(const char *path,
                        struct weir__manifest *out_manifest,
                        struct weir_error *err) {
  struct weir__driver_file file;
  char text[WEIR_MANIFEST_BYTES_MAX];
  int rc = weir__driver_file_open(path, "manifest", &file, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  const size_t n = (size_t)file.size;
  if (file.size > sizeof text ||
      weir__driver_file_read(&file, 0, text, n) != 0) {
    rc = weir__driver_refuse(err, "manifest", path,
                             "a file too large or unreadable",
                             "at most 4096 bytes of text",
                             "correct the manifest or install it again");
  } else {
    rc = weir__manifest_parse(text, n, path, out_manifest, err);
  }
  weir__driver_file_close(&file);
  return rc;
}
