/* SPDX-License-Identifier: MIT */
/* watch.h - a connection that dies while nobody uses it is noticed at once.
 *
 * Each connection's descriptors are put into an epoll set of their own when it
 * has been opened, and stay there until it is closed: never once per lease.  The
 * set is edge-triggered and asks for the peer's end alone (EPOLLRDHUP), so what a
 * connection receives wakes nobody, and a dead one that nobody closes yet does
 * not spin.  An event carries the slot's number and the session's, never an
 * address, so one that comes late finds that it is late.
 *
 * A set apart from the reactor's, because a descriptor can be in a set once only
 * and the reactor's own operations watch the same ones; and because a set may be
 * entered and left from any thread, which the owner of a connection is. */
#ifndef WEIR_WATCH_H
#define WEIR_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct weir__engine;
struct weir__watchers;
struct weir_drv_hconn;

/* Makes the engine's set and has its reactor look at it.
 * Returns 0 or -errno.  Owns: *out until weir__watchers_free(), after the reactor
 * has stopped. */
int weir__watchers_new(struct weir__engine *engine,
                       struct weir__watchers **out);
void weir__watchers_free(struct weir__watchers *watchers);

/* In a forked child: close(2) and nothing else. */
void weir__watchers_forget(struct weir__watchers *watchers);

/* A connect has succeeded: its streams enter the set, and what the driver wants
 * watched beyond them.  What cannot be watched is not; then the connection is
 * looked at before it is handed out, as Probe Window says.  Calls the driver
 * (idle): no lock is held.  Threads: the session's owner.  Blocks: no. */
void weir__watch_join(struct weir_drv_hconn *session);

/* One descriptor, or all, leave the set: before they are closed.  Fine for those
 * that are not in it.  Threads: the session's owner. */
void weir__watch_forget_fd(struct weir_drv_hconn *session, int fd);
void weir__watch_leave(struct weir_drv_hconn *session);

/* On the reactor: what the set says of the session with that number in that slot,
 * if it is still there.  ended: its peer is gone for good; else something has
 * come that nobody asked for, and the driver is to be asked.  An idle connection
 * that is dead is closed; one in use is closed, or looked at, when it comes
 * back. */
void weir__watch_event(uint32_t slot_number, uint32_t birth, bool ended);

#endif
