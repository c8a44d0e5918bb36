/* SPDX-License-Identifier: MIT */
/* loader_elf.h - what a shared object says it is, before any of it runs. */
#ifndef WEIR_LOADER_ELF_H
#define WEIR_LOADER_ELF_H

#include "weir.h"

#include "loader_file.h"

/* Checks that file is a shared object for this machine, that it is as long as
 * its segments and section headers say, and that it carries a note of this
 * version of the driver ABI (struct weir_drv_elf_note).  Nothing is mapped or
 * run.  Returns WEIR_OK or WEIR_E_FAIL.  Blocks: on the file. */
int weir__driver_elf_check(const struct weir__driver_file *file,
                           struct weir_error *err);

/* Checks that what dlopen() mapped is that very file: the path the dynamic
 * linker opened has its device and inode, and the headers and notes in memory
 * are the ones in the file.  Both are needed: dlopen() answers with an older
 * file that this process loaded under the same path and that has been replaced
 * since.  handle: from dlopen().  Returns WEIR_OK or WEIR_E_FAIL. */
int weir__driver_elf_same(const struct weir__driver_file *file,
                          void *handle,
                          struct weir_error *err);

#endif
