"""Fits the coefficients of the special functions (math_double_bessel.h, math_double_airy.h, math_double_erfcx.h): prints
them. A half line x >= low is mapped to an interval by t = (x - c) / (x + c)."""

import mpmath
from fit_doubles import show_doubles
from mpmath import mpf

pi, sqrt, exp, log = mpmath.pi, mpmath.sqrt, mpmath.exp, mpmath.log
tiny = mpf("1e-30")


def on_half_line(f, c, at_infinity):
    return lambda t: at_infinity if t >= 1 - tiny else f(c * (1 + t) / (1 - t))


# erfcx: exp(x^2) erfc(x)
def erfcx(x):
    if x < 50:
        return exp(x * x) * mpmath.erfc(x)
    return mpmath.hyp2f0(1, mpf("0.5"), -1 / x**2) / (x * sqrt(pi))


show_doubles("erfcx: erfcx(x) (1 + 2 x) in (x - 4) / (x + 4), 0 <= x",
             on_half_line(lambda x: erfcx(x) * (1 + 2 * x), 4, 2 / sqrt(pi)), -1, 1, 26)

# Bessel functions
for order in (0, 1):
    z0 = mpf("1e-40")
    j = lambda z, order=order: mpmath.besselj(order, sqrt(z)) / sqrt(z) ** order
    show_doubles(f"j{order}: J(x) / x^{order} in z = x^2 / 32 - 1, x <= 8", lambda z: j((z + 1) * 32 + z0), -1, 1, 18)

    def y_rest(z, order=order):
        x = sqrt((z + 1) * 32 + z0)
        rest = mpmath.bessely(order, x) - 2 / pi * log(x / 2) * mpmath.besselj(order, x)
        return rest if order == 0 else (rest + 2 / (pi * x)) / x

    show_doubles(f"y{order}: Y(x) - 2 / pi (log(x / 2) J(x){' - 1 / x' if order else ''}), over x^{order}, in the same",
                 y_rest, -1, 1, 18)

    def modulus_parts(s, order=order):  # J + i Y = sqrt(2 / (pi x)) exp(i chi) (P + i Q), DLMF 10.17
        x = 8 / sqrt(max(s, mpf("1e-16")))
        turned = (mpmath.besselj(order, x) + 1j * mpmath.bessely(order, x)) * sqrt(pi * x / 2)
        found = turned * mpmath.expj(-(x - pi / 4 * (1 + 2 * order)))
        return found.real, x * found.imag

    show_doubles(f"j{order}, y{order}: P in (8 / x)^2, 8 <= x", lambda s: modulus_parts(s)[0], 0, 1, 13)
    show_doubles(f"j{order}, y{order}: x Q in the same", lambda s: modulus_parts(s)[1], 0, 1, 14)

    def i_far(v, order=order):
        if v <= -1 + mpf("1e-20"):
            return 1 / sqrt(2 * pi)
        x = 16 / (v + 1)
        return sqrt(x) * exp(-x) * mpmath.besseli(order, x)

    show_doubles(f"i{order}: sqrt(x) exp(-x) I(x) in 16 / x - 1, 8 <= x", i_far, -1, 1, 25)

    def scaled_i(v, order=order):
        x = 5 * (v + 1) + mpf("1e-25")
        return exp(-x) * mpmath.besseli(order, x) / x**order

    show_doubles(f"i{order}e: exp(-x) I(x) / x^{order} in x / 5 - 1, x <= 10, for f32", scaled_i, -1, 1, 23)
    show_doubles(f"k{order}: sqrt(x) exp(x) K(x) in (x - 3) / (x + 1), 1 <= x",
                 lambda s: on_half_line(lambda x: sqrt(x) * exp(x) * mpmath.besselk(order, x), 1, sqrt(pi / 2))((s + 1) / 2),
                 -1, 1, 25)


# Airy's function: DLMF 9.7
def zeta(x):
    return mpf(2) / 3 * x * sqrt(x)


def of_zeta(z):
    return mpmath.cbrt(mpf(3) / 2 * z) ** 2


def decaying(z):
    x = of_zeta(z)
    return exp(z) * 2 * sqrt(pi) * mpmath.root(x, 4) * mpmath.airyai(x)


def oscillating(s):  # Ai(-x) and Bi(-x) are parts of exp(i (zeta - pi / 4)) (P - i Q)
    z = zeta(mpf(5)) / sqrt(max(s, mpf("1e-14")))
    x = of_zeta(z)
    found = (mpmath.airyai(-x) - 1j * mpmath.airybi(-x)) * sqrt(pi) * mpmath.root(x, 4) * mpmath.expj(-(z - pi / 4))
    return found.real, -z * found.imag


show_doubles("airy: Ai(x) in x + 1/8, -1.5 <= x <= 1.25", lambda t: mpmath.airyai(mpf("-0.125") + t), mpf("-1.375"), mpf("1.375"), 22)
show_doubles("airy: Ai(x) in x + 13/4, -5 <= x <= -1.5", lambda t: mpmath.airyai(t - mpf("3.25")), mpf("-1.75"), mpf("1.75"), 26)
least = zeta(mpf("1.25"))
show_doubles("airy: 2 sqrt(pi) x^(1/4) exp(zeta) Ai(x) in 2 (zeta - c) / (zeta + c) - 1, c = zeta(1.25), 1.25 <= x",
             lambda s: on_half_line(decaying, least, mpf(1))((s + 1) / 2), -1, 1, 22)
print("// zeta(1.25) =", float(least).hex(), " zeta(5)^2 =", float(zeta(mpf(5)) ** 2).hex())
show_doubles("airy: P in (zeta(5) / zeta)^2, x <= -5", lambda s: oscillating(s)[0], 0, 1, 14)
show_doubles("airy: zeta Q in the same", lambda s: oscillating(s)[1], 0, 1, 15)
