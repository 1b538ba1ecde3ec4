#!/usr/bin/env python3
"""Derives the coefficients of kernels/ops/math_f32*.h: minimax fits in 40 digits (mpmath).

    fit_polynomials.py [name ...]     prints coefficients and errors, of all fits by default

A polynomial is fitted by Remez exchange, a quotient by reweighted least squares. Coefficients for
float arithmetic are rounded one after another, lowest power first, and the rest is fitted again.
"""

import struct
import sys

from mpmath import lu_solve, matrix, mp, mpf

mp.dps = 40
ONE = mpf(1)


def to_float(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def chebyshev(low, high, n, shift=mpf("0.5")):
    middle, half = (low + high) / 2, (high - low) / 2
    return [middle - half * mp.cos(mp.pi * (i + shift) / n) for i in range(n)]


def extrema(values, count):
    """Places of `count` alternating extrema of a sampled error, or None."""
    found = []
    for i, e in enumerate(values):
        before = i == 0 or abs(e) >= abs(values[i - 1])
        after = i + 1 == len(values) or abs(e) >= abs(values[i + 1])
        if not (before and after):
            continue
        if found and (values[found[-1]] > 0) == (e > 0):
            if abs(e) > abs(values[found[-1]]):
                found[-1] = i
        else:
            found.append(i)
    while len(found) > count:
        found.pop(0 if abs(values[found[0]]) < abs(values[found[-1]]) else -1)
    return found if len(found) == count else None


def remez(function, weight, powers, low, high, fixed):
    """Minimises max |(function - polynomial) * weight|; coefficients in `fixed` stay."""
    free = [p for p in powers if p not in fixed]
    grid = chebyshev(low, high, 800)
    f, w = [function(x) for x in grid], [weight(x) for x in grid]
    places = [round(800 * (i + mpf("0.47")) / (len(free) + 1)) for i in range(len(free) + 1)]
    best = None
    for _ in range(30):
        a, b = matrix(len(places), len(places)), matrix(len(places), 1)
        for row, i in enumerate(places):
            for column, p in enumerate(free):
                a[row, column] = grid[i] ** p * w[i]
            a[row, len(free)] = (-1) ** row
            b[row] = (f[i] - sum(c * grid[i] ** p for p, c in fixed.items())) * w[i]
        solution = lu_solve(a, b)
        c = dict(fixed)
        c.update({p: solution[k] for k, p in enumerate(free)})
        error = [(f[i] - sum(c[p] * x**p for p in c)) * w[i] for i, x in enumerate(grid)]
        worst = max(abs(e) for e in error)
        if best is None or worst < best[0]:
            best = (worst, c)
        new = extrema(error, len(places))
        if new is None or new == places:
            break
        places = new
    return best


def polynomial(name, function, weight, powers, low, high, single=True, fixed=None):
    c = dict(fixed or {})
    ideal, all_free = remez(function, weight, powers, low, high, c)
    if single:
        for p in powers:
            if p in c:
                continue
            c[p] = to_float(remez(function, weight, powers, low, high, c)[1][p])
    else:
        c = all_free
    grid = chebyshev(low, high, 3000)
    worst = max(abs((function(x) - sum(c[p] * x**p for p in c)) * weight(x)) for x in grid)
    report(name, worst, ideal, [(f"x^{p}", c[p]) for p in powers])


def report(name, worst, ideal, coefficients):
    print(f"{name}: error 2^{float(mp.log(worst, 2)):.2f}, before rounding 2^"
          f"{float(mp.log(ideal, 2)):.2f}")
    for label, value in coefficients:
        print(f"    {label:5} {float(value).hex():28} {float(value)!r}")
    sys.stdout.flush()


def quotient(name, function, degrees, high, fixed=None):
    """function(x) on [0, high] as N(x) / D(x) with D(0) = 1, relative error minimised."""
    top, bottom = degrees
    keys = [("n", k) for k in range(top + 1)] + [("d", k) for k in range(1, bottom + 1)]
    points = [high * (1 - mp.cos(mp.pi * (i + mpf("0.5")) / 320)) ** mpf("1.5") for i in range(160)]
    points = [x for x in points if x <= high] + [high]
    values = [function(x) for x in points]

    def evaluate(c, kind, x):
        return (1 if kind == "d" else 0) + sum(v * x**k for (t, k), v in c.items() if t == kind)

    def solve(known, rounds):
        free = [key for key in keys if key not in known]
        importance, divisor, best = [ONE] * len(points), [ONE] * len(points), None
        for _ in range(rounds):
            a, b = matrix(len(free), len(free)), matrix(len(free), 1)
            for i, x in enumerate(points):
                scale = 1 / (values[i] * divisor[i])

                def term(key):
                    return scale * x ** key[1] * (1 if key[0] == "n" else -values[i])

                row = [term(key) for key in free]
                right = values[i] * scale - sum(term(key) * v for key, v in known.items())
                for p, left in enumerate(row):
                    b[p] += importance[i] * left * right
                    for q, other in enumerate(row):
                        a[p, q] += importance[i] * left * other
            solution = lu_solve(a, b)
            c = dict(known)
            c.update({key: solution[p] for p, key in enumerate(free)})
            divisor = [evaluate(c, "d", x) for x in points]
            error = [abs(evaluate(c, "n", x) / divisor[i] / values[i] - 1)
                     for i, x in enumerate(points)]
            if best is None or max(error) < best[0]:
                best = (max(error), c)
            mean = sum(w * e for w, e in zip(importance, error)) / len(points)
            importance = [max(w * e / mean, mpf("1e-12")) for w, e in zip(importance, error)]
        return best

    ideal, c = solve({}, 60)
    known = {}
    for key in sorted(keys, key=lambda k: (k[1], k[0] == "n")):
        known[key] = to_float(c[key])
        if len(known) < len(keys):
            c = solve(known, 25)[1]
    worst = max(abs(evaluate(known, "n", x) / evaluate(known, "d", x) / function(x) - 1)
                for x in (high * mpf(i) / 3000 for i in range(3001)))
    report(name, worst, ideal, [(f"{t}{k}", known[t, k]) for t, k in keys])


def away_from_zero(function, at):
    """function without the cancellation of its formula at zero."""
    return lambda x: function(x if abs(x) > at else at)


HALF_LN2 = mp.log(2) / 2 * mpf("1.001")
TINY = mpf("1e-12")
HALF_PI = mp.pi / 2
TAN_PI_8 = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * mpf("1.0005")

exp_tail = away_from_zero(lambda r: (mp.exp(r) - 1 - r) / r**2, TINY)
log_tail = away_from_zero(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, TINY)


def odd(function, minus=0):
    """z -> function(sqrt(z)) / sqrt(z) - minus, for odd functions."""
    return away_from_zero(lambda z: function(mp.sqrt(z)) / mp.sqrt(z) - minus, mpf("1e-20"))


def mills(a):
    return mp.erfc(a / mp.sqrt(2)) / 2 * mp.exp(a * a / 2)


FITS = {
    # e^r = 1 + r + r^2 p(r)
    "exp": lambda name: polynomial(
        name, exp_tail, lambda r: (r * r + mpf("0.002")) / mp.exp(r), range(5), -HALF_LN2,
        HALF_LN2),
    # e^r - 1 = r + r^2 p(r)
    "expm1": lambda name: polynomial(
        name, exp_tail, lambda r: abs(r) + mpf("0.01"), range(5), -HALF_LN2, HALF_LN2),
    # log(1 + f) = f - f^2 / 2 + f^3 p(f)
    "log": lambda name: polynomial(
        name, log_tail, lambda f: f * f + mpf("0.003"), range(9),
        (mp.sqrt(mpf("0.5")) - 1) * mpf("1.0005"), (mp.sqrt(2) - 1) * mpf("1.0005")),
    # tanh x = x + x^3 p(x^2)
    "tanh": lambda name: polynomial(
        name, away_from_zero(lambda z: (mp.tanh(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** 3,
                             mpf("1e-14")),
        lambda z: z + mpf("1e-6"), range(5), mpf(0), mpf("0.55") ** 2),
    # erf x = x + x p(x^2)
    "erf_small": lambda name: polynomial(
        name, odd(mp.erf, 1), lambda z: 1 / odd(mp.erf)(z), range(7), mpf(0), mpf("0.9") ** 2),
    # erf x = 1 - exp(-p(x))
    "erf_large": lambda name: polynomial(
        name, lambda a: -mp.log(mp.erfc(a)), lambda a: mp.erfc(a) / mp.erf(a), range(8),
        mpf("0.85"), mpf(4)),
    # P(X < -a) = exp(-a^2 / 2) n(a) / d(a)
    "normal_cdf": lambda name: quotient(name, mills, (5, 6), mpf("14.6")),
    # log2((1 + s) / (1 - s)) = s p(s^2), in double
    "log2": lambda name: polynomial(
        name, odd(lambda s: mp.log((1 + s) / (1 - s), 2)),
        lambda z: 1 / odd(lambda s: mp.log((1 + s) / (1 - s), 2))(z), range(5), mpf(0),
        TAN_PI_8**2, single=False),
    # 2^f, in double
    "exp2": lambda name: polynomial(
        name, lambda f: mpf(2) ** f, lambda f: mpf(2) ** -f, range(7), mpf("-0.5001"),
        mpf("0.5001"), single=False, fixed={0: ONE}),
    # sin(pi / 2 f) = f p(f^2), cos(pi / 2 f) = p(f^2), in double
    "sin": lambda name: polynomial(
        name, odd(lambda f: mp.sin(HALF_PI * f)), lambda z: 1 / odd(
            lambda f: mp.sin(HALF_PI * f))(z), range(5), mpf(0), mpf("0.2503"), single=False),
    "cos": lambda name: polynomial(
        name, lambda z: mp.cos(HALF_PI * mp.sqrt(z)), lambda z: 1 / mp.cos(
            HALF_PI * mp.sqrt(z)), range(5), mpf(0), mpf("0.2503"), single=False, fixed={0: ONE}),
    # 1 / (2 pi) in pieces of 28 bits
    "turn": lambda name: turn_pieces(name),
}


def turn_pieces(name):
    rest, digits, pieces = 1 / (2 * mp.pi), 30, []
    with mp.workdps(90):
        rest = 1 / (2 * mp.pi)
        for k in range(7):
            piece = mp.floor(mp.ldexp(rest, digits))
            pieces.append((f"c{k}", mp.ldexp(piece, -digits)))
            rest -= pieces[-1][1]
            digits += 28
    report(name, rest, rest, pieces)


def main(names):
    for name in names or FITS:
        FITS[name](name)


if __name__ == "__main__":
    main(sys.argv[1:])
