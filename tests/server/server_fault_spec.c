/* SPDX-License-Identifier: MIT */
/* Faults as text: one rule, word by word. */
#include <stdio.h>
#include <string.h>

#include "server_fault_read.h"

#define WORD_BYTES 160u

static int bad_arg(struct tdsd_fault_reading *reading,
                   const struct tdsd_fault_row *row,
                   const char *text) {
  static const char *const kinds[] = {
      "nothing",          "a number",
      "milliseconds",     "bytes a second such as 5/s",
      "one of the words", "a number or a word",
      "HOST:PORT"};
  return tdsd_fault_expected(reading, "expected %s%s%s behind %s, found '%s'",
                             kinds[row->arg], row->words[0] != 0 ? ": " : "",
                             row->words, row->name, text);
}

static bool number_fits(const struct tdsd_fault_row *row,
                        const char *text,
                        uint64_t *out) {
  int base = strncmp(text, "0x", 2) == 0 ? 16 : 10;
  return tdsd_fault_number(text, base, row->most, out) && *out >= row->least;
}

/* HOST:PORT; the last colon counts, and HOST may be HOST\INSTANCE. */
static bool read_address(struct tdsd_fault_rule *rule, const char *text) {
  const char *colon = strrchr(text, ':');
  size_t len = colon == NULL ? 0 : (size_t)(colon - text);
  if (len == 0 || len >= TDSD_FAULT_BYTES ||
      !tdsd_fault_number(colon + 1, 10, 0xFFFF, &rule->number)) {
    return false;
  }
  memcpy(rule->text, text, len);
  rule->text[len] = 0;
  return true;
}

static int read_arg(struct tdsd_fault_reading *reading, const char *text) {
  struct tdsd_fault_rule *rule = reading->rule;
  const struct tdsd_fault_row *row = rule->row;
  char digits[32];
  size_t len = strcspn(text, "/");
  bool ok = false;
  switch (row->arg) {
  case TDSD_ARG_NUMBER:
    ok = number_fits(row, text, &rule->number);
    break;
  case TDSD_ARG_MS:
    ok = tdsd_fault_ms(text, row->most, &rule->ms);
    break;
  case TDSD_ARG_RATE:
    tdsd_fault_copy(digits, sizeof digits, text, len);
    ok = number_fits(row, digits, &rule->number) &&
         (text[len] == 0 || strcmp(text + len, "/s") == 0);
    break;
  case TDSD_ARG_WORD:
    rule->word = tdsd_fault_word(row->words, text);
    ok = rule->word >= 0;
    break;
  case TDSD_ARG_WORD_OR_NUMBER:
    rule->word = tdsd_fault_word(row->words, text);
    ok = rule->word >= 0 || number_fits(row, text, &rule->number);
    break;
  case TDSD_ARG_ADDRESS:
    ok = read_address(rule, text);
    break;
  case TDSD_ARG_NONE:
  default:
    break;
  }
  return ok ? 0 : bad_arg(reading, row, text);
}

static const struct tdsd_fault_row *find_row(const char *name, size_t len) {
  for (unsigned i = 0; i < TDSD_FAULT_KINDS; i++) {
    const struct tdsd_fault_row *row = &tdsd_fault_rows[i];
    if (strlen(row->name) == len && strncmp(row->name, name, len) == 0) {
      return row;
    }
  }
  return NULL;
}

static int set_row(struct tdsd_fault_reading *reading,
                   const struct tdsd_fault_row *row) {
  if (reading->rule->row != NULL) {
    return tdsd_fault_expected(reading, "expected one fault, found %s and %s",
                               reading->rule->row->name, row->name);
  }
  reading->rule->row = row;
  return 0;
}

/* One word that has a =. */
static int read_pair(struct tdsd_fault_reading *reading,
                     char *word,
                     size_t len) {
  const char *text = word + len + 1;
  const struct tdsd_fault_row *row = find_row(word, len);
  word[len] = 0;
  int key = tdsd_fault_word(tdsd_fault_keys, word);
  if (key >= 0) {
    return tdsd_fault_key(reading, key, word, text);
  }
  if (row == NULL) {
    return tdsd_fault_expected(reading,
                               "expected a fault or one of %s before =, found "
                               "'%s'",
                               tdsd_fault_keys, word);
  }
  return set_row(reading, row) < 0 ? -1 : read_arg(reading, text);
}

/* One word without a =: the fault, then what it needs. */
static int read_bare(struct tdsd_fault_reading *reading,
                     const char *word,
                     bool *needs) {
  if (*needs) {
    *needs = false;
    return read_arg(reading, word);
  }
  const struct tdsd_fault_row *row = find_row(word, strlen(word));
  if (row == NULL) {
    return tdsd_fault_expected(reading,
                               "expected a fault (see the list with "
                               "fault rows), found '%s'",
                               word);
  }
  *needs = row->arg != TDSD_ARG_NONE;
  return set_row(reading, row);
}

/* What a fault cannot do without. */
static int check_rule(struct tdsd_fault_reading *reading) {
  struct tdsd_fault_rule *rule = reading->rule;
  enum tdsd_fault_kind kind = rule->row->kind;
  const char *missing = NULL;
  if (!reading->on_given) {
    rule->on = rule->row->on;
  }
  if ((kind == TDSD_FAULT_LIE || kind == TDSD_FAULT_HEADER) &&
      !rule->has_value) {
    missing = "value=";
  } else if (kind == TDSD_FAULT_INSERT && !rule->has_hex) {
    missing = "hex=";
  } else if ((kind == TDSD_FAULT_DROP || kind == TDSD_FAULT_DOUBLE) &&
             rule->token == 0) {
    missing = "token=";
  }
  return missing == NULL ? 0
                         : tdsd_fault_expected(reading, "expected %s with %s",
                                               missing, rule->row->name);
}

int tdsd_fault_parse(const char *spec,
                     struct tdsd_fault_rule *out_rule,
                     char *why,
                     size_t cap) {
  struct tdsd_fault_rule rule = {.word = -1};
  struct tdsd_fault_reading reading = {.rule = &rule, .why = why, .cap = cap};
  bool needs = false;
  const struct tdsd_fault_row *row = NULL;
  while (*(spec += strspn(spec, " \t\r\n")) != 0) {
    char word[WORD_BYTES + 2 * TDSD_FAULT_BYTES];
    size_t len = strcspn(spec, " \t\r\n");
    if (len >= sizeof word) {
      return tdsd_fault_expected(
          &reading, "expected words of at most %zu bytes", sizeof word - 1);
    }
    memcpy(word, spec, len);
    word[len] = 0;
    spec += len;
    size_t equals = strcspn(word, "=");
    int rc = word[equals] == '=' ? read_pair(&reading, word, equals)
                                 : read_bare(&reading, word, &needs);
    if (rc < 0) {
      return -1;
    }
    row = rule.row;
  }
  if (row == NULL || needs) {
    return row == NULL ? tdsd_fault_expected(&reading, "expected a fault")
                       : bad_arg(&reading, row, "");
  }
  if (check_rule(&reading) < 0) {
    return -1;
  }
  *out_rule = rule;
  return 0;
}
