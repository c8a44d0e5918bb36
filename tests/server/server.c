/* SPDX-License-Identifier: MIT */
/* Opening, starting and closing a server. */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "server_loop.h"
#include "server_sqlite.h"

static int fail(char *why, size_t cap, const char *what) {
  (void)snprintf(why, cap, "%s: %s", what, strerrordesc_np(errno));
  return -1;
}

static void free_accounts(struct tdsd_shared *shared) {
  for (size_t i = 0; i < shared->options.naccounts; i++) {
    char *password = (char *)(uintptr_t)shared->accounts[i].password;
    if (password != NULL) {
      OPENSSL_cleanse(password, strlen(password));
      free(password);
    }
    free((char *)(uintptr_t)shared->accounts[i].user);
  }
  free(shared->accounts);
  for (size_t i = 0; i < shared->options.ntokens; i++) {
    if (shared->tokens[i] != NULL) {
      OPENSSL_cleanse(shared->tokens[i], strlen(shared->tokens[i]));
      free(shared->tokens[i]);
    }
  }
  free(shared->tokens);
}

static int copy_tokens(struct tdsd_shared *shared,
                       const struct tdsd_options *options) {
  if (options->ntokens == 0) {
    return 0;
  }
  shared->tokens = calloc(options->ntokens, sizeof(char *));
  if (shared->tokens == NULL) {
    return -1;
  }
  shared->options.ntokens = options->ntokens;
  for (size_t i = 0; i < options->ntokens; i++) {
    shared->tokens[i] = strdup(options->tokens[i]);
    if (shared->tokens[i] == NULL) {
      return -1;
    }
  }
  return 0;
}

static int copy_accounts(struct tdsd_shared *shared,
                         const struct tdsd_options *options) {
  static const struct tdsd_account usual = {"sa", "x"};
  bool given = options->accounts != NULL && options->naccounts != 0;
  const struct tdsd_account *from = given ? options->accounts : &usual;
  size_t n = given ? options->naccounts : 1;
  shared->accounts = calloc(n, sizeof *shared->accounts);
  if (shared->accounts == NULL) {
    return -1;
  }
  shared->options.accounts = shared->accounts;
  shared->options.naccounts = n;
  for (size_t i = 0; i < n; i++) {
    shared->accounts[i].user = strdup(from[i].user);
    shared->accounts[i].password = strdup(from[i].password);
    if (shared->accounts[i].user == NULL ||
        shared->accounts[i].password == NULL) {
      return -1;
    }
  }
  return 0;
}

static int open_loop(struct tdsd *server, char *why, size_t cap) {
  server->epoll = epoll_create1(EPOLL_CLOEXEC);
  server->waker = (struct tdsd_watch){
      .kind = TDSD_WATCH_WAKE, .fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  server->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (server->epoll < 0 || server->waker.fd < 0 || server->reserve < 0) {
    return fail(why, cap, "cannot make the event loop");
  }
  bool watched = tdsd_loop_watch(server, &server->waker, EPOLLIN) == 0;
  for (uint32_t i = 0; watched && i < server->nlisteners; i++) {
    watched =
        tdsd_loop_watch(server, &server->listeners[i].watch, EPOLLIN) == 0;
  }
  if (watched && server->browser.watch.fd >= 0) {
    watched = tdsd_loop_watch(server, &server->browser.watch, EPOLLIN) == 0;
  }
  return watched ? 0 : fail(why, cap, "cannot watch the listening sockets");
}

static int set_faults(struct tdsd *server,
                      const struct tdsd_options *options,
                      char *why,
                      size_t cap) {
  for (size_t i = 0; i < options->nfaults; i++) {
    char problem[256];
    if (tdsd_fault_set_rule(&server->shared.faults, options->faults[i], problem,
                            sizeof problem) == 0) {
      (void)snprintf(why, cap, "fault \"%.100s\": %s", options->faults[i],
                     problem);
      return -1;
    }
  }
  return 0;
}

/* KILL by one session of another. */
static bool kill_session(void *user, uint16_t spid) {
  struct tdsd *server = user;
  uint64_t now_ns = tdsd_loop_now();
  struct tdsd_conn *conn = server->conns;
  while (conn != NULL &&
         !(conn->session.logged_in && conn->session.spid == spid)) {
    conn = conn->next;
  }
  if (conn == NULL) {
    return false;
  }
  tdsd_conn_kill(conn, now_ns);
  tdsd_loop_settle(server, conn, now_ns);
  return true;
}

static int open_sqlite(struct tdsd *server, char *why, size_t cap) {
  server->lite = tdsd_lite_open(server->shared.options.sqlite, why, cap);
  if (server->lite == NULL) {
    return -1;
  }
  server->lite_watch = (struct tdsd_watch){.kind = TDSD_WATCH_SQLITE,
                                           .fd = tdsd_lite_fd(server->lite)};
  if (tdsd_answerers_add(&server->shared.answerers, &tdsd_sqlite,
                         server->lite) < 0 ||
      tdsd_loop_watch(server, &server->lite_watch, EPOLLIN) < 0) {
    return fail(why, cap, "cannot watch SQLite");
  }
  return 0;
}

static int open_parts(struct tdsd *server,
                      const struct tdsd_options *options,
                      char *why,
                      size_t cap) {
  struct tdsd_shared *shared = &server->shared;
  shared->world.kill = kill_session;
  shared->world.user = server;
  shared->manners.strict = options->strict_client;
  if (copy_accounts(shared, options) < 0 || copy_tokens(shared, options) < 0) {
    return fail(why, cap, "cannot copy the accounts");
  }
  if (options->tls != TDSD_TLS_OFF) {
    shared->tls =
        tdsd_tls_context_new(options->cert_file, options->key_file, why, cap);
    if (shared->tls == NULL) {
      return -1;
    }
  }
  if (options->tap != NULL) {
    shared->tap = tdsd_tap_open(options->tap, why, cap);
    if (shared->tap == NULL) {
      return -1;
    }
  }
  if (options->script != NULL &&
      tdsd_script_load(options->script, &shared->script, why, cap) < 0) {
    return -1;
  }
  if (tdsd_listeners_open(server, why, cap) < 0 ||
      (options->browser &&
       tdsd_browser_open(server, options->browser_port, why, cap) < 0) ||
      set_faults(server, options, why, cap) < 0 ||
      open_loop(server, why, cap) < 0 ||
      (options->sqlite != NULL && open_sqlite(server, why, cap) < 0)) {
    return -1;
  }
  if (options->control != NULL) {
    server->control = tdsd_control_open(server, options->control, why, cap);
    return server->control == NULL ? -1 : 0;
  }
  return 0;
}

int tdsd_open(const struct tdsd_options *options,
              struct tdsd **out_server,
              char *why,
              size_t cap) {
  struct tdsd *server = calloc(1, sizeof *server);
  if (server == NULL) {
    return fail(why, cap, "cannot open the server");
  }
  server->shared.options = *options;
  server->shared.options.accounts = NULL;
  server->shared.options.naccounts = 0;
  server->shared.options.tokens = NULL;
  server->shared.options.ntokens = 0;
  server->browser.watch.fd = -1;
  server->browser.other = -1;
  server->waker.fd = -1;
  server->epoll = -1;
  server->reserve = -1;
  server->next_spid = 51;
  (void)pthread_mutex_init(&server->order.mu, NULL);
  (void)pthread_cond_init(&server->order.changed, NULL);
  int rc = open_parts(server, options, why, cap);
  /* The caller's strings were needed only until here. */
  server->shared.options.listen = NULL;
  server->shared.options.listeners = NULL;
  server->shared.options.faults = NULL;
  server->shared.options.control = NULL;
  server->shared.options.tap = NULL;
  server->shared.options.script = NULL;
  server->shared.options.sqlite = NULL;
  server->shared.options.cert_file = NULL;
  server->shared.options.key_file = NULL;
  if (rc < 0) {
    tdsd_close(server);
    return -1;
  }
  *out_server = server;
  return 0;
}

static void *serve(void *server) {
  tdsd_run(server);
  return NULL;
}

int tdsd_start(struct tdsd *server) {
  if (pthread_create(&server->thread, NULL, serve, server) != 0) {
    return -1;
  }
  server->threaded = true;
  return 0;
}

void tdsd_quit(struct tdsd *server) {
  const uint64_t one = 1;
  int error = errno; /* a signal handler must leave it alone */
  /* Release pairs with the acquire in tdsd_run(). */
  atomic_store_explicit(&server->quit, true, memory_order_release);
  (void)!write(server->waker.fd, &one, sizeof one);
  errno = error;
}

static void close_fd(int fd) {
  if (fd >= 0) {
    (void)close(fd);
  }
}

static void free_conns(struct tdsd_conn *conn) {
  while (conn != NULL) {
    struct tdsd_conn *next = conn->next;
    tdsd_conn_free(conn);
    conn = next;
  }
}

void tdsd_close(struct tdsd *server) {
  if (server == NULL) {
    return;
  }
  if (server->threaded) {
    tdsd_quit(server);
    (void)pthread_join(server->thread, NULL);
  }
  free_conns(server->conns);
  free_conns(server->dead);
  tdsd_lite_close(server->lite);
  tdsd_control_close(server->control);
  tdsd_listeners_close(server);
  tdsd_browser_close(server);
  close_fd(server->waker.fd);
  close_fd(server->epoll);
  close_fd(server->reserve);
  tdsd_tls_context_free(server->shared.tls);
  tdsd_tap_close(server->shared.tap);
  tdsd_script_drop(server->shared.script);
  tdsd_fault_list_fini(&server->shared.faults);
  free_accounts(&server->shared);
  free(server->heap.conns);
  (void)pthread_cond_destroy(&server->order.changed);
  (void)pthread_mutex_destroy(&server->order.mu);
  free(server);
}

uint16_t tdsd_port(const struct tdsd *server) {
  return server->listeners[0].port;
}

uint16_t tdsd_listener_port(const struct tdsd *server, uint32_t number) {
  return number == 0 || number > server->nlisteners
             ? 0
             : server->listeners[number - 1].port;
}

uint16_t tdsd_browser_port(const struct tdsd *server) {
  return server->browser.port;
}

const char *tdsd_cert_pem(const struct tdsd *server) {
  return server->shared.tls == NULL ? NULL
                                    : tdsd_tls_context_pem(server->shared.tls);
}

void tdsd_stats(const struct tdsd *server, struct tdsd_stats *out_stats) {
  tdsd_counters_read(&server->shared.counters, out_stats);
}

void tdsd_command(struct tdsd *server,
                  const char *line,
                  char *reply,
                  size_t cap) {
  struct tdsd_order *order = &server->order;
  const uint64_t one = 1;
  (void)pthread_mutex_lock(&order->mu);
  while (order->line != NULL) {
    (void)pthread_cond_wait(&order->changed, &order->mu);
  }
  if (order->closed) {
    (void)pthread_mutex_unlock(&order->mu);
    (void)snprintf(reply, cap, "error: the server has ended");
    return;
  }
  order->line = line;
  order->reply = reply;
  order->cap = cap;
  (void)!write(server->waker.fd, &one, sizeof one);
  while (order->line == line && !order->closed) {
    (void)pthread_cond_wait(&order->changed, &order->mu);
  }
  (void)pthread_mutex_unlock(&order->mu);
}
