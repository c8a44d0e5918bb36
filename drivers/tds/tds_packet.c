/* SPDX-License-Identifier: MIT */
/* tds_packet.c - MS-TDS 2.2.3.1.  A header may be cut at each of its bytes, so
 * it is collected; bodies are passed on where they lie. */
#include "tds_packet.h"

#include <stdio.h>
#include <string.h>

#include "tds_limits.h"

static int bad(struct tds_packet_reader *r, const char *what, unsigned value) {
  (void)snprintf(r->why, sizeof r->why,
                 "%s %u in the packet header at byte "
                 "%llu",
                 what, value, (unsigned long long)(r->at - 8));
  return TDS_E_PROTO;
}

static int check_head(struct tds_packet_reader *r) {
  uint32_t length = tds_u16be(r->head + 2);
  uint32_t limit = r->limit == 0 ? TDS_PACKET_MAX : r->limit;
  r->type = r->head[0];
  bool known =
      r->type == TDS_PKT_REPLY || (r->handshake && r->type == TDS_PKT_PRELOGIN);
  if (!known) {
    return bad(r, "unexpected type", r->type);
  }
  if (length < TDS_PACKET_HEAD || length > limit) {
    return bad(r, "impossible length", length);
  }
  r->spid = tds_u16be(r->head + 4);
  r->left = length - TDS_PACKET_HEAD;
  return TDS_OK;
}

static void end_packet(struct tds_packet_reader *r) {
  r->ending = (r->head[1] & TDS_ST_EOM) != 0;
  r->have = 0;
}

int tds_packet_next(struct tds_packet_reader *r,
                    struct tds_span *in,
                    struct tds_span *out_body) {
  for (;;) {
    if (r->ending) {
      r->ending = 0;
      return TDS_PACKET_END;
    }
    while (r->have < TDS_PACKET_HEAD) {
      if (in->n == 0) {
        return TDS_MORE;
      }
      r->head[r->have++] = *tds_take(in, 1);
      r->at++;
      if (r->have == TDS_PACKET_HEAD) {
        int rc = check_head(r);
        if (rc != TDS_OK) {
          return rc;
        }
      }
    }
    if (r->left == 0) {
      end_packet(r);
      continue;
    }
    if (in->n == 0) {
      return TDS_MORE;
    }
    size_t n = in->n < r->left ? in->n : r->left;
    out_body->p = tds_take(in, n);
    out_body->n = n;
    r->at += n;
    r->left -= (uint32_t)n;
    if (r->left == 0) {
      end_packet(r);
    }
    return TDS_PACKET_DATA;
  }
}

int tds_packet_whole(const struct tds_packet_reader *r, struct tds_span in) {
  struct tds_packet_reader ahead = *r;
  struct tds_span body;
  int rc = TDS_PACKET_DATA;
  while (rc == TDS_PACKET_DATA) {
    rc = tds_packet_next(&ahead, &in, &body);
  }
  return rc != TDS_MORE;
}

int tds_packet_idle(const struct tds_packet_reader *r) {
  return r->have == 0 && r->ending == 0;
}

void tds_packet_head(uint8_t out[8],
                     uint8_t type,
                     uint8_t status,
                     size_t body,
                     uint8_t id) {
  memset(out, 0, TDS_PACKET_HEAD);
  out[0] = type;
  out[1] = status;
  tds_put16be(out + 2, (uint32_t)(body + TDS_PACKET_HEAD));
  out[6] = id;
}
