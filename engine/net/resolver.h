/* SPDX-License-Identifier: MIT */
/* resolver.h - host names to addresses, without blocking the caller.
 *
 * One look-up for each (name, port, family) is under way at a time, on an
 * offload thread; its result serves every look-up that began before it arrived.
 * Nothing is kept afterwards: caching is the system resolver's business. */
#ifndef WEIR_NET_RESOLVER_H
#define WEIR_NET_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir_driver.h"

#include "net/offload.h"

struct weir__resolver;
struct weir__query;

#define WEIR_RESOLVER_NAME_MAX    255u   /* bytes of a host name */
#define WEIR_RESOLVER_ADDRS_MAX   64u    /* addresses kept of one answer */
#define WEIR_RESOLVER_QUERIES_MAX 16384u /* names being looked up at once */

/* One look-up, in its owner's memory: set done, zero the rest. */
struct weir__lookup {
  /* Called once, from any thread, no lock held.  The look-up is not touched any
   * more after it has been called, so it may be freed from inside. */
  void (*done)(struct weir__lookup *lookup);

  /* The result, valid from done() to weir__lookup_fini(). */
  int32_t status;   /* WEIR_DRV_DONE, WEIR_DRV_FAIL, WEIR_DRV_E_NOMEM */
  bool temporary;   /* with WEIR_DRV_FAIL: trying again may help */
  char reason[128]; /* why not, naming the host; "" on success */
  uint32_t n;       /* addresses, at least 1 on success */
  struct weir_drv_addr *addr; /* in the resolver's order, ports filled in */

  struct weir__lookup *next; /* the rest is the resolver's */
  struct weir__lookup *prev;
  struct weir__query *query; /* not NULL while it waits */
};

/* Frees the addresses of a result and zeroes n and addr. */
void weir__lookup_fini(struct weir__lookup *lookup);

/* Returns 0 or -ENOMEM.  offload must outlive every look-up.
 * Owns: *out until weir__resolver_free(). */
int weir__resolver_new(struct weir__offload *offload,
                       struct weir__resolver **out);

/* No look-up may be waiting.  Names that offload threads are still looking up
 * for nobody are freed when the system returns.  Call it before or after
 * weir__offload_stop(); NULL is fine. */
void weir__resolver_free(struct weir__resolver *resolver);

/* Begins a look-up.  host: len bytes, a name or a literal address (also in
 * brackets), which is answered before this returns.  family: AF_UNSPEC,
 * AF_INET or AF_INET6.
 * Returns 0: done() has been or will be called exactly once, unless
 * weir__resolver_forget() answers true; -EINVAL: host is empty, too long or not
 * text, or family is another; -ENOMEM; -ENOBUFS: too many names at once.
 * Threads: any.  Blocks: no.  Hold no lock: done() may be called from here. */
int weir__resolver_begin(struct weir__resolver *resolver,
                         struct weir__lookup *lookup,
                         const char *host,
                         size_t len,
                         uint16_t port,
                         int family);

/* Gives a look-up up.
 * Returns true: done() has not been and will not be called; false: it was
 * called, and has returned (inside done() itself: at once).
 * Threads: any, as long as the look-up's memory is there.  Hold no lock.
 * Blocks: only while another thread is inside this look-up's done(). */
bool weir__resolver_forget(struct weir__resolver *resolver,
                           struct weir__lookup *lookup);

#endif
