/* SPDX-License-Identifier: MIT */
/* thread.h - starting and joining the engine's own threads. */
#ifndef WEIR_SYS_THREAD_H
#define WEIR_SYS_THREAD_H

#include <stdint.h>

/* Starts a thread with all signals blocked and name (at most 15 bytes) shown by
 * the system.  Returns 0 or -errno.  The thread must be joined. */
int weir__thread_start(const char *name,
                       void *(*run)(void *arg),
                       void *arg,
                       uint64_t *out_thread);

/* Lets it end by itself, instead of joining. */
void weir__thread_detach(uint64_t thread);

/* Waits for its end. */
void weir__thread_join(uint64_t thread);

#endif
