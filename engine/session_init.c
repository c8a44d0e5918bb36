/* SPDX-License-Identifier: MIT */
#include "session_init.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "pool.h"
#include "sys/mem.h"

const char *weir__session_init_sql(const struct weir_drv_hconn *session) {
  const char *sql = weir__pool_options(session->pool)->settings.session_init;
  return sql != NULL && sql[0] != '\0' ? sql : NULL;
}

static int write_text(struct weir_drv_hconn *s) {
  const struct weir_drv_error *e = &s->error;
  if (e->native != 0) {
    return snprintf(s->text, sizeof s->text,
                    "Session Init failed: error %d, severity %u, state %u, "
                    "line %u; the server's words are not shown, as they may "
                    "quote the statement",
                    e->native, e->native_severity, e->native_state, e->line);
  }
  return snprintf(s->text, sizeof s->text, "Session Init failed: %s",
                  e->scope >= WEIR_DRV_SCOPE_CONN
                      ? "the connection broke"
                      : "the statement was refused");
}

void weir__session_init_failed(struct weir_drv_hconn *session) {
  struct weir_drv_error *e = &session->error;
  weir__mem_wipe(session->text, sizeof session->text);
  int n = write_text(session);
  e->message = session->text;
  e->message_cap = sizeof session->text - 1;
  e->message_len = n < 0 ? 0 : (uint32_t)n;
  if (e->scope < WEIR_DRV_SCOPE_CONN) {
    e->scope = WEIR_DRV_SCOPE_CONFIG;
    e->retry = WEIR_DRV_RETRY_NO;
  }
  session->usable = false;
}
