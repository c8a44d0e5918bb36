/* SPDX-License-Identifier: MIT */
/* settings_value.h - one value of a setting as text and as a number: ns, a
 * count, a percentage, 0 or 1, the index of a choice, the length of a text. */
#ifndef WEIR_SETTINGS_VALUE_H
#define WEIR_SETTINGS_VALUE_H

#include "settings.h"

/* 1 for true, yes, 1; 0 for false, no, 0, in any case; else -1. */
int weir__setting_truth(const char *p, size_t n);

/* Reads a value of the setting's type; its range is not looked at.  Returns
 * NULL; or what is wrong with the text, "" if it is just not of the type. */
const char *weir__setting_read(const struct weir__setting *setting,
                               const char *p,
                               size_t n,
                               uint64_t *out);

/* Writes v as one would write it into buf of WEIR_SETTINGS_TEXT_MAX bytes. */
void weir__setting_write(const struct weir__setting *setting,
                         uint64_t v,
                         char *buf);

#endif
