/* SPDX-License-Identifier: MIT */
/* async_queue.c - acquires that do not block stand in the same line as those that
 * do. */
#include "policy.h"

const struct weir__async_policy weir__async_queue = {
    .name = "queue",
    .one_by_one = false,
};
