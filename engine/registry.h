/* SPDX-License-Identifier: MIT */
/* registry.h - from a connection string to the one pool of its key. */
#ifndef WEIR_REGISTRY_H
#define WEIR_REGISTRY_H

#include <stdint.h>

#include "advice.h"
#include "caller.h"
#include "engine.h"

/* Buckets of an engine's table of pools: 10,000 pools make chains of ten. */
#define WEIR_REGISTRY_BUCKETS 1024u

struct weir__registry {
  struct weir__mutex mu;                             /* rank REGISTRY */
  struct weir__pool *buckets[WEIR_REGISTRY_BUCKETS]; /* guarded by mu */
  struct weir__advice advice;                        /* guarded by mu */
};

struct weir__text {
  const char *p;
  uint64_t n;
};

void weir__registry_init(struct weir__registry *registry);
void weir__registry_fini(struct weir__registry *registry);

/* weir_pool_open() and weir_pool_close(). */
int weir__registry_open(struct weir__engine *engine,
                        struct weir__caller *self,
                        const char *conninfo,
                        uint64_t len,
                        uint64_t *out_pool,
                        struct weir_error *err);
int weir__registry_close(uint64_t handle);

/* The key's text for a connection string. */
int weir__registry_key(struct weir__engine *engine,
                       const char *conninfo,
                       uint64_t len,
                       char *buf,
                       uint64_t cap,
                       uint64_t *out_need,
                       struct weir_error *err);

/* weir_conninfo_diff() and weir_engine_advice(). */
int weir__registry_diff(struct weir__engine *engine,
                        struct weir__text a,
                        struct weir__text b,
                        char *buf,
                        uint64_t *inout_len,
                        struct weir_error *err);
int weir__registry_advice(struct weir__registry *registry,
                          char *buf,
                          uint64_t cap,
                          uint64_t *out_need);

/* Copies text with a NUL into buf; WEIR_E_SPACE when it does not fit. */
int weir__copy_out(const char *text,
                   uint64_t len,
                   char *buf,
                   uint64_t cap,
                   uint64_t *out_need);

#endif
