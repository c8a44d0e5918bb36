/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stddef.h>

#include "api.h"
#include "credential.h"
#include "handle.h"
#include "secret.h"
#include "status.h"
#include "sys/clock.h"

static int refuse_arg(struct weir_error *err, const char *what) {
  return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_NONE, "%s", what);
}

int32_t weir_credential_open(weir_h handle,
                             weir_h *out_credential,
                             struct weir_error *err) {
  struct weir__caller *self;
  int rc;
  if (out_credential == NULL) {
    return refuse_arg(err, "out_credential is NULL");
  }
  struct weir__engine *engine = weir__api_engine(handle, &self, &rc);
  if (engine == NULL) {
    return weir__api_refuse_handle(rc, handle, WEIR_TYPE_ENGINE, err);
  }
  rc = weir__credential_new(engine, out_credential, err);
  weir__caller_leave(self);
  return rc;
}

int32_t weir_credential_close(weir_h credential) {
  struct weir__caller *self;
  int rc = weir__caller_enter(&self);
  if (rc == WEIR_OK) {
    rc = weir__credential_close(credential);
    weir__caller_leave(self);
  }
  return rc;
}

static uint64_t deadline_of(int64_t timeout_ns) {
  return timeout_ns == WEIR_TIMEOUT_NEVER
             ? WEIR_NEVER
             : weir__clock_add(weir__clock_now(), (uint64_t)timeout_ns);
}

int32_t weir_credential_next(weir_h credential,
                             int64_t timeout_ns,
                             struct weir_credential_request *out,
                             struct weir_error *err) {
  struct weir__caller *self;
  struct weir_credential_request request = {.struct_size = sizeof request};
  if (out == NULL || out->struct_size < sizeof request) {
    return refuse_arg(err, "out is NULL or its struct_size too small");
  }
  if (timeout_ns < 0) {
    return refuse_arg(err, "timeout_ns is negative");
  }
  int rc = weir__caller_enter(&self);
  if (rc != WEIR_OK) {
    return weir__api_refuse_handle(rc, credential, WEIR_TYPE_CREDENTIAL, err);
  }
  rc = weir__credential_next(credential, self, deadline_of(timeout_ns),
                             &request);
  weir__caller_leave(self);
  switch (rc) {
  case WEIR_OK:
    (void)weir__api_result(out, &request, sizeof request);
    return rc;
  case WEIR_E_TIMEOUT:
    return weir__error_set(err, rc, WEIR_PHASE_NONE,
                           "no connect has asked for the credential");
  case WEIR_E_CLOSED:
    return weir__error_set(err, rc, WEIR_PHASE_NONE,
                           "the credential was closed");
  default:
    return weir__api_refuse_handle(rc, credential, WEIR_TYPE_CREDENTIAL, err);
  }
}

/* One that has been, or whose connect has given up, is no longer there. */
static int refuse_request(int rc, weir_h request, struct weir_error *err) {
  uint32_t index;
  uint32_t generation;
  if (rc == WEIR_E_HANDLE &&
      weir__handle_split(request, WEIR_TYPE_REQUEST, &index, &generation)) {
    return weir__error_set(err, rc, WEIR_PHASE_NONE,
                           "the request is over: it was answered before, or "
                           "its connect has given up");
  }
  return weir__api_refuse_handle(rc, request, WEIR_TYPE_REQUEST, err);
}

int32_t weir_credential_answer(weir_h request,
                               const void *secret,
                               uint64_t len,
                               uint64_t expires_unix_s,
                               struct weir_error *err) {
  struct weir__caller *self;
  if (secret == NULL || len == 0 || len > WEIR_CREDENTIAL_BYTES_MAX) {
    return refuse_arg(err, "a secret has 1 to 1048576 bytes");
  }
  int rc = weir__caller_enter(&self);
  if (rc != WEIR_OK) {
    return refuse_request(rc, request, err);
  }
  struct weir__secret *copy = weir__secret_new(secret, len);
  if (copy == NULL) {
    rc = weir__error_set(err, WEIR_E_NOMEM, WEIR_PHASE_NONE,
                         "no memory for a secret");
  } else {
    rc = weir__credential_answer(request, copy, expires_unix_s);
    if (rc != WEIR_OK) {
      weir__secret_free(copy);
      rc = refuse_request(rc, request, err);
    }
  }
  weir__caller_leave(self);
  return rc;
}

int32_t weir_credential_refuse(weir_h request,
                               const char *message,
                               uint64_t message_len,
                               struct weir_error *err) {
  struct weir__caller *self;
  if (message == NULL && message_len != 0) {
    return refuse_arg(err, "message is NULL but has a length");
  }
  int rc = weir__caller_enter(&self);
  if (rc == WEIR_OK) {
    rc = weir__credential_refuse(request, message == NULL ? "" : message,
                                 message_len);
    weir__caller_leave(self);
  }
  return rc == WEIR_OK ? rc : refuse_request(rc, request, err);
}
