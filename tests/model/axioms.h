/* SPDX-License-Identifier: MIT */
/* axioms.h - whether a machine or the language allows what a few accesses of a few
 * threads are said to have read: a small axiomatic checker of litmus tests.
 *
 * A test is straight lines of accesses and what each read is to have found.  Every
 * way in which reads could have come by their values and writes could be ordered
 * is tried against the axioms of
 *
 *   SC      sequential consistency
 *   TSO     x86: stores are buffered; an exchange or a locked operation drains
 *   ARM     ARMv8 (multi-copy atomic), as gcc compiles C11 atomics: LDAR, STLR;
 *           read-modify-write by LDAXR and STLXR, which are not a full barrier
 *   C11     RC11: C11 with the repaired order of seq_cst accesses
 */
#ifndef WEIR_MODEL_AXIOMS_H
#define WEIR_MODEL_AXIOMS_H

#include <stdbool.h>
#include <stdint.h>

enum axioms_model {
  MODEL_SC,
  MODEL_TSO,
  MODEL_ARM,
  MODEL_C11,
  MODELS
};

enum access {
  END,
  READ,
  WRITE,
  UPDATE,     /* read-modify-write that succeeds */
  FENCE,      /* atomic_thread_fence(seq_cst) */
  MEMBARRIER, /* membarrier(2); the machine's models only */
};

enum order {
  RELAXED,
  ACQUIRE,
  RELEASE,
  ACQ_REL,
  SEQ
};

#define ANY           0xFF
#define AXIOMS_LINES  3
#define AXIOMS_LENGTH 6

struct access_line {
  enum access access;
  enum order order;
  char where;    /* a variable, 'a' to 'd', 0 before anything is written */
  uint8_t reads; /* READ, UPDATE: what it is to have found; ANY */
  uint8_t value; /* WRITE, UPDATE: what it writes, not 0, each value once */
};

struct litmus {
  const char *name;
  const char *what;   /* the outcome, in words */
  uint8_t allowed;    /* a bit for each model that allows it */
  char last;          /* a variable, or 0 */
  uint8_t last_value; /* that it must end with */
  struct access_line line[AXIOMS_LINES][AXIOMS_LENGTH];
};

/* True if the model allows the outcome. */
bool axioms_allow(const struct litmus *test, enum axioms_model model);

#endif
