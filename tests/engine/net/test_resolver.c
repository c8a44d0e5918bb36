/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "net/resolver.h"
#include "sys/clock.h"
#include "sys/seams.h"

static struct weir__offload *offload;
static struct weir__resolver *resolver;
static _Atomic int asked;         /* times the system was asked for a name */
static sem_t arrived;             /* posted by each question */
static sem_t gate;                /* each waits for this */
static _Atomic int verdict;       /* what the system answers: 0 or EAI_* */
static _Atomic int verdict_errno; /* and errno, if it fails */
static _Atomic int n_answers = 2;

/* ------------------------------------------------------- the system's part */

static struct addrinfo *answer(int i, int n) {
  struct addrinfo *ai = calloc(1, sizeof *ai);
  struct sockaddr_in *in = calloc(1, sizeof *in);
  in->sin_family = AF_INET;
  in->sin_addr.s_addr = htonl(UINT32_C(0x7F000001) + (uint32_t)i);
  ai->ai_family = AF_INET;
  ai->ai_addrlen = sizeof *in;
  ai->ai_addr = (struct sockaddr *)in;
  ai->ai_next = i + 1 < n ? answer(i + 1, n) : NULL;
  return ai;
}

static int resolve(const char *host,
                   const char *service,
                   const struct addrinfo *hints,
                   struct addrinfo **out) {
  if ((hints->ai_flags & AI_NUMERICHOST) != 0) {
    struct addrinfo *real = NULL;
    int rc = getaddrinfo(host, service, hints, &real);
    if (rc == 0) {
      /* Copied, so that one free function fits both. */
      *out = answer(0, 1);
      free((*out)->ai_addr);
      (*out)->ai_family = real->ai_family;
      (*out)->ai_addrlen = real->ai_addrlen;
      (*out)->ai_addr = malloc(real->ai_addrlen);
      memcpy((*out)->ai_addr, real->ai_addr, real->ai_addrlen);
      freeaddrinfo(real);
    }
    return rc;
  }
  atomic_fetch_add(&asked, 1);
  sem_post(&arrived);
  sem_wait(&gate);
  int rc = atomic_load(&verdict);
  if (rc != 0) {
    errno = atomic_load(&verdict_errno);
    return rc;
  }
  *out = answer(0, atomic_load(&n_answers));
  return 0;
}

static void resolve_free(struct addrinfo *list) {
  while (list != NULL) {
    struct addrinfo *next = list->ai_next;
    free(list->ai_addr);
    free(list);
    list = next;
  }
}

static void set_up(void) {
  sem_init(&arrived, 0, 0);
  sem_init(&gate, 0, 0);
  weir__seams.net_resolve = resolve;
  weir__seams.net_resolve_free = resolve_free;
  cr_assert_eq(weir__offload_new(2, &offload), 0);
  cr_assert_eq(weir__resolver_new(offload, &resolver), 0);
}

static void tear_down(void) {
  weir__resolver_free(resolver);
  cr_assert_eq(
      weir__offload_stop(offload, weir__clock_now() + 5 * WEIR_NS_PER_S), 0);
}

TestSuite(resolver, .init = set_up, .fini = tear_down, .timeout = 10);

static void await(sem_t *sem, int n) {
  for (int i = 0; i < n; i++) {
    while (sem_wait(sem) != 0) {
    }
  }
}

/* -------------------------------------------------------------- our part */

struct want {
  struct weir__lookup lookup;
  _Atomic int calls;
  sem_t done;
};

static void note(struct weir__lookup *lookup) {
  struct want *want = (struct want *)lookup;
  atomic_fetch_add(&want->calls, 1);
  sem_post(&want->done);
}

static void init(struct want *want) {
  memset(want, 0, sizeof *want);
  want->lookup.done = note;
  sem_init(&want->done, 0, 0);
}

static int begin(struct want *want, const char *host, uint16_t port) {
  return weir__resolver_begin(resolver, &want->lookup, host, strlen(host), port,
                              AF_UNSPEC);
}

static void text_of(const struct weir__lookup *l, uint32_t i, char *out) {
  struct sockaddr_in in;
  memcpy(&in, l->addr[i].bytes, sizeof in);
  (void)inet_ntop(AF_INET, &in.sin_addr, out, INET_ADDRSTRLEN);
}

Test(resolver, gives_the_addresses_of_a_name_with_the_port) {
  struct want want;
  struct sockaddr_in in;
  char text[INET_ADDRSTRLEN];
  init(&want);
  sem_post(&gate);
  cr_assert_eq(begin(&want, "db.example", 1433), 0);
  await(&want.done, 1);
  cr_assert_eq(want.lookup.status, WEIR_DRV_DONE);
  cr_assert_eq(want.lookup.n, 2);
  text_of(&want.lookup, 0, text);
  cr_assert_str_eq(text, "127.0.0.1");
  text_of(&want.lookup, 1, text);
  cr_assert_str_eq(text, "127.0.0.2");
  memcpy(&in, want.lookup.addr[1].bytes, sizeof in);
  cr_assert_eq(ntohs(in.sin_port), 1433);
  cr_assert_eq(want.lookup.addr[1].len, sizeof in);
  weir__lookup_fini(&want.lookup);
  cr_assert_null(want.lookup.addr);
}

Test(resolver, answers_literal_addresses_at_once) {
  static const struct {
    const char *host;
    int family;
  } cases[] = {
      {"127.0.0.1", AF_INET},
      {"::1", AF_INET6},
      {"[::1]", AF_INET6},
      {"fe80::1%1", AF_INET6},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct want want;
    init(&want);
    cr_assert_eq(begin(&want, cases[i].host, 99), 0);
    cr_assert_eq(atomic_load(&want.calls), 1, "%s", cases[i].host);
    cr_assert_eq(want.lookup.status, WEIR_DRV_DONE, "%s", cases[i].host);
    cr_assert_eq(want.lookup.n, 1);
    cr_assert_eq(want.lookup.addr[0].family, cases[i].family);
    weir__lookup_fini(&want.lookup);
  }
  struct weir__offload_stats stats;
  weir__offload_stats(offload, &stats);
  cr_assert_eq(stats.threads, 0);
}

Test(resolver, refuses_a_literal_that_is_none) {
  struct want want;
  init(&want);
  cr_assert_eq(begin(&want, "1::2::3", 99), 0);
  cr_assert_eq(atomic_load(&want.calls), 1);
  cr_assert_eq(want.lookup.status, WEIR_DRV_FAIL);
  cr_assert_not_null(strstr(want.lookup.reason, "host '1::2::3': "));
}

Test(resolver, refuses_hosts_that_are_no_text) {
  struct want want;
  char longest[WEIR_RESOLVER_NAME_MAX + 1];
  init(&want);
  memset(longest, 'a', sizeof longest);
  struct weir__lookup *l = &want.lookup;
  cr_assert_eq(weir__resolver_begin(resolver, l, "", 0, 1, 0), -EINVAL);
  cr_assert_eq(weir__resolver_begin(resolver, l, "[]", 2, 1, 0), -EINVAL);
  cr_assert_eq(weir__resolver_begin(resolver, l, "a\0b", 3, 1, 0), -EINVAL);
  cr_assert_eq(weir__resolver_begin(resolver, l, longest, sizeof longest, 1, 0),
               -EINVAL);
  cr_assert_eq(weir__resolver_begin(resolver, l, "a", 1, 1, AF_UNIX), -EINVAL);
  cr_assert_eq(atomic_load(&want.calls), 0);
}

Test(resolver, asks_once_for_all_who_began_before_the_answer) {
  struct want want[3];
  for (int i = 0; i < 3; i++) {
    init(&want[i]);
    cr_assert_eq(begin(&want[i], "db.example", 1433), 0);
  }
  await(&arrived, 1);
  sem_post(&gate);
  for (int i = 0; i < 3; i++) {
    await(&want[i].done, 1);
    cr_assert_eq(want[i].lookup.n, 2);
    weir__lookup_fini(&want[i].lookup);
  }
  cr_assert_eq(atomic_load(&asked), 1);
}

Test(resolver, asks_again_after_the_answer) {
  for (int i = 0; i < 2; i++) {
    struct want want;
    init(&want);
    sem_post(&gate);
    cr_assert_eq(begin(&want, "db.example", 1433), 0);
    await(&want.done, 1);
    weir__lookup_fini(&want.lookup);
  }
  cr_assert_eq(atomic_load(&asked), 2);
}

Test(resolver, does_not_let_one_name_wait_for_another) {
  struct want slow;
  struct want quick;
  init(&slow);
  init(&quick);
  cr_assert_eq(begin(&slow, "slow.example", 1433), 0);
  await(&arrived, 1);
  cr_assert_eq(begin(&quick, "quick.example", 1433), 0);
  await(&arrived, 1);
  sem_post(&gate);
  sem_post(&gate);
  await(&slow.done, 1);
  await(&quick.done, 1);
  cr_assert_eq(atomic_load(&asked), 2);
  weir__lookup_fini(&slow.lookup);
  weir__lookup_fini(&quick.lookup);
}

Test(resolver, says_which_name_failed_and_why) {
  static const struct {
    int rc;
    int error;
    bool temporary;
    int32_t status;
    const char *reason;
  } cases[] = {
      {EAI_NONAME, ENOENT, false, WEIR_DRV_FAIL,
       "host 'db.example': Name or service not known"},
      {EAI_AGAIN, ECONNREFUSED, true, WEIR_DRV_FAIL,
       "host 'db.example': Temporary failure in name resolution"},
      {EAI_SYSTEM, EIO, true, WEIR_DRV_FAIL,
       "host 'db.example': Input/output error"},
      {EAI_SYSTEM, ENFILE, true, WEIR_DRV_FAIL,
       "host 'db.example': no descriptor left (Too many open files in system); "
       "raise fs.file-max"},
      {EAI_NONAME, EMFILE, true, WEIR_DRV_FAIL,
       "host 'db.example': no descriptor left (Too many open files); raise "
       "`ulimit -n`"},
      {EAI_MEMORY, ENOMEM, true, WEIR_DRV_E_NOMEM,
       "host 'db.example': Memory allocation failure"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct want want;
    init(&want);
    atomic_store(&verdict, cases[i].rc);
    atomic_store(&verdict_errno, cases[i].error);
    sem_post(&gate);
    cr_assert_eq(begin(&want, "db.example", 1433), 0);
    await(&want.done, 1);
    cr_assert_eq(want.lookup.status, cases[i].status);
    cr_assert_eq(want.lookup.temporary, cases[i].temporary);
    cr_assert_str_eq(want.lookup.reason, cases[i].reason);
    cr_assert_eq(want.lookup.n, 0);
  }
}

Test(resolver, shows_a_hostile_name_harmlessly) {
  struct want want;
  init(&want);
  atomic_store(&verdict, EAI_NONAME);
  sem_post(&gate);
  cr_assert_eq(begin(&want, "a\x1B[2Jb\n", 1433), 0);
  await(&want.done, 1);
  cr_assert_not_null(strstr(want.lookup.reason, "host 'a?[2Jb?': "));
}

Test(resolver, keeps_at_most_so_many_addresses) {
  struct want want;
  init(&want);
  atomic_store(&n_answers, 1000);
  sem_post(&gate);
  cr_assert_eq(begin(&want, "db.example", 1433), 0);
  await(&want.done, 1);
  cr_assert_eq(want.lookup.n, WEIR_RESOLVER_ADDRS_MAX);
  weir__lookup_fini(&want.lookup);
}

/* --------------------------------------------------------------- forgetting */

Test(resolver, does_not_call_a_look_up_that_was_given_up) {
  struct want gone;
  struct want stays;
  init(&gone);
  init(&stays);
  cr_assert_eq(begin(&gone, "db.example", 1433), 0);
  cr_assert_eq(begin(&stays, "db.example", 1433), 0);
  await(&arrived, 1);
  cr_assert(weir__resolver_forget(resolver, &gone.lookup));
  sem_post(&gate);
  await(&stays.done, 1);
  cr_assert_eq(atomic_load(&gone.calls), 0);
  cr_assert_not(weir__resolver_forget(resolver, &stays.lookup));
  weir__lookup_fini(&stays.lookup);
}

Test(resolver, serves_newcomers_with_a_question_that_was_given_up) {
  struct want gone;
  struct want later;
  init(&gone);
  init(&later);
  cr_assert_eq(begin(&gone, "db.example", 1433), 0);
  await(&arrived, 1);
  cr_assert(weir__resolver_forget(resolver, &gone.lookup));
  cr_assert_eq(begin(&later, "db.example", 1433), 0);
  sem_post(&gate);
  await(&later.done, 1);
  cr_assert_eq(atomic_load(&asked), 1);
  weir__lookup_fini(&later.lookup);
}

Test(resolver, does_not_ask_for_a_name_that_nobody_wants_any_more) {
  struct want busy[2];
  struct want gone;
  init(&busy[0]);
  init(&busy[1]);
  init(&gone);
  cr_assert_eq(begin(&busy[0], "a.example", 1), 0);
  cr_assert_eq(begin(&busy[1], "b.example", 1), 0);
  await(&arrived, 2);
  cr_assert_eq(begin(&gone, "c.example", 1), 0);
  cr_assert(weir__resolver_forget(resolver, &gone.lookup));
  sem_post(&gate);
  sem_post(&gate);
  await(&busy[0].done, 1);
  await(&busy[1].done, 1);
  cr_assert_eq(atomic_load(&asked), 2);
  weir__lookup_fini(&busy[0].lookup);
  weir__lookup_fini(&busy[1].lookup);
}

static sem_t inside;
static sem_t leave;
static _Atomic int left;

static void note_slowly(struct weir__lookup *lookup) {
  (void)lookup;
  sem_post(&inside);
  await(&leave, 1);
  atomic_store(&left, 1);
}

static void *open_leave(void *arg) {
  (void)arg;
  sem_post(&leave);
  return NULL;
}

Test(resolver, waits_for_a_call_that_is_under_way) {
  struct want want;
  pthread_t thread;
  sem_init(&inside, 0, 0);
  sem_init(&leave, 0, 0);
  init(&want);
  want.lookup.done = note_slowly;
  sem_post(&gate);
  cr_assert_eq(begin(&want, "db.example", 1433), 0);
  await(&inside, 1);
  cr_assert_eq(pthread_create(&thread, NULL, open_leave, NULL), 0);
  cr_assert_not(weir__resolver_forget(resolver, &want.lookup));
  cr_assert_eq(atomic_load(&left), 1);
  pthread_join(thread, NULL);
  weir__lookup_fini(&want.lookup);
}

static bool forgot_inside;

static void forget_inside(struct weir__lookup *lookup) {
  forgot_inside = weir__resolver_forget(resolver, lookup);
  note(lookup);
}

Test(resolver, can_be_told_to_forget_from_inside_the_call) {
  struct want want;
  init(&want);
  want.lookup.done = forget_inside;
  forgot_inside = true;
  cr_assert_eq(begin(&want, "127.0.0.1", 1433), 0);
  cr_assert_not(forgot_inside);
  weir__lookup_fini(&want.lookup);
}

static sem_t freed;

static void free_inside(struct weir__lookup *lookup) {
  weir__lookup_fini(lookup);
  free(lookup);
  sem_post(&freed);
}

Test(resolver, touches_no_look_up_after_the_call) {
  struct weir__lookup *lookup = calloc(1, sizeof *lookup);
  sem_init(&freed, 0, 0);
  lookup->done = free_inside;
  sem_post(&gate);
  cr_assert_eq(weir__resolver_begin(resolver, lookup, "db.example", 10, 1, 0),
               0);
  await(&freed, 1);
}

/* ----------------------------------------------------------------- its end */

Test(resolver_end,
     outlives_its_owner_while_the_system_is_asked,
     .init = set_up,
     .timeout = 10) {
  struct want gone;
  init(&gone);
  cr_assert_eq(begin(&gone, "stuck.example", 1433), 0);
  await(&arrived, 1);
  cr_assert(weir__resolver_forget(resolver, &gone.lookup));
  weir__resolver_free(resolver);
  cr_assert_eq(weir__offload_stop(offload, weir__clock_now()), 1);
  sem_post(&gate);
}

static void note_and_open(struct weir__lookup *lookup) {
  note(lookup);
  sem_post(&gate);
  sem_post(&gate);
}

Test(resolver_end,
     fails_what_waits_when_the_threads_end,
     .init = set_up,
     .timeout = 10) {
  struct want busy[2];
  struct want waits;
  init(&busy[0]);
  init(&busy[1]);
  init(&waits);
  waits.lookup.done = note_and_open;
  cr_assert_eq(begin(&busy[0], "a.example", 1), 0);
  cr_assert_eq(begin(&busy[1], "b.example", 1), 0);
  await(&arrived, 2);
  cr_assert_eq(begin(&waits, "c.example", 1), 0);
  cr_assert_eq(
      weir__offload_stop(offload, weir__clock_now() + 5 * WEIR_NS_PER_S), 0);
  cr_assert_eq(atomic_load(&waits.calls), 1);
  cr_assert_eq(waits.lookup.status, WEIR_DRV_FAIL);
  weir__resolver_free(resolver);
  weir__lookup_fini(&busy[0].lookup);
  weir__lookup_fini(&busy[1].lookup);
  weir__lookup_fini(&waits.lookup);
}

static int refuse_thread(void *(*run)(void *), void *arg, uint64_t *out) {
  (void)run;
  (void)arg;
  (void)out;
  return -EAGAIN;
}

Test(resolver, fails_a_look_up_when_no_thread_can_start) {
  struct want want;
  init(&want);
  weir__seams.thread_start = refuse_thread;
  cr_assert_eq(begin(&want, "db.example", 1433), 0);
  cr_assert_eq(atomic_load(&want.calls), 1);
  cr_assert_eq(want.lookup.status, WEIR_DRV_FAIL);
  cr_assert(want.lookup.temporary);
  cr_assert_str_eq(want.lookup.reason,
                   "host 'db.example': no thread could be started for it");
}
