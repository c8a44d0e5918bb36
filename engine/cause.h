/* SPDX-License-Identifier: MIT */
/* cause.h - an error that many callers are told: made once, never changed, and
 * copied by each on its own thread. */
#ifndef WEIR_CAUSE_H
#define WEIR_CAUSE_H

#include "weir.h"

#include "sys/atomic.h"

struct weir__cause {
  _Atomic uint32_t references;
  struct weir_error error;
};

/* A copy of *error with one reference; NULL: no memory. */
struct weir__cause *weir__cause_new(const struct weir_error *error);

/* The same error, saying that it is told again and that nobody asks the server
 * before wait_ns have passed; NULL: no memory.  Locks may be held. */
struct weir__cause *weir__cause_again(const struct weir__cause *cause,
                                      uint64_t wait_ns);

/* One reference more, and one less: the last one frees.  NULL is fine.  Threads:
 * any; locks may be held. */
struct weir__cause *weir__cause_ref(struct weir__cause *cause);
void weir__cause_unref(struct weir__cause *cause);

/* Copies the error into the caller's struct (NULL: nobody asked) and gives the
 * reference back; returns the error's code.  cause == NULL is WEIR_E_NOMEM: there
 * was no memory to tell more. */
int weir__cause_tell(struct weir__cause *cause, struct weir_error *err);

#endif
