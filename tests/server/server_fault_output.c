/* SPDX-License-Identifier: MIT */
/* Faults in output values and in the return status of a reply. */
#include "server_const.h"
#include "server_fault_pieces.h"

/* Removes the name behind token and ordinal. */
static void unname(struct tdsd_buf *bytes) {
  struct tdsd_buf changed = {0};
  const uint8_t *at = tdsd_buf_at(bytes);
  size_t name = 2u * at[3];
  tdsd_buf_bytes(&changed, at, 3);
  tdsd_buf_u8(&changed, 0);
  tdsd_buf_bytes(&changed, at + 4 + name, tdsd_buf_len(bytes) - 4 - name);
  tdsd_buf_fini(bytes);
  *bytes = changed;
}

static void swap_pieces(struct tdsd_pieces *pieces, size_t a, size_t b) {
  struct tdsd_piece piece = pieces->list[a];
  pieces->list[a] = pieces->list[b];
  pieces->list[b] = piece;
}

/* Reverses the order of all output values. */
static void reverse_values(struct tdsd_pieces *pieces) {
  size_t low = 0;
  size_t high = pieces->n;
  while (low < high) {
    while (low < high && pieces->list[low].token != TDSD_TOK_RETURNVALUE) {
      low++;
    }
    while (high > low && pieces->list[high - 1].token != TDSD_TOK_RETURNVALUE) {
      high--;
    }
    if (low + 1 >= high) {
      return;
    }
    swap_pieces(pieces, low++, --high);
  }
}

/* Moves all tokens of a kind to the front, in their order. */
static void move_first(struct tdsd_pieces *pieces, uint8_t token) {
  size_t to = 0;
  for (size_t i = 0; i < pieces->n; i++) {
    if (pieces->list[i].token == token) {
      tdsd_pieces_move(pieces, i, to++);
    }
  }
}

static void remove_all(struct tdsd_pieces *pieces, uint8_t token) {
  for (size_t i = 0; i < pieces->n; i++) {
    if (pieces->list[i].token == token) {
      tdsd_pieces_remove(pieces, i--);
    }
  }
}

void tdsd_pieces_edit_values(struct tdsd_pieces *pieces,
                             const struct tdsd_fault_rule *rule) {
  switch (rule->word) {
  case 0:
    for (size_t i = 0; i < pieces->n; i++) {
      if (pieces->list[i].token == TDSD_TOK_RETURNVALUE) {
        unname(&pieces->list[i].bytes);
      }
    }
    break;
  case 1:
    reverse_values(pieces);
    break;
  case 2:
    remove_all(pieces, TDSD_TOK_RETURNVALUE);
    break;
  default:
    move_first(pieces, TDSD_TOK_RETURNVALUE);
    break;
  }
}

void tdsd_pieces_edit_status(struct tdsd_pieces *pieces,
                             const struct tdsd_fault_rule *rule) {
  size_t at = tdsd_pieces_find(pieces, TDSD_TOK_RETURNSTATUS);
  if (at == pieces->n) {
    return;
  }
  if (rule->word == 0) {
    move_first(pieces, TDSD_TOK_RETURNSTATUS);
  } else if (rule->word == 1) {
    remove_all(pieces, TDSD_TOK_RETURNSTATUS);
  } else {
    tdsd_pieces_copy(pieces, at + 1, at);
  }
}
