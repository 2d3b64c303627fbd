#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write src/base/elementary_tables.h: constants of the elementary functions, each as a double and what is left of it."""
import os
import struct
from decimal import Decimal as D, getcontext

getcontext().prec = 450
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def arctan(x):
    """By halving the angle, then the series."""
    halvings = 0
    while abs(x) > D("0.01"):
        x = x / (1 + (1 + x * x).sqrt())
        halvings += 1
    total, power, n = D(0), x, 1
    while abs(power) > D(10) ** -445:
        total += power / n if n % 4 == 1 else -power / n
        power *= x * x
        n += 2
    return total * 2 ** halvings


PI = 4 * arctan(D(1))
LN2 = D(2).ln()


def nearest(value):
    return float(value)  # correctly rounded by Python


def cut(value, bits):
    """The double that has the first bits of a value."""
    number = nearest(value)
    raw, = struct.unpack("<q", struct.pack("<d", number))
    raw &= ~((1 << (53 - bits)) - 1)
    return struct.unpack("<d", struct.pack("<q", raw))[0]


def pair(value):
    high = nearest(value)
    return high, nearest(value - D(high))


def table(name, rows, note):
    lines = [f"// {note}", f"static const double {name}[][2] = {{"]
    lines += [f"    {{{h.hex()}, {l.hex()}}}," for h, l in rows]
    return "\n".join(lines) + "\n};\n"


def three(name, value, bits, note):
    first = cut(value, bits)
    second = cut(value - D(first), bits)
    third = nearest(value - D(first) - D(second))
    return (f"// {note}\nstatic const double {name}[3] = {{{first.hex()}, {second.hex()},\n"
            f"    {third.hex()}}};\n")


def logarithms():
    """For the k-th part of [1, 2): a factor of nine bits that brings it near 1, and minus its logarithm."""
    rows = []
    for k in range(128):
        middle = D(1) + (D(k) + D("0.5")) / 128
        if k >= 53:  # beyond the root of 2 the number is halved first
            middle /= 2
        factor = D(int((1 / middle) * 256 + D("0.5"))) / 256
        if k == 0 or k == 127:
            factor = D(1)
        rows.append((float(factor), *pair(-factor.ln())))
    lines = ["// factors that bring m near 1, and minus their logarithms", "static const double log_table[][3] = {"]
    lines += [f"    {{{f.hex()}, {h.hex()}, {l.hex()}}}," for f, h, l in rows]
    return "\n".join(lines) + "\n};\n"


def two_over_pi():
    value = 2 / PI
    words = []
    for _ in range(40):
        value *= 2 ** 32
        word = int(value)
        value -= word
        words.append(f"0x{word:08x}u")
    lines = [", ".join(words[i:i + 8]) for i in range(0, 40, 8)]
    return "// bits of 2/pi behind the point\nstatic const uint32_t two_over_pi[40] = {\n    " + ",\n    ".join(lines) + "};\n"


def main():
    parts = [
        "// SPDX-License-Identifier: MIT\n//\n// Made by scripts/gen_elementary.py.\n#include <stdint.h>\n",
        table("exp_table", [pair((LN2 * k / 64).exp()) for k in range(64)], "2^(k/64)"),
        logarithms(),
        table("atan_table", [pair(arctan(D(k) / 16)) for k in range(17)], "atan(k/16)"),
        three("ln2_64", LN2 / 64, 32, "ln(2)/64"),
        three("ln2", LN2, 40, "ln(2)"),
        three("half_pi", PI / 2, 33, "pi/2"),
        table("constants", [pair(PI), pair(PI / 2), pair(1 / D(10).ln()), pair(2 / PI.sqrt())], "pi, pi/2, 1/ln(10), 2/sqrt(pi)"),
        two_over_pi(),
    ]
    with open(os.path.join(ROOT, "src", "base", "elementary_tables.h"), "w", encoding="ascii") as out:
        out.write("\n".join(parts))


main()
