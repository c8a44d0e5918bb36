/* SPDX-License-Identifier: MIT */
/* Faults: what a rule's text means, which connections it picks, how often it
 * strikes, and gates in order.  What each does to a reply is seen from outside by
 * check_faults.py. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "server_fault.h"
#include "test_support.h"

static struct tdsd_fault_rule parse(const char *spec) {
  struct tdsd_fault_rule rule;
  char why[300] = "";
  cr_assert_eq(tdsd_fault_parse(spec, &rule, why, sizeof why), 0, "%s: %s",
               spec, why);
  return rule;
}

static void assert_error(const char *spec, const char *expected) {
  struct tdsd_fault_rule rule;
  char why[300] = "";
  cr_assert_eq(tdsd_fault_parse(spec, &rule, why, sizeof why), -1, "%s", spec);
  cr_assert_str_eq(why, expected);
}

Test(fault, reads_where_and_what, .timeout = 5) {
  struct tdsd_fault_rule rule = parse("conn=3 msg=2 byte=17 close");
  cr_assert_eq(rule.row->kind, TDSD_FAULT_CLOSE);
  cr_assert_eq(rule.conn_from, 3);
  cr_assert_eq(rule.conn_to, 3);
  cr_assert_eq(rule.on, TDSD_ON_REQUEST);
  cr_assert_eq(rule.msg, 2);
  cr_assert_eq(rule.byte, 17);
  rule = parse("conn=* msg=login drip 1/s");
  cr_assert_eq(rule.on, TDSD_ON_LOGIN);
  cr_assert_eq(rule.number, 1);
  rule = parse("msg=* split=1");
  cr_assert_eq(rule.on, TDSD_ON_ANY);
  cr_assert_eq(rule.number, 1);
  rule = parse("lie field=token-length value=ffff nth=all token=error");
  cr_assert_eq(rule.field, TDSD_FIELD_TOKEN_LENGTH);
  cr_assert_eq(rule.value, 0xFFFF);
  cr_assert_eq(rule.nth, -1);
  cr_assert_eq(rule.token, 0xAA);
  rule = parse("conn=1/5 msg=login error 18456 state=8 class=14 then=rst");
  cr_assert_eq(rule.conn_k, 1);
  cr_assert_eq(rule.conn_n, 5);
  cr_assert_eq(rule.state, 8);
  cr_assert_eq(rule.then, TDSD_THEN_RST);
  rule = parse("route host\\one:1433 db=other place=middle");
  cr_assert_str_eq(rule.text, "host\\one");
  cr_assert_eq(rule.number, 1433);
  cr_assert_str_eq(rule.database, "other");
  rule = parse("insert hex=B7ff");
  cr_assert_eq(rule.hex_len, 2);
  cr_assert_eq(rule.hex[0], 0xB7);
  rule = parse("pause 2s");
  cr_assert_eq(rule.ms, 2000);
  rule = parse("ack late ms=50");
  cr_assert_eq(rule.word, 1);
  cr_assert_eq(rule.on, TDSD_ON_ATTENTION);
}

Test(fault, says_what_it_expected, .timeout = 5) {
  assert_error("", "expected a fault");
  assert_error("explode", "expected a fault (see the list with fault rows), "
                          "found 'explode'");
  assert_error("close rst", "expected one fault, found close and rst");
  assert_error("split", "expected a number behind split, found ''");
  assert_error("split 0", "expected a number behind split, found '0'");
  assert_error("drip 5/h", "expected bytes a second such as 5/s behind drip, "
                           "found '5/h'");
  assert_error("conn=0 close",
               "expected N, N-M, K/N or * behind conn=, found '0'");
  assert_error("conn=5-2 close",
               "expected N, N-M, K/N or * behind conn=, found '5-2'");
  assert_error("lie field=token-length", "expected value= with lie");
  assert_error("drop", "expected token= with drop");
  assert_error("insert hex=0", "expected at most 96 pairs of hexadecimal "
                               "digits behind hex=, found '0'");
  assert_error("ack maybe",
               "expected one of the words: same late none twice before garbage "
               "fin rst partial behind ack, found 'maybe'");
  assert_error("route host", "expected HOST:PORT behind route, found 'host'");
  assert_error("route host:70000",
               "expected HOST:PORT behind route, found 'host:70000'");
  assert_error("msg=0 close",
               "expected a number, *, prelogin, login, request, batch, rpc, "
               "tm, reset, attention or ignored behind msg=, found '0'");
}

Test(fault, picks_connections_by_number_range_and_share, .timeout = 5) {
  static const struct {
    const char *spec;
    const char *hits; /* connections 1 to 6 */
  } cases[] = {{"refuse", "yyyyyy"},          {"conn=2 refuse", "nynnnn"},
               {"conn=2-4 refuse", "nyyynn"}, {"conn=1/3 refuse", "ynnynn"},
               {"conn=2/3 refuse", "yynyyn"}, {"listener=2 refuse", "nnnnnn"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct tdsd_fault_list list = {0};
    struct tdsd_fault_rule rule = parse(cases[i].spec);
    cr_assert_neq(tdsd_fault_add(&list, &rule), 0);
    for (uint32_t conn = 1; conn <= 6; conn++) {
      uint32_t at = 0;
      bool hit =
          tdsd_fault_next(&list, TDSD_STAGE_CONNECT, conn, 1, &at) != NULL;
      cr_assert_eq(hit, cases[i].hits[conn - 1] == 'y', "%s %u", cases[i].spec,
                   (unsigned)conn);
    }
    tdsd_fault_list_fini(&list);
  }
}

Test(fault, strikes_after_so_many_and_so_often, .timeout = 5) {
  struct tdsd_fault_rule rule = parse("after=2 times=2 refuse");
  static const bool hits[] = {false, false, true, true, false, false};
  for (size_t i = 0; i < sizeof hits / sizeof hits[0]; i++) {
    cr_assert_eq(tdsd_fault_take(&rule), hits[i], "turn %zu", i);
  }
}

Test(fault, removes_by_id_by_switch_and_all, .timeout = 5) {
  struct tdsd_fault_list list = {0};
  char why[200];
  uint32_t id = tdsd_fault_set_rule(&list, "close", why, sizeof why);
  cr_assert_eq(tdsd_fault_switch(&list, "hang-login", "on", why, sizeof why),
               1);
  cr_assert_eq(tdsd_fault_switch(&list, "login-error", "4060", why, sizeof why),
               1);
  cr_assert_eq(list.n, 3);
  cr_assert_eq(list.rules[2].number, 4060);
  cr_assert_eq(tdsd_fault_switch(&list, "hang-login", "on", why, sizeof why),
               1);
  cr_assert_eq(list.n, 3, "a switch is on once");
  cr_assert_eq(tdsd_fault_remove(&list, id, NULL), 1);
  cr_assert_eq(tdsd_fault_switch(&list, "login-error", "0", why, sizeof why),
               1);
  cr_assert_eq(list.n, 1);
  cr_assert_eq(tdsd_fault_switch(&list, "hang-login", "x", why, sizeof why),
               -1);
  cr_assert_eq(tdsd_fault_switch(&list, "nothing", "on", why, sizeof why), 0);
  cr_assert_eq(tdsd_fault_remove(&list, 0, NULL), 1);
  cr_assert_eq(list.by_stage[TDSD_STAGE_ANSWER], 0);
  tdsd_fault_list_fini(&list);
}

Test(fault, has_room_for_so_many_and_no_more, .timeout = 5) {
  struct tdsd_fault_list list = {0};
  char why[200] = "";
  for (uint32_t i = 0; i < TDSD_CAP_FAULTS; i++) {
    cr_assert_eq(tdsd_fault_set_rule(&list, "close", why, sizeof why), i + 1);
  }
  cr_assert_eq(tdsd_fault_set_rule(&list, "close", why, sizeof why), 0);
  cr_assert_str_eq(why, "expected at most 256 faults");
  tdsd_fault_list_fini(&list);
}

Test(fault, keeps_gates_in_order, .timeout = 5) {
  struct tdsd_gates gates = {0};
  static const uint64_t places[] = {30, 10, 20, 10};
  static const uint64_t order[] = {1, 3, 2, 0};
  for (uint64_t i = 0; i < 4; i++) {
    cr_assert(
        tdsd_gates_add(&gates, (struct tdsd_gate){.at = places[i], .arg = i}));
  }
  for (size_t i = 0; i < 4; i++) {
    cr_assert_eq(tdsd_gates_next(&gates)->arg, order[i]);
    tdsd_gates_pass(&gates);
  }
  cr_assert_null(tdsd_gates_next(&gates));
  tdsd_gates_fini(&gates);
}

Test(fault, every_row_is_at_its_place_in_the_table, .timeout = 5) {
  for (unsigned i = 0; i < TDSD_FAULT_KINDS; i++) {
    const struct tdsd_fault_row *row = &tdsd_fault_rows[i];
    cr_assert_not_null(row->name, "row %u", i);
    cr_assert_eq(row->kind, i, "%s", row->name);
    cr_assert_neq(row->items[0], 0, "%s", row->name);
    cr_assert_eq(row->arg == TDSD_ARG_WORD,
                 row->words[0] != 0 && row->arg != TDSD_ARG_WORD_OR_NUMBER,
                 "%s", row->name);
  }
}
