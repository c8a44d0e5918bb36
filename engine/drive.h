/* SPDX-License-Identifier: MIT */
/* drive.h - a blocking caller drives an operation on its own thread: poll over
 * what the driver waits for and the caller's own eventfd, so that hundreds of
 * callers connect side by side without a hand-over to one thread. */
#ifndef WEIR_DRIVE_H
#define WEIR_DRIVE_H

#include <stdint.h>

#include "caller.h"
#include "session.h"

/* The session's operation becomes this thread's: op word DRIVING.  Call it
 * before the operation is begun.  Returns 0 or -errno (no descriptor). */
int weir__drive_begin(struct weir_drv_hconn *session,
                      struct weir__caller *self);

/* The same for a thread that will not wait: nobody need be able to kick it. */
void weir__drive_take(struct weir_drv_hconn *session,
                      struct weir__caller *self);

/* After the operation has ended on this thread: op word NONE. */
void weir__drive_end(struct weir_drv_hconn *session);

/* Why weir__drive() came back. */
enum weir__drive_result {
  WEIR_DRIVE_ENDED,   /* session->status is not WEIR_DRV_WAIT */
  WEIR_DRIVE_STOPPED, /* stop() said so */
  WEIR_DRIVE_LATE     /* the deadline passed */
};

/* Drives until the operation ends or pauses, stop(arg) is true (asked after each
 * kick; may be NULL), or the deadline passes.  Blocks: yes. */
enum weir__drive_result weir__drive(struct weir_drv_hconn *session,
                                    struct weir__caller *self,
                                    uint64_t deadline,
                                    bool (*stop)(void *arg),
                                    void *arg);

#endif
