/* SPDX-License-Identifier: MIT */
/* Types and values of the T-SQL subset, apart from how the wire writes them. */
#ifndef TDSD_SERVER_VALUE_H
#define TDSD_SERVER_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server_arena.h"

__extension__ typedef unsigned __int128 tdsd_u128;

/* In rising order of precedence: where two types meet, the later one wins. */
enum tdsd_kind {
  TDSD_BINARY,
  TDSD_VARBINARY,
  TDSD_CHAR,
  TDSD_VARCHAR,
  TDSD_NCHAR,
  TDSD_NVARCHAR,
  TDSD_GUID,
  TDSD_BIT,
  TDSD_TINYINT,
  TDSD_SMALLINT,
  TDSD_INT,
  TDSD_BIGINT,
  TDSD_SMALLMONEY,
  TDSD_MONEY,
  TDSD_DECIMAL,
  TDSD_REAL,
  TDSD_FLOAT,
  TDSD_TIME,
  TDSD_DATE,
  TDSD_SMALLDATETIME,
  TDSD_DATETIME,
  TDSD_DATETIME2,
  TDSD_DATETIMEOFFSET,
  TDSD_VARIANT, /* sql_variant; its values have the kinds of what they hold */
};

/* What a string type is beside its kind. */
enum tdsd_form {
  TDSD_FORM_PLAIN,
  TDSD_FORM_OLD,        /* text, ntext, image, over the (max) kinds */
  TDSD_FORM_XML,        /* over nvarchar(max) */
  TDSD_FORM_ROWVERSION, /* over binary(8) */
};

/* The size of varchar(max) and its kin. */
#define TDSD_SIZE_MAX 0xFFFFFFFFu

struct tdsd_type {
  enum tdsd_kind kind;
  uint8_t precision; /* decimal */
  uint8_t scale;     /* decimal, time, datetime2, datetimeoffset */
  bool numeric;      /* decimal that was called numeric (another wire type) */
  bool nullable;     /* false only for literals: the fixed wire types */
  bool untyped;      /* a bare NULL, which takes any type it meets */
  enum tdsd_form form;
  uint8_t collation; /* of text: what server_collation.h numbers */
  uint32_t size;     /* characters or bytes of strings; TDSD_SIZE_MAX = max */
};

struct tdsd_value {
  struct tdsd_type type;
  bool is_null;
  bool negative;       /* decimal */
  int64_t integer;     /* bit to bigint; money in ten-thousandths */
  double real;         /* real, float */
  tdsd_u128 magnitude; /* decimal, without its point */
  const char *bytes;   /* strings as UTF-8, binary as it is */
  size_t len;          /* of bytes */
  uint64_t total;      /* of a string or binary that is its bytes over and
                          over, cut after so many; 0 = just bytes */
  int32_t days;        /* since 0001-01-01 */
  int64_t ticks;       /* 100 ns since midnight */
  int32_t offset_min;  /* datetimeoffset; days and ticks are local */
  uint8_t guid[16];    /* as the wire has it */
};

/* A variable, or a parameter or argument of a call. */
struct tdsd_variable {
  const char *name; /* with its @; parameters may have none */
  struct tdsd_value value;
  bool variant;    /* declared sql_variant, whatever the value is now */
  bool output;     /* its value goes back to the caller */
  bool is_default; /* the caller left the value to the procedure */
};

/* The type a variable was declared with. */
struct tdsd_type tdsd_variable_type(const struct tdsd_variable *variable);

/* An error as the client will see it. */
struct tdsd_fault {
  int32_t number;
  uint8_t class;
  uint8_t state;
  uint32_t line;
  char text[1024];
};

/* Fills in a fault.  Returns -1, so that a check can be one return. */
int tdsd_fault_set(struct tdsd_fault *fault,
                   int32_t number,
                   uint8_t class,
                   const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

/* The type's name in T-SQL. */
const char *tdsd_kind_name(enum tdsd_kind kind);
const char *tdsd_type_name(const struct tdsd_type *type);

/* The type as a declaration, such as "nvarchar(10)". */
void tdsd_type_print(const struct tdsd_type *type, char *out, size_t cap);

bool tdsd_kind_is_text(enum tdsd_kind kind);
bool tdsd_kind_is_wide(enum tdsd_kind kind); /* nchar, nvarchar */
bool tdsd_kind_is_binary(enum tdsd_kind kind);
bool tdsd_kind_is_integer(enum tdsd_kind kind); /* bit to bigint */
bool tdsd_kind_is_number(enum tdsd_kind kind);  /* bit to float */
bool tdsd_kind_is_date(enum tdsd_kind kind);    /* time to datetimeoffset */

/* The type in which values of both meet (UNION, VALUES, comparison). */
struct tdsd_type tdsd_type_meet(struct tdsd_type a, struct tdsd_type b);

/* Ten to the n, n at most 38. */
tdsd_u128 tdsd_pow10(unsigned n);

/* Decimal digits of a number, at least 1. */
unsigned tdsd_digits(tdsd_u128 magnitude);

/* Converts a value to a type; style is CONVERT's third argument or 0.
 * Returns 0, or -1 with the fault.  Owns: texts live in the arena. */
int tdsd_convert(const struct tdsd_value *in,
                 const struct tdsd_type *to,
                 int style,
                 struct tdsd_arena *arena,
                 struct tdsd_value *out,
                 struct tdsd_fault *fault);

/* Bytes of a string or binary value, all of it. */
uint64_t tdsd_value_total(const struct tdsd_value *value);

/* Writes a value that repeats out in full.  Returns 0, or -1 with the fault. */
int tdsd_value_flatten(struct tdsd_value *value,
                       struct tdsd_arena *arena,
                       struct tdsd_fault *fault);

/* Writes a value as text, at most cap - 1 bytes and a zero; not for strings.
 * Returns its length. */
size_t tdsd_value_print(const struct tdsd_value *value,
                        int style,
                        char *out,
                        size_t cap);

/* Reads an exact number such as -12.50 into a decimal value whose precision and
 * scale are the text's.  Returns 0, or -1 if it is none or has over 38 digits. */
int tdsd_decimal_parse(const char *text, size_t len, struct tdsd_value *out);

/* Gives a decimal the scale of to, rounding half away from zero.
 * Returns 0, or -1 if it does not fit the precision of to. */
int tdsd_decimal_fit(struct tdsd_value *value, const struct tdsd_type *to);

/* The value of a number as a double. */
double tdsd_value_real(const struct tdsd_value *value);

/* Turns any number into a decimal value of its natural precision and scale;
 * floats get 38 digits' worth.  Returns 0, or -1 if it has none. */
int tdsd_value_decimal(const struct tdsd_value *in, struct tdsd_value *out);

/* Reads a date, a time or both.  Returns 0 or -1. */
int tdsd_date_parse(const char *text, size_t len, struct tdsd_value *out);

/* Writes a date type as text; returns its length. */
size_t tdsd_date_print(const struct tdsd_value *value,
                       int style,
                       char *out,
                       size_t cap);

/* Days since 0001-01-01 of a civil date, and back. */
int32_t tdsd_days_from_civil(int year, int month, int day);
void tdsd_civil_from_days(int32_t days, int *year, int *month, int *day);

#endif
