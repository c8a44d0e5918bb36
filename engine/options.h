/* SPDX-License-Identifier: MIT */
/* options.h - a parsed connection string sorted into what is the engine's, what
 * is the driver's, and what is secret.
 *
 * The driver's options are those of its options() array.  A name of the engine
 * (settings.h) always means the engine's setting.  BOOL takes true, yes, 1 and
 * false, no, 0 as SqlClient does; INT and UINT whole numbers; FLOAT a number;
 * TEXT and BYTES the value as it is.  Where choices are given, the value must be
 * one of them (case does not matter) and the driver sees the spelling of its
 * own list. */
#ifndef WEIR_OPTIONS_H
#define WEIR_OPTIONS_H

#include <stdint.h>

#include "weir_driver.h"

#include "conninfo.h"
#include "secret.h"
#include "settings.h"

struct weir_error;

struct weir__options {
  struct weir__settings settings;
  /* For config_create(): one element per option given, in the order of the
   * driver's array.  A secret one has type WEIR_DRV_T_NULL and flag
   * WEIR_DRV_V_SECRET. */
  const struct weir_drv_option *drv;
  uint32_t n_drv;
  uint32_t n_secrets;
  struct weir__options_secret *secrets; /* in the order of the driver's array */
  uint64_t secret_pairs[WEIR_CONNINFO_OPTIONS_MAX / 64]; /* bit i: pairs[i] */
  void *memory;
};

/* A secret option that was given. */
struct weir__options_secret {
  struct weir_drv_text name; /* canonical; a NUL behind */
  struct weir__secret *value;
};

/* Sorts ci by the engine's table and the driver's array of n elements that are
 * stride bytes apart.  Empty, unquoted values mean "not given".
 * Returns WEIR_OK; WEIR_E_ARG (unknown name, with the nearest known one; bad
 * value; a required option is missing: *err names option and position, never a
 * value); WEIR_E_UNSUPPORTED (a setting that is not built yet; a type of option
 * the engine cannot read); WEIR_E_NOMEM.
 * Owns: *out until weir__options_fini(); it keeps nothing of ci or info. */
int weir__options_split(const struct weir__conninfo *ci,
                        const struct weir_drv_option_info *info,
                        uint32_t n,
                        uint32_t stride,
                        struct weir__options *out,
                        struct weir_error *err);

/* Whether every option of ci may be changed while a pool runs: it is a setting of
 * the engine that says so.  info, n, stride: the driver's array, so that its
 * options can be told from unknown ones.  Returns WEIR_OK; WEIR_E_ARG (*err names
 * the option, as weir__options_split() does). */
int weir__options_changeable(const struct weir__conninfo *ci,
                             const struct weir_drv_option_info *info,
                             uint32_t n,
                             uint32_t stride,
                             struct weir_error *err);

/* Sets in *s what ci, which has been found changeable, says; an empty value means
 * the default.  Returns as weir__settings_set(); on failure *s is of no use.  Does
 * not allocate. */
int weir__options_change(const struct weir__conninfo *ci,
                         struct weir__settings *s,
                         struct weir_error *err);

/* Wipes the secrets and frees; fine on a zeroed struct and twice. */
void weir__options_fini(struct weir__options *o);

/* The secret given for the option of this canonical name (names.h), or NULL.
 * Valid until weir__options_fini(). */
const struct weir__secret *weir__options_secret(const struct weir__options *o,
                                                const char *name,
                                                size_t len);

#endif
