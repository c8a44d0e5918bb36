/* SPDX-License-Identifier: MIT */
/* Tokens of scripts that are neither metadata nor rows (MS-TDS 2.2.7). */
#include <stdio.h>
#include <string.h>

#include "server_const.h"
#include "server_reply.h"
#include "server_script_parse.h"

#define ENV_PROMOTE  15u
#define ENV_ROUTING  20u
#define ENV_ROUTING2 21u

/* A name that stands for a number. */
struct word {
  const char *name;
  uint32_t value;
};

static const struct word env_words[] = {
    {"database", 1},
    {"language", 2},
    {"charset", 3},
    {"packet", 4},
    {"sort", 5},
    {"compare", 6},
    {"collation", 7},
    {"begin", 8},
    {"commit", 9},
    {"rollback", 10},
    {"enlist", 11},
    {"defect", 12},
    {"mirror", 13},
    {"promote", 15},
    {"tmaddress", 16},
    {"ended", 17},
    {"reset", 18},
    {"userinstance", 19},
    {"routing", ENV_ROUTING},
    {"enhanced-routing", ENV_ROUTING2},
};

static const struct word done_words[] = {
    {"more", 0x0001},     {"error", 0x0002}, {"intran", 0x0004},
    {"count", 0x0010},    {"attn", 0x0020},  {"rpc", 0x0080},
    {"srverror", 0x0100},
};

static const struct word command_words[] = {
    {"select", 0xC1},   {"insert", 0xC3}, {"delete", 0xC4}, {"update", 0xC5},
    {"rollback", 0xD2}, {"begin", 0xD4},  {"commit", 0xD5}, {"exec", 0xE0},
    {"bulk", 0xF0},     {"set", 0xFD},    {"merge", 0x117},
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* If the word at hand is in the table, takes it.  Returns 1, 0 or -1. */
static int take_word(struct tdsd_script_parser *parser,
                     const struct word *words,
                     size_t n,
                     uint32_t *out) {
  for (size_t i = 0; i < n; i++) {
    if (tdsd_script_is_word(parser, words[i].name)) {
      *out = words[i].value;
      return tdsd_script_next(parser) < 0 ? -1 : 1;
    }
  }
  return 0;
}

int tdsd_script_u32(struct tdsd_script_parser *parser,
                    uint32_t most,
                    uint32_t *out) {
  uint64_t value = 0;
  if (tdsd_script_number(parser, 0, most, &value) < 0) {
    return -1;
  }
  *out = (uint32_t)value;
  return 0;
}

size_t tdsd_script_open_length(struct tdsd_buf *out) {
  size_t at = tdsd_buf_len(out);
  tdsd_buf_u16(out, 0);
  return at;
}

void tdsd_script_close_length(struct tdsd_buf *out, size_t at) {
  tdsd_buf_put_u16(out, at, (uint32_t)(tdsd_buf_len(out) - at - 2));
}

/* ERROR and INFO. */
struct message {
  uint64_t number;
  uint32_t class;
  uint32_t state;
  uint32_t line;
  const char *server;
  const char *proc;
  const char *text;
};

/* Returns 1 after an option, 0 if there is none, -1. */
static int message_option(struct tdsd_script_parser *parser,
                          struct message *message) {
  int rc = 0;
  if (tdsd_script_accept_option(parser, "class")) {
    rc = tdsd_script_u32(parser, 0xFF, &message->class);
  } else if (tdsd_script_accept_option(parser, "state")) {
    rc = tdsd_script_u32(parser, 0xFF, &message->state);
  } else if (tdsd_script_accept_option(parser, "line")) {
    rc = tdsd_script_u32(parser, UINT32_MAX, &message->line);
  } else if (tdsd_script_accept_option(parser, "server")) {
    rc = tdsd_script_string(parser, &message->server);
  } else if (tdsd_script_accept_option(parser, "proc")) {
    rc = tdsd_script_string(parser, &message->proc);
  } else {
    return parser->failed ? -1 : 0;
  }
  return rc < 0 ? -1 : 1;
}

/* error|info NUMBER [class=N] [state=N] [line=N] [server=".."] [proc=".."]
 * ["text"]. */
static int read_message(struct tdsd_script_parser *parser,
                        uint32_t token,
                        struct tdsd_buf *out) {
  struct message message = {.class = token == TDSD_TOK_ERROR ? 16 : 0,
                            .state = 1,
                            .line = 1,
                            .server = TDSD_SERVER_NAME,
                            .proc = "",
                            .text = ""};
  if (tdsd_script_number(parser, INT32_MIN, INT32_MAX, &message.number) < 0) {
    return -1;
  }
  int rc = 1;
  while (rc > 0) {
    rc = message_option(parser, &message);
  }
  if (rc < 0 || (parser->token.lexeme == TDSD_SL_STRING &&
                 tdsd_script_string(parser, &message.text) < 0)) {
    return -1;
  }
  tdsd_buf_u8(out, token);
  size_t at = tdsd_script_open_length(out);
  tdsd_buf_u32(out, (uint32_t)message.number);
  tdsd_buf_u8(out, message.state);
  tdsd_buf_u8(out, message.class);
  tdsd_buf_us_varchar(out, message.text);
  tdsd_buf_b_varchar(out, message.server);
  tdsd_buf_b_varchar(out, message.proc);
  if (parser->layout == TDSD_LAYOUT_71) {
    tdsd_buf_u16(out, message.line & 0xFFFF);
  } else {
    tdsd_buf_u32(out, message.line);
  }
  tdsd_script_close_length(out, at);
  return 0;
}

/* A text as B_VARCHAR, 0x.. as B_VARBYTE, nothing as an empty one.  An 8-byte
 * number is a transaction descriptor. */
static int read_env_value(struct tdsd_script_parser *parser,
                          struct tdsd_buf *out) {
  const struct tdsd_script_token *token = &parser->token;
  if (token->lexeme == TDSD_SL_STRING) {
    tdsd_buf_b_varchar(out, token->text);
    return tdsd_script_next(parser);
  }
  if (token->lexeme == TDSD_SL_HEX) {
    tdsd_buf_u8(out, (uint32_t)token->len & 0xFF);
    tdsd_buf_bytes(out, token->text, token->len);
    return tdsd_script_next(parser);
  }
  if (token->lexeme == TDSD_SL_NUMBER) {
    uint64_t value = 0;
    if (tdsd_script_number(parser, 0, UINT64_MAX, &value) < 0) {
      return -1;
    }
    tdsd_buf_u8(out, 8);
    tdsd_buf_u64(out, value);
    return 0;
  }
  tdsd_buf_u8(out, 0);
  return 0;
}

/* env routing "host" PORT ["database"]. */
static int read_routing(struct tdsd_script_parser *parser,
                        uint32_t type,
                        struct tdsd_buf *out) {
  const char *host = NULL;
  const char *database = "";
  uint32_t port = 0;
  if (tdsd_script_string(parser, &host) < 0 ||
      tdsd_script_u32(parser, 0xFFFF, &port) < 0) {
    return -1;
  }
  if (type == ENV_ROUTING2 && tdsd_script_string(parser, &database) < 0) {
    return -1;
  }
  size_t at = tdsd_script_open_length(out);
  tdsd_buf_u8(out, 0); /* TCP */
  tdsd_buf_u16(out, port);
  tdsd_buf_us_varchar(out, host);
  if (type == ENV_ROUTING2) {
    tdsd_buf_us_varchar(out, database);
  }
  tdsd_script_close_length(out, at);
  tdsd_buf_u16(out, 0);
  return 0;
}

/* env promote 0x..: its length says 1 and means only the type. */
static int read_promote(struct tdsd_script_parser *parser,
                        size_t at,
                        struct tdsd_buf *out) {
  const uint8_t *bytes = NULL;
  size_t len = 0;
  if (tdsd_script_bytes(parser, &bytes, &len) < 0) {
    return -1;
  }
  tdsd_buf_put_u16(out, at, 1);
  tdsd_buf_u32(out, (uint32_t)len);
  tdsd_buf_bytes(out, bytes, len);
  tdsd_buf_u8(out, 0);
  return 0;
}

/* env NAME|NUMBER [NEW [OLD]].  commit, rollback and their like have their only
 * value as the old one. */
static int read_env(struct tdsd_script_parser *parser, struct tdsd_buf *out) {
  uint32_t type = 0;
  int rc = take_word(parser, env_words, COUNT(env_words), &type);
  if (rc < 0 || (rc == 0 && tdsd_script_u32(parser, 0xFF, &type) < 0)) {
    return -1;
  }
  tdsd_buf_u8(out, TDSD_TOK_ENVCHANGE);
  size_t at = tdsd_script_open_length(out);
  tdsd_buf_u8(out, type);
  if (type == ENV_PROMOTE) {
    return read_promote(parser, at, out);
  }
  if (type == ENV_ROUTING || type == ENV_ROUTING2) {
    rc = read_routing(parser, type, out);
  } else {
    bool old_only = type == 9 || type == 10 || type == 12 || type == 17;
    if (old_only) {
      tdsd_buf_u8(out, 0);
    }
    rc = read_env_value(parser, out);
    if (rc == 0 && !old_only) {
      rc = read_env_value(parser, out);
    }
  }
  tdsd_script_close_length(out, at);
  return rc;
}

static int read_return_status(struct tdsd_script_parser *parser,
                              struct tdsd_buf *out) {
  uint64_t value = 0;
  if (tdsd_script_number(parser, INT32_MIN, INT32_MAX, &value) < 0) {
    return -1;
  }
  tdsd_buf_u8(out, TDSD_TOK_RETURNSTATUS);
  tdsd_buf_u32(out, (uint32_t)value);
  return 0;
}

/* One part of a DONE.  Returns 0 or -1. */
static int done_part(struct tdsd_script_parser *parser,
                     unsigned *numbers,
                     uint32_t *status,
                     uint32_t *command,
                     uint64_t *rows) {
  uint32_t bit = 0;
  int rc = 0;
  if (tdsd_script_accept_option(parser, "cmd")) {
    rc = take_word(parser, command_words, COUNT(command_words), command);
    return rc != 0 ? rc : tdsd_script_u32(parser, 0xFFFF, command);
  }
  if (tdsd_script_accept_option(parser, "rows")) {
    *status |= TDSD_DONE_COUNT;
    return tdsd_script_number(parser, 0, UINT64_MAX, rows);
  }
  if (tdsd_script_accept_option(parser, "status")) {
    rc = tdsd_script_u32(parser, 0xFFFF, &bit);
    *status |= bit;
    return rc;
  }
  rc = take_word(parser, done_words, COUNT(done_words), &bit);
  if (rc != 0) {
    *status |= bit;
    return rc;
  }
  if (*numbers == 2) {
    return tdsd_script_expected(parser, "the end of done");
  }
  if ((*numbers)++ == 0) {
    rc = tdsd_script_u32(parser, 0xFFFF, &bit);
    *status |= bit;
    return rc;
  }
  return tdsd_script_number(parser, 0, UINT64_MAX, rows);
}

/* done|doneproc|doneinproc [STATUS [ROWS]] [more error count attn rpc srverror]
 * [status=N] [cmd=WORD|N] [rows=N]. */
static int read_done(struct tdsd_script_parser *parser,
                     uint32_t token,
                     struct tdsd_buf *out) {
  uint32_t status = 0;
  uint32_t command = 0;
  uint64_t rows = 0;
  unsigned numbers = 0;
  while (!tdsd_script_is_end(parser)) {
    if (done_part(parser, &numbers, &status, &command, &rows) < 0) {
      return -1;
    }
  }
  tdsd_buf_u8(out, token);
  tdsd_buf_u16(out, status);
  tdsd_buf_u16(out, command);
  if (parser->layout == TDSD_LAYOUT_71) {
    tdsd_buf_u32(out, (uint32_t)rows);
  } else {
    tdsd_buf_u64(out, rows);
  }
  return 0;
}

enum reader {
  READ_ERROR,
  READ_INFO,
  READ_ENV,
  READ_DONE,
  READ_DONEPROC,
  READ_DONEINPROC,
  READ_RETURNSTATUS,
  READ_LOGINACK,
  READ_FEATURE,
  READ_SESSIONSTATE,
  READ_FEDAUTHINFO,
  READ_SSPI,
};

static const struct word token_words[] = {
    {"error", READ_ERROR},
    {"info", READ_INFO},
    {"env", READ_ENV},
    {"done", READ_DONE},
    {"doneproc", READ_DONEPROC},
    {"doneinproc", READ_DONEINPROC},
    {"returnstatus", READ_RETURNSTATUS},
    {"loginack", READ_LOGINACK},
    {"featureack", READ_FEATURE},
    {"sessionstate", READ_SESSIONSTATE},
    {"fedauthinfo", READ_FEDAUTHINFO},
    {"sspi", READ_SSPI},
};

static int read_as(struct tdsd_script_parser *parser,
                   enum reader reader,
                   struct tdsd_buf *out) {
  switch (reader) {
  case READ_ERROR:
    return read_message(parser, TDSD_TOK_ERROR, out);
  case READ_INFO:
    return read_message(parser, TDSD_TOK_INFO, out);
  case READ_ENV:
    return read_env(parser, out);
  case READ_DONE:
    return read_done(parser, TDSD_TOK_DONE, out);
  case READ_DONEPROC:
    return read_done(parser, TDSD_TOK_DONEPROC, out);
  case READ_DONEINPROC:
    return read_done(parser, TDSD_TOK_DONEINPROC, out);
  case READ_RETURNSTATUS:
    return read_return_status(parser, out);
  case READ_LOGINACK:
    return tdsd_script_loginack_read(parser, out);
  case READ_FEATURE:
    return tdsd_script_feature_read(parser, out);
  case READ_SESSIONSTATE:
    return tdsd_script_sessionstate_read(parser, out);
  case READ_FEDAUTHINFO:
    return tdsd_script_fedauthinfo_read(parser, out);
  case READ_SSPI:
  default:
    return tdsd_script_sspi_read(parser, out);
  }
}

int tdsd_script_token_read(struct tdsd_script_parser *parser,
                           struct tdsd_buf *out) {
  uint32_t reader = 0;
  int rc = take_word(parser, token_words, COUNT(token_words), &reader);
  if (rc <= 0) {
    return rc;
  }
  return read_as(parser, (enum reader)reader, out) < 0 ? -1 : 1;
}
