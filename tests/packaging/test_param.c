/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "param.h"

static const struct {
  const char *text;
  int32_t type;
  const char *bytes; /* of types that have them */
  int64_t i;
} good[] = {
    {"@a", WEIR_T_NULL, NULL, 0},
    {"@a:int", WEIR_T_NULL, NULL, 0},
    {"@a=", WEIR_T_TEXT, "", 0},
    {"@a=x=y:z", WEIR_T_TEXT, "x=y:z", 0},
    {"@a:nvarchar(50)=x", WEIR_T_TEXT, "x", 0},
    {"@a:int=-5", WEIR_T_INT, NULL, -5},
    {"@a:BigInt=9223372036854775807", WEIR_T_INT, NULL, INT64_MAX},
    {"@a:bit=true", WEIR_T_BOOL, NULL, 1},
    {"@a:bit=0", WEIR_T_BOOL, NULL, 0},
    {"@a:decimal(10, 2)=-1.50", WEIR_T_DEC, "-1.50", 0},
    {"@a:datetime2=2026-11-30T12:00:00", WEIR_T_TIME, "2026-11-30T12:00:00", 0},
    {"@a:binary(2)=0xaBcD", WEIR_T_BYTES, "\xab\xcd", 0},
    {"@a:varbinary(max)=0x", WEIR_T_BYTES, "", 0},
    {"@a:rowversion=0x07", WEIR_T_BYTES, "\x07", 0},
    {"@a:timestamp=0x08", WEIR_T_BYTES, "\x08", 0},
    {"@a:integer=7", WEIR_T_INT, NULL, 7},
    {"@a:dec(5)=7", WEIR_T_DEC, "7", 0},
    {"@a:xml=<a/>", WEIR_T_TEXT, "<a/>", 0},
};

Test(param, reads_a_value_as_its_type_says, .timeout = 5) {
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    struct params params = {0};
    const char *wrong = params_add(&params, good[i].text, false);
    cr_assert_null(wrong, "%s: %s", good[i].text, wrong);
    const struct weir_param *p = &params.at[0];
    cr_expect_eq(p->type, good[i].type, "%s", good[i].text);
    cr_expect_eq(p->name_len, 2);
    cr_expect_eq(p->i, good[i].i, "%s", good[i].text);
    if (good[i].bytes != NULL) {
      cr_expect_eq(p->n, strlen(good[i].bytes), "%s", good[i].text);
      cr_expect_eq(memcmp(p->p, good[i].bytes, p->n), 0, "%s", good[i].text);
    }
    params_free(&params);
  }
}

static const char *const bad[] = {
    "",
    "=1",
    ":int=1",
    "@a:=1",
    "@a:int=",
    "@a:int=1x",
    "@a:int= 1",
    "@a:int=9223372036854775808",
    "@a:bit=2",
    "@a:float=",
    "@a:float=nan",
    "@a:float=1e999",
    "@a:float=0x10",
    "@a:decimal=1.",
    "@a:decimal=.5",
    "@a:decimal=1,5",
    "@a:binary=12",
    "@a:binary=0x1",
    "@a:binary=0xgg",
    "@a:uniqueidentifier=6f9619ff8b86d011b42d00c04fc964ff",
    "@a:uniqueidentifier=6f9619ff-8b86-d011-b42d-00c04fc964f-",
    "@a:uniqueidentifier=6f9619f--8b86-d011-b42d-00c04fc964ff",
};

Test(param, refuses_what_its_type_does_not_allow, .timeout = 5) {
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct params params = {0};
    cr_expect_not_null(params_add(&params, bad[i], false), "%s", bad[i]);
    cr_expect_eq(params.n, 0);
    params_free(&params);
  }
}

Test(param, keeps_them_in_their_order, .timeout = 5) {
  struct params params = {0};
  cr_assert_null(params_add(&params,
                            "@a:uniqueidentifier="
                            "6f9619ff-8b86-d011-b42d-00c04fc964ff",
                            false));
  cr_assert_null(params_add(&params, "@b:nvarchar(3)=x", true));
  cr_assert_eq(params.n, 2);
  cr_assert_eq(params.at[0].n, 16);
  cr_assert_arr_eq(params.at[0].p, "\x6f\x96\x19\xff\x8b\x86", 6);
  cr_assert_eq(params.at[0].flags, 0);
  cr_assert_eq(params.at[1].flags, WEIR_PARAM_OUT);
  cr_assert_eq(params.at[1].native_type_len, 11);
  cr_assert_arr_eq(params.at[1].native_type, "nvarchar(3)", 11);
  params_free(&params);
  cr_assert_eq(params.n, 0);
}

Test(param, has_a_limit, .timeout = 5) {
  struct params params = {0};
  for (unsigned i = 0; i < PARAMS_MAX; i++) {
    cr_assert_null(params_add(&params, "@a=1", false));
  }
  cr_assert_not_null(params_add(&params, "@a=1", false));
  cr_assert_eq(params.n, PARAMS_MAX);
  params_free(&params);
}
