"""Exact arithmetic of rational numbers, and functions of them.

An irrational result is approximated with 40 digits and marked as inexact; values store the 15 significant digits of
`rounded`. Numerators and denominators have at most `MAX_DIGITS` digits; powers and factorials are checked before they
are computed.

Angles are in radians. `log` is the natural logarithm; `log(x, b)` has base b.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from evaluator.lumos.maths.algebra.errors import MAX_BITS, MAX_DIGITS, Failure, MathsError

Rational = int | Fraction
DIGITS = 15
"""Significant digits of an approximate value."""
_PRECISION = 40
_MOST_PLACES = 12
_MOST_EXPONENT = 1000
_ANY = 10_000
_MOST_ANGLE = 10**9
_MOST_CHOSEN = 2_000
_PI = Fraction(Decimal("3.141592653589793238462643383279502884197"))


class Exactness:
    """Whether all results so far are exact."""

    __slots__ = ("exact",)

    def __init__(self) -> None:
        self.exact = True


def sized(value: Rational) -> Rational:
    """The value, an integer as `int`.

    Raises:
        MathsError: too many digits.
    """
    if isinstance(value, int):
        if value.bit_length() <= MAX_BITS:
            return value
    elif value.numerator.bit_length() <= MAX_BITS and value.denominator.bit_length() <= MAX_BITS:
        return value.numerator if value.denominator == 1 else value
    raise too_many_digits()


def plain(value: Rational) -> Rational:
    """The value, an integer as `int`."""
    return value.numerator if value.denominator == 1 else value


def absolute(value: Rational) -> Rational:
    """The value without its sign."""
    return -value if value < 0 else value


def too_many_digits() -> MathsError:
    return MathsError(Failure.LIMIT, f"the result has more than {MAX_DIGITS} digits")


def divided(a: Rational, b: Rational) -> Rational:
    """The quotient of two numbers.

    Raises:
        MathsError: the second is zero, or the result has too many digits.
    """
    if not b:
        raise MathsError(Failure.DOMAIN, "division by zero")
    if isinstance(a, int) and isinstance(b, int) and a % b == 0:
        return a // b
    return sized(Fraction(a) / b)


def modulo(a: Rational, b: Rational) -> Rational:
    """The remainder with the sign of the divisor.

    Raises:
        MathsError: the divisor is zero.
    """
    if not b:
        raise MathsError(Failure.DOMAIN, "the remainder of a division by zero")
    return sized(a % b)


def power(base: Rational, exponent: Rational, *, state: Exactness) -> Rational:
    """A power, exact where it is rational.

    Raises:
        MathsError: the result is not a real number, or has too many digits.
    """
    if isinstance(exponent, Fraction):
        return root_power(base, exponent, state=state)
    if not base and exponent < 0:
        raise MathsError(Failure.DOMAIN, "zero to a negative power")
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if bits > 1 and (bits - 1) * abs(exponent) > MAX_BITS:
        raise too_many_digits()
    if bits <= 1:
        exponent = exponent % 2 + (2 if exponent else 0)
    return sized(Fraction(base) ** exponent)


def root_power(base: Rational, exponent: Fraction, *, state: Exactness) -> Rational:
    """A power with a fraction as the exponent."""
    if base < 0:
        if exponent.denominator % 2 == 0:
            raise MathsError(Failure.DOMAIN, f"{brief(base)} to the power {brief(exponent)} is not a real number")
        sign = -1 if exponent.numerator % 2 else 1
        return sign * root_power(-base, exponent, state=state)
    if not base:
        return power(base, 1 if exponent > 0 else -1, state=state)
    roots = [_integer_root(part, exponent.denominator) for part in (base.numerator, base.denominator)]
    if roots[0] is not None and roots[1] is not None:
        return power(Fraction(roots[0], roots[1]), exponent.numerator, state=state)
    state.exact = False
    with localcontext(Context(prec=_PRECISION)):
        return _exponential(logarithm(base) * decimal(exponent))


def square_root(value: Rational, *, state: Exactness) -> Rational:
    """The square root, exact where it is rational."""
    if value < 0:
        raise MathsError(Failure.DOMAIN, f"the square root of {brief(value)} is not a real number")
    roots = math.isqrt(value.numerator), math.isqrt(value.denominator)
    if roots[0] ** 2 == value.numerator and roots[1] ** 2 == value.denominator:
        return sized(Fraction(*roots))
    state.exact = False
    with localcontext(Context(prec=_PRECISION)):
        return from_decimal(decimal(value).sqrt())


def exponential(value: Rational, *, state: Exactness) -> Rational:
    """e to a power."""
    if not value:
        return 1
    state.exact = False
    with localcontext(Context(prec=_PRECISION)):
        return _exponential(decimal(value))


def natural_logarithm(value: Rational, *, state: Exactness) -> Rational:
    """The logarithm with base e."""
    if value == 1:
        return 0
    state.exact = False
    return from_decimal(logarithm(value))


def logarithm_of(value: Rational, base: Rational, *, state: Exactness) -> Rational:
    """The logarithm with a given base, exact where it is an integer."""
    if base <= 0 or base == 1:
        raise MathsError(Failure.DOMAIN, f"there is no logarithm with base {brief(base)}")
    with localcontext(Context(prec=_PRECISION)):
        quotient = logarithm(value) / logarithm(base)
        nearest = int(quotient.to_integral_value())
        if abs(nearest) <= MAX_BITS and abs(quotient - nearest) < Decimal("1e-20"):
            bits = max(base.numerator.bit_length(), base.denominator.bit_length())
            if bits * abs(nearest) <= 2 * MAX_BITS and Fraction(base) ** nearest == value:
                return nearest
        state.exact = False
        return from_decimal(quotient)


def logarithm(value: Rational) -> Decimal:
    """The natural logarithm with 40 digits."""
    if value <= 0:
        raise MathsError(Failure.DOMAIN, f"the logarithm of {brief(value)} is not a real number")
    with localcontext(Context(prec=_PRECISION)):
        return decimal(value).ln()


def factorial(value: Rational) -> int:
    """The factorial of a whole number."""
    number = whole(value, what="a factorial")
    if number < 0:
        raise MathsError(Failure.DOMAIN, f"the factorial of {brief(number)} does not exist")
    if number > 450:
        raise too_many_digits()
    return math.factorial(number)


def whole(value: Rational, *, what: str) -> int:
    """Check that a number is whole."""
    if isinstance(value, Fraction):
        raise MathsError(Failure.DOMAIN, f"{what} needs whole numbers, not {brief(value)}")
    return value


def rounded(value: Rational) -> Rational:
    """The value with 15 significant digits."""
    return sized(from_decimal(Context(prec=DIGITS).plus(decimal(value))))


def decimal(value: Rational) -> Decimal:
    """The value with 40 significant digits."""
    context = Context(prec=_PRECISION)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def from_decimal(value: Decimal) -> Rational:
    """The exact value of a decimal number.

    Raises:
        MathsError: it has too many digits.
    """
    if value.adjusted() < 100 - MAX_DIGITS:
        return 0
    if value.adjusted() > MAX_DIGITS:
        raise too_many_digits()
    return sized(Fraction(value))


def number_of(text: str, *, at: int = 0) -> Rational:
    """The number that a literal stands for.

    Raises:
        MathsError: it has too many digits.
    """
    plain = text.replace(",", "")
    if plain.isdigit() and len(plain) <= MAX_DIGITS:
        return int(plain)
    whole_part, _, places = plain.partition(".")
    if (whole_part + places).isdigit() and len(plain) <= MAX_DIGITS:
        return sized(Fraction(int(whole_part + places), 10 ** len(places)))
    mantissa, _, exponent = plain.lower().partition("e")
    if len(mantissa) > MAX_DIGITS or abs(int(exponent or 0)) > _MOST_EXPONENT:
        raise MathsError(Failure.LIMIT, f"a number with more than {MAX_DIGITS} digits", offset=at)
    return sized(Fraction(plain))


def approximate(value: Rational) -> str:
    """The value with 15 significant digits as a decimal number, in the form `1.5e+30` if it is very large or small."""
    number = Context(prec=DIGITS).plus(decimal(value)).normalize()
    return f"{number:f}" if -7 <= number.adjusted() < 21 else str(number).lower()


def exact_decimal(value: Rational, *, most_places: int = _MOST_PLACES) -> str | None:
    """The value as a decimal number; None if that is infinite or has too many digits after the point."""
    if value.denominator == 1:
        return str(value.numerator)
    rest, places = value.denominator, 0
    for factor in (10, 2, 5):
        while rest % factor == 0:
            rest, places = rest // factor, places + 1
    if rest != 1 or places > most_places:
        return None
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}".rstrip("0")


def exact_text(value: Rational) -> str:
    """The value as a decimal number of at most 20 places, otherwise as a fraction."""
    return exact_decimal(value, most_places=20) or f"{value.numerator}/{value.denominator}"


def brief(value: Rational) -> str:
    """A number for an error message."""
    text = exact_text(value)
    return text if len(text) <= 30 else f"about {approximate(value)}"


def greatest(values: Sequence[Rational]) -> Rational:
    """The greatest common divisor of whole numbers."""
    return math.gcd(*(whole(value, what="gcd") for value in values))


def least(values: Sequence[Rational]) -> Rational:
    """The least common multiple of whole numbers."""
    multiple: Rational = 1
    for value in values:
        multiple = sized(math.lcm(int(multiple), whole(value, what="lcm")))
    return multiple


def _exponential(value: Decimal) -> Rational:
    """e to a power, within the current context."""
    if abs(value) > 2 * MAX_DIGITS:
        if value < 0:
            return 0
        raise too_many_digits()
    return from_decimal(value.exp())


def _integer_root(value: int, degree: int) -> int | None:
    """The exact root of a positive integer, or None."""
    if value == 1 or degree > MAX_BITS:
        return 1 if value == 1 else None
    low, high = 1, 1 << (value.bit_length() // degree + 1)
    while low <= high:
        middle = (low + high) // 2
        power_of_middle = middle**degree
        if power_of_middle == value:
            return middle
        low, high = (middle + 1, high) if power_of_middle < value else (low, middle - 1)
    return None


@dataclass(frozen=True, slots=True)
class Function:
    """A function of `least` to `most` numbers."""

    least: int
    most: int
    value: Callable[[Sequence[Rational], Exactness], Rational]


def _sum(values: Sequence[Rational]) -> Rational:
    total: Rational = 0
    for value in values:
        total = sized(total + value)
    return total


def _round(values: Sequence[Rational], _: Exactness) -> Rational:
    """Rounds half away from zero, as in word problems, to a number of decimal places."""
    places = whole(values[1], what="the number of places of round") if len(values) == 2 else 0
    if abs(places) > MAX_DIGITS:
        raise MathsError(Failure.LIMIT, f"round takes at most {MAX_DIGITS} places")
    scale = Fraction(10) ** places
    scaled = abs(Fraction(values[0])) * scale
    nearest = math.floor(scaled + Fraction(1, 2))
    return sized(Fraction(nearest if values[0] >= 0 else -nearest) / scale)


def _root(values: Sequence[Rational], state: Exactness) -> Rational:
    degree = whole(values[1], what="a root")
    if degree < 1:
        raise MathsError(Failure.DOMAIN, f"there is no root of degree {brief(degree)}")
    return power(values[0], Fraction(1, degree), state=state) if degree > 1 else values[0]


def _choose(values: Sequence[Rational], *, ordered: bool) -> Rational:
    """Number of combinations of k out of n, or of permutations if the order matters."""
    n, k = (whole(value, what="a number of choices") for value in values)
    if not 0 <= k <= _MOST_CHOSEN or not 0 <= n <= 10**6:
        raise MathsError(Failure.LIMIT, f"choices are counted of 0 to 1000000 things, at most {_MOST_CHOSEN} chosen")
    if min(k, n - k if not ordered else k) * n.bit_length() > 8 * MAX_BITS and k <= n:
        raise too_many_digits()
    return sized(math.perm(n, k) if ordered else math.comb(n, k))


def _by_float(function: Callable[[float], float], *, low: float, high: float) -> Function:
    """A function that is computed with floats."""

    def value(values: Sequence[Rational], state: Exactness) -> Rational:
        (argument,) = values
        if not low <= argument <= high:
            message = f"{function.__name__} of {brief(argument)} is not defined or too inexact"
            raise MathsError(Failure.DOMAIN, message)
        state.exact = False
        return Fraction(function(float(argument)))

    return Function(1, 1, value)


def _exact(function: Callable[..., Rational], *, count: int) -> Function:
    return Function(count, count, lambda values, _: sized(function(*values)))


def _approximate(function: Callable[..., Rational], *, count: int) -> Function:
    return Function(count, count, lambda values, state: function(*values, state=state))


def _pi(_: Sequence[Rational], state: Exactness) -> Rational:
    state.exact = False
    return _PI


FUNCTIONS: Mapping[str, Function] = {
    "sqrt": _approximate(square_root, count=1),
    "cbrt": Function(1, 1, lambda values, state: power(values[0], Fraction(1, 3), state=state)),
    "root": Function(2, 2, _root),
    "pow": _approximate(power, count=2),
    "abs": _exact(abs, count=1),
    "min": Function(1, _ANY, lambda values, _: min(values)),
    "max": Function(1, _ANY, lambda values, _: max(values)),
    "sum": Function(1, _ANY, lambda values, _: _sum(values)),
    "average": Function(1, _ANY, lambda values, _: divided(_sum(values), len(values))),
    "floor": _exact(math.floor, count=1),
    "ceil": _exact(math.ceil, count=1),
    "round": Function(1, 2, _round),
    "mod": _exact(modulo, count=2),
    "gcd": Function(1, _ANY, lambda values, _: greatest(values)),
    "lcm": Function(1, _ANY, lambda values, _: least(values)),
    "factorial": _exact(factorial, count=1),
    "comb": Function(2, 2, lambda values, _: _choose(values, ordered=False)),
    "perm": Function(2, 2, lambda values, _: _choose(values, ordered=True)),
    "exp": _approximate(exponential, count=1),
    "log": Function(
        1, 2, lambda values, state: (logarithm_of if values[1:] else natural_logarithm)(*values, state=state)
    ),
    "log2": Function(1, 1, lambda values, state: logarithm_of(values[0], 2, state=state)),
    "log10": Function(1, 1, lambda values, state: logarithm_of(values[0], 10, state=state)),
    "sin": _by_float(math.sin, low=-_MOST_ANGLE, high=_MOST_ANGLE),
    "cos": _by_float(math.cos, low=-_MOST_ANGLE, high=_MOST_ANGLE),
    "tan": _by_float(math.tan, low=-_MOST_ANGLE, high=_MOST_ANGLE),
    "asin": _by_float(math.asin, low=-1, high=1),
    "acos": _by_float(math.acos, low=-1, high=1),
    "atan": _by_float(math.atan, low=-1e300, high=1e300),
    "pi": Function(0, 0, _pi),
}
ALIASES = {
    "ln": "log", "ceiling": "ceil", "mean": "average", "choose": "comb", "binomial": "comb", "lg": "log10",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan",
}  # fmt: skip
