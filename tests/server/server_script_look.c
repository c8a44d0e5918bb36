/* SPDX-License-Identifier: MIT */
/* What a message asks, as the rules of a script are compared with it. */
#include <stdlib.h>
#include <string.h>

#include "server_const.h"
#include "server_session.h"
#include "server_text.h"

#define PROC_NAME_BYTES 256u

/* What is left of a request while it is looked at. */
struct view {
  const uint8_t *at;
  size_t left;
};

static const uint8_t *take(struct view *view, size_t n) {
  const uint8_t *at = view->at;
  if (n > view->left) {
    view->left = 0;
    return NULL;
  }
  view->at += n;
  view->left -= n;
  return at;
}

/* A text being read: malloc'ed UTF-8. */
struct text {
  char *bytes;
  size_t len;
};

static void set_w16(struct text *text, const uint8_t *w16, size_t bytes) {
  text->bytes = malloc(bytes / 2 * 3 + 1);
  text->len =
      text->bytes == NULL ? 0 : tdsd_text_from_w16(w16, bytes / 2, text->bytes);
}

/* Joins the chunks of a PLP value. */
static void set_plp(struct text *text, struct view *view) {
  struct tdsd_buf whole = {0};
  const uint8_t *length = take(view, 8);
  while (length != NULL && (length = take(view, 4)) != NULL) {
    size_t n = tdsd_get_u32(length);
    const uint8_t *chunk = n == 0 ? NULL : take(view, n);
    if (chunk == NULL) {
      break;
    }
    tdsd_buf_bytes(&whole, chunk, n);
  }
  if (tdsd_buf_len(&whole) != 0) {
    set_w16(text, tdsd_buf_at(&whole), tdsd_buf_len(&whole));
  }
  tdsd_buf_fini(&whole);
}

/* Reads a value of the types that statements come in; others end the search.
 * Returns whether it was one of them; *text is set if it was N-text. */
static bool read_value(struct view *view, struct text *text) {
  const uint8_t *type = take(view, 1);
  const uint8_t *length = NULL;
  if (type == NULL) {
    return false;
  }
  if (*type == 0x26) { /* intN: a handle */
    const uint8_t *head = take(view, 2);
    return head != NULL && take(view, head[1]) != NULL;
  }
  if (*type == 0x63) { /* ntext */
    (void)take(view, 9);
    length = take(view, 4);
    size_t n = length == NULL ? UINT32_MAX : tdsd_get_u32(length);
    const uint8_t *bytes = n == UINT32_MAX ? NULL : take(view, n);
    if (bytes != NULL) {
      set_w16(text, bytes, n);
    }
    return length != NULL;
  }
  if (*type != 0xE7 && *type != 0xEF) {
    return false;
  }
  const uint8_t *head = take(view, 7);
  if (head == NULL) {
    return false;
  }
  if (tdsd_get_u16(head) == 0xFFFF) {
    set_plp(text, view);
    return true;
  }
  length = take(view, 2);
  size_t n = length == NULL ? 0xFFFF : tdsd_get_u16(length);
  const uint8_t *bytes = n == 0xFFFF ? NULL : take(view, n);
  if (bytes != NULL) {
    set_w16(text, bytes, n);
  }
  return length != NULL;
}

/* The statement: the first parameter of sp_executesql and of what is unknown, the
 * third of those that return a handle. */
static void find_statement(struct view *view,
                           uint32_t number,
                           struct text *out) {
  unsigned wanted = number == 11 || number == 13 ? 2 : 0;
  for (unsigned i = 0; i <= wanted; i++) {
    struct text text = {NULL, 0};
    const uint8_t *name = take(view, 1);
    if (name == NULL || take(view, 2u * *name + 1u) == NULL ||
        !read_value(view, &text)) {
      return;
    }
    if (i == wanted) {
      *out = text;
    } else {
      free(text.bytes);
    }
  }
}

static const struct {
  const char *name;
  uint32_t number;
} procedures[] = {{"sp_cursor", 1},         {"sp_cursoropen", 2},
                  {"sp_cursorprepare", 3},  {"sp_cursorexecute", 4},
                  {"sp_cursorprepexec", 5}, {"sp_cursorunprepare", 6},
                  {"sp_cursorfetch", 7},    {"sp_cursoroption", 8},
                  {"sp_cursorclose", 9},    {"sp_executesql", 10},
                  {"sp_prepare", 11},       {"sp_execute", 12},
                  {"sp_prepexec", 13},      {"sp_prepexecrpc", 14},
                  {"sp_unprepare", 15}};

#define PROCEDURES (sizeof procedures / sizeof procedures[0])

/* The name behind the last point, without brackets. */
static const char *bare_name(char *name) {
  char *point = strrchr(name, '.');
  char *bare = point != NULL ? point + 1 : name;
  size_t len = strlen(bare);
  if (len > 1 && bare[0] == '[' && bare[len - 1] == ']') {
    bare[len - 1] = 0;
    bare++;
  }
  return bare;
}

static void look_at_rpc(struct view view,
                        struct tdsd_script_asked *asked,
                        char name[PROC_NAME_BYTES],
                        struct text *text) {
  const uint8_t *units = take(&view, 2);
  size_t n = units == NULL ? 0 : tdsd_get_u16(units);
  if (n == 0xFFFF) {
    const uint8_t *id = take(&view, 2);
    asked->number = id == NULL ? 0 : tdsd_get_u16(id);
    if (asked->number >= 1 && asked->number <= PROCEDURES) {
      asked->name = procedures[asked->number - 1].name;
    }
  } else {
    const uint8_t *w16 = take(&view, 2 * n);
    if (w16 == NULL || 3 * n >= PROC_NAME_BYTES) {
      return;
    }
    name[tdsd_text_from_w16(w16, n, name)] = 0;
    asked->name = bare_name(name);
    for (size_t i = 0; i < PROCEDURES; i++) {
      if (tdsd_text_same(procedures[i].name, asked->name)) {
        asked->number = procedures[i].number;
      }
    }
  }
  (void)take(&view, 2); /* flags */
  find_statement(&view, asked->number, text);
}

const struct tdsd_script_rule *tdsd_script_look(struct tdsd_session *session,
                                                enum tdsd_script_kind kind,
                                                const uint8_t *body,
                                                size_t len) {
  struct tdsd_script *script = session->shared->script;
  struct text text = {NULL, 0};
  char name[PROC_NAME_BYTES];
  struct tdsd_script_asked asked = {.kind = kind,
                                    .name = "",
                                    .conn = session->number,
                                    .msg = session->requests,
                                    .reset = session->joiner.reset};
  if (script == NULL) {
    return NULL;
  }
  if (kind == TDSD_SCRIPT_BATCH) {
    set_w16(&text, body, len);
  } else if (kind == TDSD_SCRIPT_RPC) {
    look_at_rpc((struct view){body, len}, &asked, name, &text);
  } else if (kind == TDSD_SCRIPT_TM && len >= 2) {
    asked.number = tdsd_get_u16(body);
  }
  bool own = kind == TDSD_SCRIPT_LOGIN;
  asked.text = own ? (const char *)body : text.bytes != NULL ? text.bytes : "";
  asked.text_len = own ? len : text.len;
  const struct tdsd_script_rule *rule =
      tdsd_script_find(script, tdsd_script_layout_of(session), &asked);
  free(text.bytes);
  return rule;
}

char *tdsd_script_request_text(const struct tdsd_session *session,
                               const uint8_t *body,
                               size_t len,
                               size_t *out_len) {
  struct text text = {NULL, 0};
  struct tdsd_script_asked asked = {.kind = TDSD_SCRIPT_RPC, .name = ""};
  char name[PROC_NAME_BYTES];
  if (session->joiner.type == TDSD_PKT_BATCH) {
    set_w16(&text, body, len);
  } else if (session->joiner.type == TDSD_PKT_RPC) {
    look_at_rpc((struct view){body, len}, &asked, name, &text);
  }
  *out_len = text.len;
  return text.bytes;
}
