/* SPDX-License-Identifier: MIT */
/* Scripted answers: a text of rules "when this is asked, { answer that }",
 * compiled to bytes and actions, which a session then plays instead of its own
 * answer.  The grammar is in README.md.
 *
 * A script is compiled once for each layout of tokens, because a DONE of TDS 7.1
 * has other bytes than one of 7.2. */
#ifndef TDSD_SERVER_SCRIPT_H
#define TDSD_SERVER_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server_arena.h"
#include "server_buf.h"

enum tdsd_script_layout {
  TDSD_LAYOUT_71,  /* short DONE, ERROR and COLMETADATA */
  TDSD_LAYOUT_72,  /* 7.2 and 7.3A: no NBCROW unless the script forces it */
  TDSD_LAYOUT_73B, /* 7.3B and later */
  TDSD_LAYOUTS
};

/* What a client sent, as rules see it. */
enum tdsd_script_kind {
  TDSD_SCRIPT_ANY, /* any request: batch, rpc, tm */
  TDSD_SCRIPT_PRELOGIN,
  TDSD_SCRIPT_LOGIN,
  TDSD_SCRIPT_BATCH,
  TDSD_SCRIPT_RPC,
  TDSD_SCRIPT_TM,
  TDSD_SCRIPT_BULK,
  TDSD_SCRIPT_ATTENTION,
  TDSD_SCRIPT_IGNORED, /* a message that its client took back */
};

enum tdsd_script_text {
  TDSD_TEXT_ANY,
  TDSD_TEXT_EXACT,
  TDSD_TEXT_PREFIX,
  TDSD_TEXT_GLOB, /* * and ? */
};

struct tdsd_script_rule {
  enum tdsd_script_kind kind;
  uint32_t number; /* procedure number or transaction verb; 0 = any */
  char *name;      /* of a procedure; NULL = any */
  enum tdsd_script_text how;
  char *text;
  bool nocase;
  uint32_t conn;  /* 1 = the server's first; 0 = any */
  uint32_t msg;   /* 1 = the first request behind the login; 0 = any */
  uint32_t first; /* how often it applies; 0 = always */
  uint8_t reset;  /* the reset bit it must carry; 0 = does not matter */
  bool own_reset; /* the reset is the script's matter */
  bool passes;    /* its answer has a PASS */
  uint32_t op;    /* where its answer begins */
};

enum tdsd_script_verb {
  TDSD_OP_BYTES,   /* n bytes of the pool, from at */
  TDSD_OP_DELAY,   /* n milliseconds */
  TDSD_OP_PACKET,  /* the packet ends here, the message goes on */
  TDSD_OP_EOM,     /* the message ends here */
  TDSD_OP_CLOSE,   /* FIN behind what was said */
  TDSD_OP_RESET,   /* RST behind what was said */
  TDSD_OP_HANG,    /* nothing more; an attention is still answered */
  TDSD_OP_LOOP,    /* n times up to the matching NEXT */
  TDSD_OP_NEXT,    /* at: the op behind its LOOP */
  TDSD_OP_STATE,   /* a tdsd_script_state in at; n or a text of the pool */
  TDSD_OP_PASS,    /* the server's own answer */
  TDSD_OP_DEFAULT, /* the end of a rule: EOM unless the message has ended */
};

/* What a script can change in the session behind the client's back. */
enum tdsd_script_state {
  TDSD_STATE_DESCRIPTOR, /* n: the transaction's descriptor, 0 = none */
  TDSD_STATE_ISOLATION,
  TDSD_STATE_DATABASE, /* a text */
  TDSD_STATE_LANGUAGE, /* a text */
  TDSD_STATE_RESET,    /* what RESETCONNECTION does, without a word */
  TDSD_STATE_READY,    /* logged in; n: packet size from the next message on */
};

struct tdsd_script_op {
  enum tdsd_script_verb verb;
  uint32_t at;
  uint64_t n;
};

/* One layout of a script. */
struct tdsd_program {
  struct tdsd_arena arena; /* names and texts of the rules */
  struct tdsd_script_rule *rules;
  uint32_t nrules;
  struct tdsd_script_op *ops;
  uint32_t nops;
  struct tdsd_buf pool;
};

struct tdsd_script {
  struct tdsd_program programs[TDSD_LAYOUTS];
  uint32_t *used; /* how often each rule has applied */
  uint32_t holds; /* sessions that play it, and the server */
};

/* Compiles text; name is what errors call it.
 * Returns 0, or -1 with "NAME:LINE:COLUMN: what was expected, what was found" in
 * why.
 * Owns: *out_script until tdsd_script_drop(). */
int tdsd_script_parse(const char *name,
                      const char *text,
                      size_t len,
                      struct tdsd_script **out_script,
                      char *why,
                      size_t cap);

/* Reads and compiles a file of at most TDSD_CAP_SCRIPT bytes.  As above. */
int tdsd_script_load(const char *path,
                     struct tdsd_script **out_script,
                     char *why,
                     size_t cap);

/* Takes part in a script, and gives it up; the last one frees it.  NULL is
 * allowed.  Threads: the server's. */
struct tdsd_script *tdsd_script_hold(struct tdsd_script *script);
void tdsd_script_drop(struct tdsd_script *script);

/* A message as rules are compared with it. */
struct tdsd_script_asked {
  enum tdsd_script_kind kind;
  uint32_t number;  /* of a procedure or a transaction verb */
  const char *name; /* of a procedure, without its schema; or "" */
  const char *text; /* of a batch, the statement of an RPC, a user's name */
  size_t text_len;
  uint32_t conn;
  uint32_t msg;
  uint8_t reset;
};

/* The first rule that fits and is not used up, which is counted as used; NULL if
 * there is none. */
const struct tdsd_script_rule *tdsd_script_find(
    struct tdsd_script *script,
    enum tdsd_script_layout layout,
    const struct tdsd_script_asked *asked);

/* Playing an answer. */
#define TDSD_SCRIPT_LOOPS 8u

struct tdsd_script_play {
  struct tdsd_script *script; /* NULL = nothing is played */
  const struct tdsd_program *program;
  enum tdsd_script_kind kind; /* of what is answered */
  uint32_t op;                /* next */
  uint32_t nloops;
  uint64_t loops[TDSD_SCRIPT_LOOPS]; /* turns left, the outermost first */
  bool open;  /* the message has bytes that no end has followed */
  bool ended; /* the last thing said was a message's end */
  bool own_reset;
  uint32_t packet_size; /* that READY announced; 0 = no READY came */
  /* The message that is answered, kept for PASS. */
  struct tdsd_buf message;
  uint8_t type;
  uint8_t reset;
};

struct tdsd_session;

/* The layout that a session's version has. */
enum tdsd_script_layout tdsd_script_layout_of(
    const struct tdsd_session *session);

/* The rule for the message in the session's joiner, NULL if there is none.
 * body is what lies behind ALL_HEADERS, or a user's name.  The rule is counted
 * as used. */
const struct tdsd_script_rule *tdsd_script_look(struct tdsd_session *session,
                                                enum tdsd_script_kind kind,
                                                const uint8_t *body,
                                                size_t len);

/* The text of the batch or the statement of the RPC in the session's joiner, as
 * far as it is plain to see.  Returns NULL if there is none.
 * Owns: free(). */
char *tdsd_script_request_text(const struct tdsd_session *session,
                               const uint8_t *body,
                               size_t len,
                               size_t *out_len);

/* Begins to play a rule as the answer, and goes on playing. */
void tdsd_script_start(struct tdsd_session *session,
                       const struct tdsd_script_rule *rule,
                       enum tdsd_script_kind kind,
                       uint64_t now_ns);
void tdsd_script_run(struct tdsd_session *session, uint64_t now_ns);

/* Gives up what is played, if anything. */
void tdsd_script_stop(struct tdsd_session *session);

#endif
