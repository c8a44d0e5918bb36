/* SPDX-License-Identifier: MIT */
/* tds_number.h - numbers of parameters: every value becomes digits first, so that
 * one parser knows all ranges.
 *
 * Pure. */
#ifndef TDS_NUMBER_H
#define TDS_NUMBER_H

#include "tds_buf.h"

#define TDS_NUMBER_LIMBS 4u

/* Room for the longest text that is made here: a double in digits. */
#define TDS_NUMBER_ROOM 128u

/* A magnitude of up to 128 bits, least significant limb first. */
struct tds_number {
  uint32_t limb[TDS_NUMBER_LIMBS];
  bool negative;
  bool rounded; /* digits that are not zero were dropped */
};

bool tds_number_is_digit(uint8_t c);

/* Takes a sign, if there is one. */
void tds_number_take_sign(struct tds_span *s, bool *out_negative);

/* [+-] digits [. digits], at least one digit, times 10^scale; the digit behind
 * the last one rounds.
 * Returns TDS_OK, TDS_E_PROTO (no number), TDS_E_SPACE (too large). */
int tds_number_parse(struct tds_span s, unsigned scale, struct tds_number *out);

/* The value of a double in digits, exact to where any type ends.
 * Returns false if it is not finite or has more than 39 digits. */
bool tds_number_print(double d,
                      char room[TDS_NUMBER_ROOM],
                      struct tds_span *out);

/* Less than, equal to or more than zero as magnitude a is to b. */
int tds_number_compare(const struct tds_number *a, const struct tds_number *b);

/* The magnitude as 64 bits.  Returns false if it has more. */
bool tds_number_narrow(const struct tds_number *n, uint64_t *out);

/* Two's complement of so many bytes.  Returns false if it does not fit. */
bool tds_number_signed(const struct tds_number *n, size_t size, uint64_t *out);

#endif
