/* SPDX-License-Identifier: MIT */
/* A reply taken apart into its tokens, so that faults can leave them out, double
 * and move them. */
#ifndef TDSD_SERVER_FAULT_PIECES_H
#define TDSD_SERVER_FAULT_PIECES_H

#include "server_fault.h"

/* One token of the reply, with its own bytes so that it can be changed. */
struct tdsd_piece {
  uint8_t token;
  uint8_t env; /* the type of an ENVCHANGE */
  struct tdsd_buf bytes;
};

struct tdsd_pieces {
  struct tdsd_piece *list;
  size_t n;
  size_t room;
  const uint8_t *from; /* the reply that is taken apart */
  size_t begun;        /* where the token at hand begins */
  bool failed;
};

/* Takes a reply apart; what is not understood stays in the last piece. */
void tdsd_pieces_take(struct tdsd_pieces *pieces,
                      const struct tdsd_buf *reply,
                      uint32_t version);

/* Puts the pieces together again in reply, and frees them. */
void tdsd_pieces_join(struct tdsd_pieces *pieces, struct tdsd_buf *reply);

void tdsd_pieces_remove(struct tdsd_pieces *pieces, size_t at);

/* Makes an empty piece.  Returns its bytes, NULL without memory. */
struct tdsd_buf *tdsd_pieces_insert(struct tdsd_pieces *pieces, size_t at);

/* Puts a copy of a piece in front of another. */
void tdsd_pieces_copy(struct tdsd_pieces *pieces, size_t at, size_t of);

/* Moves a piece so that it is at to afterwards. */
void tdsd_pieces_move(struct tdsd_pieces *pieces, size_t from, size_t to);

/* The place of the last DONE, of the first token of a kind, of the first
 * ENVCHANGE of a type; pieces->n if there is none. */
size_t tdsd_pieces_final(const struct tdsd_pieces *pieces);
size_t tdsd_pieces_find(const struct tdsd_pieces *pieces, uint8_t token);
size_t tdsd_pieces_env(const struct tdsd_pieces *pieces, uint8_t type);

/* Where place= means. */
size_t tdsd_pieces_place(const struct tdsd_pieces *pieces,
                         enum tdsd_fault_place place);

/* What the faults returnvalue and returnstatus say (server_fault_output.c). */
void tdsd_pieces_edit_values(struct tdsd_pieces *pieces,
                             const struct tdsd_fault_rule *rule);
void tdsd_pieces_edit_status(struct tdsd_pieces *pieces,
                             const struct tdsd_fault_rule *rule);

#endif
