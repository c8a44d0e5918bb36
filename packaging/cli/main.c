/* SPDX-License-Identifier: MIT */
#include "weirctl.h"

int main(int argc, char **argv) {
  return weirctl_run(argc, argv);
}
