/* SPDX-License-Identifier: MIT */
/* settings.h - the engine's own options: one table, one struct of results.
 *
 * All settings of the connection string are in the table, with the unit, range,
 * default and help that `weirctl` and the README show.  Those without
 * WEIR_SETTING_BUILT are known, but nothing acts on them yet: they are accepted
 * at their default and refused with WEIR_E_UNSUPPORTED at any other value. */
#ifndef WEIR_SETTINGS_H
#define WEIR_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_error;

/* Most bytes of Driver=: a name, or an absolute path. */
#define WEIR_SETTINGS_DRIVER_MAX 255
#define WEIR_SETTINGS_POOL_MAX   131072
/* Most bytes of Session Init=. */
#define WEIR_SETTINGS_SQL_MAX    4096

/* Index of the choice in the setting's list of choices. */
enum weir__strategy_kind {
  WEIR_STRATEGY_DIRECT,
  WEIR_STRATEGY_LEGACY,
  WEIR_STRATEGY_CHANNEL
};

enum weir__reset_kind {
  WEIR_RESET_LAZY,     /* with the next user's first request; true */
  WEIR_RESET_VERIFIED, /* a round trip before the next user gets it */
  WEIR_RESET_OFF       /* never; false */
};

enum weir__startup_kind {
  WEIR_STARTUP_BACKGROUND, /* fill up to Min Pool Size beside the caller */
  WEIR_STARTUP_LAZY,       /* open nothing before the first acquire */
  WEIR_STARTUP_REQUIRE     /* opening the pool fails if a connect fails */
};

enum weir__key_kind {
  WEIR_KEY_CANONICAL,
  WEIR_KEY_EXACT
};

enum weir__timeout_scope {
  WEIR_SCOPE_OVERALL,
  WEIR_SCOPE_PER_PHASE
};

enum weir__idle_expiry {
  WEIR_EXPIRY_ENFORCED,
  WEIR_EXPIRY_SQLCLIENT
};

enum weir__blocking_period {
  WEIR_BLOCKING_AUTO, /* waiters stay in line while the endpoint is down */
  WEIR_BLOCKING_ALWAYS,
  WEIR_BLOCKING_NEVER
};

enum weir__idle_order {
  WEIR_IDLE_AFFINITY,
  WEIR_IDLE_LIFO,
  WEIR_IDLE_FIFO
};

enum weir__growth_kind {
  WEIR_GROWTH_ADAPTIVE,
  WEIR_GROWTH_SERIAL,
  WEIR_GROWTH_PARALLEL
};

enum weir__handoff_kind {
  WEIR_HANDOFF_BOUNDED,
  WEIR_HANDOFF_DIRECT,
  WEIR_HANDOFF_BARGING,
  WEIR_HANDOFF_QUEUED
};

enum weir__trim_kind {
  WEIR_TRIM_PEAK,
  WEIR_TRIM_SWEEP,
  WEIR_TRIM_MEDIAN
};

enum weir__failure_kind {
  WEIR_FAILURE_BREAKER,
  WEIR_FAILURE_ALL,
  WEIR_FAILURE_ONE
};

enum weir__async_kind {
  WEIR_ASYNC_QUEUE,
  WEIR_ASYNC_DISPATCHER
};

enum weir__queue_policy {
  WEIR_QUEUE_FIFO,
  WEIR_QUEUE_CODEL
};

/* The settings in force.  A limit that is switched off (0 in the string where
 * 0 means "no limit" or "never") holds the largest value of its type:
 * WEIR_NEVER for times, UINT32_MAX for counts.  So code only ever compares.
 * Those that are not built are at their defaults. */
struct weir__settings {
  char driver[WEIR_SETTINGS_DRIVER_MAX + 1]; /* NUL-terminated */
  char *session_init;                        /* NUL-terminated; NULL: none */
  uint64_t connect_timeout_ns; /* one acquire and one physical connect */
  uint64_t command_timeout_ns; /* one request */
  uint64_t lifetime_ns;        /* oldest a connection gets */
  uint64_t idle_timeout_ns;    /* longest a connection lies idle */
  uint64_t close_timeout_ns;   /* wait for the peer's end; 0 aborts at once */
  uint64_t probe_window_ns;    /* no probe if used that recently */
  uint64_t trust_ns;           /* idle for less: nothing is asked */
  uint64_t keepalive_ns;       /* idle that long, then pinged */
  uint64_t handoff_bound_ns;   /* longest overtaking; 0: none */
  uint64_t lease_timeout_ns;   /* oldest a lease gets */
  uint64_t leak_report_ns;     /* a lease that old is reported */
  uint64_t credential;         /* handle; 0: none */
  uint32_t pooling;            /* 0: each acquire opens, each release closes */
  uint32_t strategy;           /* enum weir__strategy_kind */
  uint32_t min_pool_size;      /* <= max_pool_size */
  uint32_t max_pool_size;      /* 1..WEIR_SETTINGS_POOL_MAX */
  uint32_t min_idle;           /* idle ones kept ready; 0: none */
  uint32_t lifetime_jitter;    /* percent of lifetime_ns, taken off at random */
  uint32_t max_uses;           /* leases of one connection */
  uint32_t max_waiters;        /* acquires that may wait at once */
  uint32_t max_connects;       /* physical connects at once */
  uint32_t connect_rate;       /* physical connects a second */
  uint32_t connect_burst;      /* ... that may come at once; at least 1 */
  uint32_t endpoint_max;       /* sessions of all pools at the endpoint */
  uint32_t reset;              /* enum weir__reset_kind */
  uint32_t startup;            /* enum weir__startup_kind */
  uint32_t key;                /* enum weir__key_kind */
  uint32_t timeout_scope;      /* enum weir__timeout_scope */
  uint32_t idle_expiry;        /* enum weir__idle_expiry */
  uint32_t blocking_period;    /* enum weir__blocking_period */
  uint32_t enlist;             /* 1: an acquire in a transaction joins it */
  uint32_t txn_binding;        /* 1: explicit unbind */
  uint32_t clear_on_failover;  /* 1: clear when the server changes its role */
  uint32_t idle_order;         /* enum weir__idle_order */
  uint32_t growth;             /* enum weir__growth_kind */
  uint32_t handoff;            /* enum weir__handoff_kind */
  uint32_t trim;               /* enum weir__trim_kind */
  uint32_t failure;            /* enum weir__failure_kind */
  uint32_t async;              /* enum weir__async_kind */
  uint32_t queue_policy;       /* enum weir__queue_policy */
};

enum weir__setting_type {
  WEIR_SETTING_TEXT,
  WEIR_SETTING_BOOL,
  WEIR_SETTING_COUNT,
  WEIR_SETTING_TIME,
  WEIR_SETTING_CHOICE,
  WEIR_SETTING_PERCENT,
  WEIR_SETTING_HANDLE
};

#define WEIR_SETTING_BUILT    1u  /* something acts on it */
#define WEIR_SETTING_REQUIRED 2u  /* must be given */
#define WEIR_SETTING_LIVE     4u  /* may change while the pool runs */
#define WEIR_SETTING_SHAPES   8u  /* part of the pool's key */
#define WEIR_SETTING_ZERO_OFF 16u /* 0 stands for "no limit" */
#define WEIR_SETTING_PRIVATE  32u /* may hold a secret: a key has its digest */

struct weir__setting {
  const char *name;     /* canonical */
  const char *aliases;  /* comma-separated, "" if none */
  const char *choices;  /* canonical spellings, comma-separated; "" if none */
  const char *synonyms; /* "other=canonical" for choices, comma-separated */
  const char *fallback; /* the default under direct, as one would write it */
  const char *help;     /* one sentence */
  uint64_t min;         /* TIME: ns; COUNT; PERCENT */
  uint64_t max;
  enum weir__setting_type type;
  uint32_t flags;  /* WEIR_SETTING_* */
  uint32_t offset; /* of the field in struct weir__settings */
};

/* All settings, in the order of the canonical key.  Static storage. */
const struct weir__setting *weir__settings_table(uint32_t *out_n);

/* The setting of that name or alias, or NULL. */
const struct weir__setting *weir__settings_find(const char *name, size_t len);

/* All at their defaults under Pool Strategy=direct, driver "". */
void weir__settings_init(struct weir__settings *s);

/* The same under that strategy (enum weir__strategy_kind); texts stay as they
 * are. */
void weir__settings_preset(struct weir__settings *s, uint32_t strategy);

/* The default of a setting under that strategy, as one would write it. */
const char *weir__settings_default(const struct weir__setting *setting,
                                   uint32_t strategy);

/* Wipes and frees the texts; fine on a zeroed struct and twice. */
void weir__settings_fini(struct weir__settings *s);

/* Sets one from text.  position is what an error tells (conninfo.h).
 * Returns WEIR_OK; WEIR_E_ARG (not of its type, out of range: *err names the
 * setting and its range, never the value); WEIR_E_UNSUPPORTED (not built yet);
 * WEIR_E_NOMEM. */
int weir__settings_set(struct weir__settings *s,
                       const struct weir__setting *setting,
                       const char *value,
                       size_t len,
                       uint32_t position,
                       struct weir_error *err);

/* Whether value may stand behind Driver=.  To be asked before a file of that
 * name is looked for: in a damaged connection string the value may be anything,
 * a password included, and the loader names the file it does not find.
 * Returns WEIR_OK or WEIR_E_ARG (*err does not show the value). */
int weir__settings_check_driver(const char *value,
                                size_t len,
                                uint32_t position,
                                struct weir_error *err);

/* Once all are set: Driver is there, Min does not exceed Max; and what follows from
 * several of them (trust_ns).  Returns WEIR_OK or WEIR_E_ARG. */
int weir__settings_finish(struct weir__settings *s, struct weir_error *err);

/* Writes the value in force as one would write it, in one spelling for equal
 * values ("1500 ms", "true", "lazy"), into buf of WEIR_SETTINGS_VALUE_MAX bytes.
 * Returns false, and writes nothing, if it is the default. */
#define WEIR_SETTINGS_TEXT_MAX  256
#define WEIR_SETTINGS_VALUE_MAX (WEIR_SETTINGS_SQL_MAX + 1)
bool weir__settings_text(const struct weir__settings *s,
                         const struct weir__setting *setting,
                         char *buf);

/* The range as text, such as "1 to 131072"; for errors and help.  Writes at
 * most WEIR_SETTINGS_TEXT_MAX bytes into buf. */
void weir__settings_range(const struct weir__setting *setting, char *buf);

#endif
