/* SPDX-License-Identifier: MIT */
#include "server_fault_pieces.h"

#include <stdlib.h>
#include <string.h>

#include "server_const.h"

static struct tdsd_piece *make_place(struct tdsd_pieces *pieces, size_t at) {
  if (pieces->n == pieces->room) {
    size_t room = pieces->room == 0 ? 16 : 2 * pieces->room;
    struct tdsd_piece *list = realloc(pieces->list, room * sizeof *list);
    if (list == NULL) {
      pieces->failed = true;
      return NULL;
    }
    pieces->list = list;
    pieces->room = room;
  }
  memmove(pieces->list + at + 1, pieces->list + at,
          (pieces->n - at) * sizeof *pieces->list);
  pieces->n++;
  pieces->list[at] = (struct tdsd_piece){.token = 0};
  return &pieces->list[at];
}

static void close_piece(struct tdsd_pieces *pieces, size_t end) {
  if (pieces->n != 0) {
    struct tdsd_piece *last = &pieces->list[pieces->n - 1];
    tdsd_buf_bytes(&last->bytes, pieces->from + pieces->begun,
                   end - pieces->begun);
    if (last->token == TDSD_TOK_ENVCHANGE && end - pieces->begun > 3) {
      last->env = pieces->from[pieces->begun + 3];
    }
  }
  pieces->begun = end;
}

static void see_token(void *user, const struct tdsd_place *place) {
  struct tdsd_pieces *pieces = user;
  if (place->field != TDSD_FIELD_TOKEN) {
    return;
  }
  close_piece(pieces, place->at);
  struct tdsd_piece *piece = make_place(pieces, pieces->n);
  if (piece != NULL) {
    piece->token = place->token;
  }
}

void tdsd_pieces_take(struct tdsd_pieces *pieces,
                      const struct tdsd_buf *reply,
                      uint32_t version) {
  pieces->from = tdsd_buf_at(reply);
  size_t len = tdsd_buf_len(reply);
  size_t known = tdsd_walk(pieces->from, len, version, see_token, pieces);
  size_t last = pieces->begun;
  close_piece(pieces, len);
  if (known < len && last == known && pieces->n != 0) {
    pieces->list[pieces->n - 1].token = 0; /* cut off, or not known */
    pieces->list[pieces->n - 1].env = 0;
  }
}

void tdsd_pieces_join(struct tdsd_pieces *pieces, struct tdsd_buf *reply) {
  tdsd_buf_clear(reply);
  for (size_t i = 0; i < pieces->n; i++) {
    struct tdsd_buf *bytes = &pieces->list[i].bytes;
    tdsd_buf_bytes(reply, tdsd_buf_at(bytes), tdsd_buf_len(bytes));
    tdsd_buf_fini(bytes);
  }
  free(pieces->list);
}

void tdsd_pieces_remove(struct tdsd_pieces *pieces, size_t at) {
  tdsd_buf_fini(&pieces->list[at].bytes);
  memmove(pieces->list + at, pieces->list + at + 1,
          (pieces->n - at - 1) * sizeof *pieces->list);
  pieces->n--;
}

struct tdsd_buf *tdsd_pieces_insert(struct tdsd_pieces *pieces, size_t at) {
  struct tdsd_piece *piece = make_place(pieces, at);
  return piece == NULL ? NULL : &piece->bytes;
}

void tdsd_pieces_copy(struct tdsd_pieces *pieces, size_t at, size_t of) {
  uint8_t token = pieces->list[of].token;
  uint8_t env = pieces->list[of].env;
  struct tdsd_piece *piece = make_place(pieces, at);
  if (piece != NULL) {
    const struct tdsd_buf *from = &pieces->list[of >= at ? of + 1 : of].bytes;
    piece->token = token;
    piece->env = env;
    tdsd_buf_bytes(&piece->bytes, tdsd_buf_at(from), tdsd_buf_len(from));
  }
}

void tdsd_pieces_move(struct tdsd_pieces *pieces, size_t from, size_t to) {
  struct tdsd_piece piece = pieces->list[from];
  memmove(pieces->list + from, pieces->list + from + 1,
          (pieces->n - from - 1) * sizeof *pieces->list);
  memmove(pieces->list + to + 1, pieces->list + to,
          (pieces->n - 1 - to) * sizeof *pieces->list);
  pieces->list[to] = piece;
}

static bool is_done(uint8_t token) {
  return token == TDSD_TOK_DONE || token == TDSD_TOK_DONEPROC ||
         token == TDSD_TOK_DONEINPROC;
}

/* The place of the last DONE; n if there is none. */
size_t tdsd_pieces_final(const struct tdsd_pieces *pieces) {
  for (size_t i = pieces->n; i != 0; i--) {
    if (is_done(pieces->list[i - 1].token)) {
      return i - 1;
    }
  }
  return pieces->n;
}

size_t tdsd_pieces_find(const struct tdsd_pieces *pieces, uint8_t token) {
  size_t i = 0;
  while (i < pieces->n && pieces->list[i].token != token) {
    i++;
  }
  return i;
}

size_t tdsd_pieces_env(const struct tdsd_pieces *pieces, uint8_t type) {
  size_t i = 0;
  while (i < pieces->n && (pieces->list[i].token != TDSD_TOK_ENVCHANGE ||
                           pieces->list[i].env != type)) {
    i++;
  }
  return i;
}

size_t tdsd_pieces_place(const struct tdsd_pieces *pieces,
                         enum tdsd_fault_place place) {
  switch (place) {
  case TDSD_PLACE_START:
    return 0;
  case TDSD_PLACE_MIDDLE:
    return pieces->n / 2;
  case TDSD_PLACE_LAST:
    return pieces->n;
  case TDSD_PLACE_END:
  default:
    return tdsd_pieces_final(pieces);
  }
}
