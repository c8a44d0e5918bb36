/* SPDX-License-Identifier: MIT */
#include "drive.h"

#include <poll.h>

#include "op.h"
#include "status.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/park.h"
#include "sys/point.h"

void weir__drive_take(struct weir_drv_hconn *session,
                      struct weir__caller *self) {
  atomic_store_explicit(&session->by, self, memory_order_release);
  uint32_t word = weir__load_seq_u32(&session->op);
  WEIR_ASSERT((word & WEIR_OP_OWNER) == WEIR_OP_NONE);
  while (!weir__cas_seq_u32(&session->op, &word, WEIR_OP_DRIVING)) {
  }
  /* A statement that paused with a request open: the answer came meanwhile. */
  if ((word & WEIR_OP_REPLIED) != 0) {
    session->replied = true;
  }
}

int weir__drive_begin(struct weir_drv_hconn *session,
                      struct weir__caller *self) {
  int fd = weir__caller_fd(self);
  if (fd < 0) {
    return fd;
  }
  weir__drive_take(session, self);
  return 0;
}

void weir__drive_end(struct weir_drv_hconn *session) {
  uint32_t word = weir__load_seq_u32(&session->op);
  WEIR_ASSERT((word & WEIR_OP_OWNER) == WEIR_OP_DRIVING);
  while (!weir__cas_seq_u32(&session->op, &word, WEIR_OP_NONE)) {
  }
  /* An answer that came too late is not lost: close.c waits for it. */
  if ((word & WEIR_OP_REPLIED) != 0) {
    session->replied = true;
  }
}

static short to_poll(uint32_t events) {
  return (short)(((events & WEIR_DRV_EV_READ) != 0 ? POLLIN : 0) |
                 ((events & WEIR_DRV_EV_WRITE) != 0 ? POLLOUT : 0));
}

/* An error or a hang-up is told as whatever was wanted: the driver finds out
 * when it reads or writes. */
static uint32_t from_poll(short revents, uint32_t wanted) {
  if ((revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
    return wanted;
  }
  return ((revents & POLLIN) != 0 ? WEIR_DRV_EV_READ : 0) |
         ((revents & POLLOUT) != 0 ? WEIR_DRV_EV_WRITE : 0);
}

static void fill(const struct weir_drv_hconn *s,
                 struct pollfd *fds,
                 int own_fd) {
  for (uint32_t i = 0; i < s->n_wants; i++) {
    const struct weir_drv_want *want = &s->wants[i];
    fds[i].fd =
        want->stream != NULL ? weir__stream_fd(want->stream) : (int)want->fd;
    fds[i].events = to_poll(want->events);
    fds[i].revents = 0;
  }
  fds[s->n_wants] = (struct pollfd){.fd = own_fd, .events = POLLIN};
}

static uint32_t collect(struct weir_drv_hconn *s, const struct pollfd *fds) {
  uint32_t why = 0;
  for (uint32_t i = 0; i < s->n_wants; i++) {
    s->wants[i].ready = from_poll(fds[i].revents, s->wants[i].events);
    if (s->wants[i].ready != 0) {
      why = WEIR_DRV_WHY_IO;
    }
  }
  return why;
}

/* One wait.  Returns the reasons to step, or -errno. */
static int wait_once(struct weir_drv_hconn *s,
                     struct weir__caller *self,
                     uint64_t until,
                     bool *out_kicked) {
  struct pollfd fds[WEIR_DRV_WANT_MAX + 1];
  fill(s, fds, weir__caller_fd(self));
  int rc = weir__poll(fds, s->n_wants + 1, until);
  *out_kicked = rc > 0 && fds[s->n_wants].revents != 0;
  if (*out_kicked) {
    weir__caller_drain(self);
  }
  return rc < 0 ? rc : (int)collect(s, fds);
}

static uint32_t timer_reason(const struct weir_drv_hconn *s, uint64_t now) {
  return now >= s->wait.timer ? WEIR_DRV_WHY_TIMER : 0;
}

enum weir__drive_result weir__drive(struct weir_drv_hconn *session,
                                    struct weir__caller *self,
                                    uint64_t deadline,
                                    bool (*stop)(void *arg),
                                    void *arg) {
  while (session->status == WEIR_DRV_WAIT) {
    bool kicked = false;
    uint64_t wake_at = weir__op_wake_at(session);
    if (stop != NULL && stop(arg)) {
      return WEIR_DRIVE_STOPPED;
    }
    WEIR_POINT("drive.wait", session);
    int why = wait_once(session, self, wake_at < deadline ? wake_at : deadline,
                        &kicked);
    if (why < 0) {
      char text[128];
      weir__op_fail(session, WEIR_DRV_K_RESOURCE,
                    "the connection cannot be polled: %s",
                    weir__errno_text(-why, text, sizeof text));
      session->status = WEIR_DRV_FAIL;
      break;
    }
    if (stop != NULL && stop(arg)) {
      return WEIR_DRIVE_STOPPED;
    }
    uint64_t now = weir__clock_now();
    if (now >= deadline) {
      return WEIR_DRIVE_LATE;
    }
    if (why != 0 || timer_reason(session, now) != 0 || wake_at == 0 || kicked) {
      (void)weir__op_turn(session, (uint32_t)why | timer_reason(session, now));
    }
  }
  return WEIR_DRIVE_ENDED;
}
