/* SPDX-License-Identifier: MIT */
/* Tables, kept by SQLite.  The subset (server_sql.c) hands over each statement on
 * tables; a worker thread runs it on its session's own handle and brings back
 * tokens a chunk at a time, so that the serving thread never waits for SQLite and
 * a slow reader holds back its own statement only.
 *
 *   serving thread                         worker
 *   begin: what is asked --- queue ------> rewrite, prepare, step
 *   step: WAIT                             until the chunk is full or it is over
 *   tdsd_lite_ready() <--- eventfd ------- what came of it
 *   step: tokens to the stream, FULL
 *   step: more? ------------ queue ------> step on
 *
 * A session has one thing under way at a time; between two chunks no worker
 * belongs to it. */
#ifndef TDSD_SERVER_SQLITE_H
#define TDSD_SERVER_SQLITE_H

#include "server_answer.h"

/* Workers at most; statements beyond them queue. */
#define TDSD_LITE_WORKERS 32u
/* Tokens a worker gathers before it hands them over. */
#define TDSD_LITE_CHUNK   (64u * 1024u)

struct tdsd_lite;

/* Opens, or creates, a database file in WAL mode.  ":memory:" stands for a
 * temporary file of its own.
 * Returns NULL with a sentence in why. */
struct tdsd_lite *tdsd_lite_open(const char *path, char *why, size_t cap);

/* Interrupts what runs, ends the workers and frees.  Sessions must be closed.
 * NULL is allowed.  Blocks: until the workers have ended. */
void tdsd_lite_close(struct tdsd_lite *lite);

/* Readable when sessions have something to go on with. */
int tdsd_lite_fd(const struct tdsd_lite *lite);

/* Calls ready for each session whose worker has come back.
 * Threads: the serving one. */
void tdsd_lite_ready(struct tdsd_lite *lite,
                     void (*ready)(void *user, struct tdsd_state *state),
                     void *user);

/* The answerer; its context is a struct tdsd_lite. */
extern const struct tdsd_answerer tdsd_sqlite;

#endif
