/* SPDX-License-Identifier: MIT */
/* async_dispatcher.c - acquires that do not block are seen to one at a time: only the
 * oldest stands in line, the others behind it (waiter.h), as if one thread did the
 * waiting for all of them. */
#include "policy.h"

const struct weir__async_policy weir__async_dispatcher = {
    .name = "dispatcher",
    .one_by_one = true,
};
