/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "params.h"

static struct weir_error err = {.struct_size = sizeof err};

static struct weir_param good(void) {
  return (struct weir_param){
      .struct_size = sizeof(struct weir_param), .type = WEIR_T_INT, .i = 1};
}

static struct weir_exec_opts opts_of(const struct weir_param *p, uint32_t n) {
  return (struct weir_exec_opts){
      .struct_size = sizeof(struct weir_exec_opts), .params = p, .n_params = n};
}

Test(params, accepts_none, .timeout = 5) {
  struct weir_exec_opts opts = opts_of(NULL, 0);
  cr_assert_eq(weir__params_check(&opts, &err), WEIR_OK);
}

static void odd_flags(struct weir_param *p) {
  p->flags = 2;
}
static void odd_type(struct weir_param *p) {
  p->type = 10;
}
static void negative_type(struct weir_param *p) {
  p->type = -1;
}
static void name_without_text(struct weir_param *p) {
  p->name_len = 1;
}
static void hint_without_text(struct weir_param *p) {
  p->native_type_len = 1;
}
static void long_name(struct weir_param *p) {
  p->name = "x";
  p->name_len = WEIR_PARAM_TEXT_MAX + 1;
}
static void value_without_bytes(struct weir_param *p) {
  p->type = WEIR_T_TEXT;
  p->n = 3;
}
static void short_uuid(struct weir_param *p) {
  p->type = WEIR_T_UUID;
  p->p = "123";
  p->n = 3;
}
static void odd_bool(struct weir_param *p) {
  p->type = WEIR_T_BOOL;
  p->i = 2;
}
static void huge(struct weir_param *p) {
  p->type = WEIR_T_BYTES;
  p->p = "x";
  p->n = UINT64_MAX;
}
static void small_struct(struct weir_param *p) {
  p->struct_size = 8;
}
static void large_struct(struct weir_param *p) {
  p->struct_size = 4096;
}

Test(params, names_the_one_that_is_wrong_and_why, .timeout = 5) {
  static const struct {
    void (*spoil)(struct weir_param *p);
    const char *says;
  } cases[] = {
      {odd_flags, "flags"},
      {odd_type, "none of WEIR_T_*"},
      {negative_type, "none of WEIR_T_*"},
      {name_without_text, "NULL but has a length"},
      {hint_without_text, "NULL but has a length"},
      {long_name, "more than 1024 bytes"},
      {value_without_bytes, "its value is NULL"},
      {short_uuid, "16 bytes"},
      {odd_bool, "0 or 1"},
      {huge, "more than 4 GiB"},
      {small_struct, "struct_size"},
      {large_struct, "struct_size"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct weir_param p[2] = {good(), good()};
    struct weir_exec_opts opts = opts_of(p, 2);
    cases[i].spoil(&p[1]);
    cr_expect_eq(weir__params_check(&opts, &err), WEIR_E_ARG, "%s",
                 cases[i].says);
    cr_expect_not_null(strstr(err.message, "parameter 2"), "%s", err.message);
    cr_expect_not_null(strstr(err.message, cases[i].says), "%s", err.message);
  }
}

Test(params, are_at_most_65535_and_not_nowhere, .timeout = 5) {
  struct weir_param p = good();
  struct weir_exec_opts opts = opts_of(&p, WEIR_PARAMS_MAX + 1);
  cr_assert_eq(weir__params_check(&opts, &err), WEIR_E_ARG);
  cr_assert_not_null(strstr(err.message, "at most 65535"));
  opts = opts_of(NULL, 1);
  cr_assert_eq(weir__params_check(&opts, &err), WEIR_E_ARG);
  opts = opts_of(&p, 1);
  opts.params_stride = 8;
  cr_assert_eq(weir__params_check(&opts, &err), WEIR_E_ARG);
  cr_assert_not_null(strstr(err.message, "params_stride"));
}

/* A caller built with a later weir.h. */
struct wider {
  struct weir_param known;
  uint64_t later;
};

Test(params,
     of_a_later_header_are_taken_if_they_use_nothing_new,
     .timeout = 5) {
  struct wider p[2] = {{.known = good()}, {.known = good()}};
  p[0].known.struct_size = p[1].known.struct_size = sizeof p[0];
  p[1].known.i = 2;
  struct weir_exec_opts opts = opts_of(&p[0].known, 2);
  cr_assert_eq(weir__params_check(&opts, &err), WEIR_OK, "%s", err.message);
  struct weir__params *copy = weir__params_copy(&opts);
  cr_assert_eq(copy->n, 2);
  cr_assert_eq(copy->at[1].value.i, 2);
  weir__params_free(copy);
  p[1].later = 1;
  cr_assert_eq(weir__params_check(&opts, &err), WEIR_E_UNSUPPORTED);
  cr_assert_not_null(strstr(err.message, "parameter 2"));
}

Test(params, are_copied_with_texts_and_values, .timeout = 5) {
  char name[] = "@a";
  char hint[] = "nvarchar(50)";
  char value[] = "hush";
  struct weir_param p[3] = {good(), good(), good()};
  p[0].name = name;
  p[0].name_len = 2;
  p[0].native_type = hint;
  p[0].native_type_len = 12;
  p[0].type = WEIR_T_TEXT;
  p[0].p = value;
  p[0].n = 4;
  p[0].flags = WEIR_PARAM_OUT;
  p[1].type = WEIR_T_TEXT; /* empty is not NULL */
  p[2].type = WEIR_T_UINT;
  p[2].u = UINT64_MAX;
  struct weir_exec_opts opts = opts_of(p, 3);
  cr_assert_eq(weir__params_check(&opts, &err), WEIR_OK);
  struct weir__params *copy = weir__params_copy(&opts);
  memset(name, 'x', 2);
  memset(hint, 'x', 12);
  memset(value, 'x', 4);
  cr_assert_arr_eq(copy->at[0].name.p, "@a", 2);
  cr_assert_arr_eq(copy->at[0].type_hint.p, "nvarchar(50)", 12);
  cr_assert_arr_eq(copy->at[0].value.p, "hush", 4);
  cr_assert_eq(copy->at[0].flags, WEIR_DRV_PARAM_OUT);
  cr_assert_eq(copy->at[1].value.n, 0);
  cr_assert_not_null(copy->at[1].value.p);
  cr_assert_null(copy->at[1].name.p);
  cr_assert_eq(copy->at[2].value.u, UINT64_MAX);
  weir__params_free(copy);
  weir__params_free(NULL);
}
