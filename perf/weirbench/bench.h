/* SPDX-License-Identifier: MIT */
/* bench.h - the program. */
#ifndef WEIRBENCH_BENCH_H
#define WEIRBENCH_BENCH_H

/* What main does.  Returns the exit status. */
int bench_main(int argc, char **argv);

#endif
