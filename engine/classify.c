/* SPDX-License-Identifier: MIT */
#include "classify.h"

#include <stdbool.h>

#include "weir.h"
#include "weir_driver.h"

#define N WEIR_CLASS_NONE
#define P WEIR_CLASS_PERMANENT
#define U WEIR_CLASS_UNREACHABLE
#define O WEIR_CLASS_OVERLOADED
#define R WEIR_CLASS_ROLE
#define T WEIR_CLASS_TRANSIENT

#define SCOPES (WEIR_DRV_SCOPE_DRIVER + 1)
#define KINDS  (WEIR_DRV_K_INTERNAL + 1)

/* Down: kind; across: scope.  A credential that has expired is not a wrong one:
 * the next connect asks for a new one.  A TLS handshake that breaks off without
 * a verdict on the certificate (scope endpoint) is how a full server looks.  At
 * scope config the driver vouches that every attempt fails, except where the
 * kind says that the server itself will change its mind. */
static const uint8_t table[KINDS][SCOPES] = {
    /*                         NONE STMT TXN CONN ENDP CONF DRV */
    [WEIR_DRV_K_OTHER] = {N, N, N, T, U, P, P},
    [WEIR_DRV_K_NETWORK] = {N, N, N, T, U, P, P},
    [WEIR_DRV_K_TIMEOUT] = {N, N, N, T, O, P, P},
    [WEIR_DRV_K_CANCELLED] = {N, N, N, T, T, T, P},
    [WEIR_DRV_K_AUTH] = {N, N, N, P, P, P, P},
    [WEIR_DRV_K_AUTH_EXPIRED] = {N, N, N, T, T, T, P},
    [WEIR_DRV_K_TLS] = {N, N, N, T, O, P, P},
    [WEIR_DRV_K_NAME] = {N, N, N, U, U, P, P},
    [WEIR_DRV_K_PROTOCOL] = {N, N, N, T, U, P, P},
    [WEIR_DRV_K_THROTTLED] = {N, N, N, O, O, O, P},
    [WEIR_DRV_K_FAILOVER] = {N, N, N, R, R, R, P},
    [WEIR_DRV_K_DEADLOCK] = {N, N, N, T, T, P, P},
    [WEIR_DRV_K_CONSTRAINT] = {N, N, N, T, T, P, P},
    [WEIR_DRV_K_SYNTAX] = {N, N, N, T, T, P, P},
    [WEIR_DRV_K_RESOURCE] = {N, N, N, T, O, P, P},
    [WEIR_DRV_K_CONFIG] = {N, N, N, P, P, P, P},
    [WEIR_DRV_K_UNSUPPORTED] = {N, N, N, T, P, P, P},
    [WEIR_DRV_K_INTERNAL] = {N, N, N, T, T, P, P},
};

enum weir__class weir__classify(int32_t scope, int32_t kind) {
  if (scope < 0 || scope >= SCOPES) {
    return WEIR_CLASS_NONE;
  }
  kind = kind < 0 || kind >= KINDS ? WEIR_DRV_K_OTHER : kind;
  return (enum weir__class)table[kind][scope];
}

enum weir__class weir__classify_connect(int32_t scope,
                                        int32_t kind,
                                        int32_t phase) {
  bool early = phase == WEIR_PHASE_RESOLVE || phase == WEIR_PHASE_CONNECT;
  if (kind == WEIR_DRV_K_TIMEOUT && scope >= WEIR_DRV_SCOPE_CONN &&
      scope <= WEIR_DRV_SCOPE_ENDPOINT) {
    return early ? WEIR_CLASS_UNREACHABLE : WEIR_CLASS_OVERLOADED;
  }
  enum weir__class class = weir__classify(scope, kind);
  /* A connect that failed has failed, whatever its driver thinks of it. */
  return class == WEIR_CLASS_NONE ? WEIR_CLASS_TRANSIENT : class;
}

const char *weir__class_name(enum weir__class class) {
  static const char *const names[] = {
      [WEIR_CLASS_NONE] = "none",
      [WEIR_CLASS_PERMANENT] = "permanent",
      [WEIR_CLASS_UNREACHABLE] = "unreachable",
      [WEIR_CLASS_OVERLOADED] = "overloaded",
      [WEIR_CLASS_ROLE] = "wrong role",
      [WEIR_CLASS_TRANSIENT] = "transient",
  };
  return names[class];
}
