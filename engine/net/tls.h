/* SPDX-License-Identifier: MIT */
/* tls.h - the service "weir.tls": TLS as a transform of bytes in memory.
 *
 * OpenSSL 3 between two memory BIOs; no descriptor, no clock of its own.  By
 * default the server's chain and name are verified, TLS 1.2 is the least, and
 * session tickets are kept and offered.  Only the files
 * tls*.c know libssl. */
#ifndef WEIR_NET_TLS_H
#define WEIR_NET_TLS_H

#include <stdint.h>

#include "weir_driver.h"

struct weir__tls;

/* Ciphertext fed and not yet read; feed() fails beyond it for good. */
#define WEIR_TLS_FEED_MAX         (UINT64_C(4) << 20)
/* Ciphertext written and not yet drained; write() answers E_AGAIN beyond it. */
#define WEIR_TLS_WRITE_MAX        (UINT64_C(256) << 10)
/* Session tickets kept by an engine, and those of one peer among them. */
#define WEIR_TLS_TICKETS_MAX      512u
#define WEIR_TLS_TICKETS_PEER_MAX 4u
/* Configurations (SSL_CTX) kept; the one unused longest goes first. */
#define WEIR_TLS_CONFIGS_MAX      64u

/* One for each engine: cache of configurations and of session tickets.
 * Returns 0 or -ENOMEM.  free: every weir_drv_tls is closed; NULL is fine. */
int weir__tls_new(struct weir__tls **out);
void weir__tls_free(struct weir__tls *tls);

/* Makes a client's TLS state.  partition: tickets are shared only among states
 * of one partition (one set of credentials), peer, server and verify name, and
 * configuration; none are kept without a peer.  pin_file is honoured even with
 * WEIR_DRV_TLS_NO_VERIFY, and stands in for chain, dates and name.  A ca_file
 * may also hold the server's own certificate.
 * Returns WEIR_DRV_DONE; WEIR_DRV_FAIL with *err (kind CONFIG: a file that
 * cannot be read or holds no certificate, a bad version, no name to verify);
 * WEIR_DRV_E_UNSUPPORTED: unknown flags or a larger struct; WEIR_DRV_E_NOMEM.
 * Owns: *out until weir__tls_close().  Threads: any.
 * Blocks: reads ca_file, pin_file or the system's store when a configuration is
 * used for the first time or a file has changed (some 30 ms for the system's
 * store), else only stat(2)s. */
weir_drv_status weir__tls_open(struct weir__tls *tls,
                               uint64_t partition,
                               const struct weir_drv_tls_args *args,
                               weir_drv_tls **out,
                               struct weir_drv_error *err);

/* Describes in *err why a state failed.  Returns WEIR_DRV_FAIL. */
weir_drv_status weir__tls_error(const weir_drv_tls *t,
                                struct weir_drv_error *err);

/* Carries the handshake on.  Returns WEIR_DRV_DONE (also when called again);
 * WEIR_DRV_WAIT: drain, send, receive, feed, call again; WEIR_DRV_FAIL with
 * *err of kind TLS, which says in words what is wrong with the certificate, or
 * what the peer complained about.  The alert for the peer is then in drain().
 *
 * This and all below: Threads: one at a time for each state.  Blocks: no. */
weir_drv_status weir__tls_handshake(weir_drv_tls *t,
                                    struct weir_drv_error *err);

/* Takes n bytes of ciphertext.  Returns n; WEIR_DRV_FAIL: more than
 * WEIR_TLS_FEED_MAX would be buffered, or no memory: the state is dead. */
int64_t weir__tls_feed(weir_drv_tls *t, const void *p, uint64_t n);

/* Gives ciphertext for the wire.  Returns bytes, 0 when there is none. */
int64_t weir__tls_drain(weir_drv_tls *t, void *p, uint64_t cap);

/* Moves plaintext.  Returns bytes (> 0, perhaps fewer than asked for: write
 * takes one record, 16 KiB, at a time); WEIR_DRV_E_AGAIN (read: feed more;
 * write: drain first); WEIR_DRV_E_CLOSED (read: the peer ended TLS in order);
 * WEIR_DRV_FAIL; WEIR_DRV_E_INVALID: handshake not done, or no bytes asked
 * for. */
int64_t weir__tls_read(weir_drv_tls *t, void *p, uint64_t cap);
int64_t weir__tls_write(weir_drv_tls *t, const void *p, uint64_t n);

/* 1: weir__tls_read() would return something other than WEIR_DRV_E_AGAIN now:
 * plaintext, the end, or a failure.  0: only new ciphertext can change that;
 * tickets and key updates that were fed have been dealt with. */
int32_t weir__tls_pending(weir_drv_tls *t);

/* Stores the channel binding of a kind (WEIR_DRV_TLS_BIND_*).
 * Returns its length; WEIR_DRV_E_SPACE; WEIR_DRV_E_UNSUPPORTED: unknown kind,
 * or none in this version of TLS; WEIR_DRV_E_INVALID: handshake not done. */
int64_t weir__tls_binding(weir_drv_tls *t, int32_t kind, void *p, uint64_t cap);

/* Stores e.g. "TLSv1.3 TLS_AES_256_GCM_SHA384", cut to cap, no NUL.  Returns
 * the full length; WEIR_DRV_E_INVALID: handshake not done. */
int64_t weir__tls_info(weir_drv_tls *t, char *p, uint64_t cap);

/* 1: the handshake resumed an earlier session. */
int32_t weir__tls_resumed(const weir_drv_tls *t);

/* Wipes and frees; sends nothing.  NULL is fine. */
void weir__tls_close(weir_drv_tls *t);

#endif
