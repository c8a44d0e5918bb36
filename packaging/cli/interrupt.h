/* SPDX-License-Identifier: MIT */
/* interrupt.h - Ctrl-C and SIGTERM.
 *
 * No function of the library may be called from a signal handler, so a thread
 * of its own waits for the signals.  At the first one it cancels the request
 * that runs, again every CANCEL_EVERY_MS in case it came between two steps of
 * the main thread; when there is nothing to cancel, or cancelling has not
 * helped after CANCEL_TRIES, it shuts the engine down, which ends every wait.
 * A second signal ends the process at once. */
#ifndef WEIRCTL_INTERRUPT_H
#define WEIRCTL_INTERRUPT_H

#include "weir.h"

/* Blocks the signals in this thread and in those it starts from now on, and
 * starts to wait for them.  Call it once, before any other thread exists.
 * Returns 0 or -errno. */
int interrupt_start(void);

/* Ends the waiting thread.  Blocks: until it has ended. */
void interrupt_stop(void);

/* Tells what a signal should end; 0 for none.  Threads: any. */
void interrupt_set_engine(weir_h engine);
void interrupt_set_lease(weir_h lease);

/* The exit code for the signal that came, 0 if none did.  Threads: any. */
int interrupt_code(void);

#endif
