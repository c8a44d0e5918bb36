/* SPDX-License-Identifier: MIT */
/* fake_host.h - the engine's side of the driver ABI in memory: a network of
 * scripted bytes, a TLS that only pretends, rows and messages as text.
 *
 * A test queues what the server answers, message by message; answer k becomes
 * readable when the client has sent k whole messages.  Then it calls the driver
 * and lets fake_finish() do the engine's work. */
#ifndef FAKE_HOST_H
#define FAKE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir_driver.h"

#define FAKE_ADDRESSES 12 /* a name resolves to at most */
#define FAKE_ANSWERS   64

/* The pretended cipher: bytes are XORed with this. */
#define FAKE_KEY 0xC3

/* What the two sides of the pretended handshake say. */
#define FAKE_HELLO  "HELLO"
#define FAKE_ANSWER "SERVR"

struct fake_bytes {
  uint8_t *p;
  size_t n;
  size_t cap;
};

struct fake {
  struct weir_drv_host host;
  const struct weir_driver *driver;
  weir_drv_drv *drv;
  weir_drv_cfg *cfg;
  weir_drv_conn *conn;

  /* script */
  struct fake_bytes answers[FAKE_ANSWERS];
  size_t n_answers;
  bool hang_up;      /* the server closes behind its last answer */
  size_t read_most;  /* bytes a read gives at most; 0 = no limit */
  size_t write_most; /* likewise for writes */
  size_t tls_most;   /* bytes of plaintext a read of TLS gives; 0 = no limit */
  size_t stall_at;   /* sent may not grow beyond; 0 = no limit */
  uint32_t seed;     /* not 0: limits are drawn anew for each call */
  bool stray;        /* wake the driver for nothing before each wake-up */
  size_t addresses;  /* what a name resolves to; default 1, at most
                      * FAKE_ADDRESSES */
  bool ipv6;         /* ... each second one, from the first, to IPv6 */
  size_t refuse;     /* that many addresses refuse the connection */
  size_t dead;       /* that many never answer at all */
  weir_drv_time deadline; /* of a connect */
  weir_drv_time time;     /* goes on when nothing but a timer is waited for */
  bool no_tls;            /* no service "weir.tls" */
  bool bad_tls;           /* the handshake fails */
  bool no_password;       /* the credential request is refused */
  const char *token;      /* answers a request for a bearer token */
  size_t token_n;
  uint64_t expires; /* ... and when it ends */
  bool no_name;     /* the name does not resolve */
  uint32_t batch_rows;
  uint32_t batch_bytes;
  uint32_t exec_flags;
  const struct weir_drv_param *params; /* of the next statements */
  uint32_t n_params;
  bool prepare;      /* statements run through "weir.stmt" */
  size_t stop_after; /* steps until fake_start returns by itself; 0 = none */
  size_t fail_alloc; /* the n-th allocation from now fails; 0 = none */

  /* what happened */
  struct fake_bytes sent; /* by the client, all of it */
  size_t parsed;          /* bytes of sent that were looked at */
  size_t messages;        /* whole messages among them */
  size_t read_at;         /* position in the answers */
  size_t answer;
  size_t opened;     /* streams opened */
  size_t streams;    /* streams open now */
  size_t live;       /* blocks not given back */
  size_t most_alloc; /* the largest block */
  size_t secrets;    /* blocks asked for as secret memory */
  size_t steps;
  bool asked_password;
  int32_t asked_kind;    /* of the last request for a credential */
  char asked_for[256];   /* "option|resource|authority|principal|nonce bytes" */
  struct fake_bytes log; /* results as text */
  struct fake_bytes diags; /* "number/severity: text" lines */
  size_t rows;
  struct weir_drv_wait wait;
  struct weir_drv_error err;
  char message[1024];

  /* the batch being filled */
  struct fake_bytes cells; /* struct fake_cell records */
  size_t n_cells;
  size_t n_columns;
  int32_t types[4096];
  struct fake_block *blocks;
  struct fake_tls *tls;
  uint32_t tls_flags;
  char tls_alpn[32];
  char tls_name[256];
};

/* Makes a host and opens the driver.  Options are "name=value;..." without
 * quoting.  Aborts the test if the driver refuses. */
void fake_open(struct fake *f, const char *options);

/* Closes all of it; returns the number of blocks the driver still holds. */
size_t fake_close(struct fake *f);

/* Only the configuration; the status of config_create, err filled. */
weir_drv_status fake_configure(struct fake *f, const char *options);

/* Queues an answer: raw bytes, hex, or a body that is put into one packet of
 * type 04 with the end bit. */
void fake_raw(struct fake *f, const void *p, size_t n);
void fake_hex(struct fake *f, const char *hex);
void fake_reply(struct fake *f, const void *body, size_t n);
void fake_reply_hex(struct fake *f, const char *hex);

/* Encrypts (pretends to) the answers from index on. */
void fake_encrypt(struct fake *f, size_t index);

/* Queues the answers of a login without TLS: PRELOGIN and LOGINACK. */
void fake_login(struct fake *f);

/* The body of a successful login response; *out_n bytes. */
const uint8_t *fake_login_body(size_t *out_n);

/* Operations, run to their end.  The status is the driver's last. */
weir_drv_status fake_connect(struct fake *f);
weir_drv_status fake_exec(struct fake *f, const char *sql);
weir_drv_status fake_ping(struct fake *f);
weir_drv_status fake_reset(struct fake *f, int32_t mode);
weir_drv_status fake_txn(struct fake *f,
                         int32_t verb,
                         int32_t isolation,
                         const char *name);

/* Starts exec only; then fake_next gives one result at a time.  WEIR_DRV_WAIT
 * means that nothing more will happen by itself. */
weir_drv_status fake_start(struct fake *f, const char *sql);
weir_drv_status fake_next(struct fake *f);
weir_drv_status fake_cancel(struct fake *f);

/* A session without TLS, logged in, with nothing in log and sent. */
void fake_session(struct fake *f);

/* Forgets what was sent, so that the next request starts at sent.p. */
void fake_forget_sent(struct fake *f);

/* Queues a message of which the client sees the first n bytes when it has sent
 * its next message, and the rest, with another answer's bytes behind it, when it
 * has sent one more. */
void fake_split(struct fake *f, const char *hex, size_t n, const char *more);

/* Text of the log, of the messages. */
const char *fake_log(struct fake *f);
const char *fake_diags(struct fake *f);

/* Appends bytes; aborts without memory. */
void fake_add(struct fake_bytes *b, const void *p, size_t n);

/* Copies a text that has no end to one of cap bytes that has. */
void fake_copy(char *to, size_t cap, const char *p, size_t n);

/* Reads hex digits, blanks ignored.  Returns bytes to be freed. */
uint8_t *fake_unhex(const char *hex, size_t *out_n);

#endif
