/* SPDX-License-Identifier: MIT */
/* The compiler of scripts, for its own files: what is read, where it stands, and
 * what it becomes. */
#ifndef TDSD_SERVER_SCRIPT_PARSE_H
#define TDSD_SERVER_SCRIPT_PARSE_H

#include "server_script.h"
#include "server_value.h"

enum tdsd_script_lexeme {
  TDSD_SL_END,
  TDSD_SL_LINE,   /* a new line or ; */
  TDSD_SL_WORD,   /* begins with a letter, _ or @ */
  TDSD_SL_NUMBER, /* text as written, with sign, point and exponent */
  TDSD_SL_HEX,    /* 0x and pairs of digits; text holds the bytes */
  TDSD_SL_STRING, /* text with its escapes resolved */
  TDSD_SL_SIGN,   /* one of { } ( ) [ ] , = * */
};

struct tdsd_script_token {
  enum tdsd_script_lexeme lexeme;
  uint32_t line;
  uint32_t column;
  size_t from; /* of its first byte in the text */
  char sign;
  char *text; /* in the arena, ended by a zero */
  size_t len;
};

/* How a value of a type stands in a row. */
enum tdsd_script_shape {
  TDSD_SHAPE_NONE,    /* no bytes at all */
  TDSD_SHAPE_FIXED,   /* the bytes */
  TDSD_SHAPE_LEN1,    /* a length byte, 0 for null */
  TDSD_SHAPE_LEN2,    /* two, FFFF for null */
  TDSD_SHAPE_PLP,     /* chunks */
  TDSD_SHAPE_BLOB,    /* text pointer, stamp, four bytes of length */
  TDSD_SHAPE_VARIANT, /* four bytes of length, base type, properties */
  TDSD_SHAPE_RAW,     /* only raw values */
};

/* What the bytes of a value mean. */
enum tdsd_script_data {
  TDSD_DATA_SIMPLE, /* a tdsd_kind, written by server_types.c */
  TDSD_DATA_NARROW, /* text in the collation's code page */
  TDSD_DATA_WIDE,
  TDSD_DATA_XML,
  TDSD_DATA_UTF8,
  TDSD_DATA_BYTES,
  TDSD_DATA_VECTOR,
  TDSD_DATA_NULL,
  TDSD_DATA_VARIANT,
};

struct tdsd_script_type {
  const char *name; /* as it was written, for errors */
  uint8_t wire;     /* the byte of TYPE_INFO */
  uint8_t base;     /* the byte as base of a sql_variant; 0 = cannot be one */
  enum tdsd_script_shape shape;
  enum tdsd_script_data data;
  struct tdsd_type simple; /* of TDSD_DATA_SIMPLE */
  uint32_t size;           /* maximum length, as TYPE_INFO says it */
  bool nullable;
  uint8_t collation[5];
  struct tdsd_buf info; /* TYPE_INFO, the table name excluded */
};

struct tdsd_script_column {
  struct tdsd_script_type type;
  uint32_t usertype;
  uint32_t flags;
  const char *table; /* of text, ntext and image: "a.b.c" */
  const char *name;
  uint32_t ordinal; /* of a RETURNVALUE */
  uint32_t status;  /* of a RETURNVALUE */
};

struct tdsd_script_parser {
  const char *name; /* of the file */
  const char *text;
  size_t len;
  size_t at;
  uint32_t line;
  size_t line_from; /* where the line at hand begins */
  struct tdsd_script_token token;
  enum tdsd_script_layout layout;
  struct tdsd_program *program;
  struct tdsd_arena arena; /* tokens and columns */
  struct tdsd_script_column *columns;
  uint32_t ncolumns;
  uint32_t rooms; /* columns there is room for */
  bool failed;
  char *why;
  size_t cap;
};

/* The lexer. */

/* Reads the next token.  Returns 0, or -1 with the error written. */
int tdsd_script_next(struct tdsd_script_parser *parser);

/* Reads bytes written as pairs of hexadecimal digits, "text" in UTF-16 and
 * 'text' in ASCII up to the end of the line, } or ;, then the next token. */
int tdsd_script_hex(struct tdsd_script_parser *parser, struct tdsd_buf *out);

/* Writes "NAME:LINE:COLUMN: " and the sentence, once.  Returns -1. */
int tdsd_script_error(struct tdsd_script_parser *parser,
                      const char *format,
                      ...) __attribute__((format(printf, 2, 3)));

/* "expected WHAT, found TOKEN".  Returns -1. */
int tdsd_script_expected(struct tdsd_script_parser *parser, const char *what);

/* Small questions to the token at hand; those that take it move on. */
bool tdsd_script_is_word(const struct tdsd_script_parser *parser,
                         const char *word);
bool tdsd_script_is_sign(const struct tdsd_script_parser *parser, char sign);
bool tdsd_script_is_end(const struct tdsd_script_parser *parser);
bool tdsd_script_accept_word(struct tdsd_script_parser *parser,
                             const char *word);
bool tdsd_script_accept_sign(struct tdsd_script_parser *parser, char sign);
int tdsd_script_expect_sign(struct tdsd_script_parser *parser, char sign);
/* Whether "word =" comes; both are taken. */
bool tdsd_script_accept_option(struct tdsd_script_parser *parser,
                               const char *word);
/* A whole number, decimal or 0x, from least to most (both signed 64-bit; most
 * UINT64_MAX allows all 64 bits). */
int tdsd_script_number(struct tdsd_script_parser *parser,
                       int64_t least,
                       uint64_t most,
                       uint64_t *out);
int tdsd_script_string(struct tdsd_script_parser *parser, const char **out);
/* "0x.." or "text" as the bytes it has. */
int tdsd_script_bytes(struct tdsd_script_parser *parser,
                      const uint8_t **out,
                      size_t *out_len);

/* Types (server_script_type.c): reads one and writes its TYPE_INFO.  Options
 * behind it, null and collation=, belong to the column but change the type. */
int tdsd_script_column_read(struct tdsd_script_parser *parser,
                            struct tdsd_script_column *out);
int tdsd_script_type_read(struct tdsd_script_parser *parser,
                          struct tdsd_script_type *out);
void tdsd_script_type_fini(struct tdsd_script_type *type);
/* The two halves of reading a type: what stands up to its closing parenthesis, and
 * TYPE_INFO when null and collation= are known. */
int tdsd_script_type_begin(struct tdsd_script_parser *parser,
                           struct tdsd_script_type *out);
void tdsd_script_type_finish(struct tdsd_script_type *type);
int tdsd_script_collation_read(struct tdsd_script_parser *parser,
                               struct tdsd_script_type *type);

/* Values (server_script_value.c): reads one and appends it as the type's rows
 * have it.  *out_null says whether it was null; then a type that cannot say so
 * is an error unless bitmap is set, and nothing is appended where it is. */
int tdsd_script_value_read(struct tdsd_script_parser *parser,
                           const struct tdsd_script_type *type,
                           bool bitmap,
                           struct tdsd_buf *out,
                           bool *out_null);

/* Appends text in the code page of a collation.  Returns 0, or -1 if the
 * collation has none or the text does not fit it (server_script_text.c). */
int tdsd_script_narrow(const uint8_t collation[5],
                       const char *text,
                       size_t len,
                       struct tdsd_buf *out);

/* Tokens (server_script_token.c, server_script_row.c): if the word at hand names
 * one it is read and written.  Returns 1, 0 if it names none, or -1. */
int tdsd_script_token_read(struct tdsd_script_parser *parser,
                           struct tdsd_buf *out);
int tdsd_script_row_read(struct tdsd_script_parser *parser,
                         struct tdsd_buf *out);

int tdsd_script_u32(struct tdsd_script_parser *parser,
                    uint32_t most,
                    uint32_t *out);

/* A length of two bytes that is known once what it counts is written: opened
 * before, closed behind. */
size_t tdsd_script_open_length(struct tdsd_buf *out);
void tdsd_script_close_length(struct tdsd_buf *out, size_t at);

/* Those of a login, behind their word (server_script_login.c). */
int tdsd_script_feature_read(struct tdsd_script_parser *parser,
                             struct tdsd_buf *out);
int tdsd_script_fedauthinfo_read(struct tdsd_script_parser *parser,
                                 struct tdsd_buf *out);
int tdsd_script_sessionstate_read(struct tdsd_script_parser *parser,
                                  struct tdsd_buf *out);
int tdsd_script_loginack_read(struct tdsd_script_parser *parser,
                              struct tdsd_buf *out);
int tdsd_script_sspi_read(struct tdsd_script_parser *parser,
                          struct tdsd_buf *out);

/* Rules and actions (server_script_rule.c): the "when" part. */
int tdsd_script_rule_read(struct tdsd_script_parser *parser,
                          struct tdsd_script_rule *out);

#endif
