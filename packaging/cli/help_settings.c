/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "text_buf.h"
#include "weirctl.h"

#define WIDTH 80

/* One setting of the pool. */
struct setting {
  const char *name;
  const char *aliases; /* commas between them */
  const char *unit;
  const char *fallback; /* under direct */
  const char *legacy;   /* ... and the others, mostly the same */
  const char *channel;
  const char *range; /* "" where the unit says it */
  int changeable;
  int built;
  const char *what;
};

static const struct setting settings[] = {
#include "settings_data.h"
};
#define N_SETTINGS (sizeof settings / sizeof settings[0])

static const char head[] =
    "Connection strings: Name=value;Name=value\n"
    "\n"
    "Names are read without regard to case and blanks.  A value with a ; in it "
    "is\n"
    "put in quotes.  In -c @FILE a line that begins with # is a comment.\n"
    "Times: a bare number is seconds; ns, us, ms, s, min and h are "
    "understood.\n"
    "Settings marked * can change while the pool runs "
    "(weir_pool_reconfigure()).\n";

static const char driver_part[] =
    "\n"
    "Of Driver=tds; drivers/tds/README.md has their other names:\n"
    "\n"
    "  Server                   host or host,port; required; the port is 1433\n"
    "  Database                 to open [the login's own]\n"
    "  User ID, Password        login of SQL Server\n"
    "  Authentication           SqlPassword, AccessToken, ActiveDirectory...\n"
    "                           [SqlPassword]\n"
    "  Access Token             token of federated authentication\n"
    "  Encrypt                  optional, mandatory or strict [mandatory]\n"
    "  TrustServerCertificate   true takes any certificate, for a test "
    "[false]\n"
    "  ServerCertificate        file with the one certificate to accept\n"
    "  CA File                  PEM file of authorities [the system's]\n"
    "  HostNameInCertificate    name to look for in the certificate\n"
    "  Application Name, Workstation ID\n"
    "                           names shown by the server\n"
    "  Packet Size              512 to 32768 bytes [8000]\n"
    "  Prepared Statements      kept on a connection, 0 to 1024 [64]\n"
    "  Language                 of server messages\n"
    "  ApplicationIntent        ReadWrite or ReadOnly [ReadWrite]\n"
    "  IPAddressPreference      IPv4First, IPv6First or UsePlatformDefault\n"
    "                           [IPv4First]\n"
    "\n"
    "Taken so that strings written for others work, without effect:\n"
    "MultiSubnetFailover, Persist Security Info, ConnectRetryCount,\n"
    "ConnectRetryInterval, Asynchronous Processing.  Only with the values "
    "that\n"
    "ask for nothing: MultipleActiveResultSets, Integrated Security,\n"
    "Type System Version, Column Encryption Setting, Attestation Protocol,\n"
    "User Instance, Replication, Context Connection, Network Library, and\n"
    "empty: Failover Partner, Failover Partner SPN, Server SPN,\n"
    "Enclave Attestation Url, AttachDbFilename.\n"
    "\n"
    "Example:\n"
    "  weirctl key \"Driver=tds;Server=127.0.0.1,1433;User ID=sa;Password=x;"
    "Encrypt=optional\"\n";

/* Words of text from column `indent` on, in lines of WIDTH. */
static void print_wrapped(const char *text, size_t indent) {
  size_t at = 0;
  while (*text != '\0') {
    size_t n = strcspn(text, " ");
    if (at != 0 && at + 1 + n > WIDTH) {
      (void)putchar('\n');
      at = 0;
    }
    if (at == 0) {
      (void)printf("%*s", (int)indent, "");
      at = indent;
    } else {
      (void)putchar(' ');
      at++;
    }
    (void)fwrite(text, 1, n, stdout);
    at += n;
    text += n;
    text += strspn(text, " ");
  }
  (void)putchar('\n');
}

static void add_list(struct text_buf *to, const char *list) {
  for (; *list != '\0'; list++) {
    text_buf_add(to, list, 1);
    if (*list == ',') {
      text_buf_add(to, " ", 1);
    }
  }
}

/* "500 ms (5 ms under legacy, channel)", "affinity (lifo under legacy; fifo under
 * channel)". */
static void add_default(struct text_buf *to, const struct setting *s) {
  bool legacy = strcmp(s->legacy, s->fallback) != 0;
  bool channel = strcmp(s->channel, s->fallback) != 0;
  bool both = legacy && strcmp(s->legacy, s->channel) == 0;
  text_buf_add_str(to, s->fallback);
  if (both) {
    text_buf_addf(to, " (%s under legacy, channel)", s->legacy);
  } else if (legacy && channel) {
    text_buf_addf(to, " (%s under legacy; %s under channel)", s->legacy,
                  s->channel);
  } else if (legacy || channel) {
    text_buf_addf(to, " (%s under %s)", legacy ? s->legacy : s->channel,
                  legacy ? "legacy" : "channel");
  }
}

/* False: no memory. */
static bool print_one(const struct setting *s) {
  struct text_buf facts = {0};
  text_buf_add_str(&facts, s->unit);
  if (s->range[0] != '\0') {
    text_buf_add_str(&facts, strcmp(s->unit, "one of") == 0 ? " " : ", ");
    text_buf_add_str(&facts, s->range);
  }
  text_buf_add_str(&facts, "; ");
  text_buf_add_str(&facts,
                   strcmp(s->fallback, "required") == 0 ? "" : "default ");
  add_default(&facts, s);
  if (s->aliases[0] != '\0') {
    text_buf_add_str(&facts, "; also ");
    add_list(&facts, s->aliases);
  }
  text_buf_add(&facts, "", 1);
  if (!facts.failed) {
    (void)printf("\n  %s%s\n", s->name, s->changeable != 0 ? " *" : "");
    print_wrapped(facts.p, 6);
    print_wrapped(s->what, 6);
  }
  bool good = !facts.failed;
  text_buf_free(&facts);
  return good;
}

static bool print_text(void) {
  bool good = true;
  (void)fputs(head, stdout);
  (void)fputs("\nOf every driver, the settings of the pool:\n", stdout);
  for (size_t i = 0; i < N_SETTINGS; i++) {
    good = good && (settings[i].built == 0 || print_one(&settings[i]));
  }
  (void)fputs("\nKnown, and accepted at their defaults only until they are "
              "built:\n",
              stdout);
  for (size_t i = 0; i < N_SETTINGS; i++) {
    good = good && (settings[i].built != 0 || print_one(&settings[i]));
  }
  (void)fputs(driver_part, stdout);
  return good;
}

static void add_member(struct text_buf *to,
                       const char *name,
                       const char *text) {
  text_buf_addf(to, "\"%s\":", name);
  cell_add_json_string(to, text, strlen(text));
  text_buf_add(to, ",", 1);
}

static void add_defaults(struct text_buf *to, const struct setting *s) {
  text_buf_add_str(to, "\"defaults\":{");
  add_member(to, "direct", s->fallback);
  add_member(to, "legacy", s->legacy);
  text_buf_add_str(to, "\"channel\":");
  cell_add_json_string(to, s->channel, strlen(s->channel));
  text_buf_add_str(to, "},");
}

static void add_aliases(struct text_buf *to, const char *list) {
  text_buf_add_str(to, "\"aliases\":[");
  while (*list != '\0') {
    size_t n = strcspn(list, ",");
    cell_add_json_string(to, list, n);
    list += n + (list[n] == ',');
    text_buf_add_str(to, *list == '\0' ? "" : ",");
  }
  text_buf_add_str(to, "],");
}

static bool print_json(void) {
  struct text_buf out = {0};
  for (size_t i = 0; i < N_SETTINGS; i++) {
    const struct setting *s = &settings[i];
    text_buf_add(&out, "{", 1);
    add_member(&out, "name", s->name);
    add_aliases(&out, s->aliases);
    add_member(&out, "unit", s->unit);
    add_member(&out, "default", s->fallback);
    add_defaults(&out, s);
    add_member(&out, "range", s->range);
    text_buf_addf(&out, "\"changeable\":%s,\"built\":%s,",
                  s->changeable != 0 ? "true" : "false",
                  s->built != 0 ? "true" : "false");
    text_buf_add_str(&out, "\"what\":");
    cell_add_json_string(&out, s->what, strlen(s->what));
    text_buf_add_str(&out, "}\n");
  }
  bool good = !out.failed;
  if (good) {
    (void)fwrite(out.p, 1, out.len, stdout);
  }
  text_buf_free(&out);
  return good;
}

const char *weirctl_setting_default(const char *name,
                                    size_t name_len,
                                    const char *strategy,
                                    size_t strategy_len) {
  for (size_t i = 0; i < N_SETTINGS; i++) {
    const struct setting *s = &settings[i];
    if (strlen(s->name) == name_len && memcmp(s->name, name, name_len) == 0) {
      return strategy_len == 6 && memcmp(strategy, "legacy", 6) == 0 ? s->legacy
             : strategy_len == 7 && memcmp(strategy, "channel", 7) == 0
                 ? s->channel
                 : s->fallback;
    }
  }
  return NULL;
}

bool weirctl_help_settings(bool json) {
  return json ? print_json() : print_text();
}
