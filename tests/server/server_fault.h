/* SPDX-License-Identifier: MIT */
/* Faults: rules that say which reply of which connection goes wrong, and how.
 * One table (server_fault_rows.c) has every kind of fault; one place notices that
 * a message meets rules (tdsd_fault_arm); what they do happens at the stage that
 * the table names.  README.md lists them.
 *
 *   message --> [ANSWER] --> tokens --> [TOKENS] --> packets --> [CUT] --> bytes
 *                                                    --> [GATE] --> socket
 */
#ifndef TDSD_SERVER_FAULT_H
#define TDSD_SERVER_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server_buf.h"
#include "server_walk.h"

/* Rules one server may have, and of them for one message. */
#define TDSD_CAP_FAULTS  256u
#define TDSD_CAP_ARMED   8u
/* Bytes in a rule's text and in its hex=. */
#define TDSD_FAULT_BYTES 96u

/* Which message a rule is for. */
enum tdsd_fault_on {
  TDSD_ON_ANY,
  TDSD_ON_CONNECT, /* no message: the connection itself */
  TDSD_ON_PRELOGIN,
  TDSD_ON_LOGIN,
  TDSD_ON_REQUEST, /* any of the three that follow */
  TDSD_ON_BATCH,
  TDSD_ON_RPC,
  TDSD_ON_TM,
  TDSD_ON_RESET, /* a request with a reset bit */
  TDSD_ON_ATTENTION,
  TDSD_ON_IGNORED,
  TDSD_ON_BROWSER, /* a question to the browser */
};

enum tdsd_fault_stage {
  TDSD_STAGE_CONNECT, /* when a connection comes in */
  TDSD_STAGE_TLS,     /* when its TLS begins */
  TDSD_STAGE_WIRE,    /* at each write to its socket */
  TDSD_STAGE_INPUT,   /* while a message is received */
  TDSD_STAGE_ANSWER,  /* instead of the answer, or while it is made */
  TDSD_STAGE_TOKENS,  /* the whole reply is held, then changed */
  TDSD_STAGE_CUT,     /* while it is cut into packets */
  TDSD_STAGE_GATE,    /* at a byte of the reply */
  TDSD_STAGE_IDLE,    /* some time behind the reply */
  TDSD_STAGE_BROWSER,
};

enum tdsd_fault_kind {
  TDSD_FAULT_REFUSE,
  TDSD_FAULT_SILENT,
  TDSD_FAULT_TLS_CERT,
  TDSD_FAULT_TLS_ALPN,
  TDSD_FAULT_TLS_NO_GOODBYE,
  TDSD_FAULT_TLS_PIECES,
  TDSD_FAULT_TLS_LATE_TICKETS,
  TDSD_FAULT_TLS_BURN,
  TDSD_FAULT_TLS_KEPT,
  TDSD_FAULT_TLS_STALL,
  TDSD_FAULT_FRAGMENT,
  TDSD_FAULT_DROP_AFTER,
  TDSD_FAULT_DEAF,
  TDSD_FAULT_HANG,
  TDSD_FAULT_ERROR,
  TDSD_FAULT_MUTE,
  TDSD_FAULT_ACK,
  TDSD_FAULT_RESET_STATE,
  TDSD_FAULT_FORGET_HANDLES,
  TDSD_FAULT_INSTOPT,
  TDSD_FAULT_ENCRYPTION,
  TDSD_FAULT_FEDAUTH,
  TDSD_FAULT_LIE,
  TDSD_FAULT_INSERT,
  TDSD_FAULT_DROP,
  TDSD_FAULT_DOUBLE,
  TDSD_FAULT_GARBAGE,
  TDSD_FAULT_TRUNCATE,
  TDSD_FAULT_LOGINACK,
  TDSD_FAULT_FEATURE,
  TDSD_FAULT_PACKET_SIZE,
  TDSD_FAULT_ROUTE,
  TDSD_FAULT_TRAN,
  TDSD_FAULT_DONE,
  TDSD_FAULT_RESET_ACK,
  TDSD_FAULT_RESET_ENV,
  TDSD_FAULT_RETURNVALUE,
  TDSD_FAULT_RETURNSTATUS,
  TDSD_FAULT_PACKETS,
  TDSD_FAULT_EOM,
  TDSD_FAULT_NO_EOM,
  TDSD_FAULT_HEADER,
  TDSD_FAULT_CLOSE,
  TDSD_FAULT_RST,
  TDSD_FAULT_STALL,
  TDSD_FAULT_FREEZE,
  TDSD_FAULT_PAUSE,
  TDSD_FAULT_SPLIT,
  TDSD_FAULT_DRIP,
  TDSD_FAULT_ROW_DELAY,
  TDSD_FAULT_IDLE,
  TDSD_FAULT_SSRP,
  TDSD_FAULT_KINDS
};

/* What stands behind the name of a fault. */
enum tdsd_fault_arg {
  TDSD_ARG_NONE,
  TDSD_ARG_NUMBER,
  TDSD_ARG_MS,   /* 5, 5ms, 5s */
  TDSD_ARG_RATE, /* 5/s */
  TDSD_ARG_WORD, /* one of words */
  TDSD_ARG_WORD_OR_NUMBER,
  TDSD_ARG_ADDRESS, /* HOST:PORT */
};

struct tdsd_fault_row {
  const char *name;
  enum tdsd_fault_kind kind;
  enum tdsd_fault_stage stage;
  enum tdsd_fault_on on; /* unless msg= says otherwise */
  enum tdsd_fault_arg arg;
  const char *words;    /* separated by blanks */
  uint64_t least, most; /* of a number */
  const char *items;    /* of the list of faults this answers to */
  const char *help;
};

extern const struct tdsd_fault_row tdsd_fault_rows[TDSD_FAULT_KINDS];

/* What happens behind an error: then=. */
enum tdsd_fault_then {
  TDSD_THEN_STAY,
  TDSD_THEN_FIN,
  TDSD_THEN_RST
};

/* Where something is put: place=. */
enum tdsd_fault_place {
  TDSD_PLACE_END, /* before the final DONE */
  TDSD_PLACE_START,
  TDSD_PLACE_MIDDLE, /* behind half of the tokens */
  TDSD_PLACE_LAST,   /* behind the final DONE */
};

struct tdsd_fault_rule {
  const struct tdsd_fault_row *row;
  uint32_t id;
  const char *alias; /* the switch that set it, or NULL */
  /* Where. */
  uint32_t conn_from; /* 0 = any */
  uint32_t conn_to;
  uint32_t conn_k; /* the first k of each n; n 0 = all */
  uint32_t conn_n;
  uint32_t listener; /* 0 = any */
  enum tdsd_fault_on on;
  uint32_t msg;   /* 0 = any */
  uint64_t byte;  /* of the reply, headers included */
  uint64_t after; /* so many that would match are spared */
  uint64_t times; /* 0 = always */
  uint64_t seen;
  uint64_t used;
  /* What. */
  uint64_t number;
  int32_t word; /* index in row->words; -1 = a number was given */
  uint64_t ms;
  enum tdsd_field field;
  int32_t nth; /* 0 = the first; -1 = all */
  uint8_t token;
  uint64_t value;
  bool has_value;
  uint32_t state;
  uint32_t class;
  enum tdsd_fault_then then;
  bool has_then;
  enum tdsd_fault_place place;
  char text[TDSD_FAULT_BYTES]; /* host, header field */
  char database[TDSD_FAULT_BYTES];
  uint8_t hex[TDSD_FAULT_BYTES];
  uint8_t hex_len;
  bool has_hex;
};

/* The rules of a server. */
struct tdsd_fault_list {
  struct tdsd_fault_rule *rules;
  uint32_t n;
  uint32_t ids; /* handed out */
  uint32_t by_stage[TDSD_STAGE_BROWSER + 1];
};

/* Reads "conn=3 msg=2 byte=17 close" and the like into a rule.
 * Returns 0, or -1 with "expected this, found that" in why. */
int tdsd_fault_parse(const char *spec,
                     struct tdsd_fault_rule *out_rule,
                     char *why,
                     size_t cap);

/* Adds a rule.  Returns its id, or 0 without room. */
uint32_t tdsd_fault_add(struct tdsd_fault_list *list,
                        const struct tdsd_fault_rule *rule);

/* Parses and adds.  Returns the id, or 0 with why. */
uint32_t tdsd_fault_set_rule(struct tdsd_fault_list *list,
                             const char *spec,
                             char *why,
                             size_t cap);

/* Removes the rule of an id, or those of an alias, or (0, NULL) all.  Returns how
 * many they were. */
uint32_t tdsd_fault_remove(struct tdsd_fault_list *list,
                           uint32_t id,
                           const char *alias);
void tdsd_fault_list_fini(struct tdsd_fault_list *list);

/* Sets or clears the rules of one of the old switches, such as "hang-login" with
 * "on" or "login-error" with "18456".
 * Returns 1, 0 if there is no switch of that name, -1 with why. */
int tdsd_fault_switch(struct tdsd_fault_list *list,
                      const char *name,
                      const char *value,
                      char *why,
                      size_t cap);

/* The next rule of a stage for a connection, from *at on, which is moved past it;
 * NULL if there is none.  Counts nothing. */
struct tdsd_fault_rule *tdsd_fault_next(struct tdsd_fault_list *list,
                                        enum tdsd_fault_stage stage,
                                        uint32_t conn,
                                        uint32_t listener,
                                        uint32_t *at);

/* Whether the rule applies this time; counts it (after=, times=). */
bool tdsd_fault_take(struct tdsd_fault_rule *rule);

/* What hits the message at hand: copies, because rules may be removed. */
struct tdsd_armed {
  struct tdsd_fault_rule rules[TDSD_CAP_ARMED];
  uint32_t n;
  enum tdsd_fault_on on;
  bool hold;           /* the reply is held until it is whole */
  bool pieces;         /* its gates have begun pieces */
  uint64_t descriptor; /* of the transaction when the message came */
  struct tdsd_buf held;
};

/* The rule of a kind that hits the message at hand, or NULL. */
const struct tdsd_fault_rule *tdsd_armed_find(const struct tdsd_armed *armed,
                                              enum tdsd_fault_kind kind);

/* Where the way to the socket has something special: at that byte of all that the
 * session ever sent. */
enum tdsd_gate_kind {
  TDSD_GATE_PAUSE,  /* arg: nanoseconds */
  TDSD_GATE_PIECES, /* from here on pieces of arg bytes, 0 = no more */
  TDSD_GATE_CLOSE,
  TDSD_GATE_RST,
  TDSD_GATE_STALL,
  TDSD_GATE_FREEZE,
};

struct tdsd_gate {
  uint64_t at;
  enum tdsd_gate_kind kind;
  uint64_t arg;
  uint64_t piece_ns; /* of PIECES: between two */
};

/* In order of at. */
struct tdsd_gates {
  struct tdsd_gate *list;
  size_t n;
  size_t first; /* not passed yet */
  size_t room;
};

/* Adds a gate behind those at the same byte.  Returns false without memory. */
bool tdsd_gates_add(struct tdsd_gates *gates, struct tdsd_gate gate);
/* The first that was not passed, or NULL. */
const struct tdsd_gate *tdsd_gates_next(const struct tdsd_gates *gates);
void tdsd_gates_pass(struct tdsd_gates *gates);
void tdsd_gates_fini(struct tdsd_gates *gates);

/* Changes a whole reply as the armed rules of the stages TOKENS say
 * (server_fault_edit.c).  version is a TDSD_V; descriptor the transaction's. */
void tdsd_fault_edit(const struct tdsd_armed *armed,
                     uint32_t version,
                     uint64_t descriptor,
                     struct tdsd_buf *reply);

/* Those of them that need the bytes, not the tokens.  Returns whether the rule is
 * one. */
bool tdsd_fault_edit_bytes(const struct tdsd_fault_rule *rule,
                           uint32_t version,
                           struct tdsd_buf *reply);

/* Changes the body of a PRELOGIN reply (server_fault_prelogin.c). */
void tdsd_fault_edit_prelogin(const struct tdsd_armed *armed,
                              struct tdsd_buf *reply);

struct tdsd_session;

/* A message has come: finds the rules that it meets. */
void tdsd_fault_arm(struct tdsd_session *session, enum tdsd_fault_on on);
/* Adds a rule that is of no list, such as a role's. */
void tdsd_fault_arm_own(struct tdsd_session *session,
                        const struct tdsd_fault_rule *rule);
/* Its reply is over. */
void tdsd_fault_disarm(struct tdsd_session *session);

/* Answers instead of the server, if a rule says so: HANG, ERROR.  Returns
 * whether it did. */
bool tdsd_fault_answer(struct tdsd_session *session);

/* Whether reading must stop, now that len bytes of a request have come. */
bool tdsd_fault_deafens(struct tdsd_session *session, size_t len);

/* A reply has ended: sets when an IDLE rule will strike. */
void tdsd_fault_schedule(struct tdsd_session *session);

/* What the session's connection has to do when it strikes. */
enum tdsd_idle {
  TDSD_IDLE_DONE,
  TDSD_IDLE_TICKET,
  TDSD_IDLE_KEYUPDATE,
  TDSD_IDLE_RENEGOTIATE,
};
enum tdsd_idle tdsd_fault_idle(struct tdsd_session *session);

#endif
