/* SPDX-License-Identifier: MIT */
/* job.h - what the samples have their event loops do: a connection from a pool, a
 * statement, its rows, the connection back.  Nothing here waits. */
#ifndef SAMPLE_JOB_H
#define SAMPLE_JOB_H

#include "weir.h"

/* What all jobs have in common. */
struct jobs {
  weir_h pool;
  weir_h queue; /* where the completions of their calls come */
  const char *sql;
  unsigned left; /* not yet done */
  unsigned failed;
};

enum job_step {
  JOB_ACQUIRE,
  JOB_EXEC,
  JOB_READ,
  JOB_OVER
};

struct job {
  struct jobs *jobs;
  unsigned number;
  enum job_step step;
  weir_h lease;
  int32_t type; /* WEIR_T_* of the first column */
};

/* Starts a job.  It may be over when this returns. */
void job_start(struct job *job, struct jobs *jobs, unsigned number);

/* Takes every completion that is in the queue and has its job go on. */
void jobs_take(struct jobs *jobs);

#endif
