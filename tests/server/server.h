/* SPDX-License-Identifier: MIT */
/* tdsd, the TDS test server, as a library: tests and benchmarks run it in their
 * own process, on a thread of its own.
 *
 *   struct tdsd_options options = {.tls = TDSD_TLS_FULL, .login_delay_ms = 5};
 *   struct tdsd *server = NULL;
 *   char why[256];
 *   if (tdsd_open(&options, &server, why, sizeof why) != 0 ||
 *       tdsd_start(server) != 0) { ... }
 *   ... connect to 127.0.0.1, tdsd_port(server) ...
 *   struct tdsd_stats stats;
 *   tdsd_stats(server, &stats);
 *   tdsd_close(server);
 */
#ifndef TDSD_SERVER_H
#define TDSD_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server_prelogin.h"
#include "server_role.h"

/* Addresses that one server may listen on. */
#define TDSD_LISTENERS_MAX 16u

struct tdsd;

struct tdsd_account {
  const char *user;
  const char *password;
};

/* One address to listen on. */
struct tdsd_listen {
  const char *address;
  uint16_t port;        /* 0 = that of the options, or what is free */
  const char *instance; /* its name for the browser; NULL = MSSQLSERVER */
  struct tdsd_role role;
};

struct tdsd_options {
  const char *listen; /* an IPv4 or IPv6 address; NULL = 127.0.0.1 */
  uint16_t port;      /* 0 = any free one; see tdsd_port() */
  const struct tdsd_listen *listeners; /* several; then listen is not used */
  size_t nlisteners;
  bool browser; /* answer SSRP over UDP */
  uint16_t browser_port;
  const char *const *faults; /* rules (README.md) that hold from the start */
  size_t nfaults;
  enum tdsd_tls_mode tls;
  uint32_t login_delay_ms;             /* between LOGIN7 and its answer */
  const struct tdsd_account *accounts; /* NULL = sa with password x */
  size_t naccounts;
  const char *const *tokens; /* federated tokens that are right */
  size_t ntokens;
  bool fedauth_echo_0;   /* PRELOGIN says that none is needed, all the same */
  bool strict_client;    /* what is only unwise is refused, too */
  bool any_login;        /* every user and password is right */
  bool silent;           /* accept, read, and never say a word */
  const char *control;   /* path of the control socket, or NULL */
  const char *tap;       /* pcap file for the decrypted packets, or NULL */
  const char *script;    /* file of scripted answers, or NULL */
  const char *sqlite;    /* database file for tables, or NULL; ":memory:" is a
                            temporary one */
  const char *cert_file; /* PEM; NULL = a fresh self-signed one */
  const char *key_file;  /* PEM; needed with cert_file */
  /* Called with one line for each thing worth noting, above all what clients do
   * wrong; never with a secret.  NULL = nothing is logged.
   * Threads: the server's. */
  void (*log)(void *user, const char *line);
  void *log_user;
};

/* Counters; those that end in _open are the present number. */
struct tdsd_stats {
  uint64_t connections_open;
  uint64_t connections_total;
  uint64_t connections_max; /* most that were ever open at once */
  uint64_t sessions_open;   /* logged in, and their end not read yet */
  uint64_t sessions_max;    /* most that were ever open at once */
  uint64_t logins_ok;
  uint64_t logins_failed;
  uint64_t batches;
  uint64_t rpcs;
  uint64_t transactions; /* transaction manager requests */
  uint64_t resets;
  uint64_t resets_08; /* with RESETCONNECTION */
  uint64_t resets_10; /* with RESETCONNECTIONSKIPTRAN */
  uint64_t attentions;
  uint64_t ignored;    /* messages taken back by their client */
  uint64_t violations; /* things clients did wrong */
  uint64_t tls_handshakes;
  uint64_t tls_resumed; /* handshakes that resumed a session */
  uint64_t packets_in;  /* of TDS, handshakes in packets excluded */
  uint64_t packets_out;
  uint64_t browser_asked; /* questions to the browser */
  uint64_t bytes_in;      /* on the socket, TLS included */
  uint64_t bytes_out;
};

/* Binds and prepares everything; nobody is served before tdsd_start() or
 * tdsd_run().
 * Returns 0, or -1 with a sentence in why: address in use, bad certificate, ...
 * Owns: options are copied; *out_server until tdsd_close(). */
int tdsd_open(const struct tdsd_options *options,
              struct tdsd **out_server,
              char *why,
              size_t cap);

/* Serves on a thread of its own.  Returns 0, or -1 if there is none to have. */
int tdsd_start(struct tdsd *server);

/* Serves on this thread until tdsd_quit(). */
void tdsd_run(struct tdsd *server);

/* Asks the serving thread to end.  Threads: any; also from a signal handler. */
void tdsd_quit(struct tdsd *server);

/* Ends the thread, if any, and frees everything.  NULL is allowed. */
void tdsd_close(struct tdsd *server);

/* The port it listens on. */
uint16_t tdsd_port(const struct tdsd *server);

/* The port of the n-th listener, from 1; of the browser; 0 if there is none. */
uint16_t tdsd_listener_port(const struct tdsd *server, uint32_t number);
uint16_t tdsd_browser_port(const struct tdsd *server);

/* The certificate as PEM, NULL without TLS.  It lives as long as the server. */
const char *tdsd_cert_pem(const struct tdsd *server);

/* Reads the counters.  Threads: any. */
void tdsd_stats(const struct tdsd *server, struct tdsd_stats *out_stats);

/* Runs one line of the control socket's language on the serving thread and waits
 * for the answer, which is cut to cap - 1 bytes.  The server must be serving.
 * Threads: any but the server's own.  Blocks: yes. */
void tdsd_command(struct tdsd *server,
                  const char *line,
                  char *reply,
                  size_t cap);

#endif
