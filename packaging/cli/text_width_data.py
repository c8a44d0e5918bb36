#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes text_width_data.h from the Unicode data of this Python."""
import sys
import unicodedata as u


def zero(c):
    """Combining marks, format characters, Hangul vowels and finals."""
    if 0x1160 <= c <= 0x11FF or 0xD7B0 <= c <= 0xD7FB:
        return True
    category = u.category(chr(c))
    return c >= 0x300 and category in ("Mn", "Me", "Cf")


def double(c):
    """East Asian Wide and Fullwidth; unassigned ideographs count as wide."""
    if zero(c):
        return False
    if 0x20000 <= c <= 0x2FFFD or 0x30000 <= c <= 0x3FFFD:
        return True
    return u.east_asian_width(chr(c)) in ("W", "F")


def ranges(test):
    """The runs of characters for which test holds."""
    first = None
    for c in range(0x300, 0x110001):
        inside = c < 0x110000 and test(c)
        if inside and first is None:
            first = c
        elif not inside and first is not None:
            yield first, c - 1
            first = None


def table(name, test):
    """One C array."""
    print(f"static const struct char_range {name}[] = {{")
    row = [f"{{0x{a:05X}, 0x{b:05X}}}," for a, b in ranges(test)]
    for i in range(0, len(row), 3):
        print("    " + " ".join(row[i:i + 3]))
    print("};")


print("/* SPDX-License-Identifier: MIT */")
print(f"/* Written by text_width_data.py from Unicode {u.unidata_version}. */")
print("/* clang-format off */")
print("#ifndef WEIRCTL_TEXT_WIDTH_DATA_H")
print("#define WEIRCTL_TEXT_WIDTH_DATA_H\n")
print("#include <stdint.h>\n")
print("struct char_range {\n  uint32_t first;\n  uint32_t last;\n};\n")
table("zero_width", zero)
print()
table("double_width", double)
print("\n#endif")
sys.exit(0)
