/* SPDX-License-Identifier: MIT */
/* The command line of tdsd. */
#ifndef TDSD_MAIN_OPTIONS_H
#define TDSD_MAIN_OPTIONS_H

#include "server.h"

#define ACCOUNTS_MAX 64u
#define TOKENS_MAX   16u
#define FAULTS_MAX   64u

/* What the command line says; the options point into it. */
struct arguments {
  struct tdsd_options options;
  struct tdsd_account accounts[ACCOUNTS_MAX];
  char *tokens[TOKENS_MAX];
  struct tdsd_listen listeners[TDSD_LISTENERS_MAX];
  const char *faults[FAULTS_MAX];
  bool print_port;
  bool quiet;
  const char *print_cert;
};

/* Reads the command line, and wipes the secrets in it.
 * Returns 0 to go on, 1 if help was asked for, -1 after a complaint.
 * Owns: the secrets, until arguments_free_logins(). */
int arguments_parse(struct arguments *arguments, int argc, char **argv);

/* Wipes and frees passwords and tokens. */
void arguments_free_logins(struct arguments *arguments);

/* Says on stderr what is wrong with an option.  Returns -1. */
int arguments_complain(const char *what, const char *text);

#endif
