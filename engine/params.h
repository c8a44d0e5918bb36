/* SPDX-License-Identifier: MIT */
/* params.h - a statement's parameters, checked and copied for as long as its
 * request lives. */
#ifndef WEIR_PARAMS_H
#define WEIR_PARAMS_H

#include <stdint.h>

#include "weir.h"
#include "weir_driver.h"

#define WEIR_PARAMS_MAX       65535u
/* Longest name, and longest native type: SQL Server's names have 128
 * characters. */
#define WEIR_PARAM_TEXT_MAX   1024u
/* Most bytes of all names and values of one statement. */
#define WEIR_PARAMS_BYTES_MAX (UINT64_C(4) << 30)

/* The copies, in one block.  A value may be a secret, so the block is wiped when
 * it is freed. */
struct weir__params {
  uint64_t bytes; /* of the block */
  uint32_t n;
  uint32_t reserved0;
  struct weir_drv_param at[];
};

/* Whether opts describes parameters as weir.h demands.  Returns WEIR_OK;
 * WEIR_E_ARG; WEIR_E_UNSUPPORTED (members that this library does not know): *err
 * names the parameter by its position, from 1, and what is wrong. */
int weir__params_check(const struct weir_exec_opts *opts,
                       struct weir_error *err);

/* Copies what weir__params_check() has found good.  NULL: no memory.  opts has
 * at least one.  Owns: the caller, until weir__params_free(). */
struct weir__params *weir__params_copy(const struct weir_exec_opts *opts);

/* Wipes and frees; NULL is fine. */
void weir__params_free(struct weir__params *params);

#endif
