/* SPDX-License-Identifier: MIT */
/* tds_decode.h - what the three files of the decoder share. */
#ifndef TDS_DECODE_H
#define TDS_DECODE_H

#include "tds_token.h"

/* What the decoder waits for.  Each state names the bytes it needs in want and
 * has a function that is called with exactly these. */
enum tds_state {
  TDS_S_TOKEN,    /* a token byte */
  TDS_S_SHORT,    /* 2-byte length of a token that is gathered */
  TDS_S_BODY,     /* the token itself */
  TDS_S_LONG,     /* 4-byte length of a token that is passed over */
  TDS_S_PASSED,   /* a token was passed over */
  TDS_S_DONE,     /* DONE, DONEPROC, DONEINPROC */
  TDS_S_STATUS,   /* RETURNSTATUS */
  TDS_S_ENV,      /* ENVCHANGE length and type */
  TDS_S_PROMOTE,  /* length inside ENVCHANGE 15 */
  TDS_S_FEATURE,  /* FEATUREEXTACK: an id */
  TDS_S_FEATLEN,  /* its length */
  TDS_S_FEATDATA, /* its data */
  TDS_S_FEDLEN,   /* FEDAUTHINFO: its length */
  TDS_S_FEDINFO,  /* the token itself */
  TDS_S_COUNT,    /* COLMETADATA: number of columns */
  TDS_S_COLUMN,   /* user type, flags, type */
  TDS_S_INFO,     /* the rest of TYPE_INFO */
  TDS_S_XML,      /* xml: is there a schema? */
  TDS_S_PART,     /* length of a byte-counted text to pass over */
  TDS_S_LASTPART, /* length of a short-counted one */
  TDS_S_TABLES,   /* number of parts of a table name */
  TDS_S_TABLE,    /* length of such a part */
  TDS_S_NAMELEN,  /* length of a column name */
  TDS_S_NAME,     /* the name */
  TDS_S_ORDINAL,  /* RETURNVALUE: ordinal, length of the name */
  TDS_S_VALNAME,  /* the name */
  TDS_S_VALHEAD,  /* status, user type, flags, type */
  TDS_S_BITMAP,   /* NBCROW: which are null */
  TDS_S_VALUE,    /* a value starts; needs no bytes */
  TDS_S_FIXED,    /* a FIXED or BYTELEN value */
  TDS_S_LEN1,     /* length of a BYTELEN value */
  TDS_S_LEN2,     /* length of a SHORT value */
  TDS_S_PLP,      /* total of a PLP value */
  TDS_S_CHUNK,    /* length of a PLP chunk */
  TDS_S_POINTER,  /* length of a text pointer */
  TDS_S_LEN4,     /* length of a text, ntext or image value */
  TDS_S_STREAM,   /* bytes of a long value */
  TDS_S_VARLEN,   /* length of a sql_variant */
  TDS_S_WHOLE,    /* a sql_variant or vector */
  TDS_S_COUNT_OF  /* how many states there are */
};

/* A state's function: takes exactly d->want bytes.  Returns TDS_OK to go on, an
 * event, or a negative verdict. */
typedef int tds_state_fn(struct tds_decoder *d, const uint8_t *p);

/* Moves to a state that needs want bytes.  Returns TDS_OK. */
int tds_decode_go(struct tds_decoder *d, enum tds_state state, size_t want);

/* Passes over n bytes, then goes to a state that needs want bytes. */
int tds_decode_skip(struct tds_decoder *d,
                    uint64_t n,
                    enum tds_state state,
                    size_t want);

/* Fills d->why with what went wrong and where.  Returns verdict. */
__attribute__((format(printf, 3, 4))) int tds_decode_bad(struct tds_decoder *d,
                                                         int verdict,
                                                         const char *format,
                                                         ...);

/* The token is complete.  Returns event. */
int tds_decode_event(struct tds_decoder *d, int event);

/* Appends UTF-16 as UTF-8 to buf.  Returns TDS_OK and where it lies, or
 * TDS_E_NOMEM. */
int tds_decode_text(struct tds_buf *buf,
                    const uint8_t *p,
                    size_t n,
                    size_t *out_at,
                    size_t *out_n);

/* The column that is being read, of a row or a RETURNVALUE. */
struct tds_column *tds_decode_column(struct tds_decoder *d);

/* Starts COLMETADATA, a RETURNVALUE, a row. */
int tds_meta_start(struct tds_decoder *d);
int tds_meta_start_return(struct tds_decoder *d);
int tds_row_start(struct tds_decoder *d, bool bitmap);

/* Starts the value of a RETURNVALUE. */
int tds_row_start_return(struct tds_decoder *d);

/* Takes bytes of a long value off in.  Returns as tds_token_next. */
int tds_row_stream(struct tds_decoder *d, struct tds_span *in);

tds_state_fn tds_meta_count, tds_meta_column, tds_meta_info, tds_meta_xml,
    tds_meta_part, tds_meta_last_part, tds_meta_tables, tds_meta_table,
    tds_meta_name_length, tds_meta_name, tds_meta_ordinal, tds_meta_value_name,
    tds_meta_value_head;
tds_state_fn tds_row_bitmap, tds_row_value, tds_row_fixed, tds_row_len1,
    tds_row_len2, tds_row_plp, tds_row_chunk, tds_row_pointer, tds_row_len4,
    tds_row_varlen, tds_row_whole;

#endif
