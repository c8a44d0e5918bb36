/* SPDX-License-Identifier: MIT */
/* The token writer (MS-TDS 2.2.7): appends tokens to a reply.  Widths that
 * changed with the protocol version follow the version of the writer. */
#ifndef TDSD_SERVER_REPLY_H
#define TDSD_SERVER_REPLY_H

#include "server_buf.h"
#include "server_value.h"

struct tdsd_writer {
  struct tdsd_buf *reply;
  uint32_t version; /* a TDSD_V */
  bool utf8;        /* the client takes varchar in UTF-8 (feature 0A) */
};

/* One column of a result. */
struct tdsd_column {
  const char *name;
  struct tdsd_type type;
};

/* ENVCHANGE with texts; with binary values of at most 255 bytes. */
void tdsd_write_env_text(const struct tdsd_writer *writer,
                         uint32_t type,
                         const char *now,
                         const char *before);
void tdsd_write_env_bytes(const struct tdsd_writer *writer,
                          uint32_t type,
                          const void *now,
                          size_t now_len,
                          const void *before,
                          size_t before_len);

/* ERROR if the class is above 10, else INFO. */
void tdsd_write_message(const struct tdsd_writer *writer,
                        const struct tdsd_fault *fault);

void tdsd_write_loginack(const struct tdsd_writer *writer);

/* FEATUREEXTACK: of FEDAUTH if fedauth is not NULL, with the client's nonce if
 * it has one; of UTF8_SUPPORT with utf8.  Nothing without both. */
struct tdsd_fedauth;
void tdsd_write_features(const struct tdsd_writer *writer,
                         const struct tdsd_fedauth *fedauth,
                         bool utf8);

/* token is TDSD_TOK_DONE, DONEPROC or DONEINPROC. */
void tdsd_write_done(const struct tdsd_writer *writer,
                     uint32_t token,
                     uint32_t status,
                     uint32_t command,
                     uint64_t rows);

void tdsd_write_return_status(const struct tdsd_writer *writer, int32_t status);

/* RETURNVALUE of an output parameter. */
void tdsd_write_return_value(const struct tdsd_writer *writer,
                             uint32_t ordinal,
                             const struct tdsd_variable *param);

void tdsd_write_columns(const struct tdsd_writer *writer,
                        const struct tdsd_column *columns,
                        size_t n);

/* The token of a row and, in an NBCROW, its bitmap.  Returns whether that is
 * there: then nulls are not written. */
bool tdsd_write_row_head(const struct tdsd_writer *writer,
                         const struct tdsd_value *values,
                         size_t n);

/* ROW, or NBCROW if the row has a null and the client knows it.  The values have
 * their columns' types. */
void tdsd_write_row(const struct tdsd_writer *writer,
                    const struct tdsd_column *columns,
                    const struct tdsd_value *values,
                    size_t n);

/* TYPE_INFO and a value of a type (server_types.c). */
void tdsd_write_type(const struct tdsd_writer *writer,
                     const struct tdsd_type *type);
void tdsd_write_value(const struct tdsd_writer *writer,
                      const struct tdsd_type *type,
                      const struct tdsd_value *value);

/* Whether the type is sent as text, ntext or image, which carry a table name. */
bool tdsd_type_is_old_blob(const struct tdsd_writer *writer,
                           const struct tdsd_type *type);

/* The collation of the server: Latin1_General_CI_AS, code page 1252. */
extern const uint8_t tdsd_collation[5];

/* The name it answers to, and its version as @@VERSION tells it. */
#define TDSD_SERVER_NAME "TDSD"
#define TDSD_PROGRAM     "Microsoft SQL Server"
extern const char tdsd_version_text[];

#endif
