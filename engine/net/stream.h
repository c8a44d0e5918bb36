/* SPDX-License-Identifier: MIT */
/* stream.h - struct weir_drv_stream: a non-blocking TCP connection.
 *
 * A driver connection owns its streams through one struct weir__streams.  All
 * calls belong to the thread that owns the driver connection at the moment
 * (rule T1), but weir__streams_interrupt(), which any thread may call. */
#ifndef WEIR_NET_STREAM_H
#define WEIR_NET_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "weir_driver.h"

#include "sys/mutex.h"

/* Streams that one driver connection may have at a time. */
#define WEIR_STREAMS_MAX 8u

/* Bytes that weir__streams_peer_done() reads and drops for one connection
 * before it stops being patient. */
#define WEIR_STREAMS_DRAIN_MAX (UINT64_C(1) << 20)

struct weir__streams {
  /* Called before a stream's descriptor is closed, on the closing thread: take
   * it out of every poller.  May be NULL.  The embedding object's to set. */
  void (*closing)(struct weir__streams *owner, weir_drv_stream *stream);

  /* Guards interrupted, and slot[] against interrupt: the owner writes slot[]
   * under it and reads it without.  Never held across anything that sleeps. */
  struct weir__mutex mu;
  weir_drv_stream *slot[WEIR_STREAMS_MAX];
  bool interrupted; /* for good */

  uint64_t bytes_in;  /* read so far, by all streams; the owner thread's */
  uint64_t bytes_out; /* written so far */
  uint64_t drained;   /* by weir__streams_peer_done() */
};

/* init: zeroed memory -> empty.  fini: all streams must be closed. */
void weir__streams_init(struct weir__streams *owner);
void weir__streams_fini(struct weir__streams *owner);

/* Starts a TCP connect.
 * Returns WEIR_DRV_DONE: *out is connecting or connected: wait for
 * WEIR_DRV_EV_WRITE, then call weir__stream_connected(); WEIR_DRV_FAIL with
 * *err: refused or unreachable at once, no descriptors or memory left, not an
 * address, a ninth stream, or interrupted.
 * Owns: *out until weir__stream_close() or weir__streams_close_all().
 * Blocks: no. */
weir_drv_status weir__stream_open(struct weir__streams *owner,
                                  const struct weir_drv_addr *to,
                                  weir_drv_stream **out,
                                  struct weir_drv_error *err);

/* How the connect went.  Returns WEIR_DRV_DONE; WEIR_DRV_WAIT: still under way
 * (a spurious wake-up); WEIR_DRV_FAIL with *err, which names address, port and
 * reason. */
weir_drv_status weir__stream_connected(weir_drv_stream *stream,
                                       struct weir_drv_error *err);

/* Bytes moved (> 0); WEIR_DRV_E_AGAIN; WEIR_DRV_E_CLOSED (read, peek: the peer
 * has ended in order); WEIR_DRV_FAIL, see weir__stream_error();
 * WEIR_DRV_E_INVALID: no bytes asked for.  read and write count in the owner's
 * bytes_in and bytes_out.  Blocks: no. */
int64_t weir__stream_read(weir_drv_stream *stream, void *p, uint64_t cap);
int64_t weir__stream_write(weir_drv_stream *stream, const void *p, uint64_t n);
int64_t weir__stream_peek(weir_drv_stream *stream, void *p, uint64_t cap);

/* Describes in *err why the last call on the stream failed: scope CONN, kind
 * NETWORK, address, port and reason.  Returns WEIR_DRV_FAIL. */
weir_drv_status weir__stream_error(const weir_drv_stream *stream,
                                   struct weir_drv_error *err);

/* Calls owner->closing, closes the descriptor, frees the stream.  NULL: fine. */
void weir__stream_close(weir_drv_stream *stream);

/* Its descriptor, its owner, and its index in owner->slot, which is stable for
 * its life: an embedder can keep a struct weir__watch for each slot. */
int weir__stream_fd(const weir_drv_stream *stream);
uint32_t weir__stream_slot(const weir_drv_stream *stream);
struct weir__streams *weir__stream_owner(const weir_drv_stream *stream);

/* Ends both directions of every stream, also of one still connecting, so that
 * whoever waits for them wakes up; later weir__stream_open() calls fail with
 * kind CANCELLED.  Closes nothing.  Cannot hit a descriptor that the owner is
 * closing at that moment.  Threads: any.  Blocks: no. */
void weir__streams_interrupt(struct weir__streams *owner);

/* Tells the peers that nothing more will come (FIN), keeps reading possible. */
void weir__streams_half_close(struct weir__streams *owner);

/* Reads and drops what the peers still send.
 * Returns true once every stream has met its end or an error, or once
 * WEIR_STREAMS_DRAIN_MAX bytes were dropped; false: wait for READ and call
 * again.  Blocks: no; at most 256 KiB a call. */
bool weir__streams_peer_done(struct weir__streams *owner);

/* Tears the connections down (RST), so that the servers see the end at once.  The
 * streams stay their driver's, who still has to close them.  Blocks: no. */
void weir__streams_reset(struct weir__streams *owner);

/* Closes every stream.  reset: tear the connections down (RST), so that the
 * servers see the end at once and nothing lingers here. */
void weir__streams_close_all(struct weir__streams *owner, bool reset);

/* In a forked child: closes the descriptors with close(2) and does nothing else.
 * Takes no lock, as the thread that held it may not exist here. */
void weir__streams_forget(struct weir__streams *owner);

#endif
