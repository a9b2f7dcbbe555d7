"""Fits coefficients of doubles: sums of Chebyshev polynomials in 50 digits, whose largest absolute error is almost
minimal."""

import mpmath

mpmath.mp.dps = 50


def show_doubles(name, f, low, high, count):
    c, error = mpmath.chebyfit(f, [low, high], count, error=True)
    print(f"// {name}: error of the fit {mpmath.nstr(error, 2)}")
    print("  {" + ", ".join(float(x).hex() for x in c) + "}")


def power_series(coefficient, terms):
    return lambda x: sum(coefficient(k) * x**k for k in range(terms))
