/* SPDX-License-Identifier: MIT */
#include "bench.h"

int main(int argc, char **argv) {
  return bench_main(argc, argv);
}
