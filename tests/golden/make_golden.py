#!/usr/bin/env python3
"""Makes the golden points of the elementwise rows, from mpmath in 60 digits.

    make_golden.py            prints the initialisers of every row
    make_golden.py --check F  compares the points written in the headers F with freshly made ones
    make_golden.py --write F  rewrites them (clang-format lays them out)

Inputs are exact in float32, so that a float kernel and this script see the same numbers. Formulas
are the textbook ones and share nothing with the library's.
"""

import re
import struct
import sys

from mpmath import mp, mpf

mp.dps = 60


def exact(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def gelu_tanh(x):
    return x / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mpf("0.044715") * x**3)))


def round_even(x):
    low = mp.floor(x)
    if x - low == mpf(1) / 2:
        return low if int(low) % 2 == 0 else low + 1
    return mp.floor(x + mpf(1) / 2)


def truncate(x):
    return mp.floor(x) if x >= 0 else mp.ceil(x)


def same(x):
    return x


# name: (function, points); a point is a tuple of inputs, or a number for one operand.
NEAR = exact(0.1)
ROWS = {
    "neg": (lambda x: -x, [1.5, -2.25, 0.0]),
    "abs": (abs, [1.5, -2.25, 0.0]),
    "sign": (mp.sign, [1.5, -2.25, 0.0]),
    "exp": (mp.exp, [0.0, 1.0, -1.0, 0.25, 20.0, -40.0, 88.5, -95.0]),
    "expm1": (mp.expm1, [1.0, -1.0, 2.0**-20, -(2.0**-12), 0.5, 20.0, -10.0, 88.5]),
    "log": (mp.log, [1.0, 2.0, 0.5, 10.0, 1.0 + 2.0**-12, 0.75, 1e10, 2.0**-130]),
    "log1p": (mp.log1p, [1.0, -0.5, 2.0**-20, -(2.0**-12), 0.25, 1000.0, -0.984375, 2.0**70]),
    "sqrt": (mp.sqrt, [2.0, 0.5, 1e6, 2.0**-140]),
    "std": (mp.sqrt, [2.0, 0.25, 0.0]),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), [2.0, 0.5, 1e6, 2.0**-140]),
    "square": (lambda x: x * x, [1.5, -3.0, NEAR]),
    "reciprocal": (lambda x: 1 / x, [3.0, -0.75, 1000.0]),
    "sin": (mp.sin, [0.5, -1.0, 3.0, 100.0, 1e5, exact(1e30), 2.0**-20]),
    "cos": (mp.cos, [0.0, 0.5, -1.0, 1.5703125, 100.0, 1e5, exact(1e30)]),
    "floor": (mp.floor, [1.5, -1.5, 2.0, -0.25]),
    "ceil": (mp.ceil, [1.5, -1.5, 2.0, 0.25]),
    "trunc": (truncate, [1.75, -1.75, 2.0, 0.25]),
    "round": (round_even, [0.5, 1.5, 2.5, -2.5, 0.75, 8388609.0]),
    "logical_not": (lambda x: mpf(x == 0), [0.0, 1.0, -0.5]),
    "isnan": (lambda x: mpf(0), [0.0, 1.0, -0.5]),
    "tanh": (mp.tanh, [0.0, 0.25, -0.5, 0.5625, 1.0, -3.0, 8.0, 2.0**-15]),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), [0.0, 1.0, -1.0, 10.0, -20.0, -85.0, -100.0]),
    "erf": (mp.erf, [0.0, 0.25, -0.5, 0.875, 1.0, -2.0, 3.5, 2.0**-15]),
    "relu": (lambda x: max(x, mpf(0)), [1.5, -2.25, 0.0]),
    "gelu": (lambda x: x * mp.ncdf(x), [0.0, 1.0, -1.0, 0.25, -3.0, -5.5, -10.0, 4.0]),
    "gelu_tanh": (gelu_tanh, [0.0, 1.0, -1.0, 0.25, -3.0, 4.0]),
    "silu": (lambda x: x / (1 + mp.exp(-x)), [0.0, 1.0, -1.0, 10.0, -20.0, -85.0]),
    "softplus": (lambda x: mp.log1p(mp.exp(x)), [0.0, 1.0, -1.0, 30.0, -20.0, -85.0]),
    "add": (lambda a, b: a + b, [(1.5, 2.25), (NEAR, -3.0), (1.0, 2.0**-30)]),
    "sub": (lambda a, b: a - b, [(1.5, 2.25), (NEAR, -3.0), (1.0, 2.0**-30)]),
    "mul": (lambda a, b: a * b, [(1.5, 2.25), (NEAR, -3.0), (NEAR, NEAR)]),
    "div": (lambda a, b: a / b, [(1.0, 3.0), (-2.0, 7.0), (NEAR, -0.75)]),
    "pow": (
        mp.power,
        [(2.0, 10.0), (2.0, 0.5), (10.0, -3.0), (1.0 + 2.0**-10, 1000.0), (0.75, 300.0),
         (-3.0, 3.0), (-2.0, -4.0), (7.0, 0.0)],
    ),
    "maximum": (max, [(1.5, 2.25), (NEAR, -3.0), (-1.0, -1.0)]),
    "minimum": (min, [(1.5, 2.25), (NEAR, -3.0), (-1.0, -1.0)]),
    "clamp_min": (max, [(1.5, 2.25), (2.5, 2.25), (-1.0, -1.0)]),
    "clamp_max": (min, [(1.5, 2.25), (2.5, 2.25), (-1.0, -1.0)]),
    "floor_divide": (
        lambda a, b: mp.floor(a / b),
        [(7.0, 2.0), (-7.0, 2.0), (7.0, -2.0), (1.0, NEAR), (0.5, NEAR), (6.0, exact(0.2)),
         (exact(0.7), NEAR), (3.0, NEAR)],
    ),
    "remainder": (
        lambda a, b: a - b * mp.floor(a / b),
        [(7.0, 4.0), (-7.0, 4.0), (7.0, -4.0), (1.0, NEAR), (-5.5, 2.25)],
    ),
    "fmod": (
        lambda a, b: a - b * truncate(a / b),
        [(7.0, 4.0), (-7.0, 4.0), (7.0, -4.0), (1.0, NEAR), (-5.5, 2.25), (1e30, 3.0)],
    ),
    "eq": (lambda a, b: mpf(a == b), [(1.0, 2.0), (2.0, 2.0), (2.0, 1.0)]),
    "ne": (lambda a, b: mpf(a != b), [(1.0, 2.0), (2.0, 2.0), (2.0, 1.0)]),
    "lt": (lambda a, b: mpf(a < b), [(1.0, 2.0), (2.0, 2.0), (2.0, 1.0)]),
    "le": (lambda a, b: mpf(a <= b), [(1.0, 2.0), (2.0, 2.0), (2.0, 1.0)]),
    "gt": (lambda a, b: mpf(a > b), [(1.0, 2.0), (2.0, 2.0), (2.0, 1.0)]),
    "ge": (lambda a, b: mpf(a >= b), [(1.0, 2.0), (2.0, 2.0), (2.0, 1.0)]),
    "logical_and": (lambda a, b: mpf(bool(a) and bool(b)), [(1.0, 2.0), (0.0, 2.0), (0.0, 0.0)]),
    "logical_or": (lambda a, b: mpf(bool(a) or bool(b)), [(1.0, 2.0), (0.0, 2.0), (0.0, 0.0)]),
    "where": (lambda c, a, b: a if c else b, [(1.0, 2.5, 3.5), (0.0, 2.5, 3.5)]),
    "clamp": (
        lambda x, low, high: min(max(x, low), high),
        [(0.5, 1.0, 2.0), (1.5, 1.0, 2.0), (2.5, 1.0, 2.0), (0.0, 2.0, 1.0)],
    ),
    "lerp": (
        lambda a, b, w: a + w * (b - a),
        [(1.0, 3.0, 0.25), (1.0, 3.0, 0.75), (NEAR, 7.0, 1.0), (NEAR, 7.0, 0.375)],
    ),
    "addcmul": (
        lambda x, a, b, scale: x + scale * a * b,
        [(1.0, 2.0, 3.0, 0.5), (NEAR, NEAR, 7.0, 1.5)],
    ),
    "addcdiv": (
        lambda x, a, b, scale: x + scale * a / b,
        [(1.0, 2.0, 3.0, 0.5), (NEAR, NEAR, 7.0, 1.5)],
    ),
}


def number(x):
    return repr(float(x)).removesuffix(".0").replace("e+", "e").replace(".0e", "e")


def initialiser(name):
    function, points = ROWS[name]
    items = []
    for point in points:
        inputs = tuple(exact(x) for x in (point if isinstance(point, tuple) else (point,)))
        y = function(*(mpf(x) for x in inputs))
        items.append("{{%s}, %s}" % (", ".join(number(x) for x in inputs), number(y)))
    return "  static constexpr Golden golden[] = {%s};" % ", ".join(items)


BLOCK = re.compile(r'  static constexpr Golden golden\[\] = \{.*?\};', re.S)
NAME = re.compile(r'static constexpr const char\* name = "(\w+)";')


def rewritten(text):
    """The header with every stale golden block made anew; a row's block follows its name."""
    names = [(m.start(), m.group(1)) for m in NAME.finditer(text)]

    def fresh(match):
        made = initialiser([name for at, name in names if at < match.start()][-1])
        return match[0] if "".join(match[0].split()) == "".join(made.split()) else made

    return BLOCK.sub(fresh, text)


def main(arguments):
    if not arguments:
        for name in ROWS:
            print(name)
            print(initialiser(name))
        return 0
    mode, stale = arguments[0], 0
    for path in arguments[1:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        new = rewritten(text)
        if new != text and mode == "--write":
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
        elif new != text:
            print(f"{path}: golden points differ from freshly made ones")
            stale += 1
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
