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
    /* number, when, flags, retry after (s), scope, kind, retry */
    {102, ANY, 0, 0, STATEMENT, SYNTAX, NO},
    {105, ANY, 0, 0, STATEMENT, SYNTAX, NO},
    {156, ANY, 0, 0, STATEMENT, SYNTAX, NO},
    {170, ANY, 0, 0, STATEMENT, SYNTAX, NO},
    {207, ANY, 0, 0, STATEMENT, SYNTAX, NO},
    {208, ANY, 0, 0, STATEMENT, SYNTAX, NO},
    {515, ANY, 0, 0, STATEMENT, CONSTRAINT, NO},
    {547, ANY, 0, 0, STATEMENT, CONSTRAINT, NO},
    {586, RUN, 0, 0, STATEMENT, OTHER, SAME},
    {596, ANY, 0, 0, CONN, NETWORK, NO}, /* session killed */
    {701, RUN, 0, 0, STATEMENT, RESOURCE, AGAIN},
    {802, RUN, 0, 0, STATEMENT, RESOURCE, AGAIN},
    {911, LOGIN, 0, 0, CONFIG, BADCONFIG, NO}, /* no such database */
    {976, ANY, 0, 0, CONN, FAILOVER, ELSE},
    {978, ANY, 0, 0, CONN, FAILOVER, ELSE},
    {983, ANY, 0, 0, CONN, FAILOVER, ELSE},
    {1105, RUN, 0, 0, STATEMENT, RESOURCE, NO},
    {1204, RUN, 0, 0, STATEMENT, RESOURCE, SAME},
    {1205, RUN, DOOMED, 0, TXN, DEADLOCK, SAME},
    {1222, RUN, 0, 0, STATEMENT, TIMEOUT, SAME},
    {2601, ANY, 0, 0, STATEMENT, CONSTRAINT, NO},
    {2627, ANY, 0, 0, STATEMENT, CONSTRAINT, NO},
    {2812, ANY, 0, 0, STATEMENT, SYNTAX, NO},
    {3906, RUN, 0, 0, CONN, FAILOVER, ELSE}, /* read-only here */
    {3908, RUN, 0, 0, CONN, FAILOVER, ELSE},
    {3930, RUN, DOOMED, 0, TXN, OTHER, NO},
    {3960, RUN, DOOMED, 0, TXN, OTHER, SAME}, /* snapshot conflict */
    {3961, RUN, DOOMED, 0, TXN, OTHER, SAME},
    {3971, RUN, 0, 0, CONN, INTERNAL, NO}, /* wrong descriptor */
    {3980, RUN, 0, 0, CONN, INTERNAL, NO},
    {3988, RUN, 0, 0, CONN, INTERNAL, NO},
    {3989, RUN, 0, 0, CONN, INTERNAL, NO},
    {3998, RUN, DOOMED, 0, TXN, OTHER, NO},
    {4060, LOGIN, 0, 0, CONFIG, BADCONFIG, NO}, /* database not there */
    {4063, LOGIN, 0, 0, CONFIG, BADCONFIG, NO},
    {4064, LOGIN, 0, 0, CONFIG, BADCONFIG, NO},
    {4221, LOGIN, 0, 0, ENDPOINT, FAILOVER, ELSE},
    {6005, ANY, 0, 0, ENDPOINT, NETWORK, ELSE}, /* shutting down */
    {8179, RUN, 0, 0, STATEMENT, OTHER, SAME},
    {8645, RUN, 0, 0, STATEMENT, RESOURCE, AGAIN},
    {8651, RUN, 0, 0, STATEMENT, RESOURCE, AGAIN},
    {9002, RUN, 0, 0, STATEMENT, RESOURCE, NO}, /* log full */
    {10928, ANY, 0, 10, ENDPOINT, THROTTLED, AGAIN},
    {10929, ANY, 0, 10, ENDPOINT, THROTTLED, AGAIN},
    {17142, ANY, 0, 0, ENDPOINT, RESOURCE, ELSE}, /* paused */
    {17189, ANY, 0, 0, ENDPOINT, RESOURCE, AGAIN},
    {17809, ANY, 0, 5, ENDPOINT, THROTTLED, AGAIN}, /* too many users */
    {18002, ANY, 0, 0, CONN, OTHER, NO},
    {18056, ANY, NOT_STARTED, 0, CONN, OTHER, AGAIN}, /* reset failed */
    {18059, ANY, NOT_STARTED, 0, CONN, OTHER, AGAIN},
    {18401, LOGIN, 0, 0, ENDPOINT, FAILOVER, AGAIN}, /* upgrading */
    {18451, LOGIN, 0, 0, ENDPOINT, FAILOVER, ELSE},  /* admins only */
    {18452, LOGIN, 0, 0, CONFIG, AUTH, CRED},
    {18456, LOGIN, 0, 0, CONFIG, AUTH, CRED},
    {18456, RUN, NOT_STARTED, 0, CONN, AUTH, CRED},
    {18461, LOGIN, 0, 0, ENDPOINT, FAILOVER, ELSE}, /* single user */
    {18470, LOGIN, 0, 0, CONFIG, AUTH, CRED},       /* disabled */
    {18486, LOGIN, 0, 0, CONFIG, AUTH, CRED},       /* locked out */
    {18487, LOGIN, 0, 0, CONFIG, EXPIRED, CRED},
    {18488, LOGIN, 0, 0, CONFIG, EXPIRED, CRED},
    {37396, ANY, 0, 0, CONN, EXPIRED, CRED}, /* token expired */
    {40020, ANY, 0, 0, ENDPOINT, FAILOVER, AGAIN},
    {40143, ANY, 0, 0, ENDPOINT, FAILOVER, AGAIN},
    {40166, ANY, 0, 0, ENDPOINT, FAILOVER, AGAIN},
    {40197, ANY, 0, 0, ENDPOINT, FAILOVER, AGAIN},
    {40501, ANY, 0, 10, ENDPOINT, THROTTLED, AGAIN},
    {40532, LOGIN, 0, 0, CONFIG, BADCONFIG, NO}, /* no such server */
    {40540, ANY, 0, 0, ENDPOINT, FAILOVER, AGAIN},
    {40613, ANY, 0, 0, ENDPOINT, FAILOVER, AGAIN},
    {40615, LOGIN, 0, 0, CONFIG, AUTH, NO}, /* firewall */
    {40971, ANY, 0, 0, CONN, FAILOVER, ELSE},
    {41301, RUN, DOOMED, 0, TXN, OTHER, SAME},
    {41302, RUN, DOOMED, 0, TXN, OTHER, SAME},
    {41305, RUN, DOOMED, 0, TXN, OTHER, SAME},
    {41325, RUN, DOOMED, 0, TXN, OTHER, SAME},
    {41839, RUN, DOOMED, 0, TXN, OTHER, SAME},
    {42108, ANY, 0, 0, ENDPOINT, FAILOVER, AGAIN},
    {42109, ANY, 0, 0, ENDPOINT, FAILOVER, AGAIN},
    {49918, ANY, 0, 10, ENDPOINT, THROTTLED, AGAIN},
    {49919, ANY, 0, 10, ENDPOINT, THROTTLED, AGAIN},
    {49920, ANY, 0, 10, ENDPOINT, THROTTLED, AGAIN},
};

const struct tds_error_rule *tds_errors_table(size_t *out_n) {
  *out_n = sizeof table / sizeof table[0];
  return table;
}

static bool holds(const struct tds_error_rule *rule, bool login) {
  return rule->when == ANY || (rule->when == LOGIN) == login;
}

/* Numbers not in the table.  A failed login always costs the connection; 17 and
 * 18 are the server's resources (MS-TDS 2.2.7.10). */
static void judge(uint8_t severity, bool login, struct tds_error_rule *rule) {
  rule->scope = login ? CONN : STATEMENT;
  rule->kind = severity == 17 ? RESOURCE : OTHER;
  rule->retry = NO;
}

void tds_errors_find(int32_t number,
                     uint8_t severity,
                     bool login,
                     struct tds_error_rule *out_rule) {
  struct tds_error_rule rule = {.number = number};
  judge(severity, login, &rule);
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    if (table[i].number == number && holds(&table[i], login)) {
      rule = table[i];
      break;
    }
  }
  if (severity >= TDS_SEVERITY_FATAL && rule.scope < CONN) {
    rule.scope = CONN;
  }
  *out_rule = rule;
}
