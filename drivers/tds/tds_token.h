/* SPDX-License-Identifier: MIT */
/* tds_token.h - the token stream of a reply (MS-TDS 2.2.7) as events.
 *
 * Pure: bytes in, an event out; it stops and resumes at any byte.  It is fed
 * with the bodies of packets, one message after the other.  Values of rows go
 * into a sink as they arrive, so that no value is held twice.
 *
 *   TOKEN -> LENGTH -> BODY -> event                  most tokens
 *   TOKEN -> COUNT -> (HEAD -> INFO -> [TABLE] -> NAME)*  -> event COLUMNS
 *   TOKEN -> [BITMAP] -> (LENGTH -> DATA)*            -> event ROW
 */
#ifndef TDS_TOKEN_H
#define TDS_TOKEN_H

#include "tds_buf.h"
#include "tds_text.h"
#include "tds_type.h"

/* Events, positive and distinct from TDS_MORE. */
#define TDS_EV_COLUMNS 2  /* columns, n_columns */
#define TDS_EV_ROW     3  /* all cells of a row are in the sink */
#define TDS_EV_ERROR   4  /* message */
#define TDS_EV_INFO    5  /* message */
#define TDS_EV_ENV     6  /* env */
#define TDS_EV_DONE    7  /* done */
#define TDS_EV_LOGIN   8  /* ack */
#define TDS_EV_FEATURE 9  /* feature */
#define TDS_EV_STATUS  10 /* return_status */
#define TDS_EV_VALUE   11 /* a RETURNVALUE: value, value_name_n, column */
#define TDS_EV_OTHER   12 /* a token that is of no interest, skipped */
#define TDS_EV_FEDAUTH 13 /* fedauth: FEDAUTHINFO, for tds_fedauth_read */

/* Where cells go.  space gives n bytes, grow enlarges the block handed out
 * last, cell ends a cell: a block (n may be less than asked for), or p NULL for
 * SQL NULL.  space and grow answer NULL, and cell non-zero, for no memory. */
struct tds_sink {
  void *ctx;
  void *(*space)(void *ctx, size_t n);
  void *(*grow)(void *ctx, void *block, size_t n, size_t bigger);
  int (*cell)(void *ctx, const void *p, size_t n);
};

struct tds_column {
  struct tds_type type;
  uint16_t flags; /* 0001 nullable, 8000 not known */
  uint32_t user_type;
  uint32_t name_at; /* in decoder->names, UTF-8 */
  uint32_t name_n;
};

/* Texts are UTF-8, valid until the next call. */
struct tds_message {
  int32_t number;
  uint8_t state;
  uint8_t severity;
  uint32_t line;
  const char *text;
  size_t text_n;
  const char *server;
  size_t server_n;
  const char *procedure;
  size_t procedure_n;
};

struct tds_env {
  uint8_t type;
  const char *text; /* the new value where it is text, UTF-8 */
  size_t text_n;
  struct tds_span bytes; /* the new value where it is bytes */
};

#define TDS_TOKEN_DONEINPROC 0xFFu /* of a statement inside a procedure */

struct tds_done {
  uint8_t token; /* FD, FE or FF */
  uint16_t status;
  uint16_t command;
  uint64_t rows;
};

struct tds_ack {
  uint32_t version;
  uint8_t server[4]; /* major, minor, build high, build low */
  const char *program;
  size_t program_n;
};

struct tds_feature {
  uint8_t id;
  struct tds_span data;
};

struct tds_decoder {
  const struct tds_mem *mem;
  const struct tds_sink *sink;       /* NULL: read values and drop them */
  const struct tds_sink *value_sink; /* likewise for RETURNVALUE */
  bool old_layout; /* TDS 7.1: short user type, DONE and line numbers */
  bool no_results; /* during login: result tokens are illegal */

  /* The events' data; see each event. */
  struct tds_column *columns;
  uint32_t n_columns;
  struct tds_buf names;
  struct tds_message message;
  struct tds_env env;
  struct tds_done done;
  struct tds_ack ack;
  struct tds_feature feature;
  struct tds_span fedauth;
  int32_t return_status;
  char why[240]; /* after a negative verdict */

  /* Where the decoder stands. */
  uint8_t state;
  uint8_t token;
  uint8_t after;       /* state to go to when skip has come down to 0 */
  uint64_t skip;       /* bytes to be passed over */
  size_t want;         /* bytes the state needs ... */
  struct tds_buf acc;  /* ... and those of them that came earlier */
  uint64_t at;         /* bytes of the message taken so far */
  struct tds_buf text; /* texts of the event */

  uint32_t columns_cap;
  uint32_t column;         /* the one that is being read */
  bool returning;          /* it is a RETURNVALUE */
  struct tds_column value; /* the column of a RETURNVALUE; ordinal in column */
  size_t value_name_n;     /* its name, at the start of text */
  uint8_t parts;           /* counted texts still to be passed over */
  uint8_t bitmap[512];     /* NBCROW: 4096 columns */
  struct tds_text text_state;
  uint8_t *cell; /* the block being filled */
  size_t cell_n;
  size_t cell_cap;
  uint64_t left;  /* bytes of the value or chunk still to come */
  uint64_t total; /* PLP: bytes announced, UINT64_MAX = not known */
  uint64_t seen;  /* PLP: bytes that came */
};

/* Makes d empty.  mem must outlive it. */
void tds_token_init(struct tds_decoder *d, const struct tds_mem *mem);

/* Gives back its memory. */
void tds_token_fini(struct tds_decoder *d);

/* Gives back what only an unusually large result needed; to be called between
 * messages. */
void tds_token_trim(struct tds_decoder *d);

/* Starts a new message; columns of an earlier one are forgotten. */
void tds_token_begin(struct tds_decoder *d, const struct tds_sink *sink);

/* Rows from here on are dropped, the one that is being read included. */
void tds_token_drop_rows(struct tds_decoder *d);

/* Reads on.  Takes what it uses off in.
 * Returns TDS_MORE when in is used up, an event, or a negative verdict:
 * TDS_E_PROTO, TDS_E_UNSUPPORTED or TDS_E_NOMEM with why filled; the decoder is
 * then useless until tds_token_begin. */
int tds_token_next(struct tds_decoder *d, struct tds_span *in);

/* Whether the message may end here.
 * Returns TDS_OK, or TDS_E_PROTO with why filled inside a token. */
int tds_token_end(struct tds_decoder *d);

#endif
