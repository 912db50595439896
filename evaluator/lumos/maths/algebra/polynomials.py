"""Polynomials and their quotients, with rational coefficients.

A monomial is a sorted tuple of (atom, exponent); an atom is a variable, or the text of a function of variables such as
`sqrt(x + 1)`, which is not simplified. Polynomials are mappings that nobody changes once they are made.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from evaluator.lumos.maths.algebra.arithmetic import Rational, absolute, exact_text, sized
from evaluator.lumos.maths.algebra.errors import MAX_POWER, MAX_TERMS, Failure, MathsError, Work

Monomial = tuple[tuple[str, int], ...]
Poly = Mapping[Monomial, Rational]
ONE: Poly = {(): 1}


@dataclass(frozen=True, slots=True)
class Quotient:
    """One polynomial divided by another, reduced as far as `quotient` does."""

    numerator: Poly
    denominator: Poly

    @property
    def is_polynomial(self) -> bool:
        return self.denominator.keys() == {()}

    def mapped(self, change: Callable[[Rational], Rational]) -> "Quotient":
        """The quotient with each coefficient changed."""
        parts = ({key: change(value) for key, value in part.items()} for part in (self.numerator, self.denominator))
        return Quotient(*parts)


def constant(value: Rational) -> Poly:
    """A number as a polynomial."""
    return {(): value} if value else {}


def variable(atom: str) -> Poly:
    """An atom as a polynomial."""
    return {((atom, 1),): 1}


def constant_of(poly: Poly) -> Rational | None:
    """The value of a polynomial without atoms, or None."""
    if not poly:
        return 0
    return poly[()] if poly.keys() == {()} else None


def atoms_of(*polys: Poly) -> tuple[str, ...]:
    """The atoms that occur, sorted."""
    return tuple(sorted({atom for poly in polys for monomial in poly for atom, _ in monomial}))


def degree_in(poly: Poly, atom: str) -> int:
    """The highest power of an atom."""
    return max((dict(monomial).get(atom, 0) for monomial in poly), default=0)


def add(a: Poly, b: Poly, *, work: Work, factor: Rational = 1) -> Poly:
    """a + factor * b."""
    work.spend(3 * len(b))
    found = dict(a)
    for monomial, coefficient in b.items():
        value = sized(found.get(monomial, 0) + factor * coefficient)
        if value:
            found[monomial] = value
        else:
            found.pop(monomial, None)
    return _bounded(found)


def multiply(a: Poly, b: Poly, *, work: Work) -> Poly:
    """The product of two polynomials."""
    work.spend(6 * len(a) * len(b) + _cost(a) * len(b) + _cost(b) * len(a))
    found: dict[Monomial, Rational] = {}
    for first, x in a.items():
        for second, y in b.items():
            monomial = _product(first, second)
            found[monomial] = found.get(monomial, 0) + x * y
    return _bounded({monomial: sized(value) for monomial, value in found.items() if value})


def to_power(poly: Poly, exponent: int, *, work: Work) -> Poly:
    """A polynomial to a power of at least 0."""
    if len(poly) > 1 and exponent * _degree(poly) > MAX_POWER:
        raise _too_high()
    found = ONE
    for _ in range(exponent if len(poly) > 1 else min(exponent, MAX_POWER + 1)):
        found = multiply(found, poly, work=work)
    return found


def quotient(numerator: Poly, denominator: Poly, *, work: Work) -> Quotient:
    """A quotient without common monomials, common factors in one variable, or fractions in the denominator.

    Raises:
        MathsError: division by zero.
    """
    if not denominator:
        raise MathsError(Failure.DOMAIN, "division by zero")
    number = constant_of(denominator)
    if number is None and numerator:
        numerator, denominator = _without_common_monomial(numerator, denominator)
        exact = exact_division(numerator, denominator, work=work)
        if exact is not None:
            return Quotient(exact, ONE)
        numerator, denominator = _without_common_factor(numerator, denominator, work=work)
        number = constant_of(denominator)
    if not numerator:
        return Quotient({}, ONE)
    scale: Rational = Fraction(1, 1) / number if number is not None else 1 / _content(denominator)
    work.spend(2 * (len(numerator) + len(denominator)))
    return Quotient(_scaled(numerator, scale), ONE if number is not None else _scaled(denominator, scale))


def exact_division(a: Poly, b: Poly, *, work: Work) -> Poly | None:
    """a / b if that is a polynomial, else None."""
    rest, found = a, {}
    lead = max(b, key=_order)
    while rest:
        top = max(rest, key=_order)
        monomial = _divided(top, lead)
        if monomial is None:
            return None
        coefficient = sized(Fraction(rest[top]) / b[lead])
        found[monomial] = coefficient
        rest = add(rest, multiply(b, {monomial: -coefficient}, work=work), work=work)
    return found


def coefficients(poly: Poly, atom: str) -> list[Poly]:
    """The coefficients of the powers of an atom, from power 0."""
    found: list[dict[Monomial, Rational]] = [{} for _ in range(degree_in(poly, atom) + 1)]
    for monomial, value in poly.items():
        power = dict(monomial).get(atom, 0)
        found[power][tuple(pair for pair in monomial if pair[0] != atom)] = value
    return list(found)


def substitute(poly: Poly, atom: str, value: Poly, *, work: Work) -> Poly:
    """The polynomial with another one in place of an atom."""
    found: Poly = {}
    for coefficient in reversed(coefficients(poly, atom)):
        found = add(multiply(found, value, work=work), coefficient, work=work)
    return found


def univariate_gcd(a: list[Rational], b: list[Rational], *, work: Work) -> list[Rational]:
    """The greatest common divisor of two polynomials in one variable, monic; coefficients from power 0."""
    while b:
        a, b = b, remainder(a, b, work=work)
    return [sized(Fraction(value) / a[-1]) for value in a]


def remainder(a: list[Rational], b: list[Rational], *, work: Work) -> list[Rational]:
    """The remainder of polynomials in one variable; coefficients from power 0, the last one not zero."""
    rest = list(a)
    while len(rest) >= len(b):
        work.spend(5 * len(b) + sum(value.numerator.bit_length() for value in rest) // 50)
        factor = Fraction(rest[-1]) / b[-1]
        shift = len(rest) - len(b)
        for index, value in enumerate(b):
            rest[shift + index] = sized(rest[shift + index] - factor * value)
        rest.pop()
        while rest and not rest[-1]:
            rest.pop()
    return rest


def poly_text(poly: Poly) -> str:
    """The polynomial as the parser reads it: higher degrees first, then in alphabetical order."""
    if not poly:
        return "0"
    parts = []
    for monomial in sorted(poly, key=_order, reverse=True):
        value = poly[monomial]
        sign = " - " if value < 0 else " + "
        factors = [atom if power == 1 else f"{atom}^{power}" for atom, power in monomial]
        number = exact_text(absolute(value))
        parts.append(sign + "*".join(factors if number == "1" and factors else [number, *factors]))
    text = "".join(parts)
    return f"-{text[3:]}" if text.startswith(" - ") else text[3:]


def quotient_text(value: Quotient) -> str:
    """The quotient as the parser reads it."""
    top = poly_text(value.numerator)
    return top if value.is_polynomial else f"({top})/({poly_text(value.denominator)})"


def _order(monomial: Monomial) -> tuple[int, list[tuple[int, ...]], Monomial]:
    """Graded order: total degree, then alphabetical, so that `x^2` comes before `x*y`."""
    inverted = [(*(-ord(letter) for letter in atom), 1) for atom, power in monomial for _ in range(power)]
    return sum(power for _, power in monomial), inverted, monomial


def _product(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    powers = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) + power
    if sum(powers.values()) > MAX_POWER:
        raise _too_high()
    return tuple(sorted(powers.items()))


def _divided(a: Monomial, b: Monomial) -> Monomial | None:
    powers = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) - power
    if min(powers.values(), default=0) < 0:
        return None
    return tuple(sorted((atom, power) for atom, power in powers.items() if power))


def _degree(poly: Poly) -> int:
    return max((sum(power for _, power in monomial) for monomial in poly), default=0)


def _content(poly: Poly) -> Fraction:
    """The number that the polynomial is divided by to be primitive, with a positive first coefficient."""
    common = Fraction(gcd(*(value.numerator for value in poly.values())), lcm(*(v.denominator for v in poly.values())))
    return common if poly[max(poly, key=_order)] > 0 else -common


def _without_common_monomial(a: Poly, b: Poly) -> tuple[Poly, Poly]:
    shared: dict[str, int] = {}
    for atom in atoms_of(a, b):
        shared[atom] = min(dict(monomial).get(atom, 0) for poly in (a, b) for monomial in poly)
    common = tuple((atom, power) for atom, power in shared.items() if power)
    if not common:
        return a, b
    return _less(a, common), _less(b, common)


def _less(poly: Poly, common: Monomial) -> Poly:
    return {_divided(monomial, common) or (): value for monomial, value in poly.items()}


def _without_common_factor(a: Poly, b: Poly, *, work: Work) -> tuple[Poly, Poly]:
    """Both divided by their greatest common divisor, where both are in the same one variable."""
    atoms = atoms_of(a, b)
    if len(atoms) != 1:
        return a, b
    dense = [[constant_of(part) or 0 for part in coefficients(poly, atoms[0])] for poly in (a, b)]
    common = univariate_gcd(*dense, work=work)
    if len(common) == 1:
        return a, b
    divisor: Poly = {((atoms[0], power),) if power else (): value for power, value in enumerate(common) if value}
    reduced = [exact_division(poly, divisor, work=work) for poly in (a, b)]
    assert reduced[0] is not None
    assert reduced[1] is not None
    return reduced[0], reduced[1]


def _scaled(poly: Poly, factor: Rational) -> Poly:
    return {monomial: sized(value * factor) for monomial, value in poly.items()}


def _cost(poly: Poly) -> int:
    """Units of work per multiplication with all coefficients, for their size."""
    return sum(value.numerator.bit_length() + value.denominator.bit_length() for value in poly.values()) // 100


def _bounded(poly: Poly) -> Poly:
    if len(poly) > MAX_TERMS:
        raise MathsError(Failure.LIMIT, f"an expression has at most {MAX_TERMS} terms")
    return poly


def _too_high() -> MathsError:
    return MathsError(Failure.LIMIT, f"an expression has at most degree {MAX_POWER}")
