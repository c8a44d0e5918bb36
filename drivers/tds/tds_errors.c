/* SPDX-License-Identifier: MIT */
/* tds_errors.c - the table.  Sorted by number, for people. */
#include "tds_errors.h"

#include "weir_driver.h"

#define ANY   TDS_WHEN_ANY
#define LOGIN TDS_WHEN_LOGIN
#define RUN   TDS_WHEN_RUN

#define STATEMENT WEIR_DRV_SCOPE_STATEMENT
#define TXN       WEIR_DRV_SCOPE_TXN
#define CONN      WEIR_DRV_SCOPE_CONN
#define ENDPOINT  WEIR_DRV_SCOPE_ENDPOINT
#define CONFIG    WEIR_DRV_SCOPE_CONFIG

#define OTHER      WEIR_DRV_K_OTHER
#define TIMEOUT    WEIR_DRV_K_TIMEOUT
#define AUTH       WEIR_DRV_K_AUTH
#define EXPIRED    WEIR_DRV_K_AUTH_EXPIRED
#define THROTTLED  WEIR_DRV_K_THROTTLED
#define FAILOVER   WEIR_DRV_K_FAILOVER
#define DEADLOCK   WEIR_DRV_K_DEADLOCK
#define CONSTRAINT WEIR_DRV_K_CONSTRAINT
#define SYNTAX     WEIR_DRV_K_SYNTAX
#define RESOURCE   WEIR_DRV_K_RESOURCE
#define BADCONFIG  WEIR_DRV_K_CONFIG
#define INTERNAL   WEIR_DRV_K_INTERNAL
#define NETWORK    WEIR_DRV_K_NETWORK

#define NO    WEIR_DRV_RETRY_NO
#define SAME  WEIR_DRV_RETRY_SAME
#define AGAIN WEIR_DRV_RETRY_OTHER
#define ELSE  WEIR_DRV_RETRY_ELSE
#define CRED  WEIR_DRV_RETRY_CRED

#define DOOMED      TDS_EF_DOOMED
#define NOT_STARTED TDS_EF_NOT_STARTED

static const struct tds_error_rule table[] = {
    /* number, state (0: any), when, flags, retry after (s), scope, kind, retry */
    {102, 0, ANY, 0, 0, STATEMENT, SYNTAX, NO},
    {105, 0, ANY, 0, 0, STATEMENT, SYNTAX, NO},
    {156, 0, ANY, 0, 0, STATEMENT, SYNTAX, NO},
    {170, 0, ANY, 0, 0, STATEMENT, SYNTAX, NO},
    {207, 0, ANY, 0, 0, STATEMENT, SYNTAX, NO},
    {208, 0, ANY, 0, 0, STATEMENT, SYNTAX, NO},
    {515, 0, ANY, 0, 0, STATEMENT, CONSTRAINT, NO},
    {547, 0, ANY, 0, 0, STATEMENT, CONSTRAINT, NO},
    {586, 0, RUN, 0, 0, STATEMENT, OTHER, SAME},
    {596, 0, ANY, 0, 0, CONN, NETWORK, NO}, /* session killed */
    {701, 0, RUN, 0, 0, STATEMENT, RESOURCE, AGAIN},
    {802, 0, RUN, 0, 0, STATEMENT, RESOURCE, AGAIN},
    {911, 0, LOGIN, 0, 0, CONFIG, BADCONFIG, NO}, /* no such database */
    {976, 0, ANY, 0, 0, CONN, FAILOVER, ELSE},
    {978, 0, ANY, 0, 0, CONN, FAILOVER, ELSE},
    {979, 0, ANY, 0, 0, CONN, FAILOVER, ELSE},
    {983, 0, ANY, 0, 0, CONN, FAILOVER, ELSE},
    {1105, 0, RUN, 0, 0, STATEMENT, RESOURCE, NO},
    {1204, 0, RUN, 0, 0, STATEMENT, RESOURCE, SAME},
    {1205, 0, RUN, DOOMED, 0, TXN, DEADLOCK, SAME},
    {1222, 0, RUN, 0, 0, STATEMENT, TIMEOUT, SAME},
    {2601, 0, ANY, 0, 0, STATEMENT, CONSTRAINT, NO},
    {2627, 0, ANY, 0, 0, STATEMENT, CONSTRAINT, NO},
    {2812, 0, ANY, 0, 0, STATEMENT, SYNTAX, NO},
    {3906, 0, RUN, 0, 0, CONN, FAILOVER, ELSE}, /* read-only here */
    {3908, 0, RUN, 0, 0, CONN, FAILOVER, ELSE},
    {3930, 0, RUN, DOOMED, 0, TXN, OTHER, NO},
    {3960, 0, RUN, DOOMED, 0, TXN, OTHER, SAME}, /* snapshot conflict */
    {3961, 0, RUN, DOOMED, 0, TXN, OTHER, SAME},
    {3971, 0, RUN, 0, 0, CONN, INTERNAL, NO}, /* wrong descriptor */
    {3980, 0, RUN, 0, 0, CONN, INTERNAL, NO},
    {3988, 0, RUN, 0, 0, CONN, INTERNAL, NO},
    {3989, 0, RUN, 0, 0, CONN, INTERNAL, NO},
    {3998, 0, RUN, DOOMED, 0, TXN, OTHER, NO},
    {4060, 0, LOGIN, 0, 0, CONFIG, BADCONFIG, NO}, /* database not there */
    {4063, 0, LOGIN, 0, 0, CONFIG, BADCONFIG, NO},
    {4064, 0, LOGIN, 0, 0, CONFIG, BADCONFIG, NO},
    {4221, 0, LOGIN, 0, 0, ENDPOINT, FAILOVER, ELSE},
    {6005, 0, ANY, 0, 0, ENDPOINT, NETWORK, ELSE}, /* shutting down */
    {8179, 0, RUN, 0, 0, STATEMENT, OTHER, SAME},
    {8645, 0, RUN, 0, 0, STATEMENT, RESOURCE, AGAIN},
    {8651, 0, RUN, 0, 0, STATEMENT, RESOURCE, AGAIN},
    {9002, 0, RUN, 0, 0, STATEMENT, RESOURCE, NO}, /* log full */
    {10928, 0, ANY, 0, 10, ENDPOINT, THROTTLED, AGAIN},
    {10929, 0, ANY, 0, 10, ENDPOINT, THROTTLED, AGAIN},
    {17142, 0, ANY, 0, 0, ENDPOINT, RESOURCE, ELSE}, /* paused */
    {17189, 0, ANY, 0, 0, ENDPOINT, RESOURCE, AGAIN},
    {17809, 0, ANY, 0, 5, ENDPOINT, THROTTLED, AGAIN}, /* too many users */
    {18002, 0, ANY, 0, 0, CONN, OTHER, NO},
    {18056, 0, ANY, NOT_STARTED, 0, CONN, OTHER, AGAIN}, /* reset failed */
    {18059, 0, ANY, NOT_STARTED, 0, CONN, OTHER, AGAIN},
    {18401, 0, LOGIN, 0, 0, ENDPOINT, FAILOVER, AGAIN}, /* upgrading */
    {18451, 0, LOGIN, 0, 0, ENDPOINT, FAILOVER, ELSE},  /* admins only */
    {18452, 0, LOGIN, 0, 0, CONFIG, AUTH, CRED},
    /* Paused, and shutting down; any other state is about the credential or kept
     * from us (1), and asking again could lock the account. */
    {18456, 13, LOGIN, 0, 10, ENDPOINT, FAILOVER, AGAIN},
    {18456, 23, LOGIN, 0, 10, ENDPOINT, FAILOVER, AGAIN},
    {18456, 0, LOGIN, 0, 0, CONFIG, AUTH, CRED},
    {18456, 0, RUN, NOT_STARTED, 0, CONN, AUTH, AGAIN},
    {18461, 0, LOGIN, 0, 0, ENDPOINT, FAILOVER, ELSE}, /* single user */
    {18470, 0, LOGIN, 0, 0, CONFIG, AUTH, CRED},       /* disabled */
    {18486, 0, LOGIN, 0, 0, CONFIG, AUTH, CRED},       /* locked out */
    {18487, 0, LOGIN, 0, 0, CONFIG, EXPIRED, CRED},
    {18488, 0, LOGIN, 0, 0, CONFIG, EXPIRED, CRED},
    {35267, 0, ANY, 0, 0, CONN, FAILOVER, ELSE},
    {37396, 0, ANY, 0, 0, CONN, EXPIRED, CRED}, /* token expired */
    {40020, 0, ANY, 0, 0, ENDPOINT, FAILOVER, AGAIN},
    {40143, 0, ANY, 0, 0, ENDPOINT, FAILOVER, AGAIN},
    {40166, 0, ANY, 0, 0, ENDPOINT, FAILOVER, AGAIN},
    {40197, 0, ANY, 0, 0, ENDPOINT, FAILOVER, AGAIN},
    {40501, 0, ANY, 0, 10, ENDPOINT, THROTTLED, AGAIN},
    {40532, 0, LOGIN, 0, 0, CONFIG, BADCONFIG, NO}, /* no such server */
    {40540, 0, ANY, 0, 0, ENDPOINT, FAILOVER, AGAIN},
    {40549, 0, RUN, 0, 0, CONN, RESOURCE, NO}, /* the session is ended ... */
    {40550, 0, RUN, 0, 0, CONN, RESOURCE, NO}, /* ... for what it uses */
    {40551, 0, RUN, 0, 0, CONN, RESOURCE, NO},
    {40552, 0, RUN, 0, 0, CONN, RESOURCE, NO},
    {40553, 0, RUN, 0, 0, CONN, RESOURCE, NO},
    {40613, 0, ANY, 0, 0, ENDPOINT, FAILOVER, AGAIN},
    {40615, 0, LOGIN, 0, 0, CONFIG, AUTH, NO}, /* firewall */
    {40971, 0, ANY, 0, 0, CONN, FAILOVER, ELSE},
    {41301, 0, RUN, DOOMED, 0, TXN, OTHER, SAME},
    {41302, 0, RUN, DOOMED, 0, TXN, OTHER, SAME},
    {41305, 0, RUN, DOOMED, 0, TXN, OTHER, SAME},
    {41325, 0, RUN, DOOMED, 0, TXN, OTHER, SAME},
    {41839, 0, RUN, DOOMED, 0, TXN, OTHER, SAME},
    {42108, 0, ANY, 0, 0, ENDPOINT, FAILOVER, AGAIN},
    {42109, 0, ANY, 0, 0, ENDPOINT, FAILOVER, AGAIN},
    {49918, 0, ANY, 0, 10, ENDPOINT, THROTTLED, AGAIN},
    {49919, 0, ANY, 0, 10, ENDPOINT, THROTTLED, AGAIN},
    {49920, 0, ANY, 0, 10, ENDPOINT, THROTTLED, AGAIN},
};

const struct tds_error_rule *tds_errors_table(size_t *out_n) {
  *out_n = sizeof table / sizeof table[0];
  return table;
}

static bool holds(const struct tds_error_rule *rule,
                  int32_t number,
                  uint8_t state,
                  bool login) {
  return rule->number == number && (rule->state == 0 || rule->state == state) &&
         (rule->when == ANY || (rule->when == LOGIN) == login);
}

/* Numbers not in the table.  A failed login always costs the connection; 17 is
 * the server's resources (MS-TDS 2.2.7.10); 19000 to 19999 come from the
 * clustering around it, which takes sessions away. */
static void judge(uint8_t severity, bool login, struct tds_error_rule *rule) {
  bool cluster = rule->number >= 19000 && rule->number <= 19999;
  rule->scope = cluster ? ENDPOINT : login ? CONN : STATEMENT;
  rule->kind = cluster ? FAILOVER : severity == 17 ? RESOURCE : OTHER;
  rule->retry = NO;
}

void tds_errors_find(int32_t number,
                     uint8_t state,
                     uint8_t severity,
                     bool login,
                     struct tds_error_rule *out_rule) {
  struct tds_error_rule rule = {.number = number};
  judge(severity, login, &rule);
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    if (holds(&table[i], number, state, login)) {
      rule = table[i];
      break;
    }
  }
  if (severity >= TDS_SEVERITY_FATAL && rule.scope < CONN) {
    rule.scope = CONN;
  }
  *out_rule = rule;
}
