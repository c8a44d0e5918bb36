/* SPDX-License-Identifier: MIT */
/* key_report.h - what `weirctl key` prints. */
#ifndef WEIRCTL_KEY_REPORT_H
#define WEIRCTL_KEY_REPORT_H

#include <stdbool.h>

/* Prints one key, as it is or as {"key":"..."}.  False: no memory. */
bool key_report_one(const char *key, bool json);

/* Prints two keys and what keeps them from meaning one pool: differences is what
 * weir_conninfo_diff() wrote.  False: no memory. */
bool key_report_two(const char *const keys[2],
                    const char *differences,
                    bool json);

#endif
