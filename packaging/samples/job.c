/* SPDX-License-Identifier: MIT */
#include "job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The first column, which must be text or an integer. */
static void print_rows(const struct job *job, const struct weir_item *item) {
  for (uint64_t i = 0; i < item->n_rows; i++) {
    const struct weir_cell *cell = &item->cells[i * item->n_columns];
    int64_t number;
    if (job->type == WEIR_T_INT && cell->p != NULL) {
      memcpy(&number, cell->p, sizeof number);
      (void)printf("job %u: %" PRId64 "\n", job->number, number);
    } else {
      (void)printf("job %u: %.*s\n", job->number,
                   cell->p == NULL ? 4 : (int)cell->n,
                   cell->p == NULL ? "NULL" : (const char *)cell->p);
    }
  }
}

static void end(struct job *job, const struct weir_error *err) {
  if (err != NULL) {
    (void)printf("job %u failed: %s\n", job->number, err->message);
    job->jobs->failed++;
  }
  (void)weir_release(job->lease); /* 0 is no lease, and says so */
  job->lease = 0;
  job->step = JOB_OVER;
  job->jobs->left--;
}

/* A piece of the result. */
static void take_item(struct job *job, const struct weir_item *item) {
  if (item->type == WEIR_ITEM_META) {
    job->type = item->n_columns == 0 ? WEIR_T_NULL : item->columns[0].type;
  } else if (item->type == WEIR_ITEM_ROWS) {
    print_rows(job, item);
    (void)weir_rows_free(item->rows);
  } else if (item->type == WEIR_ITEM_DONE) {
    end(job, NULL);
  }
}

/* One call.  What ends at once is done with; WEIR_PENDING is heard of by the
 * queue, which is told which job it is of. */
static int32_t step_once(struct job *job, struct weir_error *err) {
  const struct jobs *jobs = job->jobs;
  uint64_t user = (uintptr_t)job;
  struct weir_item item = {.struct_size = sizeof item};
  int32_t rc = WEIR_OK;
  switch (job->step) {
  case JOB_ACQUIRE:
    rc = weir_submit_acquire(jobs->pool, WEIR_TIMEOUT_POOL, jobs->queue, user,
                             &job->lease, NULL, err);
    job->step = rc == WEIR_OK ? JOB_EXEC : job->step;
    break;
  case JOB_EXEC:
    rc = weir_submit_exec(job->lease, jobs->sql, strlen(jobs->sql), NULL,
                          jobs->queue, user, NULL, err);
    job->step = rc == WEIR_OK ? JOB_READ : job->step;
    break;
  case JOB_READ:
    rc = weir_submit_next(job->lease, &item, jobs->queue, user, NULL, err);
    if (rc == WEIR_OK) {
      take_item(job, &item);
    }
    break;
  case JOB_OVER:
  default:
    break;
  }
  return rc;
}

/* As far as it goes without waiting. */
static void go_on(struct job *job) {
  struct weir_error err = {.struct_size = sizeof err};
  int32_t rc = WEIR_OK;
  while (rc == WEIR_OK && job->step != JOB_OVER) {
    rc = step_once(job, &err);
  }
  if (rc != WEIR_OK && rc != WEIR_PENDING) {
    end(job, &err);
  }
}

void job_start(struct job *job, struct jobs *jobs, unsigned number) {
  *job = (struct job){.jobs = jobs, .number = number, .step = JOB_ACQUIRE};
  jobs->left++;
  go_on(job);
}

/* What the call would have answered if it had waited. */
static void complete(const struct weir_completion *c,
                     const struct weir_error *err) {
  struct job *job = (void *)(uintptr_t)c->user;
  if (c->status != WEIR_OK) {
    end(job, err);
    return;
  }
  if (c->type == WEIR_OP_ACQUIRE) {
    job->lease = c->lease;
    job->step = JOB_EXEC;
  } else if (c->type == WEIR_OP_EXEC) {
    job->step = JOB_READ;
  } /* WEIR_OP_NEXT: there is something to be read now */
  go_on(job);
}

void jobs_take(struct jobs *jobs) {
  struct weir_completion c = {.struct_size = sizeof c};
  struct weir_error err = {.struct_size = sizeof err};
  while (weir_queue_take(jobs->queue, 0, &c, &err) == WEIR_OK) {
    complete(&c, &err);
  }
}
