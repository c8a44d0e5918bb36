/* SPDX-License-Identifier: MIT */
#include "net/stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "net/drv_error.h"
#include "status.h"
#include "sys/assert.h"
#include "sys/mem.h"
#include "sys/net.h"

/* One system call moves no more than this. */
#define MOVE_MAX (UINT64_C(1) << 30)

#define DRAIN_CALL_MAX (UINT64_C(256) << 10)

struct weir_drv_stream {
  struct weir__streams *owner;
  int fd;
  uint32_t slot;
  int failed; /* -errno of the last call that failed */
  struct weir_drv_addr to;
};

/* "192.0.2.1:1433" or "[2001:db8::1]:1433", into at least ADDR_TEXT bytes. */
#define ADDR_TEXT (INET6_ADDRSTRLEN + 10)

static void addr_text(const struct weir_drv_addr *to, char *text) {
  char host[INET6_ADDRSTRLEN] = "?";
  if (to->family == AF_INET) {
    struct sockaddr_in in;
    memcpy(&in, to->bytes, sizeof in);
    (void)inet_ntop(AF_INET, &in.sin_addr, host, sizeof host);
    (void)snprintf(text, ADDR_TEXT, "%s:%u", host, ntohs(in.sin_port));
  } else {
    struct sockaddr_in6 in6;
    memcpy(&in6, to->bytes, sizeof in6);
    (void)inet_ntop(AF_INET6, &in6.sin6_addr, host, sizeof host);
    (void)snprintf(text, ADDR_TEXT, "[%s]:%u", host, ntohs(in6.sin6_port));
  }
}

/* What a failed system call means to a pool.  A refusal or a lost route says
 * something about the endpoint; a lack of descriptors or ports says something
 * about us; anything else about this connection only. */
struct verdict {
  int error;
  int32_t scope;
  int32_t kind;
  int32_t retry;
};

static const struct verdict verdicts[] = {
    {ECONNREFUSED, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_NETWORK,
     WEIR_DRV_RETRY_ELSE},
    {EHOSTUNREACH, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_NETWORK,
     WEIR_DRV_RETRY_ELSE},
    {EHOSTDOWN, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_NETWORK,
     WEIR_DRV_RETRY_ELSE},
    {ENETUNREACH, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_NETWORK,
     WEIR_DRV_RETRY_ELSE},
    {ENETDOWN, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_NETWORK,
     WEIR_DRV_RETRY_ELSE},
    {ETIMEDOUT, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_NETWORK,
     WEIR_DRV_RETRY_ELSE},
    {EACCES, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_NETWORK, WEIR_DRV_RETRY_NO},
    {EPERM, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_NETWORK, WEIR_DRV_RETRY_NO},
    {EMFILE, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_RESOURCE, WEIR_DRV_RETRY_OTHER},
    {ENFILE, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_RESOURCE, WEIR_DRV_RETRY_OTHER},
    {ENOBUFS, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_RESOURCE, WEIR_DRV_RETRY_OTHER},
    {ENOMEM, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_RESOURCE, WEIR_DRV_RETRY_OTHER},
    {EADDRNOTAVAIL, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_RESOURCE,
     WEIR_DRV_RETRY_OTHER},
};

static struct verdict judge(int error) {
  for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++) {
    if (verdicts[i].error == error) {
      return verdicts[i];
    }
  }
  struct verdict other = {error, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_NETWORK,
                          WEIR_DRV_RETRY_OTHER};
  return other;
}

static weir_drv_status describe(const struct weir_drv_addr *to,
                                const char *what,
                                struct verdict v,
                                struct weir_drv_error *err) {
  char where[ADDR_TEXT];
  char buffer[128];
  addr_text(to, where);
  const char *why = weir__errno_text(v.error, buffer, sizeof buffer);
  return weir__drv_error_set(err, v.scope, v.kind, v.retry, "%s %s: %s", what,
                             where, why);
}

static weir_drv_status connect_failed(const struct weir_drv_addr *to,
                                      int rc,
                                      struct weir_drv_error *err) {
  return describe(to, "cannot connect to", judge(-rc), err);
}

void weir__streams_init(struct weir__streams *owner) {
  weir__mutex_init(&owner->mu, WEIR_RANK_LEAF);
}

void weir__streams_fini(struct weir__streams *owner) {
  for (uint32_t i = 0; i < WEIR_STREAMS_MAX; i++) {
    WEIR_ASSERT(owner->slot[i] == NULL);
  }
  weir__mutex_fini(&owner->mu);
}

static bool addr_ok(const struct weir_drv_addr *to) {
  return (to->family == AF_INET && to->len == sizeof(struct sockaddr_in)) ||
         (to->family == AF_INET6 && to->len == sizeof(struct sockaddr_in6));
}

static uint32_t free_slot(const struct weir__streams *owner) {
  uint32_t i = 0;
  while (i < WEIR_STREAMS_MAX && owner->slot[i] != NULL) {
    i++;
  }
  return i;
}

/* Puts the stream in its slot; false: interrupted, so it must not begin. */
static bool enlist(struct weir__streams *owner, weir_drv_stream *stream) {
  weir__mutex_lock(&owner->mu);
  bool go = !owner->interrupted;
  if (go) {
    owner->slot[stream->slot] = stream;
  }
  weir__mutex_unlock(&owner->mu);
  return go;
}

static void delist(weir_drv_stream *stream) {
  struct weir__streams *owner = stream->owner;
  weir__mutex_lock(&owner->mu);
  owner->slot[stream->slot] = NULL;
  weir__mutex_unlock(&owner->mu);
}

/* The image's bytes, aligned for the system call. */
static int start_connect(int fd, const struct weir_drv_addr *to) {
  struct sockaddr_storage at;
  memset(&at, 0, sizeof at);
  memcpy(&at, to->bytes, to->len);
  return weir__net_connect(fd, (const struct sockaddr *)&at, to->len);
}

static bool interrupted(struct weir__streams *owner) {
  weir__mutex_lock(&owner->mu);
  bool yes = owner->interrupted;
  weir__mutex_unlock(&owner->mu);
  return yes;
}

/* An interrupt that comes before enlist() is seen by it; one that comes after
 * the connect has begun shuts the socket down.  Between the two it does neither,
 * so the flag is looked at once more. */
static int open_socket(struct weir__streams *owner, weir_drv_stream *stream) {
  stream->fd = weir__net_socket(stream->to.family);
  if (stream->fd < 0) {
    return stream->fd;
  }
  if (!enlist(owner, stream)) {
    return -ECANCELED;
  }
  int rc = start_connect(stream->fd, &stream->to);
  rc = rc == -EINPROGRESS ? 0 : rc;
  if (rc == 0 && interrupted(owner)) {
    rc = -ECANCELED;
  }
  if (rc != 0) {
    delist(stream);
  }
  return rc;
}

static weir_drv_status open_failed(weir_drv_stream *stream,
                                   int rc,
                                   struct weir_drv_error *err) {
  weir_drv_status st =
      rc == -ECANCELED
          ? weir__drv_error_set(err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_CANCELLED,
                                WEIR_DRV_RETRY_OTHER,
                                "the connection was interrupted")
          : connect_failed(&stream->to, rc, err);
  if (stream->fd >= 0) {
    (void)weir__net_close(stream->fd);
  }
  weir__mem_free(stream);
  return st;
}

weir_drv_status weir__stream_open(struct weir__streams *owner,
                                  const struct weir_drv_addr *to,
                                  weir_drv_stream **out,
                                  struct weir_drv_error *err) {
  if (!addr_ok(to)) {
    return weir__drv_error_set(
        err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_INTERNAL, WEIR_DRV_RETRY_NO,
        "not an IPv4 or IPv6 address: family %d, length %u", to->family,
        to->len);
  }
  uint32_t slot = free_slot(owner);
  if (slot == WEIR_STREAMS_MAX) {
    return weir__drv_error_set(
        err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_INTERNAL, WEIR_DRV_RETRY_NO,
        "a connection may have %u streams at a time", WEIR_STREAMS_MAX);
  }
  weir_drv_stream *stream = weir__mem_new(sizeof *stream);
  if (stream == NULL) {
    return connect_failed(to, -ENOMEM, err);
  }
  stream->owner = owner;
  stream->slot = slot;
  stream->to = *to;
  int rc = open_socket(owner, stream);
  if (rc != 0) {
    return open_failed(stream, rc, err);
  }
  *out = stream;
  return WEIR_DRV_DONE;
}

/* SO_ERROR is 0 both after success and while connecting; a second connect(2)
 * tells them apart. */
weir_drv_status weir__stream_connected(weir_drv_stream *stream,
                                       struct weir_drv_error *err) {
  int rc = weir__net_error(stream->fd);
  if (rc == 0) {
    rc = start_connect(stream->fd, &stream->to);
  }
  if (rc == 0 || rc == -EISCONN) {
    return WEIR_DRV_DONE;
  }
  if (rc == -EALREADY || rc == -EINPROGRESS) {
    return WEIR_DRV_WAIT;
  }
  stream->failed = rc;
  return connect_failed(&stream->to, rc, err);
}

static int64_t result(weir_drv_stream *stream, ssize_t rc) {
  if (rc == -EAGAIN) {
    return WEIR_DRV_E_AGAIN;
  }
  if (rc < 0) {
    stream->failed = (int)rc;
    return WEIR_DRV_FAIL;
  }
  return rc;
}

static size_t bounded(uint64_t n) {
  return (size_t)(n < MOVE_MAX ? n : MOVE_MAX);
}

int64_t weir__stream_read(weir_drv_stream *stream, void *p, uint64_t cap) {
  if (cap == 0) {
    return WEIR_DRV_E_INVALID;
  }
  ssize_t rc = weir__net_read(stream->fd, p, bounded(cap));
  if (rc > 0) {
    stream->owner->bytes_in += (uint64_t)rc;
  }
  return rc == 0 ? WEIR_DRV_E_CLOSED : result(stream, rc);
}

int64_t weir__stream_write(weir_drv_stream *stream, const void *p, uint64_t n) {
  if (n == 0) {
    return WEIR_DRV_E_INVALID;
  }
  ssize_t rc = weir__net_write(stream->fd, p, bounded(n));
  if (rc > 0) {
    stream->owner->bytes_out += (uint64_t)rc;
  }
  return rc == 0 ? WEIR_DRV_E_AGAIN : result(stream, rc);
}

int64_t weir__stream_peek(weir_drv_stream *stream, void *p, uint64_t cap) {
  if (cap == 0) {
    return WEIR_DRV_E_INVALID;
  }
  ssize_t rc = weir__net_peek(stream->fd, p, bounded(cap));
  return rc == 0 ? WEIR_DRV_E_CLOSED : result(stream, rc);
}

weir_drv_status weir__stream_error(const weir_drv_stream *stream,
                                   struct weir_drv_error *err) {
  struct verdict v = judge(-stream->failed);
  v.scope = WEIR_DRV_SCOPE_CONN; /* it had been connected */
  v.retry = WEIR_DRV_RETRY_OTHER;
  return describe(&stream->to, "lost the connection to", v, err);
}

void weir__stream_close(weir_drv_stream *stream) {
  if (stream == NULL) {
    return;
  }
  struct weir__streams *owner = stream->owner;
  if (owner->closing != NULL) {
    owner->closing(owner, stream);
  }
  /* Out of interrupt's sight first: from here on the number may be reused. */
  delist(stream);
  (void)weir__net_close(stream->fd);
  weir__mem_free(stream);
}

int weir__stream_fd(const weir_drv_stream *stream) {
  return stream->fd;
}

uint32_t weir__stream_slot(const weir_drv_stream *stream) {
  return stream->slot;
}

struct weir__streams *weir__stream_owner(const weir_drv_stream *stream) {
  return stream->owner;
}

void weir__streams_interrupt(struct weir__streams *owner) {
  weir__mutex_lock(&owner->mu);
  owner->interrupted = true;
  for (uint32_t i = 0; i < WEIR_STREAMS_MAX; i++) {
    if (owner->slot[i] != NULL) {
      /* Fails when the peer has gone already, which is what is wanted. */
      (void)weir__net_shutdown(owner->slot[i]->fd, SHUT_RDWR);
    }
  }
  weir__mutex_unlock(&owner->mu);
}

void weir__streams_half_close(struct weir__streams *owner) {
  for (uint32_t i = 0; i < WEIR_STREAMS_MAX; i++) {
    if (owner->slot[i] != NULL) {
      (void)weir__net_shutdown(owner->slot[i]->fd, SHUT_WR);
    }
  }
}

/* True at the end of the stream, or on an error, which is an end too. */
static bool drain(struct weir__streams *owner,
                  weir_drv_stream *stream,
                  uint64_t *budget) {
  uint8_t buffer[16384];
  while (*budget > 0) {
    uint64_t n = *budget < sizeof buffer ? *budget : sizeof buffer;
    int64_t rc = weir__stream_read(stream, buffer, n);
    if (rc <= 0) {
      return rc != WEIR_DRV_E_AGAIN;
    }
    *budget -= (uint64_t)rc;
    owner->drained += (uint64_t)rc;
  }
  return false;
}

bool weir__streams_peer_done(struct weir__streams *owner) {
  uint64_t budget = DRAIN_CALL_MAX;
  bool done = true;
  for (uint32_t i = 0; i < WEIR_STREAMS_MAX; i++) {
    if (owner->slot[i] != NULL && !drain(owner, owner->slot[i], &budget)) {
      done = false;
    }
  }
  return done || owner->drained >= WEIR_STREAMS_DRAIN_MAX;
}

/* On Linux, connecting to AF_UNSPEC dissolves a TCP connection with a reset.  It
 * does what SO_LINGER with time 0 and close(2) do, and the network seam has it. */
static void reset_peer(const weir_drv_stream *stream) {
  struct sockaddr none;
  memset(&none, 0, sizeof none);
  none.sa_family = AF_UNSPEC;
  (void)weir__net_connect(stream->fd, &none, sizeof none);
}

void weir__streams_reset(struct weir__streams *owner) {
  for (uint32_t i = 0; i < WEIR_STREAMS_MAX; i++) {
    if (owner->slot[i] != NULL) {
      reset_peer(owner->slot[i]);
    }
  }
}

void weir__streams_close_all(struct weir__streams *owner, bool reset) {
  if (reset) {
    weir__streams_reset(owner);
  }
  for (uint32_t i = 0; i < WEIR_STREAMS_MAX; i++) {
    weir__stream_close(owner->slot[i]);
  }
}

void weir__streams_forget(struct weir__streams *owner) {
  for (uint32_t i = 0; i < WEIR_STREAMS_MAX; i++) {
    if (owner->slot[i] != NULL) {
      (void)weir__net_close(owner->slot[i]->fd);
    }
  }
}
