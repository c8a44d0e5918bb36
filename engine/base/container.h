/* SPDX-License-Identifier: MIT */
/* container.h - from a member to the struct it is part of. */
#ifndef WEIR_BASE_CONTAINER_H
#define WEIR_BASE_CONTAINER_H

#include <stddef.h>

#define weir_container_of(pointer, type, member) \
  ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
