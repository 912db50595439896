"""Real roots of polynomials with rational coefficients.

Rational roots are exact, and so are those of degree 2 as far as a square root is; others are approximated. Roots are
separated by Sturm's theorem and refined by bisection. An integer polynomial with first coefficient a has no rational
root but multiples of 1/a, so that an interval shorter than 1/(2a) has at most one candidate, which is tried.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from math import lcm

from evaluator.lumos.maths.algebra.arithmetic import Exactness, Rational, from_decimal, square_root
from evaluator.lumos.maths.algebra.errors import MAX_SOLVED_DEGREE, MAX_SOLVED_DIGITS, Failure, MathsError, Work
from evaluator.lumos.maths.algebra.polynomials import remainder, univariate_gcd

_NARROW = Fraction(1, 10**30)


@dataclass(frozen=True, slots=True)
class Root:
    """A root, or a number near it."""

    value: Rational
    exact: bool


def real_roots(coefficients: Sequence[Rational], *, work: Work) -> tuple[Root, ...]:
    """The distinct real roots in increasing order.

    Args:
        coefficients: of the powers from 0; the last one is not zero, and there are at least two.
        work: what may be done.

    Raises:
        MathsError: the degree or the coefficients are too large.
    """
    degree = len(coefficients) - 1
    if degree > MAX_SOLVED_DEGREE:
        raise MathsError(
            Failure.LIMIT, f"an equation of degree {degree}; those of degree {MAX_SOLVED_DEGREE} and less are solved"
        )
    integers = _integers(coefficients)
    if degree > 2 and any(abs(value) >= 10**MAX_SOLVED_DIGITS for value in integers):
        raise MathsError(
            Failure.LIMIT,
            f"an equation of degree {degree} has coefficients of at most {MAX_SOLVED_DIGITS} digits, as integers",
        )
    if degree == 1:
        return (Root(_plain(Fraction(-integers[0], integers[1])), exact=True),)
    if degree == 2:
        return _quadratic(*integers)
    try:
        return _by_bisection(_square_free(integers, work=work), work=work)
    except MathsError:
        message = f"an equation of degree {degree} with coefficients as long as these takes too much work"
        raise MathsError(Failure.LIMIT, message) from None


def sign_at(coefficients: Sequence[Rational], value: Rational) -> int:
    """The sign of a polynomial's value."""
    total: Rational = 0
    for coefficient in reversed(coefficients):
        total = total * value + coefficient
    return (total > 0) - (total < 0)


def _quadratic(c: int, b: int, a: int) -> tuple[Root, ...]:
    square = b * b - 4 * a * c
    if square < 0:
        return ()
    state = Exactness()
    root = _long_root(square, state=state)
    values = {_plain(Fraction(-b + sign * root) / (2 * a)) for sign in (-1, 1)}
    return tuple(Root(value, state.exact) for value in sorted(values))


def _long_root(square: int, *, state: Exactness) -> Rational:
    """A square root with as many digits as its size needs, since -b + root may cancel."""
    exact = square_root(square, state=state)
    if state.exact:
        return exact
    with localcontext(Context(prec=len(str(square)) + 40)):
        return from_decimal(Decimal(square).sqrt())


def _by_bisection(coefficients: list[int], *, work: Work) -> tuple[Root, ...]:
    chain = _sturm(coefficients, work=work)
    bound = Fraction(1 << (max(map(abs, coefficients)) // abs(coefficients[-1]) + 1).bit_length())
    found: list[Root] = []
    pending = [(-bound, bound, _changes(chain, -bound), _changes(chain, bound))]
    while pending:
        low, high, at_low, at_high = pending.pop()
        count = at_low - at_high
        if count == 1:
            found.append(_refined(coefficients, low=low, high=high, work=work))
        elif count > 1:
            work.spend(40 * len(chain))
            middle = (low + high) / 2
            at_middle = _changes(chain, middle)
            pending += [(middle, high, at_middle, at_high), (low, middle, at_low, at_middle)]
    return tuple(found)


def _refined(coefficients: list[int], *, low: Fraction, high: Fraction, work: Work) -> Root:
    """The one root in an interval that is open below and closed above."""
    if not sign_at(coefficients, high):
        return Root(_plain(high), exact=True)
    above = sign_at(coefficients, high)
    lead = abs(coefficients[-1])
    narrow, tried = min(_NARROW, Fraction(1, 4 * lead)), False
    while not tried or high - low > narrow * max(Fraction(1), abs(high)):
        work.spend(6 * len(coefficients))
        middle = (low + high) / 2
        if not tried and high - low < Fraction(1, 2 * lead):
            middle, tried = Fraction(round(middle * lead), lead), True
            if not low < middle < high:
                continue
        sign = sign_at(coefficients, middle)
        if not sign:
            return Root(_plain(middle), exact=True)
        low, high = (low, middle) if sign == above else (middle, high)
    return Root(_plain((low + high) / 2), exact=False)


def _sturm(coefficients: list[int], *, work: Work) -> list[list[Rational]]:
    chain: list[list[Rational]] = [list(coefficients), _derivative(coefficients)]
    while len(chain[-1]) > 1:
        rest = [-value for value in remainder(chain[-2], chain[-1], work=work)]
        if not rest:
            break
        # Only signs matter, so that a positive factor may keep the coefficients short.
        size = abs(Fraction(rest[-1]))
        chain.append([value / size for value in rest])
    return chain


def _derivative(coefficients: Sequence[int]) -> list[Rational]:
    return [index * value for index, value in enumerate(coefficients) if index]


def _changes(chain: list[list[Rational]], value: Rational) -> int:
    signs = [sign for poly in chain if (sign := sign_at(poly, value))]
    return sum(first != second for first, second in pairwise(signs))


def _square_free(coefficients: list[int], *, work: Work) -> list[int]:
    common = univariate_gcd(list(coefficients), _derivative(coefficients), work=work)
    if len(common) == 1:
        return coefficients
    rest: list[Rational] = list(coefficients)
    found: list[Rational] = []
    while len(rest) >= len(common):
        factor = Fraction(rest[-1]) / common[-1]
        found.insert(0, factor)
        shift = len(rest) - len(common)
        rest = [value - factor * common[i - shift] if i >= shift else value for i, value in enumerate(rest)][:-1]
    return _integers(found)


def _integers(coefficients: Sequence[Rational]) -> list[int]:
    scale = lcm(*(value.denominator for value in coefficients))
    return [int(value * scale) for value in coefficients]


def _plain(value: Rational) -> Rational:
    return value.numerator if value.denominator == 1 else value
