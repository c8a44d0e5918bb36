/* SPDX-License-Identifier: MIT */
/* Columns of scripts: a type, its options and a name. */
#include <string.h>

#include "server_script_parse.h"

/* One option of a column.  Returns 1, 0 if there is none, or -1. */
static int read_option(struct tdsd_script_parser *parser,
                       struct tdsd_script_column *out) {
  uint32_t flags = 0;
  if (tdsd_script_accept_word(parser, "null")) {
    out->type.nullable = true;
    out->flags |= 1;
    return 1;
  }
  if (tdsd_script_accept_word(parser, "not")) {
    return tdsd_script_accept_word(parser, "null")
               ? 1
               : tdsd_script_expected(parser, "null");
  }
  if (tdsd_script_accept_option(parser, "flags")) {
    int rc = tdsd_script_u32(parser, 0xFFFF, &flags);
    out->flags |= flags;
    return rc < 0 ? -1 : 1;
  }
  if (tdsd_script_accept_option(parser, "usertype")) {
    return tdsd_script_u32(parser, UINT32_MAX, &out->usertype) < 0 ? -1 : 1;
  }
  if (tdsd_script_accept_option(parser, "ordinal")) {
    return tdsd_script_u32(parser, 0xFFFF, &out->ordinal) < 0 ? -1 : 1;
  }
  if (tdsd_script_accept_option(parser, "status")) {
    return tdsd_script_u32(parser, 0xFF, &out->status) < 0 ? -1 : 1;
  }
  if (tdsd_script_accept_option(parser, "collation")) {
    return tdsd_script_collation_read(parser, &out->type) < 0 ? -1 : 1;
  }
  if (tdsd_script_accept_option(parser, "table")) {
    return tdsd_script_string(parser, &out->table) < 0 ? -1 : 1;
  }
  return parser->failed ? -1 : 0;
}

int tdsd_script_column_read(struct tdsd_script_parser *parser,
                            struct tdsd_script_column *out) {
  *out = (struct tdsd_script_column){.name = "", .table = "", .status = 1};
  if (tdsd_script_type_begin(parser, &out->type) < 0) {
    tdsd_script_type_fini(&out->type);
    return -1;
  }
  if (strcmp(out->type.name, "rowversion") == 0 ||
      strcmp(out->type.name, "timestamp") == 0) {
    out->usertype = 0x50;
  }
  int rc = 1;
  while (rc > 0) {
    rc = read_option(parser, out);
  }
  if (rc == 0 && parser->token.lexeme == TDSD_SL_STRING) {
    rc = tdsd_script_string(parser, &out->name);
  }
  if (rc < 0) {
    tdsd_script_type_fini(&out->type);
    return -1;
  }
  tdsd_script_type_finish(&out->type);
  return 0;
}
