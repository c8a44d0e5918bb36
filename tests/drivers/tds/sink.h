/* SPDX-License-Identifier: MIT */
/* sink.h - a sink of the decoder that keeps cells as text: one line a row,
 * cells separated by '|'. */
#ifndef TDS_TEST_SINK_H
#define TDS_TEST_SINK_H

#include "fake_host.h"
#include "tds_token.h"

struct sink {
  struct tds_sink table;
  struct tds_mem mem; /* plain malloc; counts what is live */
  size_t live;
  size_t largest; /* most bytes ever asked for at once */
  size_t calls;   /* of space and grow */
  struct tds_decoder *decoder;
  struct fake_bytes log;
  uint8_t *block;
  size_t fail_space; /* the n-th space() fails; 0 = none */
};

/* Makes sink and decoder ready for a message. */
void sink_init(struct sink *s, struct tds_decoder *d);
void sink_fini(struct sink *s, struct tds_decoder *d);

/* From here on values of RETURNVALUE are kept, too: "CELL value" lines. */
void sink_values(struct sink *s, struct tds_decoder *d);

/* Feeds all of p in pieces drawn from seed (0: whole), writes every event to
 * the log.  Returns the last verdict: TDS_MORE if all is well. */
int sink_feed(struct sink *s,
              struct tds_decoder *d,
              const uint8_t *p,
              size_t n,
              size_t piece,
              uint32_t seed);

#endif
