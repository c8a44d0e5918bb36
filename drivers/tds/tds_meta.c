/* SPDX-License-Identifier: MIT */
/* tds_meta.c - COLMETADATA (2.2.7.4) and the head of RETURNVALUE (2.2.7.19). */
#include <string.h>

#include "weir_driver.h"

#include "tds_decode.h"
#include "tds_limits.h"

#define NO_METADATA 0xFFFFu

struct tds_column *tds_decode_column(struct tds_decoder *d) {
  return d->returning ? &d->value : &d->columns[d->column];
}

static int no_memory(struct tds_decoder *d) {
  return tds_decode_bad(d, TDS_E_NOMEM, "out of memory");
}

static size_t column_head(const struct tds_decoder *d) {
  return d->old_layout ? 5 : 7; /* user type, flags(2), type(1) */
}

int tds_meta_start(struct tds_decoder *d) {
  d->returning = false;
  d->n_columns = 0;
  d->names.n = 0;
  return tds_decode_go(d, TDS_S_COUNT, 2);
}

/* Room for count columns.  They are kept from one result to the next. */
static int reserve(struct tds_decoder *d, uint32_t count) {
  if (count <= d->columns_cap) {
    return TDS_OK;
  }
  void *p = d->mem->alloc(d->mem->ctx, count * sizeof *d->columns, 0);
  if (p == NULL) {
    return no_memory(d);
  }
  if (d->columns != NULL) {
    d->mem->release(d->mem->ctx, d->columns);
  }
  d->columns = p;
  d->columns_cap = count;
  return TDS_OK;
}

int tds_meta_count(struct tds_decoder *d, const uint8_t *p) {
  uint32_t count = tds_u16(p);
  if (count == NO_METADATA || count == 0) {
    return tds_decode_event(d, TDS_EV_OTHER);
  }
  if (count > TDS_COLUMNS_MAX) {
    return tds_decode_bad(d, TDS_E_PROTO, "%u columns", count);
  }
  int rc = reserve(d, count);
  if (rc != TDS_OK) {
    return rc;
  }
  memset(d->columns, 0, count * sizeof *d->columns);
  d->n_columns = count;
  d->column = 0;
  return tds_decode_go(d, TDS_S_COLUMN, column_head(d));
}

/* The type byte has come: what follows depends on it. */
static int start_type(struct tds_decoder *d, uint8_t code) {
  const struct tds_type_rule *rule = tds_type_find(code);
  if (rule == NULL) {
    return tds_decode_bad(d, TDS_E_UNSUPPORTED,
                          "column %u has the type 0x%02X, which is not "
                          "supported",
                          d->column + 1, code);
  }
  tds_decode_column(d)->type.rule = rule;
  return tds_decode_go(d, TDS_S_INFO, rule->info);
}

static void set_head(struct tds_decoder *d, const uint8_t *p) {
  struct tds_column *c = tds_decode_column(d);
  c->user_type = d->old_layout ? tds_u16(p) : tds_u32(p);
  c->flags = tds_u16(p + (d->old_layout ? 2 : 4));
}

int tds_meta_column(struct tds_decoder *d, const uint8_t *p) {
  set_head(d, p);
  return start_type(d, p[column_head(d) - 1]);
}

/* Refuses a type whose values cannot be read, by name. */
static int check_supported(struct tds_decoder *d) {
  const struct tds_column *c = tds_decode_column(d);
  if (c->type.shape != TDS_SHAPE_NONE) {
    return TDS_OK;
  }
  const char *name = d->names.p == NULL ? "" : (const char *)d->names.p;
  return tds_decode_bad(d, TDS_E_UNSUPPORTED,
                        "column %u (%.*s) has the type %s, which is not "
                        "supported yet",
                        d->column + 1, (int)(c->name_n > 60 ? 60 : c->name_n),
                        name + c->name_at, c->type.rule->name);
}

/* The type is complete: a table name, the column's name, or the value. */
static int end_type(struct tds_decoder *d) {
  const struct tds_column *c = tds_decode_column(d);
  if (d->returning) {
    int rc = check_supported(d);
    return rc == TDS_OK ? tds_row_start_return(d) : rc;
  }
  if (c->type.shape == TDS_SHAPE_POINTER) {
    d->parts = 1;
    return d->old_layout ? tds_decode_go(d, TDS_S_TABLE, 2)
                         : tds_decode_go(d, TDS_S_TABLES, 1);
  }
  return tds_decode_go(d, TDS_S_NAMELEN, 1);
}

int tds_meta_info(struct tds_decoder *d, const uint8_t *p) {
  struct tds_column *c = tds_decode_column(d);
  const struct tds_type_rule *rule = c->type.rule;
  if (tds_type_set(&c->type, rule, p) != TDS_OK) {
    return tds_decode_bad(d, TDS_E_PROTO,
                          "column %u: impossible size, precision or scale of "
                          "%s",
                          d->column + 1, rule->name);
  }
  if (rule->extra == TDS_EXTRA_XML) {
    return tds_decode_go(d, TDS_S_XML, 1);
  }
  if (rule->extra == TDS_EXTRA_UDT) {
    d->parts = 3;
    return tds_decode_go(d, TDS_S_PART, 1);
  }
  return end_type(d);
}

int tds_meta_xml(struct tds_decoder *d, const uint8_t *p) {
  if (*p == 0) {
    return end_type(d);
  }
  d->parts = 2;
  return tds_decode_go(d, TDS_S_PART, 1);
}

int tds_meta_part(struct tds_decoder *d, const uint8_t *p) {
  d->parts--;
  return d->parts > 0 ? tds_decode_skip(d, *p * UINT64_C(2), TDS_S_PART, 1)
                      : tds_decode_skip(d, *p * UINT64_C(2), TDS_S_LASTPART, 2);
}

/* The last text is passed over while the decoder already waits for what follows
 * the type. */
int tds_meta_last_part(struct tds_decoder *d, const uint8_t *p) {
  d->skip = tds_u16(p) * UINT64_C(2);
  return end_type(d);
}

int tds_meta_tables(struct tds_decoder *d, const uint8_t *p) {
  d->parts = *p;
  return d->parts > 0 ? tds_decode_go(d, TDS_S_TABLE, 2)
                      : tds_decode_go(d, TDS_S_NAMELEN, 1);
}

int tds_meta_table(struct tds_decoder *d, const uint8_t *p) {
  uint64_t n = tds_u16(p) * UINT64_C(2);
  d->parts--;
  return d->parts > 0 ? tds_decode_skip(d, n, TDS_S_TABLE, 2)
                      : tds_decode_skip(d, n, TDS_S_NAMELEN, 1);
}

int tds_meta_name_length(struct tds_decoder *d, const uint8_t *p) {
  return tds_decode_go(d, TDS_S_NAME, *p * (size_t)2);
}

int tds_meta_name(struct tds_decoder *d, const uint8_t *p) {
  struct tds_column *c = &d->columns[d->column];
  size_t at = 0;
  size_t n = 0;
  if (tds_decode_text(&d->names, p, d->want, &at, &n) != TDS_OK) {
    return no_memory(d);
  }
  if (d->names.n > TDS_NAMES_MAX) {
    return tds_decode_bad(d, TDS_E_PROTO,
                          "the names of the columns need more than 1.5 MiB");
  }
  c->name_at = (uint32_t)at;
  c->name_n = (uint32_t)n;
  int rc = check_supported(d);
  if (rc != TDS_OK) {
    return rc;
  }
  d->column++;
  if (d->column < d->n_columns) {
    return tds_decode_go(d, TDS_S_COLUMN, column_head(d));
  }
  return tds_decode_event(d, TDS_EV_COLUMNS);
}

int tds_meta_start_return(struct tds_decoder *d) {
  d->returning = true;
  memset(&d->value, 0, sizeof d->value);
  return tds_decode_go(d, TDS_S_ORDINAL, 3);
}

int tds_meta_ordinal(struct tds_decoder *d, const uint8_t *p) {
  d->column = tds_u16(p);
  return tds_decode_go(d, TDS_S_VALNAME, p[2] * (size_t)2);
}

int tds_meta_value_name(struct tds_decoder *d, const uint8_t *p) {
  size_t at = 0;
  d->text.n = 0;
  if (tds_decode_text(&d->text, p, d->want, &at, &d->value_name_n) != TDS_OK) {
    return no_memory(d);
  }
  return tds_decode_go(d, TDS_S_VALHEAD, 1 + column_head(d));
}

int tds_meta_value_head(struct tds_decoder *d, const uint8_t *p) {
  set_head(d, p + 1);
  return start_type(d, p[column_head(d)]);
}
