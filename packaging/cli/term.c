/* SPDX-License-Identifier: MIT */
#include "term.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

static uint32_t read_width(int fd) {
  struct winsize size;
  uint32_t width = TERM_WIDTH_PIPE;
  /* A serial line tells a width of 0. */
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    width = size.ws_col;
  }
  width = width < TERM_WIDTH_MIN ? TERM_WIDTH_MIN : width;
  return width > TERM_WIDTH_MAX ? TERM_WIDTH_MAX : width;
}

/* The program itself stays in the C locale: numbers have points. */
static bool read_utf8(void) {
  locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
  if (locale == (locale_t)0) {
    return false; /* it is named, but not installed */
  }
  bool utf8 = strcasecmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
  freelocale(locale);
  return utf8;
}

static bool is_set(const char *name) {
  /* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment. */
  const char *value = getenv(name);
  return value != NULL && value[0] != '\0';
}

bool term_is_dumb(void) {
  /* NOLINTNEXTLINE(concurrency-mt-unsafe): likewise. */
  const char *term = getenv("TERM");
  return term == NULL || strcmp(term, "dumb") == 0;
}

struct term term_read(int fd, bool ascii) {
  return (struct term){
      .width = read_width(fd),
      .utf8 = !ascii && read_utf8(),
      .colour = isatty(fd) == 1 && !is_set("NO_COLOR") && !term_is_dumb(),
  };
}
