/* SPDX-License-Identifier: MIT */
/* tds_codepage_back.c - from characters to the bytes of a two-byte page.
 *
 * The tables go from bytes to characters and several bytes may mean the same
 * one, so which bytes come back is a choice.  It is that of Windows: the first,
 * but in page 932 IBM's extensions (FA to FC) come before NEC's selection of
 * them (ED, EE), and in page 950 six characters have their last place. */
#include <string.h>

#include "tds_codepage.h"

static bool has_last_place(uint32_t code) {
  return code == 0x2550 || code == 0x255E || code == 0x2561 || code == 0x256A ||
         code == 0x5341 || code == 0x5345;
}

static void add_row(const struct tds_codepage_wide *w,
                    uint8_t page,
                    uint8_t lead,
                    uint16_t *back) {
  for (unsigned trail = w->low; trail <= w->high; trail++) {
    uint32_t code = tds_codepage_pair(w, lead, (uint8_t)trail);
    bool last = page == TDS_CP950 && has_last_place(code);
    if (code != 0 && (back[code] == 0 || last)) {
      back[code] = (uint16_t)((unsigned)lead << 8 | trail);
    }
  }
}

static bool is_second_choice(uint8_t page, unsigned lead) {
  return page == TDS_CP932 && (lead == 0xED || lead == 0xEE);
}

void tds_codepage_back(uint8_t page, uint16_t back[TDS_CODEPAGE_BACK]) {
  const struct tds_codepage_wide *w = tds_codepage_wide(page);
  memset(back, 0, TDS_CODEPAGE_BACK * sizeof *back);
  for (unsigned i = 0; i < 128; i++) {
    if (w->single[i] > TDS_CP_LEAD && back[w->single[i]] == 0) {
      back[w->single[i]] = (uint16_t)(0x80 + i);
    }
  }
  for (unsigned second = 0; second < 2; second++) {
    for (unsigned lead = w->first; lead <= w->last; lead++) {
      bool is_lead = w->single[lead - 0x80] == TDS_CP_LEAD;
      if (is_lead && is_second_choice(page, lead) == (second == 1)) {
        add_row(w, page, (uint8_t)lead, back);
      }
    }
  }
}
