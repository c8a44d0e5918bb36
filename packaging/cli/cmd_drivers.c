/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "diag.h"
#include "exit_code.h"
#include "out.h"
#include "weirctl.h"

const char cmd_drivers_help[] =
    "Usage: weirctl drivers [--driver-dir=DIRS] [--json | --csv]\n"
    "\n"
    "Lists the drivers found, loading each: name, version, file, and what is\n"
    "wrong with it, if anything is.  Directories that are not looked in are "
    "named\n"
    "on standard error.\n"
    "\n"
    "      --driver-dir=DIRS  look here first (directories, : between them)\n"
    "      --json, --csv      as for weirctl query\n"
    "\n"
    "Exits with 4 when a driver cannot be used, or when there is none.\n"
    "\n"
    "Example:\n"
    "  weirctl drivers --driver-dir=/opt/weir/drivers\n";

enum {
  OPT_JSON = 256,
  OPT_CSV,
  OPT_DRIVER_DIR
};

/* How often the list may grow while it is being read. */
#define LIST_TRIES 4

struct args {
  const char *driver_dirs;
  const struct out_format *format;
  bool help;
};

static int parse_args(struct args *args, int argc, char **argv) {
  static const struct option names[] = {
      {"driver-dir", required_argument, NULL, OPT_DRIVER_DIR},
      {"json", no_argument, NULL, OPT_JSON},
      {"csv", no_argument, NULL, OPT_CSV},
      {"help", no_argument, NULL, 'h'},
      {NULL, 0, NULL, 0},
  };
  int c;
  while ((c = weirctl_option(argc, argv, ":h", names)) != -1) {
    if (c == 0) {
      return EXIT_CODE_USAGE;
    }
    if (c == OPT_DRIVER_DIR) {
      args->driver_dirs = optarg;
    } else if (c == 'h') {
      args->help = true;
    } else {
      args->format = c == OPT_JSON ? &out_json : &out_csv;
    }
  }
  if (optind < argc) {
    return diag_usage("drivers", "drivers takes no argument");
  }
  return EXIT_CODE_OK;
}

/* Reads the whole list.  Owns: *out_info until free(). */
static int32_t read_list(weir_h engine,
                         struct weir_driver_info **out_info,
                         uint32_t *out_n,
                         struct weir_error *err) {
  struct weir_driver_info *info = NULL;
  uint32_t cap = 16;
  for (int i = 0; i < LIST_TRIES; i++) {
    void *p = realloc(info, cap * sizeof *info);
    if (p == NULL) {
      free(info);
      return WEIR_E_NOMEM;
    }
    info = p;
    memset(info, 0, cap * sizeof *info);
    for (uint32_t j = 0; j < cap; j++) {
      info[j].struct_size = sizeof *info;
    }
    uint32_t n = 0;
    int32_t rc = weir_driver_list(engine, info, cap, &n, err);
    if (rc != WEIR_OK || n <= cap || n > 65536 || i + 1 == LIST_TRIES) {
      *out_info = info;
      *out_n = n <= cap ? n : cap;
      return rc;
    }
    cap = n;
  }
  return WEIR_E_SPACE; /* Not reached: the last try returns. */
}

static struct weir_cell text_cell(const char *s) {
  return (struct weir_cell){s, strlen(s)};
}

static int show_one(struct out *out, const struct weir_driver_info *info) {
  bool fine = info->status == WEIR_OK;
  const struct weir_cell cells[] = {
      text_cell(info->name),
      text_cell(info->version),
      text_cell(info->path),
      fine || info->problem[0] != '\0'
          ? text_cell(info->problem)
          : text_cell(weir_status_name(info->status)),
  };
  return out_rows(out, cells, 1);
}

static int show_all(const struct out_format *format,
                    const struct weir_driver_info *info,
                    uint32_t n) {
  static const char *const names[] = {"name", "version", "path", "problem"};
  struct weir_column columns[4];
  memset(columns, 0, sizeof columns);
  for (size_t i = 0; i < 4; i++) {
    columns[i].struct_size = sizeof columns[i];
    columns[i].type = WEIR_T_TEXT;
    columns[i].name = names[i];
    columns[i].name_len = strlen(names[i]);
  }
  struct out out;
  out_init(&out, format, stdout);
  int rc = out_begin(&out, columns, 4, sizeof columns[0]);
  for (uint32_t i = 0; i < n && rc == 0; i++) {
    rc = show_one(&out, &info[i]);
  }
  if (rc == 0) {
    rc = out_end(&out, true);
  }
  out_fini(&out);
  return rc < 0 ? diag_output(rc) : EXIT_CODE_OK;
}

static int judge(const struct weir_driver_info *info, uint32_t n) {
  int code = EXIT_CODE_OK;
  if (n == 0) {
    diag_line("no driver found; drivers are looked for in --driver-dir, in "
              "WEIR_DRIVER_PATH, and in weir/drivers beside libweir.so");
    code = EXIT_CODE_DRIVER;
  }
  for (uint32_t i = 0; i < n; i++) {
    code = info[i].status == WEIR_OK ? code : EXIT_CODE_DRIVER;
  }
  return code;
}

/* Tells why a directory is not looked in, if it is not. */
static void check_dir(const char *dir, const char *source) {
  struct stat st;
  const char *why = NULL;
  if (dir[0] != '/') {
    why = "not an absolute path";
  } else if (stat(dir, &st) != 0) {
    why = strerrordesc_np(errno);
  } else if (!S_ISDIR(st.st_mode)) {
    why = "not a directory";
  }
  if (why != NULL) {
    diag_line("skipped %s of %s: %s", dir, source, why);
  }
}

static void check_dirs(const char *dirs, const char *source) {
  char *copy = dirs == NULL ? NULL : strdup(dirs);
  char *rest = copy;
  char *dir;
  while ((dir = strsep(&rest, ":")) != NULL) {
    if (dir[0] != '\0') {
      check_dir(dir, source);
    }
  }
  free(copy);
}

static int list(weir_h engine, const struct args *args) {
  struct weir_error err = WEIR_ERROR_INIT;
  struct weir_driver_info *info = NULL;
  uint32_t n = 0;
  int32_t rc = read_list(engine, &info, &n, &err);
  int code;
  if (rc != WEIR_OK) {
    struct diag_try tried = {.doing = "listing drivers", .took_ns = -1};
    code = diag_error(stderr, rc, &err, &tried);
  } else {
    code = show_all(args->format, info, n);
    code = code == EXIT_CODE_OK ? judge(info, n) : code;
  }
  free(info);
  return code;
}

int cmd_drivers(int argc, char **argv) {
  struct args args = {.format = &out_table};
  int code = parse_args(&args, argc, argv);
  if (code != EXIT_CODE_OK) {
    return code;
  }
  if (args.help) {
    (void)fputs(cmd_drivers_help, stdout);
    return EXIT_CODE_OK;
  }
  check_dirs(args.driver_dirs, "--driver-dir");
  check_dirs(secure_getenv("WEIR_DRIVER_PATH"), "WEIR_DRIVER_PATH");
  weir_h engine;
  code = weirctl_engine(args.driver_dirs, &engine);
  if (code == EXIT_CODE_OK) {
    code = list(engine, &args);
    weirctl_engine_end(engine);
  }
  return code;
}
