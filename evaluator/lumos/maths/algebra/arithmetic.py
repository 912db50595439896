"""Exact arithmetic of rational numbers, and functions of them.

A result that is not rational is approximated with 40 digits and marked as such; `rounded` gives the 15 significant
digits that a value keeps. Numerators and denominators have at most `MAX_DIGITS` digits, which is checked before a
power or factorial is computed.
"""

import math
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from evaluator.lumos.maths.algebra.errors import MAX_BITS, MAX_DIGITS, Failure, MathsError

Rational = int | Fraction
DIGITS = 15
"""Significant digits of an approximate value."""
_PRECISION = 40
_MOST_PLACES = 12
_MOST_EXPONENT = 1000


class Exactness:
    """Whether everything so far was exact."""

    __slots__ = ("exact",)

    def __init__(self) -> None:
        self.exact = True


def sized(value: Rational) -> Rational:
    """The value, an integer as `int`.

    Raises:
        MathsError: it has too many digits.
    """
    if isinstance(value, int):
        if value.bit_length() <= MAX_BITS:
            return value
    elif value.numerator.bit_length() <= MAX_BITS and value.denominator.bit_length() <= MAX_BITS:
        return value.numerator if value.denominator == 1 else value
    raise too_many_digits()


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
        MathsError: it is no real number, or has too many digits.
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
    """A number that must be whole."""
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
    """The value with 15 significant digits as a decimal number, `1.5e+30` where it is very large or small."""
    found = Context(prec=DIGITS).plus(decimal(value)).normalize()
    if -7 <= found.adjusted() < 21:
        return f"{found:f}"
    return str(found).lower()


def exact_decimal(value: Rational, *, most_places: int = _MOST_PLACES) -> str | None:
    """The value as a decimal number, or None where that has no end or too many digits after the point."""
    if value.denominator == 1:
        return str(value.numerator)
    rest, places = value.denominator, 0
    while rest % 10 == 0:
        rest, places = rest // 10, places + 1
    while rest % 2 == 0:
        rest, places = rest // 2, places + 1
    while rest % 5 == 0:
        rest, places = rest // 5, places + 1
    if rest != 1 or places > most_places:
        return None
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}".rstrip("0")


def exact_text(value: Rational) -> str:
    """The value as a decimal number where that has at most 20 places, otherwise as a fraction."""
    return exact_decimal(value, most_places=20) or f"{value.numerator}/{value.denominator}"


def brief(value: Rational) -> str:
    """A number in a message."""
    text = exact_text(value)
    return text if len(text) <= 30 else f"about {approximate(value)}"


def greatest(values: Sequence[Rational]) -> Rational:
    """The greatest common divisor of whole numbers."""
    return math.gcd(*(whole(value, what="gcd") for value in values))


def least(values: Sequence[Rational]) -> Rational:
    """The least common multiple of whole numbers."""
    found: Rational = 1
    for value in values:
        found = sized(math.lcm(int(found), whole(value, what="lcm")))
    return found


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
        found = middle**degree
        if found == value:
            return middle
        low, high = (middle + 1, high) if found < value else (low, middle - 1)
    return None
