/* SPDX-License-Identifier: MIT */
/* credential.h - credentials that the program supplies when a connect needs them.
 *
 * A credential is the place where drivers' requests meet the threads of the
 * program that answer them.  Each request waits in line until one of those
 * threads fetches it, and is open until exactly one of these happens: it is
 * answered, it is refused, its connect gives up, its credential is closed, its
 * engine is shut down.  Whoever ends it makes its handle stale first, so that no
 * other can.
 *
 * Lifetime: references, counted under one mutex of the process.  The handle has
 * one, each pool that names the credential, and each call that waits on it. */
#ifndef WEIR_CREDENTIAL_H
#define WEIR_CREDENTIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "weir.h"
#include "weir_driver.h"

#include "caller.h"

struct weir__credential;
struct weir__engine;
struct weir__secret;
struct weir_drv_hconn;

/* Longest secret of an answer. */
#define WEIR_CREDENTIAL_BYTES_MAX (UINT64_C(1) << 20)

/* weir_credential_open() and weir_credential_close(). */
int weir__credential_new(struct weir__engine *engine,
                         uint64_t *out_handle,
                         struct weir_error *err);
int weir__credential_close(uint64_t handle);

/* Closes every credential of an engine that shuts down; none can be opened any
 * more. */
void weir__credential_close_all(struct weir__engine *engine);

/* A reference to the credential of that handle, for a pool; NULL if the handle is
 * not good, or another engine's. */
struct weir__credential *weir__credential_ref(const struct weir__engine *engine,
                                              uint64_t handle);

/* Gives a reference back; NULL is fine. */
void weir__credential_unref(struct weir__credential *credential);

/* Puts the session's request in line.  The answer comes through
 * weir__request_given() or weir__request_denied() (request.h), from any thread,
 * maybe before this returns.  False: no memory, no handle, or the credential is
 * closed; *out_why says so and nothing has begun. */
bool weir__credential_ask(struct weir__credential *credential,
                          struct weir_drv_hconn *session,
                          const struct weir_drv_req_cred *arg,
                          const char **out_why);

/* Takes the session's request back.  False: somebody is about to answer it. */
bool weir__credential_withdraw(struct weir_drv_hconn *session);

/* weir_credential_next().  Blocks: until deadline. */
int weir__credential_next(uint64_t handle,
                          struct weir__caller *self,
                          uint64_t deadline,
                          struct weir_credential_request *out);

/* weir_credential_answer(): takes *secret over on success.  Returns WEIR_OK or
 * WEIR_E_HANDLE. */
int weir__credential_answer(uint64_t request,
                            struct weir__secret *secret,
                            uint64_t expires_unix_s);

/* Grows each time that a program gives another secret than the time before; 0 for
 * NULL.  Threads: any; locks may be held. */
uint32_t weir__credential_secrets(const struct weir__credential *credential);

/* weir_credential_refuse(). */
int weir__credential_refuse(uint64_t request,
                            const char *message,
                            uint64_t message_len);

/* In a forked child: no lock is held there. */
void weir__credential_forget_all(void);

#endif
