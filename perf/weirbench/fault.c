/* SPDX-License-Identifier: MIT */
#include "fault.h"

#include <stdarg.h>
#include <stdio.h>

static void note(struct fault *f, bool usage, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static void note(struct fault *f,
                 bool usage,
                 const char *format,
                 va_list args) {
  if (f->set) {
    return;
  }
  f->set = true;
  f->usage = usage;
  (void)vsnprintf(f->text, sizeof f->text, format, args);
}

void fault_set(struct fault *f, const char *format, ...) {
  va_list args;
  va_start(args, format);
  note(f, false, format, args);
  va_end(args);
}

void fault_usage(struct fault *f, const char *format, ...) {
  va_list args;
  va_start(args, format);
  note(f, true, format, args);
  va_end(args);
}

int fault_tell(const struct fault *f) {
  (void)fprintf(stderr, "weirbench: %s\n", f->text);
  return f->usage ? 2 : 1;
}
