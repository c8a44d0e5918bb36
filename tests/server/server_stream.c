/* SPDX-License-Identifier: MIT */
#include "server_stream.h"

#include <stdio.h>

#include "server_const.h"

static void write_pending(struct tdsd_stream *stream, uint32_t more) {
  if (stream->pending) {
    stream->pending = false;
    tdsd_write_done(&stream->writer, stream->pending_token,
                    stream->pending_status | more, stream->pending_command,
                    stream->pending_rows);
  }
}

void tdsd_stream_flush(struct tdsd_stream *stream) {
  write_pending(stream, TDSD_DONE_MORE);
}

static void hold(struct tdsd_stream *stream,
                 uint32_t token,
                 uint32_t status,
                 uint32_t command,
                 uint64_t rows) {
  tdsd_stream_flush(stream);
  stream->pending = true;
  stream->pending_token = token;
  stream->pending_status = stream->nocount ? status & ~TDSD_DONE_COUNT : status;
  stream->pending_command = command;
  stream->pending_rows = rows;
}

void tdsd_stream_done(struct tdsd_stream *stream,
                      uint32_t status,
                      uint32_t command,
                      uint64_t rows) {
  hold(stream, stream->procedures != 0 ? TDSD_TOK_DONEINPROC : TDSD_TOK_DONE,
       status, command, rows);
}

void tdsd_stream_message(struct tdsd_stream *stream,
                         const struct tdsd_fault *fault) {
  tdsd_stream_flush(stream);
  tdsd_write_message(&stream->writer, fault);
}

void tdsd_stream_info(struct tdsd_stream *stream,
                      int32_t number,
                      uint8_t class,
                      uint32_t line,
                      const char *text) {
  struct tdsd_fault info = {
      .number = number, .class = class, .state = 1, .line = line};
  (void)snprintf(info.text, sizeof info.text, "%s", text);
  tdsd_stream_message(stream, &info);
}

void tdsd_stream_enter(struct tdsd_stream *stream) {
  stream->procedures++;
}

static bool is_lob(const struct tdsd_value *value) {
  return value->type.size == TDSD_SIZE_MAX;
}

/* Large values come behind the small ones, as servers send them. */
static void write_outputs(struct tdsd_stream *stream,
                          const struct tdsd_variable *params,
                          uint32_t nparams) {
  for (unsigned large = 0; large < 2; large++) {
    for (uint32_t i = 0; i < nparams; i++) {
      if (params[i].output && is_lob(&params[i].value) == (large != 0)) {
        tdsd_write_return_value(&stream->writer, i, &params[i]);
      }
    }
  }
}

void tdsd_stream_leave(struct tdsd_stream *stream,
                       int32_t return_status,
                       const struct tdsd_variable *params,
                       uint32_t nparams,
                       uint32_t status) {
  stream->procedures--;
  if (stream->procedures != 0) {
    hold(stream, TDSD_TOK_DONEINPROC, status, TDSD_CMD_EXECUTE, 0);
    return;
  }
  tdsd_stream_flush(stream);
  tdsd_write_return_status(&stream->writer, return_status);
  write_outputs(stream, params, nparams);
  hold(stream, TDSD_TOK_DONEPROC, status, TDSD_CMD_EXECUTE, 0);
}

void tdsd_stream_fail(struct tdsd_stream *stream) {
  stream->procedures--;
  hold(stream,
       stream->procedures != 0 ? TDSD_TOK_DONEINPROC : TDSD_TOK_DONEPROC,
       TDSD_DONE_ERROR, TDSD_CMD_EXECUTE, 0);
}

void tdsd_stream_descriptor(struct tdsd_stream *stream,
                            uint32_t type,
                            uint64_t now,
                            uint64_t before) {
  uint8_t bytes[8];
  uint64_t descriptor = now != 0 ? now : before;
  for (unsigned i = 0; i < 8; i++) {
    bytes[i] = (uint8_t)(descriptor >> (8 * i));
  }
  tdsd_stream_flush(stream);
  tdsd_write_env_bytes(&stream->writer, type, bytes, now != 0 ? 8 : 0, bytes,
                       before != 0 ? 8 : 0);
}

void tdsd_stream_end(struct tdsd_stream *stream) {
  if (stream->pending) {
    write_pending(stream, 0);
  } else {
    tdsd_write_done(&stream->writer, TDSD_TOK_DONE, 0, TDSD_CMD_SET, 0);
  }
}
