/* SPDX-License-Identifier: MIT */
/* crowd_change.c - who changes pools under their callers, and who watches. */
#include <poll.h>

#include "crowd.h"
#include "strategies.h"

#define COMMON                                                           \
  "Driver=mock;Mock Strict=true;Max Pool Size=6;Connect Timeout=400 ms;" \
  "Command Timeout=300 ms;Close Timeout=50 ms;Mock Connect Delay=100us;"

/* Of pools 0 to 3; each life has the others' settings in another order. */
static const char *const conninfos[][CROWD_POOLS] = {
    {COMMON "Mock Server=a;Min Pool Size=2;Session Init='set ready';"
            "Keepalive Interval=5 ms;Mock Script Text=\"ping every 17: die;"
            "health every 211: dead;reset every 97: fail conn network 'r';"
            "connect every 41: hang\"",
     COMMON "Mock Server=b;Pool Handoff=direct;Pool Blocking "
            "Period=always;Connect Rate=200;"
            "Connect Burst=4;Mock Script Text=\"connect every 9: fail endpoint "
            "network 'refused';exec every 97: die\"",
     COMMON "Mock Server=c;Handoff Bound=50us;Queue Policy=codel;Max "
            "Waiters=20;Min Idle=1;"
            "Connection Reset=verified;Mock Script Text=\"connect every 23: "
            "fail config auth 'no';connect every 7: delay 3ms\"",
     COMMON "Mock Server=a;Database=last;Max Pool Size=2"},
    {COMMON "Mock Server=a;Endpoint Max Connections=8;Pool Blocking "
            "Period=never;Mock Script Text=\"connect every 5: delay 2ms;"
            "connect every 31: fail endpoint network 'refused'\"",
     COMMON
     "Mock Server=a;Database=b;Pool Handoff=direct;Endpoint Max Connections=8;"
     "Connection Lifetime=20 ms;Connection Idle Timeout=10 ms",
     COMMON "Mock Server=c;Max Concurrent Connects=1;Max Uses=5;Probe "
            "Window=0;Min Pool Size=3;Mock Script Text=\"exec every 61: die;"
            "health every 31: dead;logout every 5: hang\"",
     COMMON "Mock Server=d;Pooling=false;Max Pool Size=2"},
};

/* The second is refused, whole. */
static const char *const changes[] = {
    "Min Pool Size=1;Max Pool Size=4",
    "Max Waiters=3;Max Pool Size=0",
    "Max Waiters=3",
    "Max Waiters=0;Connect Timeout=200 ms",
    "Connect Timeout=1;Command Timeout=100 ms",
    "Command Timeout=300 ms;Max Uses=7;Probe Window=0",
    "Max Uses=0;Probe Window=500 ms;Close Timeout=20 ms",
    "Close Timeout=0;Connection Idle Timeout=1 ms",
    "Connection Idle Timeout=300;Connection Lifetime=2 ms",
    "Connection Lifetime=0;Lifetime Jitter=50",
    "Lifetime Jitter=0;Max Concurrent Connects=1",
    "Max Concurrent Connects=0;Min Idle=2",
    "Min Idle=0;Keepalive Interval=1 ms",
    "Keepalive Interval=0;Connect Rate=500;Connect Burst=2",
    "Connect Rate=0;Connect Burst=9",
    "Endpoint Max Connections=3",
    "Handoff Bound=0",
    "Handoff Bound=20us",
    "Endpoint Max Connections=0;Handoff Bound=1 ms"};

static const char calm[] =
    "Max Waiters=0;Connect Timeout=400 ms;Command Timeout=300 ms;Max Uses=0;"
    "Probe Window=;Close Timeout=50 ms;Connection Idle Timeout=300;"
    "Connection Lifetime=0;Max Concurrent Connects=0;Min Idle=0;"
    "Keepalive Interval=0;Connect Rate=0;Endpoint Max Connections=0;"
    "Min Pool Size=0;Max Pool Size=6";

/* The same all life long: all strategies, or one and policies, or every pool with
 * policies that nobody would put together. */
static const char *behaviour(unsigned long turn, char *mixture) {
  switch (crowd.seed / 4 % 4) {
  case 0:
    return stress_strategy(turn);
  case 1:
    return stress_policy(turn * 5);
  default:
    return stress_mixture(turn * 31, mixture);
  }
}

int crowd_open_pool(unsigned i, weir_h *out_pool) {
  unsigned long turn = (unsigned long)crowd.seed + i;
  const char *text = conninfos[crowd.seed / 2 % 2][i];
  struct weir_error err = {.struct_size = sizeof err};
  char mixture[STRESS_MIXTURE];
  int rc = stress_open_pool(crowd.engine, behaviour(turn, mixture), text,
                            out_pool, &err);
  if (rc != WEIR_OK && !crowd.rough) {
    stress_broken(err.message, rc);
  }
  return rc;
}

/* HANDLE: the engine ends, or the last pool came and went. */
static void allow(const char *what, unsigned pool, int rc) {
  if (rc == WEIR_E_HANDLE && pool != CROWD_POOLS - 1 && !crowd.rough) {
    stress_broken(what, rc);
  }
  STRESS_ALLOW(what, rc, WEIR_E_HANDLE, WEIR_E_CLOSED, WEIR_E_TIMEOUT,
               WEIR_E_CANCELLED, WEIR_E_ARG, WEIR_E_SPACE, WEIR_E_FAIL,
               WEIR_E_DOWN);
}

static void reconfigure(unsigned i, weir_h pool, struct stress_random *r) {
  uint32_t n = stress_below(r, sizeof changes / sizeof changes[0]);
  int rc = weir_pool_reconfigure(pool, changes[n], strlen(changes[n]), NULL);
  if (n == 1 && rc == WEIR_OK) {
    stress_broken("a wrong setting was taken", rc);
  }
  allow("reconfigure", i, rc);
}

static void change(unsigned i, weir_h pool, struct stress_random *r) {
  uint32_t max = 1 + stress_below(r, CROWD_LARGEST);
  int64_t some = stress_below(r, 4) * STRESS_MS;
  switch (stress_below(r, 8)) {
  case 0:
    allow("pause", i, weir_pool_pause(pool));
    break;
  case 1:
    allow("drain", i, weir_pool_drain(pool, some, NULL));
    break;
  case 2:
    allow("clear", i, weir_pool_clear(pool));
    break;
  case 3:
    allow("wait_ready", i, weir_pool_wait_ready(pool, some, NULL));
    break;
  case 4:
  case 5:
    allow("resize", i,
          weir_pool_resize(pool, stress_below(r, max + 1), max, NULL));
    break;
  default:
    reconfigure(i, pool, r);
    break;
  }
}

void *crowd_master(void *random) {
  struct stress_random *r = random;
  while (atomic_load(&crowd.calm) == 0) {
    unsigned i = stress_below(r, CROWD_POOLS);
    weir_h pool = atomic_load(&crowd.pool[i]);
    change(i, pool, r);
    (void)atomic_fetch_add(&crowd.changes, 1);
    stress_pause(stress_below(r, 3000) * STRESS_US);
    allow("resume", i, weir_pool_resume(pool));
    stress_pause(stress_below(r, 10000) * STRESS_US); /* so that work is done */
  }
  return NULL;
}

void crowd_calm_down(void) {
  for (unsigned i = 0; i < CROWD_POOLS; i++) {
    weir_h pool = atomic_load(&crowd.pool[i]);
    STRESS_ALLOW("resume", weir_pool_resume(pool), WEIR_OK);
    STRESS_ALLOW("calm",
                 weir_pool_reconfigure(pool, calm, sizeof calm - 1, NULL),
                 WEIR_OK);
  }
}

/* Another reference to any pool, and the last one anew. */
void *crowd_opener(void *random) {
  struct stress_random *r = random;
  while (atomic_load(&crowd.calm) == 0) {
    weir_h pool = 0;
    unsigned i = stress_below(r, CROWD_POOLS - 1);
    if (crowd_open_pool(i, &pool) == WEIR_OK) {
      stress_pause(stress_below(r, 1000) * STRESS_US);
      allow("close", i, weir_pool_close(pool));
    }
    if (stress_below(r, 4) == 0) {
      i = CROWD_POOLS - 1;
      allow("close", i, weir_pool_close(atomic_load(&crowd.pool[i])));
      if (crowd_open_pool(i, &pool) == WEIR_OK) {
        atomic_store(&crowd.pool[i], pool);
      }
      (void)atomic_fetch_add(&crowd.opens, 1);
    }
    stress_pause(stress_below(r, 5000) * STRESS_US);
  }
  return NULL;
}

void *crowd_server(void *random) {
  struct stress_random *r = random;
  while (atomic_load(&crowd.unplugged) == 0) {
    (void)crowd.mock->kill_idle(crowd.driver, 1 + stress_below(r, 20));
    if (stress_below(r, 8) == 0) {
      (void)crowd.mock->kill_session(crowd.driver, 1 + stress_below(r, 3000));
    }
    if (stress_below(r, 4) == 0) {
      (void)crowd.mock->release_hung(crowd.driver, stress_below(r, 3));
    }
    stress_pause(stress_below(r, 3000) * STRESS_US);
  }
  return NULL;
}

void *crowd_cancel(void *random) {
  struct stress_random *r = random;
  while (atomic_load(&crowd.over) == 0) {
    uint32_t i = stress_below(r, CROWD_RECENT);
    STRESS_ALLOW("op_cancel", weir_op_cancel(atomic_load(&crowd.recent_op[i])),
                 WEIR_E_HANDLE);
    STRESS_ALLOW("cancel", weir_cancel(atomic_load(&crowd.recent_lease[i])),
                 WEIR_E_HANDLE);
    (void)weir_queue_wake(crowd.queue[i % CROWD_QUEUES]);
    stress_pause(stress_below(r, 300) * STRESS_US);
  }
  return NULL;
}

/* P8, in each snapshot. */
static void look(unsigned i) {
  struct weir_pool_stats s = {.struct_size = sizeof s};
  struct weir_counters c = {.struct_size = sizeof c};
  weir_h pool = atomic_load(&crowd.pool[i]);
  int rc = weir_pool_stats(pool, &s);
  allow("stats", i, rc);
  if (rc == WEIR_OK) {
    uint32_t total = s.connecting + s.idle + s.leased + s.reserved + s.parked +
                     s.stasis + s.closing;
    uint32_t empty = s.effective_max > total ? s.effective_max - total : 0;
    if (s.empty != empty || total > CROWD_LARGEST || s.released > s.acquired ||
        s.connects_begun < s.connects_ok + s.connects_failed) {
      (void)fprintf(stderr, "pool %u: %u total, %u empty of %u\n", i, total,
                    s.empty, s.effective_max);
      stress_broken("a snapshot does not add up", WEIR_E_FAIL);
    }
  }
  allow("counters", i, weir_pool_counters(pool, &c));
  allow("counters", i, weir_engine_counters(crowd.engine, &c));
}

void *crowd_watch(void *random) {
  struct stress_random *r = random;
  while (atomic_load(&crowd.over) == 0) {
    look(stress_below(r, CROWD_POOLS));
    stress_pause(stress_below(r, 300) * STRESS_US);
  }
  return NULL;
}

void *crowd_loop(void *unused) {
  int64_t fd = -1;
  if (weir_engine_fd(crowd.engine, &fd, NULL) != WEIR_OK) {
    stress_broken("engine_fd", WEIR_E_HANDLE);
  }
  struct pollfd p = {.fd = (int)fd, .events = POLLIN};
  while (atomic_load(&crowd.unplugged) == 0) {
    int64_t due = 0;
    STRESS_ALLOW("turn", weir_engine_turn(crowd.engine, &due, NULL), WEIR_OK);
    (void)poll(&p, 1, due > 5 * STRESS_MS ? 5 : (int)(due / STRESS_MS));
  }
  return unused;
}
