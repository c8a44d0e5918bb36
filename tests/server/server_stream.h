/* SPDX-License-Identifier: MIT */
/* The tokens of one response in their order.  A DONE is held back until it is
 * known whether anything follows, because its more bit says so; whoever writes
 * tokens of its own with the writer calls tdsd_stream_flush() first. */
#ifndef TDSD_SERVER_STREAM_H
#define TDSD_SERVER_STREAM_H

#include "server_reply.h"

struct tdsd_stream {
  struct tdsd_writer writer;
  uint32_t procedures; /* how many are around what is written: DONEINPROC */
  bool nocount;        /* SET NOCOUNT ON: no DONE has a count */
  bool pending;        /* a DONE that waits for what follows it */
  uint32_t pending_token;
  uint32_t pending_status;
  uint32_t pending_command;
  uint64_t pending_rows;
};

/* Writes the DONE that waits, with the more bit, because a token follows. */
void tdsd_stream_flush(struct tdsd_stream *stream);

/* A statement has ended: DONE, or DONEINPROC inside a procedure.  status has
 * TDSD_DONE_COUNT where rows counts. */
void tdsd_stream_done(struct tdsd_stream *stream,
                      uint32_t status,
                      uint32_t command,
                      uint64_t rows);

/* An ERROR or INFO. */
void tdsd_stream_message(struct tdsd_stream *stream,
                         const struct tdsd_fault *fault);

/* As INFO with a text of at most 1023 bytes. */
void tdsd_stream_info(struct tdsd_stream *stream,
                      int32_t number,
                      uint8_t class,
                      uint32_t line,
                      const char *text);

/* A procedure begins, and ends.  The end gives RETURNSTATUS and DONEPROC for one
 * that the client called, by RPC or by EXEC in a batch, with the parameters
 * between them, and a DONEINPROC for one that a procedure called.  status is
 * added to that of the DONE. */
void tdsd_stream_enter(struct tdsd_stream *stream);
void tdsd_stream_leave(struct tdsd_stream *stream,
                       int32_t return_status,
                       const struct tdsd_variable *params,
                       uint32_t nparams,
                       uint32_t status);

/* As the end of a procedure that could not be called: DONEPROC with the error
 * bit and nothing before it. */
void tdsd_stream_fail(struct tdsd_stream *stream);

/* ENVCHANGE of a transaction: its descriptor now and before, one of them 0. */
void tdsd_stream_descriptor(struct tdsd_stream *stream,
                            uint32_t type,
                            uint64_t now,
                            uint64_t before);

/* The response is over: what waits goes without the more bit. */
void tdsd_stream_end(struct tdsd_stream *stream);

#endif
