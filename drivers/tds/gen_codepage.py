#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tds_codepage_wide.c: the two-byte code pages 932, 936, 949 and 950.

Usage: gen_codepage.py [--check] FILE

The characters are those of Python's codecs cp932, gbk, cp949 and cp950 (3.11;
earlier and later ones agree), and beside them what Windows defines and these
codecs do not: the ranges for characters of one's own, which become private use
code points in the order of their codes, and the lone bytes in SINGLE.  The sum
is what Windows decodes, see tests/drivers/tds/test_codepage.c.

--check compares with FILE instead of writing it.
"""
import sys

LEAD = 1  # what the table of lone bytes says of a lead byte
HOLE = "."  # no page maps anything to ASCII
PER_LINE = 36

# Page, codec, first and last trail byte.
PAGES = (
    (932, "cp932", 0x40, 0xFC),
    (936, "gbk", 0x40, 0xFE),
    (949, "cp949", 0x41, 0xFE),
    (950, "cp950", 0x40, 0xFE),
)

# Page: (first code, last code, first and last trail, first code point).
PRIVATE = {
    932: ((0xF040, 0xF9FC, 0x40, 0xFC, 0xE000),),
    936: (
        (0xAAA1, 0xAFFE, 0xA1, 0xFE, 0xE000),
        (0xF8A1, 0xFEFE, 0xA1, 0xFE, 0xE234),
        (0xA140, 0xA7A0, 0x40, 0xA0, 0xE4C6),
    ),
    949: (
        (0xC9A1, 0xC9FE, 0xA1, 0xFE, 0xE000),
        (0xFEA1, 0xFEFE, 0xA1, 0xFE, 0xE05E),
    ),
    950: (
        (0xFA40, 0xFEFE, 0x40, 0xFE, 0xE000),
        (0x8E40, 0xA0FE, 0x40, 0xFE, 0xE311),
        (0x8140, 0x8DFE, 0x40, 0xFE, 0xEEB8),
        (0xC6A1, 0xC8FE, 0x40, 0xFE, 0xF6B1),
    ),
}

# Codes of 936 that its standard leaves empty: these, in order, from U+E766 on.
EMPTY_936 = (0xA2A1, 0xFEA0, 0xE766)

# Lone bytes that the codecs refuse or read in another way.
SINGLE = {
    932: {0x80: 0x80, 0xA0: 0xF8F0, 0xFD: 0xF8F1, 0xFE: 0xF8F2, 0xFF: 0xF8F3},
    936: {0x80: 0x20AC, 0xFF: 0xF8F5},
    949: {0x80: 0x80, 0xFF: 0xF8F7},
    950: {0x80: 0x80, 0xFF: 0xF8F8},
}


def decode(codec, data):
    """One character, or None."""
    try:
        text = data.decode(codec)
    except UnicodeDecodeError:
        return None
    return ord(text) if len(text) == 1 else None


def trails_of(page):
    """The bytes that may come second: 950 has a gap, the others lack 7F."""
    gap = range(0x7F, 0xA1) if page == 950 else (0x7F,)
    return [t for t in range(0x40, 0xFF) if t not in gap]


def add_private(page, pairs):
    for first, last, low, high, point in PRIVATE[page]:
        for code in range(first, last + 1):
            trail = code & 0xFF
            if trail in trails_of(page) and low <= trail <= high:
                pairs[code] = point
                point += 1
    if page == 936:
        first, last, point = EMPTY_936
        for code in range(first, last + 1):
            if code & 0xFF in trails_of(page) and code not in pairs:
                pairs[code] = point
                point += 1


def pairs_of(page, codec):
    pairs = {}
    for lead in range(0x81, 0xFF):
        for trail in trails_of(page):
            point = decode(codec, bytes((lead, trail)))
            if point is not None:
                pairs[lead << 8 | trail] = point
    add_private(page, pairs)
    return pairs


def single_of(page, codec, leads):
    row = []
    for byte in range(0x80, 0x100):
        point = SINGLE[page].get(byte)
        if point is None and leads[0] <= byte <= leads[-1]:
            point = decode(codec, bytes((byte,))) or LEAD
        if point is None:
            point = decode(codec, bytes((byte,))) or 0
        row.append(point)
    return row


def literal(row):
    text = "".join(row).rstrip(HOLE)
    pieces = [text[i : i + PER_LINE] for i in range(0, len(text), PER_LINE)]
    return "\n".join('        u"%s"' % p for p in pieces or [""])


def write_page(out, page, codec, low, high):
    pairs = pairs_of(page, codec)
    leads = sorted({code >> 8 for code in pairs})
    out.append("static const uint16_t pairs%d[%d][%d] = {" % (
        page, leads[-1] - leads[0] + 1, high - low + 1))
    for lead in range(leads[0], leads[-1] + 1):
        codes = (lead << 8 | trail for trail in range(low, high + 1))
        row = [chr(pairs[c]) if c in pairs else HOLE for c in codes]
        out.append("    /* %02X */\n%s," % (lead, literal(row)))
    out.append("};\n")
    row = single_of(page, codec, leads)
    out.append("static const uint16_t single%d[128] = {" % page)
    for i in range(0, 128, 8):
        out.append("    " + " ".join("0x%04X," % p for p in row[i : i + 8]))
    out.append("};\n")
    return "    {single%d, pairs%d[0], 0x%02X, 0x%02X, 0x%02X, 0x%02X}," % (
        page, page, leads[0], leads[-1], low, high)


HEAD = """\
/* SPDX-License-Identifier: MIT */
/* tds_codepage_wide.c - the code pages of two-byte characters.
 *
 * Written by gen_codepage.py; do not edit.  A row holds the characters of one
 * lead byte by trail byte; '.' and what is left out are not defined.  Rows are
 * UTF-16 literals, which are shorter and easier to read than numbers. */
#include "tds_codepage.h"

/* clang-format off */
"""

TAIL = """\
/* clang-format on */
const struct tds_codepage_wide *tds_codepage_wide(uint8_t page) {
  return &pages[page - TDS_CP932];
}
"""


def generate():
    out = [HEAD]
    table = [write_page(out, *page) for page in PAGES]
    out.append("static const struct tds_codepage_wide pages[] = {")
    out.extend(table)
    out.append("};")
    out.append(TAIL)
    return "\n".join(out)


def main():
    check = sys.argv[1:2] == ["--check"]
    path = sys.argv[-1]
    text = generate()
    if not check:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return 0
    with open(path, encoding="utf-8") as f:
        same = f.read() == text
    print("%d passed, %d failed" % (same, not same))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
