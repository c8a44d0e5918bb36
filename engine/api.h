/* SPDX-License-Identifier: MIT */
/* api.h - what the public entry points share. */
#ifndef WEIR_API_H
#define WEIR_API_H

#include <stdbool.h>
#include <stdint.h>

#include "weir.h"

#include "caller.h"
#include "engine.h"
#include "handle.h"
#include "pool.h"

/* Error texts for the codes that say it all. */
int weir__api_refuse(int code, struct weir_error *err);

/* The same where a handle of type wanted was looked for: names what handle is
 * if it is of another. */
int weir__api_refuse_handle(int code,
                            weir_h handle,
                            enum weir__type wanted,
                            struct weir_error *err);

/* Copies a caller's option struct of any size into *to of `size` bytes, absent
 * members zero.  WEIR_E_ARG: struct_size is too small to be one, or members we
 * do not know are not zero. */
int weir__api_opts(const void *from,
                   void *to,
                   uint32_t size,
                   struct weir_error *err);

/* Copies a result struct into the caller's, as far as that goes. */
bool weir__api_result(void *to, const void *from, uint32_t size);

/* Enters a call and resolves its handle; NULL with *out_code set otherwise.
 * Needs weir__caller_leave() unless it answered NULL. */
struct weir__engine *weir__api_engine(weir_h handle,
                                      struct weir__caller **out_self,
                                      int *out_code);
struct weir__pool *weir__api_pool(weir_h handle,
                                  struct weir__caller **out_self,
                                  int *out_code);

struct weir__queue;
struct weir__queue *weir__api_queue(weir_h handle,
                                    struct weir__caller **out_self,
                                    int *out_code);

/* The same for a call on a lease; needs weir__api_lease_leave() unless it did not
 * answer WEIR_OK. */
struct weir__lease;
int weir__api_lease(weir_h handle,
                    struct weir__caller **out_self,
                    struct weir__lease *out);
void weir__api_lease_leave(struct weir__caller *self,
                           struct weir__lease *lease);

/* True for a time-out the header allows. */
bool weir__api_timeout_ok(int64_t timeout_ns);

#endif
