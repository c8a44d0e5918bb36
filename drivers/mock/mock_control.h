/* SPDX-License-Identifier: MIT */
/* mock_control.h - what a test can ask of the mock driver, and what the mock
 * asks of a host that is under test.
 *
 * A test gets the control table from the driver itself:
 *
 *   const struct mock_control *mock =
 *       table->extension(drv, MOCK_CONTROL_NAME, MOCK_CONTROL_VERSION);
 *
 * Every function may be called from any thread, also beside driver calls, from
 * open() until close() begins. */
#ifndef MOCK_CONTROL_H
#define MOCK_CONTROL_H

#include <stdint.h>

#include "weir_driver.h"

#define MOCK_CONTROL_NAME    "weir.mock"
#define MOCK_CONTROL_VERSION 1u

/* Service "weir.test" of hosts built for tests.  The mock calls locks_held() at
 * the start of each driver call and aborts, naming the call, unless the answer
 * is 0 (rule T5 of weir_driver.h). */
#define MOCK_TEST_SERVICE "weir.test"

struct weir_test_api {
  uint32_t struct_size;
  uint32_t version;
  int32_t (*locks_held)(void); /* locks of the engine held by this thread */
};

/* One number for each slot of the driver's table. */
enum mock_call {
  MOCK_CONFIG_CREATE,
  MOCK_CONFIG_DESTROY,
  MOCK_CONN_CREATE,
  MOCK_CONN_DESTROY,
  MOCK_ABORT,
  MOCK_GET,
  MOCK_HEALTH,
  MOCK_IDLE,
  MOCK_CONNECT,
  MOCK_PING,
  MOCK_RESET,
  MOCK_TXN,
  MOCK_EXEC,
  MOCK_LOGOUT,
  MOCK_STEP,
  MOCK_CANCEL,
  MOCK_COLUMNS,
  MOCK_CALLS /* how many there are */
};

struct mock_counts { /* grows at its end */
  uint32_t struct_size;
  uint32_t reserved0;
  uint64_t calls[MOCK_CALLS]; /* calls of each slot so far */
  uint64_t conns_live;        /* created and not yet destroyed */
  uint64_t conns_max;         /* most at one moment */
  uint64_t sessions_live;     /* connect began and the session has not ended */
  uint64_t sessions_max;      /* most at one moment: P1 is about this one */
  uint64_t connects_running;  /* connects begun and not ended */
  uint64_t connects_max;      /* most at one moment */
  uint64_t running;           /* operations begun and not ended */
  uint64_t running_max;       /* most at one moment */
  uint64_t hung;              /* operations waiting for release_hung */
  uint64_t failed;            /* operations that ended with a failure */
  uint64_t cancelled;         /* of those, ended by cancel() */
  uint64_t died;              /* sessions ended by die, kill or kill_idle */
  uint64_t rows;              /* rows put into batches */
  uint64_t resets;            /* resets that took effect */
  uint64_t credentials;       /* credentials received */
  uint64_t resolves;          /* names resolved */
  uint64_t offloads;          /* offloaded functions that have run */
  uint64_t forgets;           /* aborts of the kind WEIR_DRV_ABORT_FORGET */
  uint64_t overlaps;          /* calls that broke T1 */
  uint64_t misuses;           /* calls that were not legal just then */
  uint64_t leaked;            /* connections alive when their config went */
  uint64_t begins;            /* transactions begun */
  uint64_t commits;           /* ... committed */
  uint64_t rollbacks;         /* ... rolled back, by a reset not counted */
  uint64_t saves;             /* savepoints set or gone back to */
  uint64_t prepared;          /* statements that "weir.stmt" prepared */
  uint64_t reused;            /* ... that it had prepared before */
};
#define MOCK_COUNTS_SIZE_V1 (8u + 8u * (MOCK_CALLS + 27u))

struct mock_control { /* grows at its end */
  uint32_t struct_size;
  uint32_t version;

  /* Copies min(out->struct_size, sizeof) bytes of the counts.  Each number is
   * exact; they are not of one moment while calls are running. */
  void (*counts)(weir_drv_drv *d, struct mock_counts *out);

  /* Lets the n operations that have hung longest go on; 0 means all.  Returns
   * how many there were.  The engine is woken through a descriptor. */
  uint32_t (*release_hung)(weir_drv_drv *d, uint32_t n);

  /* Ends, as a server would, the nth session (1 is the oldest) of those that
   * run no operation.  health() says WEIR_DRV_ALIVE_NO from now on, idle()'s
   * descriptor becomes readable, and the next operation fails.
   * Returns 1, or 0 if there is no such session. */
  int32_t (*kill_idle)(weir_drv_drv *d, uint32_t nth);

  /* The same for the session with this number (WEIR_DRV_P_SESSION_ID), idle or
   * not; a running operation fails at once, also when it hangs. */
  int32_t (*kill_session)(weir_drv_drv *d, uint64_t id);
};

#endif
