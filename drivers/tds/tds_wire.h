/* SPDX-License-Identifier: MIT */
/* tds_wire.h - constants of MS-TDS, verdicts, and reading integers from bytes.
 * Everything here is pure: no host, no I/O, no clock. */
#ifndef TDS_WIRE_H
#define TDS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Verdicts of the pure modules. */
#define TDS_OK            0
#define TDS_MORE          1    /* give me more bytes */
#define TDS_E_PROTO       (-1) /* the bytes are not what MS-TDS allows */
#define TDS_E_NOMEM       (-2)
#define TDS_E_UNSUPPORTED (-3) /* legal, but not built yet */
#define TDS_E_SPACE       (-4) /* the output does not fit */

/* Packet types, MS-TDS 2.2.3.1.1. */
#define TDS_PKT_BATCH     0x01u
#define TDS_PKT_RPC       0x03u
#define TDS_PKT_REPLY     0x04u
#define TDS_PKT_ATTENTION 0x06u
#define TDS_PKT_FEDAUTH   0x08u
#define TDS_PKT_TXN       0x0Eu
#define TDS_PKT_LOGIN7    0x10u
#define TDS_PKT_PRELOGIN  0x12u

/* Packet status bits, MS-TDS 2.2.3.1.2. */
#define TDS_ST_EOM        0x01u
#define TDS_ST_IGNORE     0x02u
#define TDS_ST_RESET      0x08u
#define TDS_ST_RESET_KEEP 0x10u

/* Versions in LOGINACK, and the one in LOGIN7. */
#define TDS_V71  UINT32_C(0x71000001)
#define TDS_V72  UINT32_C(0x72090002)
#define TDS_V73A UINT32_C(0x730A0003)
#define TDS_V73B UINT32_C(0x730B0003)
#define TDS_V74  UINT32_C(0x74000004)
#define TDS_V80  UINT32_C(0x08000000)

/* ENVCHANGE types acted on, MS-TDS 2.2.7.9. */
#define TDS_ENV_DATABASE  1u
#define TDS_ENV_LANGUAGE  2u
#define TDS_ENV_PACKET    4u
#define TDS_ENV_COLLATION 7u
#define TDS_ENV_BEGIN     8u
#define TDS_ENV_COMMIT    9u
#define TDS_ENV_ROLLBACK  10u
#define TDS_ENV_ENLIST    11u
#define TDS_ENV_DEFECT    12u
#define TDS_ENV_PARTNER   13u
#define TDS_ENV_PROMOTE   15u
#define TDS_ENV_ENDED     17u
#define TDS_ENV_RESET     18u
#define TDS_ENV_ROUTING   20u
#define TDS_ENV_ROUTING2  21u

/* Requests to the transaction manager, MS-TDS 2.2.6.9. */
#define TDS_TM_BEGIN    5u
#define TDS_TM_COMMIT   7u
#define TDS_TM_ROLLBACK 8u
#define TDS_TM_SAVE     9u

/* DONE status bits, MS-TDS 2.2.7.6. */
#define TDS_DONE_MORE   0x0001u
#define TDS_DONE_ERROR  0x0002u
#define TDS_DONE_COUNT  0x0010u
#define TDS_DONE_ATTN   0x0020u
#define TDS_DONE_SRVERR 0x0100u

/* Feature extensions that are asked for, MS-TDS 2.2.6.4. */
#define TDS_FEATURE_FEDAUTH 0x02u
#define TDS_FEATURE_UTF8    0x0Au

/* Bytes still to be read. */
struct tds_span {
  const uint8_t *p;
  size_t n;
};

static inline uint16_t tds_u16(const uint8_t *p) {
  return (uint16_t)(p[0] | (unsigned)p[1] << 8);
}

static inline uint32_t tds_u32(const uint8_t *p) {
  return (uint32_t)tds_u16(p) | (uint32_t)tds_u16(p + 2) << 16;
}

static inline uint64_t tds_u64(const uint8_t *p) {
  return (uint64_t)tds_u32(p) | (uint64_t)tds_u32(p + 4) << 32;
}

static inline uint16_t tds_u16be(const uint8_t *p) {
  return (uint16_t)((unsigned)p[0] << 8 | p[1]);
}

static inline uint32_t tds_u32be(const uint8_t *p) {
  return (uint32_t)tds_u16be(p) << 16 | tds_u16be(p + 2);
}

static inline void tds_put16(uint8_t *p, uint32_t v) {
  p[0] = (uint8_t)v;
  p[1] = (uint8_t)(v >> 8);
}

static inline void tds_put32(uint8_t *p, uint32_t v) {
  tds_put16(p, v);
  tds_put16(p + 2, v >> 16);
}

static inline void tds_put64(uint8_t *p, uint64_t v) {
  tds_put32(p, (uint32_t)v);
  tds_put32(p + 4, (uint32_t)(v >> 32));
}

static inline void tds_put16be(uint8_t *p, uint32_t v) {
  p[0] = (uint8_t)(v >> 8);
  p[1] = (uint8_t)v;
}

/* Takes n bytes off the front of s.  Returns them, or NULL if s has fewer; s is
 * then unchanged. */
static inline const uint8_t *tds_take(struct tds_span *s, size_t n) {
  if (s->n < n) {
    return NULL;
  }
  const uint8_t *p = s->p;
  if (n > 0) {
    s->p += n;
    s->n -= n;
  }
  return p;
}

#endif
