"""Fits the coefficients in math.h and its kin: prints them. Own fits: least squares on Chebyshev points, reweighted until
the largest relative error is (almost) minimal, then rounded to float from the highest degree down. Those of doubles
(math_double*.h) come from sums of Chebyshev polynomials (fit_doubles.py). fit_special.py has the special functions."""

import math

import mpmath
import numpy as np
from fit_doubles import power_series, show_doubles
from mpmath import mpf


def points(low, high, count=6000):
    return 0.5 * (low + high) + 0.5 * (high - low) * np.cos(np.pi * (np.arange(count) + 0.5) / count)


def fit(f, low, high, p, q=0, weight=None, steps=80):
    """f(s) ~ P(s) / Q(s) with degrees p, q and Q(0) = 1, minimising the largest |error| * weight (default 1 / |f|)."""
    s = points(low, high)
    y = f(s)
    w = 1 / np.abs(y) if weight is None else weight(s)
    lawson = np.ones_like(s)
    scale = max(abs(low), abs(high))
    powers = np.vander(s / scale, max(p, q) + 1, increasing=True)
    denominator = np.ones_like(s)
    best = (math.inf, None)
    for step in range(steps):
        base = w * lawson / np.abs(denominator)
        matrix = np.concatenate([powers[:, : p + 1], -(y[:, None] * powers[:, 1 : q + 1])], 1) * base[:, None]
        c, *_ = np.linalg.lstsq(matrix, y * base, rcond=None)
        denominator = 1 + powers[:, 1 : q + 1] @ c[p + 1 :]
        error = np.abs(powers[:, : p + 1] @ c[: p + 1] / denominator - y) * w
        if error.max() < best[0]:
            best = (error.max(), c.copy())
        if step > 5:
            lawson *= (error / error.max() + 0.02) ** 0.5
            lawson /= lawson.max()
    c = best[1]
    numerator = [c[i] / scale**i for i in range(p + 1)]
    return best[0], numerator, [1.0] + [c[p + 1 + i] / scale ** (i + 1) for i in range(q)]


def show(name, error, *polynomials):
    print(f"// {name}: error of the fit {error:.1e}")
    for c in polynomials:
        print("  {" + ", ".join(f"{k:.17g}" if name.endswith("double") else f"{np.float32(k)!s}f" for k in reversed(c)) + "}")


def ratio(numerator, s, small, at_zero):
    return np.where(np.abs(s) < small, at_zero, numerator / np.where(s == 0, 1, s))


def root(f, at_zero):
    """f odd: f(sqrt s) / sqrt s."""
    return lambda s: np.where(s < 1e-9, at_zero, f(np.sqrt(s)) / np.sqrt(np.maximum(s, 1e-300)))


half_ln2 = 0.5 * math.log(2) + 1e-4
erf = np.vectorize(math.erf)


def exp_tail(r):  # (e^r - 1 - r) / r^2
    series = sum(r**k / math.factorial(k + 2) for k in range(14))
    return series


def log_tail(f):  # (log(1 + f) - f + f^2 / 2) / f^3
    series = sum((-1) ** k * f**k / (k + 3) for k in range(30))
    return np.where(np.abs(f) < 0.05, series, (np.log1p(f) - f + f * f / 2) / np.where(f == 0, 1, f) ** 3)


def sin_tail(s):  # (sin r - r) / r^3, s = r^2
    return sum((-1) ** (k + 1) * s**k / math.factorial(2 * k + 3) for k in range(10))


def cos_tail(s):  # (cos r - 1 + r^2 / 2) / r^4
    return sum((-1) ** k * s**k / math.factorial(2 * k + 4) for k in range(10))


e, p, _ = fit(exp_tail, -half_ln2, half_ln2, 4, weight=lambda r: r * r)
show("exp: (e^r - 1 - r) / r^2 on |r| <= ln(2) / 2", e, p)
e, p, _ = fit(log_tail, math.sqrt(0.5) - 1, math.sqrt(2) - 1, 7, weight=lambda f: np.abs(f**3 / np.log1p(f)))
show("log: (log(1 + f) - f + f^2 / 2) / f^3 on [sqrt(1/2), sqrt(2)] - 1", e, p)
quarter = (math.pi / 4 + 1e-3) ** 2
e, p, _ = fit(sin_tail, 1e-9, quarter, 3, weight=lambda s: s)
show("sin: (sin r - r) / r^3 in r^2, |r| <= pi / 4", e, p)
e, p, _ = fit(cos_tail, 1e-9, quarter, 2, weight=lambda s: s * s)
show("cos: (cos r - 1 + r^2 / 2) / r^4 in r^2, |r| <= pi / 4", e, p)
e, p, q = fit(root(np.tanh, 1.0), 0, 9.02**2, 5, 4)
show("tanh: tanh(x) / x in x^2, |x| <= 9.02", e, p, q)
e, p, q = fit(root(erf, 2 / math.sqrt(math.pi)), 0, 3.95**2, 5, 5)
show("erf: erf(x) / x in x^2, |x| <= 3.95", e, p, q)
e, p, _ = fit(root(erf, 2 / math.sqrt(math.pi)), 0, 0.25, 4)
show("erf: erf(x) / x in x^2, |x| <= 1/2", e, p)

def atan_tail(s):  # (atan x - x) / x^3, s = x^2
    series = sum((-1) ** (k + 1) * s**k / (2 * k + 3) for k in range(60))
    return series


def asin_tail(s):  # (asin x - x) / x^3, s = x^2
    return sum(math.comb(2 * k, k) / 4.0**k / (2 * k + 1) * s ** (k - 1) for k in range(1, 40))


def sinh_tail(s):  # (sinh x - x) / x^3, s = x^2
    return sum(s**k / math.factorial(2 * k + 3) for k in range(10))


def scaled_erfc(x):  # erfc(x) exp(x^2): a continued fraction where exp overflows
    def one(v):
        if v < 5:
            return math.erfc(v) * math.exp(v * v)
        t = v
        for k in range(60, 0, -1):
            t = v + k / 2 / t
        return 1 / (t * math.sqrt(math.pi))

    return np.vectorize(one)(x)


def erfinv_share(w):  # erfinv(x) / x where w = -log(1 - x^2)
    def one(w):
        x = math.sqrt(-math.expm1(-w)) if w > 1e-12 else 0.0
        if x == 0:
            return math.sqrt(math.pi) / 2
        rest = math.exp(-w) / (1 + x)  # 1 - x
        y = math.sqrt(max(w - math.log(max(w, 1.0)) / 2, 0)) * 0.9 if w > 1 else x * math.sqrt(math.pi) / 2
        for _ in range(60):
            error = (math.erf(y) - x) if x < 0.5 else (rest - math.erfc(y))
            slope = 2 / math.sqrt(math.pi) * math.exp(-y * y)
            newton = error / slope
            y -= newton / (1 + y * newton)
        return y / x

    return np.vectorize(one)(w)


e, p, _ = fit(atan_tail, 1e-9, 0.4143**2, 3, weight=lambda s: s)
show("atan: (atan x - x) / x^3 in x^2, |x| <= tan(pi / 8)", e, p)
e, p, _ = fit(asin_tail, 1e-9, 0.2501, 4, weight=lambda s: s)
show("asin: (asin x - x) / x^3 in x^2, |x| <= 1/2", e, p)
e, p, _ = fit(sinh_tail, 1e-9, 1.0, 2, weight=lambda s: s)
show("sinh: (sinh x - x) / x^3 in x^2, |x| <= 1", e, p)
e, p, q = fit(scaled_erfc, 0.45, 10.1, 4, 5)
show("erfc: erfc(x) exp(x^2) on [0.45, 10.1]", e, p, q)
e, p, _ = fit(lambda t: erfinv_share(t + 2.5), -2.5, 2.5, 9)
show("erfinv: erfinv(x) / x in w - 2.5, w = -log(1 - x^2) <= 5", e, p)
e, p, _ = fit(lambda t: erfinv_share((t + 3.1) ** 2), math.sqrt(5) - 3.1, 4.1 - 3.1, 9)
show("erfinv: erfinv(x) / x in sqrt(w) - 3.1, w in [5, 16.8]", e, p)

e, p, _ = fit(lambda r: np.exp2(r), -0.5, 0.5, 7)
show("pow: 2^r on |r| <= 1/2, in double", e, p)

# pi / 2 in pieces of 11 bits, so that n times a piece is exact for n < 2^13, and a rest.
rest = math.pi / 2
rest_low = 6.123233995736766e-17  # what the double leaves out
pieces = []
for _ in range(3):
    exponent = math.frexp(rest)[1]
    piece = math.floor(math.ldexp(rest, 11 - exponent)) / 2.0 ** (11 - exponent)
    pieces.append(piece)
    rest -= piece
print("// pi / 2 =", " + ".join(f"{np.float32(x)!s}f" for x in [*pieces, rest + rest_low]))
for name, constant in (("ln 2", math.log(2)), ("log10 2", math.log10(2))):
    piece = math.floor(constant * 2**15) / 2.0**15  # exact times any exponent of a float
    print(f"// {name} =", f"{np.float32(piece)!s}f + {np.float32(constant - piece)!s}f")


half_ln2 = mpmath.log(2) / 2 + mpf("1e-4")
show_doubles("exp: (e^r - 1 - r) / r^2 on |r| <= ln(2) / 2",
             power_series(lambda k: 1 / mpmath.factorial(k + 2), 28), -half_ln2, half_ln2, 11)
farthest = (mpmath.sqrt(2) - 1) / (mpmath.sqrt(2) + 1)
show_doubles("log: (2 artanh(s) - 2 s) / s^3 in s^2, s = (m - 1) / (m + 1) for m in [sqrt(1/2), sqrt(2)]",
             power_series(lambda k: mpf(2) / (2 * k + 3), 60), 0, farthest**2 + mpf("1e-6"), 7)
show_doubles("log: (log(1 + f) - f + f^2 / 2) / f^3 on [-1/32, 1/16]",
             power_series(lambda k: mpf(-1) ** k / (k + 3), 60), mpf(-1) / 32, mpf(1) / 16, 9)
centres = [1 if k in (0, 15) else (1 + (k + mpf(1) / 2) / 16) / (1 + k // 8) for k in range(16)]
inverses = [mpmath.nint(128 / c) / 128 for c in centres]
high = [mpmath.nint(-mpmath.log(i) * 2**41) / 2**41 for i in inverses]  # a multiple of ln 2 may be added exactly
for name, column in (("1 / c", inverses), ("log(c)", high), ("log(c), the rest", [-mpmath.log(i) - h for i, h in zip(inverses, high)])):
    print(f"// log: {name}\n  {{" + ", ".join(float(x).hex() for x in column) + "}")
quarter = (mpmath.pi / 4 + mpf("1e-3")) ** 2
show_doubles("sin: (sin r - r) / r^3 in r^2, |r| <= pi / 4",
             power_series(lambda k: (-1) ** (k + 1) / mpmath.factorial(2 * k + 3), 20), 0, quarter, 6)
show_doubles("cos: (cos r - 1 + r^2 / 2) / r^4 in r^2, |r| <= pi / 4",
             power_series(lambda k: (-1) ** k / mpmath.factorial(2 * k + 4), 20), 0, quarter, 6)


def tan_tail(z):
    r = mpmath.sqrt(z)
    return mpf(1) / 3 if z < mpf("1e-16") else (mpmath.tan(r) - r) / r**3


show_doubles("tan: (tan r - r) / r^3 in r^2, |r| <= pi / 4", tan_tail, 0, (mpmath.pi / 4 + mpf("1e-6")) ** 2, 14)
show_doubles("erf: erf(x) / x in x^2, |x| <= 1",
             power_series(lambda k: 2 / mpmath.sqrt(mpmath.pi) * (-1) ** k / (mpmath.factorial(k) * (2 * k + 1)), 60),
             0, 1, 12)


def far_erfc(t):
    x = 3 * (1 + t) / (1 - t)
    return mpmath.erfc(x) * mpmath.exp(x * x)


show_doubles("erf: erfc(x) exp(x^2) in (x - 3) / (x + 3), 1 <= x <= 6", far_erfc, mpf(-1) / 2, mpf(1) / 3, 16)
show_doubles("erfc: erfc(x) exp(x^2) (1 + 2 x) in the same, 1/2 <= x <= 28",
             lambda t: far_erfc(t) * (1 + 6 * (1 + t) / (1 - t)), mpf(-5) / 7, mpf(25) / 31, 22)
eighth = mpmath.tan(mpmath.pi / 8) ** 2 + mpf("1e-4")
show_doubles("atan: (atan x - x) / x^3 in x^2, |x| <= tan(pi / 8)",
             power_series(lambda k: mpf(-1) ** (k + 1) / (2 * k + 3), 80), 0, eighth, 12)
show_doubles("asin: (asin x - x) / x^3 in x^2, |x| <= 1/2",
             power_series(lambda k: mpmath.binomial(2 * k + 2, k + 1) / mpf(4) ** (k + 1) / (2 * k + 3), 120),
             0, mpf("0.2501"), 13)
rest = mpmath.pi / 2
pieces = []
for _ in range(3):
    exponent = int(mpmath.frexp(rest)[1])
    pieces.append(mpmath.floor(mpmath.ldexp(rest, 33 - exponent)) * mpf(2) ** (exponent - 33))
    rest -= pieces[-1]
print("// pi / 2 =", " + ".join(float(x).hex() for x in [*pieces, rest]))


def precise_erfinv_share(w):  # erfinv_share in 50 digits
    if w < mpf("1e-30"):
        return mpmath.sqrt(mpmath.pi) / 2
    x = mpmath.sqrt(-mpmath.expm1(-w))
    rest = mpmath.exp(-w) / (1 + x)  # 1 - x
    y = x * mpmath.sqrt(mpmath.pi) / 2 if w < 1 else mpmath.sqrt(max(w - mpmath.log(3.14 * w) / 2, 0.3))
    step = y
    while abs(step) > mpf("1e-36") * y:
        error = mpmath.erf(y) - x if w < 1 else rest - mpmath.erfc(y)
        newton = error / (2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-y * y))
        step = newton / (1 + y * newton)
        y -= step
    return y / x


show_doubles("erfinv: erfinv(x) / x in w - 3.125, w = -log(1 - x^2) <= 6.25",
             lambda t: precise_erfinv_share(t + mpf("3.125")), mpf("-3.125"), mpf("3.125"), 24)
show_doubles("erfinv: erfinv(x) / x in sqrt(w) - 3.25, w in [6.25, 16]",
             lambda t: precise_erfinv_share((t + mpf("3.25")) ** 2), mpf("-0.75"), mpf("0.75"), 20)
show_doubles("erfinv: erfinv(x) / x in sqrt(w) - 5, w in [16, 36.1]",
             lambda t: precise_erfinv_share((t + 5) ** 2), -1, mpf("1.01"), 19)


def lgamma_share(t):  # lgamma(x) / ((x - 1) (x - 2)), x = t + 3/2
    x = t + mpf("1.5")
    for zero, slope in ((1, mpmath.euler), (2, 1 - mpmath.euler)):
        if abs(x - zero) < mpf("1e-20"):
            return slope
    return mpmath.loggamma(x) / ((x - 1) * (x - 2))


show_doubles("lgamma: lgamma(x) / ((x - 1) (x - 2)) in x - 3/2, 3/4 <= x <= 9/4", lgamma_share, mpf("-0.75"), mpf("0.75"), 28)
show_doubles("pow: (2 artanh(s) - 2 s - 2/3 s^3) / (s^5 ln 2) in s^2, as in log",
             power_series(lambda k: 2 / mpmath.log(2) / (2 * k + 5), 60), 0, farthest**2 + mpf("1e-6"), 8)
for k in (1, 3):
    exact = 2 / mpmath.log(2) / k
    print(f"// 2 / ({k} ln 2) =", float(exact).hex(), "+", float(exact - mpf(float(exact))).hex())


def show_pieces(name, f, width=0.39, degree=4, saturated=15):
    """f(x), which goes from 0 to 1, near each multiple of the width: polynomials of x / width - n for n in [-16, 15], whose
    largest |x * error| is almost minimal. From `saturated` on they are 0 and 1. A line for each power, the lowest first,
    in the order of the low five bits of n."""
    pieces, worst = {}, 0.0
    for n in range(-16, 16):
        if abs(n) >= saturated:
            pieces[n] = [float(n > 0)] + [0.0] * degree
            continue
        piece = np.vectorize(lambda t, n=n: f((n + t) * width))
        error, pieces[n], _ = fit(piece, -0.5, 0.5, degree, weight=lambda t, n=n: np.maximum(np.abs(n + t) * width, 0.5))
        worst = max(worst, error)
    pieces[0] = [0.5] + [c * (abs(c) > 1e-12) for c in pieces[0][1:]]
    show(name, worst, *([pieces[n - 32 if n > 15 else n][k] for n in range(31, -1, -1)] for k in range(degree + 1)))


show_pieces("gelu: the normal distribution", lambda x: math.erfc(-x / math.sqrt(2)) / 2)
show_pieces("gelu_tanh: its approximation by tanh",
            lambda x: (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2)

show_doubles("exp2: (2^r - 1) / r, |r| <= 1/32", power_series(lambda k: mpmath.log(2) ** (k + 1) / mpmath.factorial(k + 1), 20),
             mpf(-1) / 32, mpf(1) / 32, 6)
show_doubles("exp2 of floats: (2^r - 1) / r, |r| <= 1/2",
             power_series(lambda k: mpmath.log(2) ** (k + 1) / mpmath.factorial(k + 1), 30), mpf("-0.5"), mpf("0.5"), 6)
show_doubles("lgamma: sin(pi r) / r in r^2, |r| <= 1/2",
             lambda z: mpmath.sin(mpmath.pi * mpmath.sqrt(z)) / mpmath.sqrt(z) if z > mpf("1e-30") else mpmath.pi,
             0, mpf("0.25"), 9)


def cotangent_rest(z):  # ((1 - 3 z) / (r (1 - z)) - pi / tan(pi r)) / r, z = r^2
    r = mpmath.sqrt(max(z, mpf("1e-20")))
    return ((1 - 3 * r * r) / (r * (1 - r * r)) - mpmath.pi / mpmath.tan(mpmath.pi * r)) / r


show_doubles("digamma: pi / tan(pi r) without its poles at 0 and 1, in r^2, |r| <= 1/2", cotangent_rest, 0, mpf("0.25"), 9)
