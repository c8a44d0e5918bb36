/* SPDX-License-Identifier: MIT */
/* futex_round_trip.h - a physical limit, in the shape of a workload. */
#ifndef PEERS_FUTEX_ROUND_TRIP_H
#define PEERS_FUTEX_ROUND_TRIP_H

#include "workload.h"

extern const struct workload workload_futex_round_trip;

#endif
