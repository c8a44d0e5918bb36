/* SPDX-License-Identifier: MIT */
/* Faults in what a reply says: the whole reply is held, its tokens are listed,
 * changed and put together again.  What the walk does not understand, such as
 * hexadecimal bytes of a script, stays as it is at the end. */
#include <string.h>

#include "server_const.h"
#include "server_fault_pieces.h"
#include "server_reply.h"

#define ENV_ROUTING  20u
#define ENV_ROUTING2 21u

/* Whether the i-th (from 0) of something is meant. */
static bool is_nth(const struct tdsd_fault_rule *rule, int32_t i) {
  return rule->nth < 0 || (rule->nth == 0 ? 1 : rule->nth) == i + 1;
}

/* The lies. */

struct liar {
  const struct tdsd_fault_rule *rule;
  uint8_t *bytes;
  int32_t met;
};

static void tell_lie(void *user, const struct tdsd_place *place) {
  struct liar *liar = user;
  const struct tdsd_fault_rule *rule = liar->rule;
  if (place->field != rule->field ||
      (rule->token != 0 && rule->token != place->token)) {
    return;
  }
  if (is_nth(rule, liar->met++)) {
    for (unsigned i = 0; i < place->width; i++) {
      liar->bytes[place->at + i] = (uint8_t)(rule->value >> (8 * i));
    }
  }
}

/* The lies are told into a copy, because the walk goes on by what it reads. */
static void lie(const struct tdsd_fault_rule *rule,
                uint32_t version,
                struct tdsd_buf *reply) {
  size_t len = tdsd_buf_len(reply);
  struct tdsd_buf copy = {0};
  tdsd_buf_bytes(&copy, tdsd_buf_at(reply), len);
  if (!copy.failed && len != 0) {
    struct liar liar = {.rule = rule, .bytes = tdsd_buf_at(reply)};
    (void)tdsd_walk(tdsd_buf_at(&copy), len, version, tell_lie, &liar);
  }
  tdsd_buf_fini(&copy);
}

/* Noise that is the same each time. */
static void garbage(const struct tdsd_fault_rule *rule,
                    struct tdsd_buf *reply) {
  uint32_t state = 12345;
  tdsd_buf_clear(reply);
  for (uint64_t i = 0; i < rule->number; i++) {
    state = state * 1664525u + 1013904223u;
    tdsd_buf_u8(reply, state >> 24);
  }
}

static void truncate_reply(const struct tdsd_fault_rule *rule,
                           struct tdsd_buf *reply) {
  struct tdsd_buf rest = {0};
  size_t len = tdsd_buf_len(reply);
  size_t keep = rule->byte < len ? (size_t)rule->byte : len;
  tdsd_buf_bytes(&rest, tdsd_buf_at(reply), keep);
  tdsd_buf_clear(reply);
  tdsd_buf_bytes(reply, tdsd_buf_at(&rest), keep);
  tdsd_buf_fini(&rest);
}

static void insert_hex(struct tdsd_pieces *pieces,
                       const struct tdsd_fault_rule *rule) {
  size_t at = rule->nth > 0 ? (size_t)rule->nth - 1
                            : tdsd_pieces_place(pieces, rule->place);
  struct tdsd_buf *bytes =
      tdsd_pieces_insert(pieces, at < pieces->n ? at : pieces->n);
  if (bytes != NULL) {
    tdsd_buf_bytes(bytes, rule->hex, rule->hex_len);
  }
}

/* Leaves out or doubles a token. */
static void drop_or_double(struct tdsd_pieces *pieces,
                           const struct tdsd_fault_rule *rule) {
  int32_t met = 0;
  for (size_t i = 0; i < pieces->n; i++) {
    if (pieces->list[i].token != rule->token || !is_nth(rule, met++)) {
      continue;
    }
    if (rule->row->kind == TDSD_FAULT_DROP) {
      tdsd_pieces_remove(pieces, i--);
    } else {
      tdsd_pieces_copy(pieces, i + 1, i);
      i++;
    }
  }
}

static void edit_loginack(struct tdsd_pieces *pieces,
                          const struct tdsd_fault_rule *rule) {
  size_t at = tdsd_pieces_find(pieces, TDSD_TOK_LOGINACK);
  if (at == pieces->n) {
    return;
  }
  if (rule->word == 0) {
    tdsd_pieces_remove(pieces, at);
  } else if (rule->word == 1) {
    tdsd_pieces_copy(pieces, at + 1, at);
  } else if (tdsd_buf_len(&pieces->list[at].bytes) >= 8) {
    uint8_t *bytes = tdsd_buf_at(&pieces->list[at].bytes);
    for (unsigned i = 0; i < 4; i++) { /* behind length and interface */
      bytes[4 + i] = (uint8_t)(rule->value >> (8 * (3 - i)));
    }
  }
}

static void edit_feature(struct tdsd_pieces *pieces,
                         const struct tdsd_fault_rule *rule) {
  size_t at = tdsd_pieces_find(pieces, TDSD_TOK_FEATUREEXTACK);
  struct tdsd_buf one = {0};
  tdsd_buf_u8(&one, (uint32_t)rule->number);
  tdsd_buf_u32(&one, rule->hex_len);
  tdsd_buf_bytes(&one, rule->hex, rule->hex_len);
  struct tdsd_buf whole = {0};
  tdsd_buf_u8(&whole, TDSD_TOK_FEATUREEXTACK);
  tdsd_buf_bytes(&whole, tdsd_buf_at(&one), tdsd_buf_len(&one));
  if (at < pieces->n) { /* in front of what is acknowledged anyway */
    const struct tdsd_buf *bytes = &pieces->list[at].bytes;
    tdsd_buf_bytes(&whole, tdsd_buf_at(bytes) + 1, tdsd_buf_len(bytes) - 1);
    tdsd_buf_fini(&pieces->list[at].bytes);
    pieces->list[at].bytes = whole;
  } else {
    struct tdsd_buf *bytes =
        tdsd_pieces_insert(pieces, tdsd_pieces_final(pieces));
    tdsd_buf_u8(&whole, TDSD_FEAT_END);
    if (bytes != NULL) {
      *bytes = whole;
    } else {
      tdsd_buf_fini(&whole);
    }
  }
  tdsd_buf_fini(&one);
}

static void edit_packet_size(struct tdsd_pieces *pieces,
                             const struct tdsd_fault_rule *rule,
                             const struct tdsd_writer *usual) {
  size_t at = tdsd_pieces_env(pieces, TDSD_ENV_PACKET_SIZE);
  char digits[24];
  size_t n = 0;
  uint64_t left = rule->number;
  char reversed[24];
  do {
    reversed[n++] = (char)('0' + left % 10);
    left /= 10;
  } while (left != 0);
  for (size_t i = 0; i < n; i++) {
    digits[i] = reversed[n - 1 - i];
  }
  digits[n] = 0;
  if (at < pieces->n) {
    struct tdsd_writer writer = *usual;
    tdsd_buf_clear(&pieces->list[at].bytes);
    writer.reply = &pieces->list[at].bytes;
    tdsd_write_env_text(&writer, TDSD_ENV_PACKET_SIZE, digits, "4096");
  }
}

/* ENVCHANGE 20, or 21 if a database is given; place=middle puts it in front of
 * LOGINACK. */
static void edit_route(struct tdsd_pieces *pieces,
                       const struct tdsd_fault_rule *rule) {
  size_t at = rule->place == TDSD_PLACE_MIDDLE
                  ? tdsd_pieces_find(pieces, TDSD_TOK_LOGINACK)
                  : tdsd_pieces_place(pieces, rule->place);
  struct tdsd_buf *out = tdsd_pieces_insert(pieces, at);
  if (out == NULL) {
    return;
  }
  bool enhanced = rule->database[0] != 0;
  tdsd_buf_u8(out, TDSD_TOK_ENVCHANGE);
  tdsd_buf_u16(out, 0);
  tdsd_buf_u8(out, enhanced ? ENV_ROUTING2 : ENV_ROUTING);
  tdsd_buf_u16(out, 0);
  tdsd_buf_u8(out, 0);
  tdsd_buf_u16(out, (uint32_t)rule->number);
  tdsd_buf_us_varchar(out, rule->text);
  if (enhanced) {
    tdsd_buf_us_varchar(out, rule->database);
  }
  size_t value = tdsd_buf_len(out) - 6;
  tdsd_buf_u16(out, 0);
  tdsd_buf_put_u16(out, 1, (uint32_t)(tdsd_buf_len(out) - 3));
  tdsd_buf_put_u16(out, 4, (uint32_t)value);
}

static void write_descriptor(struct tdsd_buf *out,
                             uint32_t type,
                             uint64_t descriptor) {
  bool begin = type == TDSD_ENV_BEGIN;
  tdsd_buf_u8(out, TDSD_TOK_ENVCHANGE);
  tdsd_buf_u16(out, 11);
  tdsd_buf_u8(out, type);
  tdsd_buf_u8(out, begin ? 8 : 0);
  if (begin) {
    tdsd_buf_u64(out, descriptor);
    tdsd_buf_u8(out, 0);
  } else {
    tdsd_buf_u8(out, 8);
    tdsd_buf_u64(out, descriptor);
  }
}

/* rollback, wrong, begin; silent only leaves out what the server wrote. */
static void edit_tran(struct tdsd_pieces *pieces,
                      const struct tdsd_fault_rule *rule,
                      uint64_t descriptor) {
  if (rule->word == 3) {
    for (size_t i = 0; i < pieces->n; i++) {
      if (pieces->list[i].env == TDSD_ENV_ROLLBACK) {
        tdsd_pieces_remove(pieces, i--);
      }
    }
    return;
  }
  struct tdsd_buf *out =
      tdsd_pieces_insert(pieces, tdsd_pieces_place(pieces, rule->place));
  if (out != NULL) {
    bool begin = rule->word == 2;
    uint64_t wrong = UINT64_C(0xBADBADBADBADBAD);
    write_descriptor(out, begin ? TDSD_ENV_BEGIN : TDSD_ENV_ROLLBACK,
                     rule->word == 1 ? wrong : descriptor);
  }
}

static void edit_done(struct tdsd_pieces *pieces,
                      const struct tdsd_fault_rule *rule) {
  size_t at = tdsd_pieces_final(pieces);
  if (at == pieces->n) {
    return;
  }
  if (rule->word == 2) {
    tdsd_pieces_remove(pieces, at);
  } else if (rule->word == 3) {
    tdsd_pieces_copy(pieces, at + 1, at);
  } else {
    uint8_t *bytes = tdsd_buf_at(&pieces->list[at].bytes);
    bytes[1] = (uint8_t)(bytes[1] | (rule->word == 0 ? 0x02u : 0u));
    bytes[2] = (uint8_t)(bytes[2] | (rule->word == 1 ? 0x01u : 0u));
  }
}

static void edit_reset_ack(struct tdsd_pieces *pieces,
                           const struct tdsd_fault_rule *rule) {
  size_t at = tdsd_pieces_env(pieces, TDSD_ENV_RESET);
  if (at == pieces->n) {
    return;
  }
  if (rule->word == 0) {
    tdsd_pieces_remove(pieces, at);
  } else if (rule->word == 2) {
    tdsd_pieces_copy(pieces, at + 1, at);
  } else {
    size_t done = tdsd_pieces_final(pieces);
    tdsd_pieces_move(pieces, at, done > at ? done - 1 : at);
  }
}

static void edit_reset_env(struct tdsd_pieces *pieces,
                           const struct tdsd_writer *usual) {
  size_t at = tdsd_pieces_env(pieces, TDSD_ENV_RESET);
  struct tdsd_buf *out =
      at == pieces->n ? NULL : tdsd_pieces_insert(pieces, at + 1);
  if (out != NULL) {
    struct tdsd_writer writer = *usual;
    writer.reply = out;
    tdsd_write_env_text(&writer, TDSD_ENV_DATABASE, "master", "master");
  }
}

static void edit_pieces(struct tdsd_pieces *pieces,
                        const struct tdsd_fault_rule *rule,
                        const struct tdsd_writer *usual,
                        uint64_t descriptor) {
  unsigned kind = rule->row->kind;
  switch (kind) {
  case TDSD_FAULT_INSERT:
    insert_hex(pieces, rule);
    break;
  case TDSD_FAULT_DROP:
  case TDSD_FAULT_DOUBLE:
    drop_or_double(pieces, rule);
    break;
  case TDSD_FAULT_LOGINACK:
    edit_loginack(pieces, rule);
    break;
  case TDSD_FAULT_FEATURE:
    edit_feature(pieces, rule);
    break;
  case TDSD_FAULT_PACKET_SIZE:
    edit_packet_size(pieces, rule, usual);
    break;
  case TDSD_FAULT_ROUTE:
    edit_route(pieces, rule);
    break;
  case TDSD_FAULT_TRAN:
    edit_tran(pieces, rule, descriptor);
    break;
  case TDSD_FAULT_DONE:
    edit_done(pieces, rule);
    break;
  case TDSD_FAULT_RESET_ACK:
    edit_reset_ack(pieces, rule);
    break;
  case TDSD_FAULT_RESET_ENV:
    edit_reset_env(pieces, usual);
    break;
  case TDSD_FAULT_RETURNVALUE:
    tdsd_pieces_edit_values(pieces, rule);
    break;
  case TDSD_FAULT_RETURNSTATUS:
    tdsd_pieces_edit_status(pieces, rule);
    break;
  default:
    break;
  }
}

bool tdsd_fault_edit_bytes(const struct tdsd_fault_rule *rule,
                           uint32_t version,
                           struct tdsd_buf *reply) {
  unsigned kind = rule->row->kind;
  switch (kind) {
  case TDSD_FAULT_LIE:
    lie(rule, version, reply);
    return true;
  case TDSD_FAULT_GARBAGE:
    garbage(rule, reply);
    return true;
  case TDSD_FAULT_TRUNCATE:
    truncate_reply(rule, reply);
    return true;
  default:
    return false;
  }
}

void tdsd_fault_edit(const struct tdsd_armed *armed,
                     uint32_t version,
                     uint64_t descriptor,
                     struct tdsd_buf *reply) {
  for (uint32_t i = 0; i < armed->n; i++) {
    const struct tdsd_fault_rule *rule = &armed->rules[i];
    struct tdsd_pieces pieces = {.n = 0};
    const struct tdsd_writer usual = {.reply = reply, .version = version};
    if (rule->row->stage != TDSD_STAGE_TOKENS ||
        tdsd_fault_edit_bytes(rule, version, reply)) {
      continue;
    }
    tdsd_pieces_take(&pieces, reply, version);
    edit_pieces(&pieces, rule, &usual, descriptor);
    tdsd_pieces_join(&pieces, reply);
  }
}
