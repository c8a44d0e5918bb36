/* SPDX-License-Identifier: MIT */
/* A session with tables, fed by hand: what workers bring back is taken by
 * lite_turn(). */
#ifndef TDSD_TEST_SQLITE_SUPPORT_H
#define TDSD_TEST_SQLITE_SUPPORT_H

#include "server_sqlite.h"
#include "test_support.h"

struct lite_client {
  struct fixture fixture;
  struct tdsd_lite *lite;
};

/* A session of the database, behind its login. */
void lite_login(struct lite_client *client, struct tdsd_lite *lite);
void lite_logout(struct lite_client *client);

/* Sends a batch and returns at once. */
void lite_send(struct lite_client *client, const char *sql);
/* The same with status bits of the first packet. */
void lite_send_reset(struct lite_client *client,
                     uint32_t status,
                     const char *sql);
/* Sends an attention. */
void lite_attention(struct lite_client *client);

/* Waits up to a tenth of a second for a worker and hands on what it brings; rings
 * what waits for a lock. */
void lite_turn(struct lite_client *const *clients, size_t n);

/* Sends a batch and waits for the whole reply.  Returns false after 20 s. */
bool lite_batch(struct lite_client *client, const char *sql);

/* Whether the reply has an ERROR (or INFO) of this number; a DONE with this count
 * of rows; this text. */
bool lite_has_message(const struct lite_client *client, int32_t number);
bool lite_has_rows(const struct lite_client *client, uint64_t rows);
bool lite_has_text(const struct lite_client *client, const char *text);

#endif
