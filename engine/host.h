/* SPDX-License-Identifier: MIT */
/* host.h - the table of services that an engine's drivers get. */
#ifndef WEIR_HOST_H
#define WEIR_HOST_H

#include "engine.h"

/* Fills engine->host. */
void weir__host_init(struct weir__engine *engine);

#endif
