/* SPDX-License-Identifier: MIT */
/* Reading faults, for its own files. */
#ifndef TDSD_SERVER_FAULT_READ_H
#define TDSD_SERVER_FAULT_READ_H

#include "server_fault.h"

/* A rule while it is read. */
struct tdsd_fault_reading {
  struct tdsd_fault_rule *rule;
  bool on_given;
  char *why;
  size_t cap;
};

/* Writes the sentence.  Returns -1. */
int tdsd_fault_expected(struct tdsd_fault_reading *reading,
                        const char *format,
                        ...) __attribute__((format(printf, 2, 3)));

/* Reads a whole number of at most most; base 16 allows 0x. */
bool tdsd_fault_number(const char *text,
                       int base,
                       uint64_t most,
                       uint64_t *out);

/* Reads 5, 5ms or 5s. */
bool tdsd_fault_ms(const char *text, uint64_t most, uint64_t *out);

/* The index of a word in a list of words separated by blanks; -1 = none. */
int tdsd_fault_word(const char *words, const char *word);

/* Copies at most cap - 1 bytes of the first len. */
void tdsd_fault_copy(char *out, size_t cap, const char *text, size_t len);

/* The keys that stand before =, and reading one of them by its index. */
extern const char tdsd_fault_keys[];
int tdsd_fault_key(struct tdsd_fault_reading *reading,
                   int key,
                   const char *name,
                   const char *text);

#endif
