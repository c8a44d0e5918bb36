/* SPDX-License-Identifier: MIT */
/* The database, its workers and their queue.  Everything shared is guarded by one
 * mutex, which is never held while SQLite works. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server_sqlite_impl.h"

/* Takes the first of the queue; lite->mu is held. */
static struct lite_session *take(struct tdsd_lite *lite) {
  struct lite_session *session = lite->first;
  if (session != NULL) {
    lite->first = session->next;
    lite->last = lite->first == NULL ? NULL : lite->last;
    session->next = NULL;
  }
  return session;
}

static void signal_ready(struct lite_session *session) {
  struct tdsd_lite *lite = session->lite;
  const uint64_t one = 1;
  if (session->ready) {
    return;
  }
  session->ready = true;
  session->next_ready = lite->done;
  lite->done = session;
  (void)!write(lite->fd, &one, sizeof one);
}

/* Does what has been asked of a session until nothing is left; lite->mu is held
 * at the beginning and at the end. */
static void serve(struct lite_session *session) {
  struct tdsd_lite *lite = session->lite;
  session->working = true;
  for (;;) {
    bool finish = session->finish || session->reopen || session->closed;
    bool rollback = session->rollback || session->reopen || session->closed;
    bool reopen = session->reopen || session->closed;
    bool temps = session->drop_temps;
    bool asked = session->asked && !session->closed;
    if (!finish && !rollback && !temps && !asked) {
      break;
    }
    session->finish = false;
    session->rollback = false;
    session->reopen = false;
    session->drop_temps = false;
    session->asked = false;
    if (reopen) {
      session->working = false; /* the handle goes: nobody may interrupt it */
    }
    (void)pthread_mutex_unlock(&lite->mu);
    if (finish) {
      lite_statement_drop(session);
    }
    if (rollback) {
      lite_roll_back(session);
    }
    if (temps && !reopen) {
      lite_drop_temps(session);
    }
    if (reopen) {
      lite_handle_close(session);
    }
    if (asked) {
      lite_task_do(session);
    }
    (void)pthread_mutex_lock(&lite->mu);
    session->working = true;
    if (session->closed && reopen) {
      break;
    }
    if (asked && session->wanted) {
      session->wanted = false;
      signal_ready(session);
    }
  }
  session->working = false;
  session->busy = false;
  if (session->wait_idle && !session->closed) {
    session->wait_idle = false;
    signal_ready(session);
  }
}

static void *work(void *context) {
  struct tdsd_lite *lite = context;
  (void)pthread_mutex_lock(&lite->mu);
  for (;;) {
    struct lite_session *session = take(lite);
    if (session == NULL && lite->quit) {
      break;
    }
    if (session == NULL) {
      lite->idle++;
      (void)pthread_cond_wait(&lite->work, &lite->mu);
      lite->idle--;
      continue;
    }
    serve(session);
    if (session->closed) {
      lite->sessions--;
      lite_session_free(session);
      (void)pthread_cond_broadcast(&lite->changed);
    }
  }
  (void)pthread_mutex_unlock(&lite->mu);
  return NULL;
}

/* One more worker if all are at work and there is room for it. */
static void grow(struct tdsd_lite *lite) {
  sigset_t all;
  sigset_t before;
  if (lite->idle != 0 || lite->workers == TDSD_LITE_WORKERS) {
    return;
  }
  /* Signals are the serving thread's. */
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  if (pthread_create(&lite->threads[lite->workers], NULL, work, lite) == 0) {
    lite->workers++;
  }
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void lite_queue(struct lite_session *session) {
  struct tdsd_lite *lite = session->lite;
  if (session->busy) {
    return; /* its worker looks again before it leaves */
  }
  session->busy = true;
  session->next = NULL;
  if (lite->last == NULL) {
    lite->first = session;
  } else {
    lite->last->next = session;
  }
  lite->last = session;
  grow(lite);
  (void)pthread_cond_signal(&lite->work);
}

struct lite_session *lite_session_new(struct tdsd_lite *lite,
                                      struct tdsd_state *state) {
  struct lite_session *session = calloc(1, sizeof *session);
  if (session != NULL) {
    session->lite = lite;
    session->state = state;
    (void)pthread_mutex_lock(&lite->mu);
    lite->sessions++;
    (void)pthread_mutex_unlock(&lite->mu);
  }
  return session;
}

void lite_session_free(struct lite_session *session) {
  tdsd_arena_fini(&session->task.arena);
  tdsd_arena_fini(&session->task.made);
  tdsd_arena_fini(&session->env.scratch);
  tdsd_buf_fini(&session->task.tokens);
  free(session->pending);
  free(session);
}

int tdsd_lite_fd(const struct tdsd_lite *lite) {
  return lite->fd;
}

void tdsd_lite_ready(struct tdsd_lite *lite,
                     void (*ready)(void *user, struct tdsd_state *state),
                     void *user) {
  uint64_t count = 0;
  (void)!read(lite->fd, &count, sizeof count);
  (void)pthread_mutex_lock(&lite->mu);
  /* One at a time, because ready() may close any session. */
  while (lite->done != NULL) {
    struct lite_session *session = lite->done;
    lite->done = session->next_ready;
    session->ready = false;
    struct tdsd_state *state = session->state;
    (void)pthread_mutex_unlock(&lite->mu);
    ready(user, state);
    (void)pthread_mutex_lock(&lite->mu);
  }
  (void)pthread_mutex_unlock(&lite->mu);
}

/* A file of its own in TMPDIR. */
static char *temporary_path(void) {
  const char *folder = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe) */
  char *path = NULL;
  if (asprintf(&path, "%s/tdsd-XXXXXX",
               folder == NULL || folder[0] == 0 ? "/tmp" : folder) < 0) {
    return NULL;
  }
  int fd = mkstemp(path);
  if (fd < 0) {
    free(path);
    return NULL;
  }
  (void)close(fd);
  return path;
}

/* Whether the file is a database, and the modes that stay with it. */
static int prepare(struct tdsd_lite *lite, char *why, size_t cap) {
  sqlite3 *db = NULL;
  const char *path = lite->path;
  int rc = sqlite3_open_v2(path, &db,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
  lite->keeper = db;
  if (rc == SQLITE_OK) {
    (void)sqlite3_busy_timeout(db, 5000);
    rc = sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
  }
  if (rc == SQLITE_OK) {
    rc = lite_catalog_make(db);
  }
  if (rc != SQLITE_OK) {
    (void)snprintf(why, cap, "%.128s: %.100s", path,
                   db == NULL ? "no memory" : sqlite3_errmsg(db));
  }
  return rc == SQLITE_OK ? 0 : -1;
}

static void free_lite(struct tdsd_lite *lite) {
  static const char *const parts[] = {"", "-wal", "-shm"};
  (void)sqlite3_close(lite->keeper);
  for (size_t i = 0; lite->temporary && i < 3; i++) {
    char *path = NULL;
    if (asprintf(&path, "%s%s", lite->path, parts[i]) >= 0) {
      (void)unlink(path);
      free(path);
    }
  }
  if (lite->fd >= 0) {
    (void)close(lite->fd);
  }
  (void)pthread_mutex_destroy(&lite->mu);
  (void)pthread_cond_destroy(&lite->work);
  (void)pthread_cond_destroy(&lite->changed);
  free(lite->path);
  free(lite);
}

struct tdsd_lite *tdsd_lite_open(const char *path, char *why, size_t cap) {
  struct tdsd_lite *lite = calloc(1, sizeof *lite);
  if (lite == NULL) {
    (void)snprintf(why, cap, "no memory");
    return NULL;
  }
  lite->temporary = strcmp(path, ":memory:") == 0;
  lite->path = lite->temporary ? temporary_path() : strdup(path);
  lite->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  (void)pthread_mutex_init(&lite->mu, NULL);
  (void)pthread_cond_init(&lite->work, NULL);
  (void)pthread_cond_init(&lite->changed, NULL);
  if (lite->path == NULL || lite->fd < 0) {
    lite->temporary = false;
    (void)snprintf(why, cap, "%.128s: %s", path, strerrordesc_np(errno));
    free_lite(lite);
    return NULL;
  }
  if (prepare(lite, why, cap) < 0) {
    free_lite(lite);
    return NULL;
  }
  (void)pthread_mutex_lock(&lite->mu);
  grow(lite); /* with one worker at least, everything is served in the end */
  uint32_t workers = lite->workers;
  (void)pthread_mutex_unlock(&lite->mu);
  if (workers == 0) {
    (void)snprintf(why, cap, "%.128s: no thread to be had", path);
    free_lite(lite);
    return NULL;
  }
  return lite;
}

void tdsd_lite_close(struct tdsd_lite *lite) {
  if (lite == NULL) {
    return;
  }
  (void)pthread_mutex_lock(&lite->mu);
  while (lite->sessions != 0) {
    (void)pthread_cond_wait(&lite->changed, &lite->mu);
  }
  lite->quit = true;
  (void)pthread_cond_broadcast(&lite->work);
  (void)pthread_mutex_unlock(&lite->mu);
  for (uint32_t i = 0; i < lite->workers; i++) {
    (void)pthread_join(lite->threads[i], NULL);
  }
  free_lite(lite);
}
