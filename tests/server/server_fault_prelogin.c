/* SPDX-License-Identifier: MIT */
/* Faults in the PRELOGIN reply, which is a table of options and no tokens. */
#include "server_const.h"
#include "server_fault.h"

/* The value of an option in the PRELOGIN table. */
static void set_option(struct tdsd_buf *reply, uint8_t option, uint8_t value) {
  uint8_t *bytes = tdsd_buf_at(reply);
  size_t len = tdsd_buf_len(reply);
  for (size_t at = 0; at + 5 <= len && bytes[at] != TDSD_PRE_END; at += 5) {
    size_t offset = tdsd_get_u16be(bytes + at + 1);
    if (bytes[at] == option && offset < len) {
      bytes[offset] = value;
    }
  }
}

/* Whether there is a table whose values are all there; a script may have written
 * anything. */
static bool is_table(const struct tdsd_buf *reply) {
  const uint8_t *bytes = tdsd_buf_at(reply);
  size_t len = tdsd_buf_len(reply);
  for (size_t at = 0; at < len; at += 5) {
    if (bytes[at] == TDSD_PRE_END) {
      return true;
    }
    if (len - at < 5 || (size_t)tdsd_get_u16be(bytes + at + 1) +
                                tdsd_get_u16be(bytes + at + 3) >
                            len) {
      return false;
    }
  }
  return false;
}

/* FEDAUTHREQUIRED may not be in the table yet, or must leave it: the table is
 * written anew. */
static void set_fedauth(struct tdsd_buf *reply,
                        const struct tdsd_fault_rule *rule) {
  struct tdsd_buf table = {0};
  struct tdsd_buf values = {0};
  const uint8_t *bytes = tdsd_buf_at(reply);
  size_t n = 0;
  size_t kept = 0;
  while (bytes[5 * n] != TDSD_PRE_END) {
    kept += bytes[5 * n] != TDSD_PRE_FEDAUTH ? 1 : 0;
    n++;
  }
  bool add = rule->word < 0;
  size_t offset = 5 * (kept + (add ? 1 : 0)) + 1;
  for (size_t i = 0; i < n; i++) {
    const uint8_t *entry = bytes + 5 * i;
    size_t len = tdsd_get_u16be(entry + 3);
    if (entry[0] != TDSD_PRE_FEDAUTH) {
      tdsd_buf_u8(&table, entry[0]);
      tdsd_buf_u16be(&table, (uint32_t)(offset + tdsd_buf_len(&values)));
      tdsd_buf_u16be(&table, (uint32_t)len);
      tdsd_buf_bytes(&values, bytes + tdsd_get_u16be(entry + 1), len);
    }
  }
  if (add) {
    tdsd_buf_u8(&table, TDSD_PRE_FEDAUTH);
    tdsd_buf_u16be(&table, (uint32_t)(offset + tdsd_buf_len(&values)));
    tdsd_buf_u16be(&table, 1);
    tdsd_buf_u8(&values, (uint32_t)rule->number);
  }
  tdsd_buf_u8(&table, TDSD_PRE_END);
  tdsd_buf_bytes(&table, tdsd_buf_at(&values), tdsd_buf_len(&values));
  tdsd_buf_clear(reply);
  tdsd_buf_bytes(reply, tdsd_buf_at(&table), tdsd_buf_len(&table));
  tdsd_buf_fini(&table);
  tdsd_buf_fini(&values);
}

void tdsd_fault_edit_prelogin(const struct tdsd_armed *armed,
                              struct tdsd_buf *reply) {
  for (uint32_t i = 0; i < armed->n; i++) {
    const struct tdsd_fault_rule *rule = &armed->rules[i];
    unsigned kind = rule->row->kind;
    if (kind == TDSD_FAULT_INSTOPT) {
      set_option(reply, TDSD_PRE_INSTOPT, (uint8_t)rule->number);
    } else if (kind == TDSD_FAULT_ENCRYPTION) {
      set_option(reply, TDSD_PRE_ENCRYPTION, (uint8_t)rule->number);
    } else if (kind == TDSD_FAULT_FEDAUTH && is_table(reply)) {
      set_fedauth(reply, rule);
    } else if (rule->row->stage == TDSD_STAGE_TOKENS) {
      (void)tdsd_fault_edit_bytes(rule, TDSD_V74, reply);
    }
  }
}
