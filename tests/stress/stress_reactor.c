/* SPDX-License-Identifier: MIT */
/* stress_reactor.c - reactor, offload, resolver and streams under several
 * threads, for ThreadSanitizer.  An argument multiplies the work. */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/offload.h"
#include "net/resolver.h"
#include "net/stream.h"
#include "reactor.h"
#include "sys/atomic.h"
#include "sys/clock.h"
#include "sys/seams.h"

#define THREADS 4

static unsigned factor = 1;
static unsigned passed;
static unsigned failed;

static void check(bool ok, const char *what) {
  if (ok) {
    passed++;
  } else {
    failed++;
    (void)printf("FAILED: %s\n", what);
  }
}

static uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static void run_threads(void *(*run)(void *), void *arg, size_t stride) {
  pthread_t thread[THREADS];
  for (int i = 0; i < THREADS; i++) {
    (void)pthread_create(&thread[i], NULL, run,
                         (char *)arg + stride * (size_t)i);
  }
  for (int i = 0; i < THREADS; i++) {
    (void)pthread_join(thread[i], NULL);
  }
}

/* ------------------------------------------------------ posting in order */

struct poster;

struct message {
  struct weir__task task;
  struct weir__timer timer;
  struct poster *poster;
  unsigned number;
};

struct poster {
  struct weir__reactor *reactor;
  struct message *message;
  unsigned n;
  /* The reactor thread's. */
  unsigned next;
  unsigned fired;
  unsigned disordered;
  uint32_t random;
};

static void fire(struct weir__timer *timer) {
  struct message *m =
      (struct message *)(void *)((char *)timer -
                                 offsetof(struct message, timer));
  m->poster->fired++;
}

/* Sets a timer to the past or the next millisecond, and clears some again. */
static void receive(struct weir__task *task) {
  struct message *m = (struct message *)task;
  struct poster *p = m->poster;
  p->disordered += m->number != p->next;
  p->next = m->number + 1;
  uint64_t at = weir__clock_now() + next_random(&p->random) % WEIR_NS_PER_MS;
  m->timer.fire = fire;
  weir__reactor_timer(p->reactor, &m->timer, at);
  if (m->number % 3 == 0) {
    weir__reactor_timer(p->reactor, &m->timer, WEIR_NEVER);
    p->fired++;
  }
}

static void *post_all(void *arg) {
  struct poster *p = arg;
  for (unsigned i = 0; i < p->n; i++) {
    p->message[i].poster = p;
    p->message[i].number = i;
    p->message[i].task.run = receive;
    weir__reactor_post(p->reactor, &p->message[i].task);
  }
  return NULL;
}

struct waiter {
  struct weir__task task;
  struct weir__timer timer;
  struct weir__reactor *reactor;
  sem_t done;
};

static void end_wait(struct weir__timer *timer) {
  struct waiter *w =
      (struct waiter *)(void *)((char *)timer - offsetof(struct waiter, timer));
  (void)sem_post(&w->done);
}

static void set_last(struct weir__task *task) {
  struct waiter *w = (struct waiter *)task;
  w->timer.fire = end_wait;
  weir__reactor_timer(w->reactor, &w->timer,
                      weir__clock_now() + 5 * WEIR_NS_PER_MS);
}

static void post_in_order(void) {
  static struct poster poster[THREADS];
  struct waiter last = {.task = {.run = set_last}};
  unsigned n = 1000 * factor;
  struct weir__reactor *r = NULL;
  if (weir__reactor_start(false, &r) != 0) {
    check(false, "start a reactor");
    return;
  }
  for (int i = 0; i < THREADS; i++) {
    poster[i].reactor = r;
    poster[i].n = n;
    poster[i].random = (uint32_t)i;
    poster[i].message = calloc(n, sizeof *poster[i].message);
  }
  run_threads(post_all, poster, sizeof poster[0]);
  last.reactor = r;
  (void)sem_init(&last.done, 0, 0);
  weir__reactor_post(r, &last.task);
  (void)sem_wait(&last.done);
  weir__reactor_stop(r);
  for (int i = 0; i < THREADS; i++) {
    check(poster[i].next == n && poster[i].disordered == 0,
          "tasks of one thread run in order");
    check(poster[i].fired == n, "every timer fires once or is cleared");
    free(poster[i].message);
  }
}

/* --------------------------------- stopping while the last post returns */

struct goodbye {
  struct weir__task task;
  struct weir__reactor *reactor;
  sem_t ran;
};

static void say(struct weir__task *task) {
  (void)sem_post(&((struct goodbye *)task)->ran);
}

static void *post_one(void *arg) {
  struct goodbye *g = arg;
  weir__reactor_post(g->reactor, &g->task);
  return NULL;
}

static void stop_behind_a_post(void) {
  for (unsigned i = 0; i < 100 * factor; i++) {
    struct goodbye g = {.task = {.run = say}};
    pthread_t thread;
    (void)sem_init(&g.ran, 0, 0);
    if (weir__reactor_start(false, &g.reactor) != 0) {
      check(false, "start a reactor again");
      return;
    }
    (void)pthread_create(&thread, NULL, post_one, &g);
    (void)sem_wait(&g.ran);
    weir__reactor_stop(g.reactor);
    (void)pthread_join(thread, NULL);
  }
  check(true, "stop while a post returns");
}

/* ------------------------------------------------- looking up and forgetting */

static struct addrinfo the_answer;
static struct sockaddr_in the_address;

static int resolve(const char *host,
                   const char *service,
                   const struct addrinfo *hints,
                   struct addrinfo **out) {
  (void)host;
  (void)service;
  (void)hints;
  (void)sched_yield();
  *out = &the_answer;
  return 0;
}

static void resolve_free(struct addrinfo *list) {
  (void)list;
}

static struct weir__offload *offload;
static struct weir__resolver *resolver;

struct client {
  unsigned number;
  unsigned wrong;
};

struct question {
  struct weir__lookup lookup;
  _Atomic uint32_t answered;
  sem_t done;
};

static void answered(struct weir__lookup *lookup) {
  struct question *q = (struct question *)lookup;
  (void)weir__add_acq_rel_u32(&q->answered, 1);
  (void)sem_post(&q->done);
}

/* One look-up; ends it in one of three ways.  True: as promised. */
static bool look_up(uint32_t *random) {
  static const char *const names[] = {"a.example", "b.example", "127.0.0.1"};
  struct question q = {.lookup = {.done = answered}};
  const char *name = names[next_random(random) % 3];
  (void)sem_init(&q.done, 0, 0);
  if (weir__resolver_begin(resolver, &q.lookup, name, strlen(name), 1, 0) !=
      0) {
    return false;
  }
  uint32_t how = next_random(random) % 3;
  if (how == 0) {
    (void)sched_yield();
  }
  uint32_t expected = 1;
  if (how < 2) {
    expected = weir__resolver_forget(resolver, &q.lookup) ? 0 : 1;
  } else {
    (void)sem_wait(&q.done);
    /* done() may still be returning. */
    expected = weir__resolver_forget(resolver, &q.lookup) ? 2 : 1;
  }
  bool ok = weir__load_acquire_u32(&q.answered) == expected;
  ok = ok && (expected == 0 || q.lookup.status == WEIR_DRV_DONE);
  weir__lookup_fini(&q.lookup);
  (void)sem_destroy(&q.done);
  return ok;
}

static void *look_up_all(void *arg) {
  struct client *c = arg;
  uint32_t random = c->number;
  for (unsigned i = 0; i < 1000 * factor; i++) {
    c->wrong += !look_up(&random);
  }
  return NULL;
}

/* --------------------------------------------------- jobs and withdrawals */

struct chore {
  struct weir__job job;
  _Atomic uint32_t ran;
  sem_t *done;
};

static void run_chore(struct weir__job *job) {
  struct chore *c = (struct chore *)job;
  sem_t *done = c->done;
  (void)weir__add_acq_rel_u32(&c->ran, 1);
  (void)sem_post(done);
}

/* A few jobs of few keys, some of which are taken back. */
static unsigned submit_some(uint32_t *random) {
  struct chore chore[8];
  sem_t done;
  unsigned wrong = 0;
  (void)sem_init(&done, 0, 0);
  memset(chore, 0, sizeof chore);
  for (int i = 0; i < 8; i++) {
    chore[i].done = &done;
    chore[i].job.run = run_chore;
    chore[i].job.fair_key = next_random(random) % 3;
    wrong += weir__offload_submit(offload, &chore[i].job) != 0;
  }
  unsigned taken[8] = {0};
  unsigned expected = 0;
  for (int i = 0; i < 8; i += 2) {
    taken[i] = weir__offload_withdraw(offload, &chore[i].job);
  }
  for (int i = 0; i < 8; i++) {
    expected += 1 - taken[i];
  }
  for (unsigned i = 0; i < expected; i++) {
    (void)sem_wait(&done);
  }
  for (int i = 0; i < 8; i++) {
    wrong += weir__load_acquire_u32(&chore[i].ran) + taken[i] != 1;
  }
  (void)sem_destroy(&done);
  return wrong;
}

static void *submit_all(void *arg) {
  struct client *c = arg;
  uint32_t random = c->number;
  for (unsigned i = 0; i < 300 * factor; i++) {
    c->wrong += submit_some(&random);
  }
  return NULL;
}

static unsigned run_clients(void *(*run)(void *)) {
  struct client client[THREADS];
  unsigned wrong = 0;
  for (unsigned i = 0; i < THREADS; i++) {
    client[i].number = i;
    client[i].wrong = 0;
  }
  run_threads(run, client, sizeof client[0]);
  for (int i = 0; i < THREADS; i++) {
    wrong += client[i].wrong;
  }
  return wrong;
}

static void resolve_and_offload(void) {
  the_address.sin_family = AF_INET;
  the_address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  the_answer.ai_family = AF_INET;
  the_answer.ai_addrlen = sizeof the_address;
  the_answer.ai_addr = (struct sockaddr *)&the_address;
  weir__seams.net_resolve = resolve;
  weir__seams.net_resolve_free = resolve_free;
  if (weir__offload_new(3, &offload) != 0 ||
      weir__resolver_new(offload, &resolver) != 0) {
    check(false, "make a resolver");
    return;
  }
  check(run_clients(look_up_all) == 0, "each look-up ends once");
  check(run_clients(submit_all) == 0, "each job ends once");
  weir__resolver_free(resolver);
  uint64_t deadline = weir__clock_now() + 60 * WEIR_NS_PER_S;
  check(weir__offload_stop(offload, deadline) == 0, "every thread returns");
  weir__seams_reset();
}

/* -------------------------------------- interrupting what is being closed */

static struct weir__streams streams;
static _Atomic uint32_t round_open;

static void *interrupt(void *arg) {
  (void)arg;
  while (weir__load_acquire_u32(&round_open) == 0) {
    (void)sched_yield();
  }
  weir__streams_interrupt(&streams);
  return NULL;
}

static void open_and_close(const struct weir_drv_addr *to) {
  for (int i = 0; i < 4; i++) {
    weir_drv_stream *s = NULL;
    char byte;
    if (weir__stream_open(&streams, to, &s, NULL) == WEIR_DRV_DONE) {
      (void)weir__stream_connected(s, NULL);
      (void)weir__stream_read(s, &byte, 1);
      if (i % 2 == 0) {
        weir__stream_close(s);
      }
    }
  }
  weir__streams_close_all(&streams, true);
}

static int listen_here(struct weir_drv_addr *out) {
  struct sockaddr_in at = {.sin_family = AF_INET};
  socklen_t len = sizeof at;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  (void)bind(fd, (struct sockaddr *)&at, sizeof at);
  (void)getsockname(fd, (struct sockaddr *)&at, &len);
  (void)listen(fd, 16);
  out->family = AF_INET;
  out->len = sizeof at;
  memcpy(out->bytes, &at, sizeof at);
  return fd;
}

static void interrupt_streams(void) {
  struct weir_drv_addr to;
  memset(&to, 0, sizeof to);
  int fd = listen_here(&to);
  for (unsigned i = 0; i < 100 * factor; i++) {
    pthread_t thread;
    memset(&streams, 0, sizeof streams);
    weir__streams_init(&streams);
    weir__store_release_u32(&round_open, 0);
    (void)pthread_create(&thread, NULL, interrupt, NULL);
    weir__store_release_u32(&round_open, 1);
    open_and_close(&to);
    (void)pthread_join(thread, NULL);
    weir__streams_fini(&streams);
  }
  (void)close(fd);
  check(true, "interrupt streams that are being closed");
}

int main(int argc, char **argv) {
  factor = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
  post_in_order();
  stop_behind_a_post();
  resolve_and_offload();
  interrupt_streams();
  (void)printf("%u passed, %u failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
