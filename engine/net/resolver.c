/* SPDX-License-Identifier: MIT */
/* A query is one name on its way through the system's resolver; look-ups hang on
 * it.  It is in the table, where new look-ups find it, until its answer arrives
 * or the last look-up leaves before it has started.
 *
 * Whoever calls done() notes that in a `delivery` on its stack first, under the
 * lock, so that weir__resolver_forget() can wait for that one call without
 * touching a look-up that its owner may have freed in the meantime.
 *
 * The resolver is counted: its owner and each query hold a reference, because a
 * thread may come back from the system after the engine has gone (P10). */
#include "net/resolver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "status.h"
#include "sys/assert.h"
#include "sys/mem.h"
#include "sys/mutex.h"
#include "sys/net.h"

#define BUCKETS 256u

struct answer {
  int32_t status;
  bool temporary;
  char why[96];
  uint32_t n;
  struct weir_drv_addr *addr;
};

struct weir__query {
  struct weir__job job; /* first: a query is found from its job */
  struct weir__resolver *resolver;
  struct weir__query *chain; /* next in its bucket */
  struct weir__lookup *first;
  struct weir__lookup *last;
  uint32_t refs; /* its job, and each forget() that looks at it */
  bool started;  /* a thread is on it: it stays in the table */
  bool listed;   /* in the table */
  int family;
  uint16_t port;
  uint64_t hash;
  struct answer answer; /* once it has arrived */
  char host[WEIR_RESOLVER_NAME_MAX + 1];
};

/* One call of done() that is under way. */
struct delivery {
  const struct weir__lookup *lookup; /* NULL between two calls */
  const void *thread;                /* whose it is: see self */
  struct delivery *next;
};

struct weir__resolver {
  struct weir__offload *offload;
  struct weir__mutex mu; /* guards all below */
  struct weir__cond delivered;
  struct weir__query *bucket[BUCKETS];
  struct delivery *deliveries;
  uint32_t queries;
  uint32_t refs; /* the owner, each query, each caller of begin or forget */
};

/* Its address tells this thread from others, so that forget() inside done() does
 * not wait for itself. */
static _Thread_local char self;

/* ------------------------------------------------------------------ answers */

/* A host name in a message: printable, and not all of a very long one. */
static void printable(const char *host, char *out, size_t cap) {
  size_t i = 0;
  for (; host[i] != '\0' && i + 1 < cap; i++) {
    unsigned char c = (unsigned char)host[i];
    out[i] = c < 0x20 || c > 0x7E ? '?' : host[i];
  }
  out[i] = '\0';
}

static void note_failure(struct answer *a, int rc, int error) {
  char buffer[96];
  a->status = rc == EAI_MEMORY ? WEIR_DRV_E_NOMEM : WEIR_DRV_FAIL;
  /* Without a descriptor the resolver reads nothing, and says that there is no
   * such name. */
  const bool no_descriptor = weir__errno_no_descriptor(error);
  a->temporary =
      rc == EAI_AGAIN || rc == EAI_MEMORY || rc == EAI_SYSTEM || no_descriptor;
  const char *why = rc == EAI_SYSTEM || no_descriptor
                        ? weir__errno_text(error, buffer, sizeof buffer)
                        : gai_strerror(rc);
  (void)snprintf(a->why, sizeof a->why, "%.90s", why);
}

static uint32_t count(const struct addrinfo *list) {
  uint32_t n = 0;
  for (; list != NULL && n < WEIR_RESOLVER_ADDRS_MAX; list = list->ai_next) {
    n += list->ai_family == AF_INET || list->ai_family == AF_INET6;
  }
  return n;
}

_Static_assert(offsetof(struct sockaddr_in, sin_port) ==
                   offsetof(struct sockaddr_in6, sin6_port),
               "one place for both kinds of port");

static void store(struct weir_drv_addr *out,
                  const struct addrinfo *from,
                  uint16_t port) {
  out->family = from->ai_family;
  out->len = (uint32_t)from->ai_addrlen;
  memcpy(out->bytes, from->ai_addr, from->ai_addrlen);
  uint16_t net_port = htons(port);
  memcpy(out->bytes + offsetof(struct sockaddr_in, sin_port), &net_port,
         sizeof net_port);
}

static bool ours(const struct addrinfo *ai) {
  return (ai->ai_family == AF_INET &&
          ai->ai_addrlen == sizeof(struct sockaddr_in)) ||
         (ai->ai_family == AF_INET6 &&
          ai->ai_addrlen == sizeof(struct sockaddr_in6));
}

static void keep(struct answer *a, const struct addrinfo *list, uint16_t port) {
  uint32_t cap = count(list);
  if (cap == 0) {
    note_failure(a, EAI_NONAME, 0);
    return;
  }
  a->addr = weir__mem_array(cap, sizeof *a->addr);
  if (a->addr == NULL) {
    note_failure(a, EAI_MEMORY, 0);
    return;
  }
  for (; list != NULL && a->n < cap; list = list->ai_next) {
    if (ours(list)) {
      store(&a->addr[a->n++], list, port);
    }
  }
  if (a->n == 0) {
    note_failure(a, EAI_NONAME, 0);
  }
}

/* Asks the system; with AI_NUMERICHOST it does not block. */
static void ask(const char *host,
                uint16_t port,
                int family,
                int flags,
                struct answer *a) {
  struct addrinfo hints;
  memset(&hints, 0, sizeof hints);
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  struct addrinfo *list = NULL;
  memset(a, 0, sizeof *a);
  a->status = WEIR_DRV_DONE;
  errno = 0;
  int rc = weir__net_resolve(host, NULL, &hints, &list);
  if (rc != 0) {
    note_failure(a, rc, errno);
    return;
  }
  keep(a, list, port);
  weir__net_resolve_free(list);
}

/* --------------------------------------------------------------- delivering */

static void fill(struct weir__lookup *lookup,
                 const char *host,
                 const struct answer *a) {
  lookup->status = a->status;
  lookup->temporary = a->temporary;
  if (a->status == WEIR_DRV_DONE) {
    lookup->addr = weir__mem_array(a->n, sizeof *a->addr);
    if (lookup->addr != NULL) {
      memcpy(lookup->addr, a->addr, a->n * sizeof *a->addr);
      lookup->n = a->n;
      return;
    }
    lookup->status = WEIR_DRV_E_NOMEM;
    lookup->temporary = true;
  }
  char name[64];
  printable(host, name, sizeof name);
  const char *why = a->status == WEIR_DRV_DONE ? "out of memory" : a->why;
  (void)snprintf(lookup->reason, sizeof lookup->reason, "host '%.40s'%s: %.70s",
                 name, strlen(name) > 40 ? "..." : "", why);
}

static void note_delivery(struct weir__resolver *r, struct delivery *d) {
  d->next = r->deliveries;
  r->deliveries = d;
}

static void end_delivery(struct weir__resolver *r, const struct delivery *d) {
  struct delivery **link = &r->deliveries;
  while (*link != d) {
    link = &(*link)->next;
  }
  *link = d->next;
}

static void unhang(struct weir__query *q, struct weir__lookup *lookup) {
  if (lookup->prev == NULL) {
    q->first = lookup->next;
  } else {
    lookup->prev->next = lookup->next;
  }
  if (lookup->next == NULL) {
    q->last = lookup->prev;
  } else {
    lookup->next->prev = lookup->prev;
  }
  lookup->query = NULL;
}

static void hang(struct weir__query *q, struct weir__lookup *lookup) {
  lookup->query = q;
  lookup->next = NULL;
  lookup->prev = q->last;
  if (q->last == NULL) {
    q->first = lookup;
  } else {
    q->last->next = lookup;
  }
  q->last = lookup;
}

/* Answers the look-ups of a query one by one; each can be forgotten until its
 * turn comes. */
static void deliver(struct weir__resolver *r, struct weir__query *q) {
  struct delivery d = {.thread = &self};
  weir__mutex_lock(&r->mu);
  note_delivery(r, &d);
  while (q->first != NULL) {
    struct weir__lookup *lookup = q->first;
    unhang(q, lookup);
    d.lookup = lookup;
    weir__mutex_unlock(&r->mu);
    fill(lookup, q->host, &q->answer);
    lookup->done(lookup);
    weir__mutex_lock(&r->mu);
    d.lookup = NULL;
    weir__cond_broadcast(&r->delivered);
  }
  end_delivery(r, &d);
  weir__mutex_unlock(&r->mu);
}

/* ------------------------------------------------------------------ queries */

static void free_resolver(struct weir__resolver *r) {
  weir__cond_fini(&r->delivered);
  weir__mutex_fini(&r->mu);
  weir__mem_free(r);
}

static void release(struct weir__resolver *r) {
  weir__mutex_lock(&r->mu);
  bool last = --r->refs == 0;
  weir__mutex_unlock(&r->mu);
  if (last) {
    free_resolver(r);
  }
}

static uint64_t hash_name(const char *host,
                          size_t len,
                          uint16_t port,
                          int family) {
  uint64_t h =
      UINT64_C(0xCBF29CE484222325) ^ port ^ (uint64_t)(unsigned)family << 16;
  for (size_t i = 0; i < len; i++) {
    h = (h ^ (unsigned char)host[i]) * UINT64_C(0x100000001B3);
  }
  return h;
}

static void unlist(struct weir__resolver *r, struct weir__query *q) {
  struct weir__query **link = &r->bucket[q->hash % BUCKETS];
  while (*link != q) {
    link = &(*link)->chain;
  }
  *link = q->chain;
  q->listed = false;
  r->queries--;
}

static void put_query(struct weir__query *q) {
  struct weir__resolver *r = q->resolver;
  weir__mutex_lock(&r->mu);
  bool last = --q->refs == 0;
  weir__mutex_unlock(&r->mu);
  if (last) {
    weir__mem_free(q->answer.addr);
    weir__mem_free(q);
    release(r);
  }
}

static struct weir__query *query_of(struct weir__job *job) {
  return (struct weir__query *)(void *)job;
}

/* The answer is there: nobody may join any more. */
static void conclude(struct weir__query *q) {
  struct weir__resolver *r = q->resolver;
  weir__mutex_lock(&r->mu);
  if (q->listed) {
    unlist(r, q);
  }
  weir__mutex_unlock(&r->mu);
  deliver(r, q);
  put_query(q);
}

/* False: everybody left before it started. */
static bool start_query(struct weir__query *q) {
  struct weir__resolver *r = q->resolver;
  weir__mutex_lock(&r->mu);
  q->started = q->listed;
  weir__mutex_unlock(&r->mu);
  return q->started;
}

static void run_query(struct weir__job *job) {
  struct weir__query *q = query_of(job);
  if (!start_query(q)) {
    put_query(q);
    return;
  }
  ask(q->host, q->port, q->family, 0, &q->answer);
  conclude(q);
}

static void fail_query(struct weir__query *q, const char *why) {
  q->answer.status = WEIR_DRV_FAIL;
  q->answer.temporary = true;
  (void)snprintf(q->answer.why, sizeof q->answer.why, "%s", why);
  conclude(q);
}

static void drop_query(struct weir__job *job) {
  fail_query(query_of(job), "no thread is left to look it up");
}

/* -------------------------------------------------------------- for callers */

void weir__lookup_fini(struct weir__lookup *lookup) {
  weir__mem_free(lookup->addr);
  lookup->addr = NULL;
  lookup->n = 0;
}

int weir__resolver_new(struct weir__offload *offload,
                       struct weir__resolver **out) {
  struct weir__resolver *r = weir__mem_new(sizeof *r);
  if (r == NULL) {
    return -ENOMEM;
  }
  weir__mutex_init(&r->mu, WEIR_RANK_LEAF);
  weir__cond_init(&r->delivered);
  r->offload = offload;
  r->refs = 1;
  *out = r;
  return 0;
}

void weir__resolver_free(struct weir__resolver *resolver) {
  if (resolver != NULL) {
    release(resolver);
  }
}

/* Copies a host into name, without the brackets of an IPv6 literal. */
static int copy_name(const char *host, size_t len, char *name) {
  if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
    host++;
    len -= 2;
  }
  if (len == 0 || len > WEIR_RESOLVER_NAME_MAX ||
      memchr(host, '\0', len) != NULL) {
    return -EINVAL;
  }
  memcpy(name, host, len);
  name[len] = '\0';
  return 0;
}

/* A name never holds a colon; "fe80::1%eth0" is for the system to read. */
static bool literal(const char *name) {
  struct in_addr in;
  return inet_pton(AF_INET, name, &in) == 1 || strchr(name, ':') != NULL;
}

static void answer_literal(struct weir__resolver *r,
                           struct weir__lookup *lookup,
                           const char *name,
                           uint16_t port,
                           int family) {
  struct answer a;
  struct delivery d = {.lookup = lookup, .thread = &self};
  ask(name, port, family, AI_NUMERICHOST, &a);
  fill(lookup, name, &a);
  weir__mem_free(a.addr);
  weir__mutex_lock(&r->mu);
  r->refs++; /* done() may free the resolver */
  note_delivery(r, &d);
  weir__mutex_unlock(&r->mu);
  lookup->done(lookup);
  weir__mutex_lock(&r->mu);
  end_delivery(r, &d);
  weir__cond_broadcast(&r->delivered);
  weir__mutex_unlock(&r->mu);
  release(r);
}

static struct weir__query *new_query(struct weir__resolver *r,
                                     const char *name,
                                     uint16_t port,
                                     int family) {
  struct weir__query *q = weir__mem_new(sizeof *q);
  if (q == NULL) {
    return NULL;
  }
  size_t len = strlen(name);
  memcpy(q->host, name, len);
  q->resolver = r;
  q->refs = 1;
  q->port = port;
  q->family = family;
  q->hash = hash_name(name, len, port, family);
  q->job.run = run_query;
  q->job.drop = drop_query;
  q->job.fair_key = hash_name(name, len, 0, 0);
  return q;
}

static struct weir__query *find(struct weir__resolver *r,
                                const struct weir__query *like) {
  struct weir__query *q = r->bucket[like->hash % BUCKETS];
  while (q != NULL &&
         (q->hash != like->hash || q->port != like->port ||
          q->family != like->family || strcmp(q->host, like->host) != 0)) {
    q = q->chain;
  }
  return q;
}

/* Hangs the look-up on the query of that name: one that is there, or fresh.
 * Returns 1 if fresh was taken and must be submitted, 0, or -ENOBUFS. */
static int join(struct weir__resolver *r,
                struct weir__query *fresh,
                struct weir__lookup *lookup) {
  struct weir__query *q = find(r, fresh);
  if (q != NULL) {
    hang(q, lookup);
    return 0;
  }
  if (r->queries == WEIR_RESOLVER_QUERIES_MAX) {
    return -ENOBUFS;
  }
  fresh->chain = r->bucket[fresh->hash % BUCKETS];
  r->bucket[fresh->hash % BUCKETS] = fresh;
  fresh->listed = true;
  r->queries++;
  r->refs++;
  hang(fresh, lookup);
  return 1;
}

static int begin_name(struct weir__resolver *r,
                      struct weir__lookup *lookup,
                      const char *name,
                      uint16_t port,
                      int family) {
  struct weir__query *fresh = new_query(r, name, port, family);
  if (fresh == NULL) {
    return -ENOMEM;
  }
  weir__mutex_lock(&r->mu);
  int rc = join(r, fresh, lookup);
  weir__mutex_unlock(&r->mu);
  if (rc != 1) {
    weir__mem_free(fresh);
    return rc;
  }
  rc = weir__offload_submit(r->offload, &fresh->job);
  if (rc != 0) {
    /* Others may have joined it already, so the failure is a result. */
    fail_query(fresh, rc == -ENOMEM ? "out of memory"
                                    : "no thread could be started for it");
  }
  return 0;
}

int weir__resolver_begin(struct weir__resolver *resolver,
                         struct weir__lookup *lookup,
                         const char *host,
                         size_t len,
                         uint16_t port,
                         int family) {
  char name[WEIR_RESOLVER_NAME_MAX + 1];
  WEIR_ASSERT(lookup->query == NULL);
  if (family != AF_UNSPEC && family != AF_INET && family != AF_INET6) {
    return -EINVAL;
  }
  int rc = copy_name(host, len, name);
  if (rc != 0) {
    return rc;
  }
  if (literal(name)) {
    answer_literal(resolver, lookup, name, port, family);
    return 0;
  }
  return begin_name(resolver, lookup, name, port, family);
}

/* Waits until no thread but this one is inside done(lookup). */
static void wait_delivered(struct weir__resolver *r,
                           const struct weir__lookup *lookup)
    WEIR_REQUIRES(r->mu) {
  const struct delivery *d = r->deliveries;
  while (d != NULL) {
    if (d->lookup == lookup && d->thread != &self) {
      weir__cond_wait(&r->delivered, &r->mu);
      d = r->deliveries;
    } else {
      d = d->next;
    }
  }
}

/* A query that nobody waits for and no thread has begun is taken back, so that
 * it does not stand in the way of others. */
static void withdraw(struct weir__resolver *r, struct weir__query *q) {
  if (weir__offload_withdraw(r->offload, &q->job)) {
    put_query(q); /* for the job */
  }
  put_query(q);
}

bool weir__resolver_forget(struct weir__resolver *resolver,
                           struct weir__lookup *lookup) {
  struct weir__resolver *r = resolver;
  weir__mutex_lock(&r->mu);
  struct weir__query *q = lookup->query;
  bool waiting = q != NULL;
  bool unwanted = false;
  if (waiting) {
    unhang(q, lookup);
    unwanted = q->first == NULL && q->listed && !q->started;
    if (unwanted) {
      unlist(r, q);
      q->refs++;
    }
  } else {
    wait_delivered(r, lookup);
  }
  weir__mutex_unlock(&r->mu);
  if (unwanted) {
    withdraw(r, q);
  }
  return waiting;
}
