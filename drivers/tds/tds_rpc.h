/* SPDX-License-Identifier: MIT */
/* tds_rpc.h - the body of a remote procedure call (MS-TDS 2.2.6.6), put packet
 * by packet.
 *
 * Pure.  A call is a list of pieces: small bytes, which are copied, and long
 * values, which stay where they are and are converted on their way out. */
#ifndef TDS_RPC_H
#define TDS_RPC_H

#include "tds_buf.h"
#include "tds_param.h"

/* Procedures that have a number, MS-TDS 2.2.6.6. */
#define TDS_PROC_EXECUTESQL 10u
#define TDS_PROC_EXECUTE    12u
#define TDS_PROC_PREPEXEC   13u
#define TDS_PROC_UNPREPARE  15u

/* Status of a parameter. */
#define TDS_PARAM_RETURNS 1u

struct tds_rpc {
  struct tds_buf bytes;  /* what was copied */
  struct tds_buf pieces; /* struct piece of tds_rpc.c */
  size_t piece;          /* the one that is being put ... */
  size_t done;           /* ... and the bytes of it that were */
  struct tds_text_out text;
  const uint16_t *back; /* of a two-byte page, see tds_param.h */
};

void tds_rpc_init(struct tds_rpc *r, const struct tds_mem *mem);
void tds_rpc_fini(struct tds_rpc *r);

/* Empties it, and gives back what only an unusually large call needed. */
void tds_rpc_clear(struct tds_rpc *r);

/* What is copied from here on is secret, and wiped with the memory; or not.  The
 * call must be empty. */
void tds_rpc_secret(struct tds_rpc *r, bool on);

/* Each returns TDS_OK or TDS_E_NOMEM. */

/* Appends n bytes: a copy, or where they are, in a charset (TDS_CHARSET_NONE and
 * _UTF8: as they are). */
int tds_rpc_add(struct tds_rpc *r, const void *p, size_t n);
int tds_rpc_refer(struct tds_rpc *r,
                  const uint8_t *p,
                  size_t n,
                  uint8_t charset);

/* Starts a call, behind another one if there is one. */
int tds_rpc_call(struct tds_rpc *r, uint16_t proc);

/* Appends name, status and TYPE_INFO of a parameter.  name: UTF-8, at most 128
 * UTF-16 units. */
int tds_rpc_head(struct tds_rpc *r,
                 struct tds_span name,
                 uint8_t status,
                 const struct tds_hint *type,
                 const uint8_t collation[5]);

/* Appends a long value with what stands around it: bytes on the wire, which the
 * text (UTF-8) or the binary value in s becomes in charset.  s.p NULL: NULL. */
int tds_rpc_long(struct tds_rpc *r,
                 const struct tds_hint *type,
                 struct tds_span s,
                 uint64_t bytes,
                 uint8_t charset);

/* Appends a nameless nvarchar parameter: short or (max).  s.p NULL: NULL. */
int tds_rpc_text(struct tds_rpc *r,
                 struct tds_span s,
                 uint64_t bytes,
                 const uint8_t collation[5]);

/* Appends a nameless int parameter; null: NULL, to be returned. */
int tds_rpc_int(struct tds_rpc *r, bool null, int32_t v);

/* Puts at most cap bytes.  Returns how many; fewer than cap: none are left. */
size_t tds_rpc_put(struct tds_rpc *r, uint8_t *body, size_t cap);
bool tds_rpc_over(const struct tds_rpc *r);

#endif
