"""The functions of expressions: their names, numbers of arguments, and values for rational numbers.

Angles are in radians. `log` is the natural logarithm; `log(x, b)` has base b.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from evaluator.lumos.maths.algebra import arithmetic
from evaluator.lumos.maths.algebra.arithmetic import Exactness, Rational
from evaluator.lumos.maths.algebra.errors import MAX_BITS, MAX_DIGITS, Failure, MathsError

_ANY = 10_000
_MOST_ANGLE = 10**9
_MOST_CHOSEN = 2_000
_PI = Fraction(Decimal("3.141592653589793238462643383279502884197"))


@dataclass(frozen=True, slots=True)
class Function:
    """A function of `least` to `most` numbers."""

    least: int
    most: int
    value: Callable[[Sequence[Rational], Exactness], Rational]
    cost: int = 100
    """Units of work."""


def _average(values: Sequence[Rational], _: Exactness) -> Rational:
    return arithmetic.divided(_sum(values, _), len(values))


def _sum(values: Sequence[Rational], _: Exactness) -> Rational:
    total: Rational = 0
    for value in values:
        total = arithmetic.sized(total + value)
    return total


def _round(values: Sequence[Rational], _: Exactness) -> Rational:
    """Half away from zero, as in word problems, to a number of places after the point."""
    places = arithmetic.whole(values[1], what="the number of places of round") if len(values) == 2 else 0
    if abs(places) > MAX_DIGITS:
        raise MathsError(Failure.LIMIT, f"round takes at most {MAX_DIGITS} places")
    scale = Fraction(10) ** places
    scaled = abs(Fraction(values[0])) * scale
    nearest = math.floor(scaled + Fraction(1, 2))
    return arithmetic.sized(Fraction(nearest if values[0] >= 0 else -nearest) / scale)


def _log(values: Sequence[Rational], state: Exactness) -> Rational:
    if len(values) == 1:
        return arithmetic.natural_logarithm(values[0], state=state)
    return arithmetic.logarithm_of(values[0], values[1], state=state)


def _root(values: Sequence[Rational], state: Exactness) -> Rational:
    degree = arithmetic.whole(values[1], what="a root")
    if degree < 1:
        raise MathsError(Failure.DOMAIN, f"there is no root of degree {arithmetic.brief(degree)}")
    return arithmetic.power(values[0], Fraction(1, degree), state=state) if degree > 1 else values[0]


def _choose(values: Sequence[Rational], *, ordered: bool) -> Rational:
    """Ways to choose k of n things, and to arrange them if the order matters."""
    n, k = (arithmetic.whole(value, what="a number of choices") for value in values)
    if not 0 <= k <= _MOST_CHOSEN or not 0 <= n <= 10**6:
        raise MathsError(Failure.LIMIT, f"choices are counted of 0 to 1000000 things, at most {_MOST_CHOSEN} chosen")
    if min(k, n - k if not ordered else k) * n.bit_length() > 8 * MAX_BITS and k <= n:
        raise arithmetic.too_many_digits()
    return arithmetic.sized(math.perm(n, k) if ordered else math.comb(n, k))


def _by_float(function: Callable[[float], float], *, low: float, high: float) -> Function:
    """A function that is approximated with the precision of a float."""

    def value(values: Sequence[Rational], state: Exactness) -> Rational:
        (argument,) = values
        if not low <= argument <= high:
            message = f"{function.__name__} of {arithmetic.brief(argument)} is not defined or too inexact"
            raise MathsError(Failure.DOMAIN, message)
        state.exact = False
        return Fraction(function(float(argument)))

    return Function(1, 1, value)


def _exact(function: Callable[..., Rational], *, count: int) -> Function:
    return Function(count, count, lambda values, _: arithmetic.sized(function(*values)), cost=20)


def _approximate(function: Callable[..., Rational], *, count: int) -> Function:
    return Function(count, count, lambda values, state: function(*values, state=state))


def _pi(_: Sequence[Rational], state: Exactness) -> Rational:
    state.exact = False
    return _PI


FUNCTIONS: Mapping[str, Function] = {
    "sqrt": _approximate(arithmetic.square_root, count=1),
    "cbrt": Function(1, 1, lambda values, state: arithmetic.power(values[0], Fraction(1, 3), state=state)),
    "root": Function(2, 2, _root),
    "pow": _approximate(arithmetic.power, count=2),
    "abs": _exact(abs, count=1),
    "min": Function(1, _ANY, lambda values, _: min(values), cost=20),
    "max": Function(1, _ANY, lambda values, _: max(values), cost=20),
    "sum": Function(1, _ANY, _sum),
    "average": Function(1, _ANY, _average),
    "floor": _exact(math.floor, count=1),
    "ceil": _exact(math.ceil, count=1),
    "round": Function(1, 2, _round),
    "mod": _exact(arithmetic.modulo, count=2),
    "gcd": Function(1, _ANY, lambda values, _: arithmetic.greatest(values)),
    "lcm": Function(1, _ANY, lambda values, _: arithmetic.least(values)),
    "factorial": _exact(arithmetic.factorial, count=1),
    "comb": Function(2, 2, lambda values, _: _choose(values, ordered=False)),
    "perm": Function(2, 2, lambda values, _: _choose(values, ordered=True)),
    "exp": _approximate(arithmetic.exponential, count=1),
    "log": Function(1, 2, _log),
    "log2": Function(1, 1, lambda values, state: arithmetic.logarithm_of(values[0], 2, state=state)),
    "log10": Function(1, 1, lambda values, state: arithmetic.logarithm_of(values[0], 10, state=state)),
    "sin": _by_float(math.sin, low=-_MOST_ANGLE, high=_MOST_ANGLE),
    "cos": _by_float(math.cos, low=-_MOST_ANGLE, high=_MOST_ANGLE),
    "tan": _by_float(math.tan, low=-_MOST_ANGLE, high=_MOST_ANGLE),
    "asin": _by_float(math.asin, low=-1, high=1),
    "acos": _by_float(math.acos, low=-1, high=1),
    "atan": _by_float(math.atan, low=-1e300, high=1e300),
    "pi": Function(0, 0, _pi),
}
ALIASES = {
    "ln": "log",
    "ceiling": "ceil",
    "mean": "average",
    "choose": "comb",
    "binomial": "comb",
    "lg": "log10",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
}
