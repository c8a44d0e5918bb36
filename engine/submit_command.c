/* SPDX-License-Identifier: MIT */
/* submit_command.c - a request that the reactor carries to its end.
 *
 * It is advanced by what a blocking caller uses, too: weir__command_look() for
 * limits, cancellation and shutdown, and the command's own advance().  Exactly one
 * thing ends it: done(), on the reactor, which finds `entry` and takes it away. */
#include "submit_command.h"

#include <stddef.h>

#include "drive.h"
#include "handle.h"
#include "op.h"
#include "remote.h"
#include "session.h"
#include "status.h"
#include "submit.h"
#include "sys/assert.h"
#include "sys/point.h"

struct weir__entry *weir__submit_reserve(const struct weir__lease *lease,
                                         const struct weir__submit_how *how,
                                         int32_t type,
                                         int *out_code,
                                         struct weir_error *err) {
  const struct weir__slot *slot = lease->slot;
  struct weir__entry *entry =
      weir__queue_reserve(how->queue, type, how->user, NULL);
  if (entry == NULL) {
    *out_code = weir__queue_refuse(how->queue, err);
    return NULL;
  }
  /* From here on the end of the queue cancels it. */
  weir__entry_bind(entry,
                   weir__handle_make(WEIR_TYPE_LEASE, slot->number,
                                     weir__slot_lease(lease->word)),
                   weir__load_relaxed_u32(&slot->request));
  return entry;
}

/* ------------------------------------------------------------ on the reactor */

static void done(struct weir_drv_hconn *s);

/* Waits again, for whatever the operation now waits for. */
static void go(struct weir_drv_hconn *s) {
  s->limit = s->deadline;
  weir__remote_go(s, s->status, done);
}

static bool look(struct weir_drv_hconn *s) {
  if (!weir__command_look(s)) {
    return false;
  }
  go(s);
  return true;
}

/* The lease is its user's again before he can hear of it. */
static void complete(struct weir_drv_hconn *s) {
  struct weir__entry *entry = s->entry;
  struct weir__lease lease = {s->slot, s, s->pool, s->call};
  struct weir_error err = {.struct_size = sizeof err};
  uint64_t handle =
      weir__handle_make(WEIR_TYPE_LEASE, s->slot->number, s->lease);
  s->entry = NULL;
  s->look = NULL;
  s->limit = WEIR_NEVER;
  int rc = s->command->outcome(s, &err);
  WEIR_POINT("submit.complete", s->slot);
  weir__lease_end(&lease);
  weir__queue_post(entry, rc, handle, rc == WEIR_OK ? NULL : &err);
}

/* An answer that is on its way must not find somebody else's session. */
static void leave(struct weir_drv_hconn *s) {
  WEIR_POINT("submit.leave", s->slot);
  if (weir__remote_leave(s)) {
    complete(s);
  }
}

static void done(struct weir_drv_hconn *s) {
  if (s->command->advance(s)) {
    s->done = leave;
    leave(s);
  } else {
    go(s);
  }
}

/* -------------------------------------------------------- where it is begun */

int weir__submit_command(const struct weir__command *command,
                         struct weir__lease *lease,
                         struct weir__entry *entry,
                         const struct weir__submit_how *how,
                         struct weir_error *err) {
  struct weir_drv_hconn *s = lease->session;
  if (command->advance(s)) {
    weir__drive_end(s);
    weir__queue_give_back(entry);
    return command->outcome(s, err);
  }
  uint64_t op = entry->handle;
  s->entry = entry;
  s->command = command;
  s->call = lease->word;
  s->look = look;
  s->limit = s->deadline;
  WEIR_POINT("submit.handover", lease->slot);
  /* Before the reactor looks, so that whoever stops it from here on stirs that
   * (lease.c). */
  atomic_store_explicit(&lease->slot->driver, NULL, memory_order_seq_cst);
  if (how->out_op != NULL) {
    *how->out_op = op;
  }
  weir__remote_adopt(s, done);
  if (weir__queue_closed(how->queue)) {
    (void)weir__submit_cancel_op(op); /* its end may have missed this one */
  }
  return WEIR_PENDING;
}
