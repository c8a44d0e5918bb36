/* SPDX-License-Identifier: MIT */
/* tds_param.h - values of parameters to wire bytes (MS-TDS 2.2.5.5, 2.2.6.6).
 *
 * Pure.  Scalars are written at once; text and binary values are measured, piece
 * by piece, and written later the same way, so that no long one is ever held.
 * Whatever a type cannot hold is refused, with two exceptions that are the
 * server's own: digits behind the last one of a decimal, money or float are
 * rounded, half away from zero, and so are fractions of a second. */
#ifndef TDS_PARAM_H
#define TDS_PARAM_H

#include "weir_driver.h"

#include "tds_hint.h"

/* Why a value cannot be sent.  Never tells the value. */
struct tds_reason {
  char text[128];
};

/* A scalar with its length byte. */
#define TDS_SCALAR_MAX 18u

/* The type for a value that has no hint.  returns: the value comes back, so that
 * its type must hold more than the value.
 * Returns TDS_OK, or TDS_E_PROTO with the reason. */
int tds_param_guess(const struct weir_drv_value *v,
                    bool returns,
                    struct tds_hint *out,
                    struct tds_reason *why);

/* A type whose length was left out gets the one that holds v. */
void tds_param_close(struct tds_hint *h,
                     const struct weir_drv_value *v,
                     bool returns);

/* Writes v as a scalar of type h, which has the frame TDS_LONG_NONE: a length
 * byte and the value; one zero byte for NULL.
 * Returns TDS_OK, or TDS_E_PROTO with the reason. */
int tds_param_scalar(const struct tds_hint *h,
                     const struct weir_drv_value *v,
                     uint8_t out[TDS_SCALAR_MAX],
                     size_t *out_n,
                     struct tds_reason *why);

/* Whether v can be a text or binary value of type h.
 * Returns TDS_OK, or TDS_E_PROTO with the reason. */
int tds_param_check(const struct tds_hint *h,
                    const struct weir_drv_value *v,
                    struct tds_reason *why);

/* A text or binary value that is being looked at. */
struct tds_measure {
  struct tds_span left;
  uint8_t charset;      /* TDS_CHARSET_* it will be sent in */
  const uint16_t *back; /* of a two-byte page: tds_codepage_back() */
  uint64_t bytes;       /* of what was looked at, on the wire */
  uint32_t lacking;     /* after TDS_E_UNSUPPORTED: the character */
};

/* Looks at up to most bytes more.
 * Returns TDS_OK at the end; TDS_MORE; TDS_E_PROTO if it is not UTF-8;
 * TDS_E_UNSUPPORTED if the charset lacks a character. */
int tds_measure_more(struct tds_measure *m, size_t most);

/* Whether that many wire bytes fit into h.
 * Returns TDS_OK, or TDS_E_PROTO with the reason. */
int tds_param_fits(const struct tds_hint *h,
                   uint64_t bytes,
                   struct tds_reason *why);

/* Writes what comes before the bytes of a value: lengths.  null: it is NULL,
 * and nothing follows.  Returns the bytes written, at most 12. */
size_t tds_param_lead(const struct tds_hint *h,
                      bool null,
                      uint64_t bytes,
                      uint8_t out[12]);

/* Writes what follows them.  Returns the bytes written, at most 4. */
size_t tds_param_tail(const struct tds_hint *h, bool null, uint8_t out[4]);

/* One character of a charset: UTF-16, or the bytes of a page.  Returns the bytes
 * written, 0 if the charset lacks it. */
size_t tds_param_char(uint8_t charset,
                      const uint16_t *back,
                      uint32_t code,
                      uint8_t out[4]);

/* Text on its way to the wire.  It must be valid UTF-8. */
struct tds_text_out {
  struct tds_span text; /* UTF-8 still to be put */
  uint8_t charset;      /* TDS_CHARSET_NONE and _UTF16: UTF-16; or a page */
  const uint16_t *back; /* likewise */
  uint8_t carry[4];     /* a character that was cut by a packet's end */
  uint8_t carry_n;
};

/* Puts at most cap bytes.  Returns how many; fewer than cap: none are left. */
size_t tds_text_out_put(struct tds_text_out *o, uint8_t *body, size_t cap);
bool tds_text_out_over(const struct tds_text_out *o);

/* The families of scalars, by file: data without its length byte.  Return as
 * tds_param_scalar. */
typedef int tds_encode_fn(const struct tds_hint *h,
                          const struct weir_drv_value *v,
                          uint8_t *out,
                          size_t *out_n,
                          struct tds_reason *why);
tds_encode_fn tds_encode_bit, tds_encode_int, tds_encode_float,
    tds_encode_decimal, tds_encode_money; /* tds_param_num.c */
tds_encode_fn tds_encode_time;            /* tds_param_time.c */

/* Fills why.  Returns TDS_E_PROTO. */
__attribute__((format(printf, 2, 3))) int tds_param_refuse(
    struct tds_reason *why,
    const char *format,
    ...);

/* The value as characters: TEXT, DEC, TIME; without blanks around it.  An empty
 * span for others. */
struct tds_span tds_param_text(const struct weir_drv_value *v);

#endif
