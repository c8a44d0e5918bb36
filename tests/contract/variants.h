/* SPDX-License-Identifier: MIT */
/* variants.h - the strategies, and each policy swapped alone into direct. */
#ifndef WEIR_TEST_CONTRACT_VARIANTS_H
#define WEIR_TEST_CONTRACT_VARIANTS_H

static const char *const contract_strategies[] = {
    "Pool Strategy=direct",
    "Pool Strategy=legacy",
    "Pool Strategy=channel",
};

static const char *const contract_policies[] = {
    "Pool Idle Order=lifo",
    "Pool Idle Order=fifo",
    "Pool Growth=serial",
    "Pool Growth=parallel",
    "Pool Handoff=direct",
    "Pool Handoff=queued",
    "Pool Handoff=barging",
    "Pool Trim=sweep",
    "Pool Trim=median",
    "Pool Failure=all",
    "Pool Failure=one",
    "Pool Async=dispatcher",
    "Connect Timeout Scope=per-phase",
};

#define CONTRACT_COUNT(list) (sizeof(list) / sizeof(list)[0])

#endif
