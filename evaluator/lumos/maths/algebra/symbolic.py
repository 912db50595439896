"""Quotients of polynomials in variables, and in functions of variables, with sympy.

An atom is a variable, or the text of a function such as `sqrt(x + 1)`, which is not simplified. sympy receives neither
names nor text: the i-th atom is the i-th generator of a ring.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import Any

from sympy import QQ, Symbol
from sympy.polys.orderings import grlex
from sympy.polys.rings import PolyRing

from evaluator.lumos.maths.algebra.arithmetic import Rational, exact_text, plain, too_many_digits
from evaluator.lumos.maths.algebra.errors import MAX_BITS, MAX_POWER, MAX_TERMS, Failure, MathsError

Poly = Any
"""A `PolyElement` of sympy, which has no types: a mapping from the powers of the generators to coefficients."""


@dataclass(frozen=True, slots=True)
class Quotient:
    """A reduced quotient of polynomials.

    The denominator's coefficients are coprime integers, of which the first is positive.
    """

    atoms: tuple[str, ...]
    """The atoms that occur, sorted."""
    numerator: Poly
    denominator: Poly

    @property
    def text(self) -> str:
        """In the parser's syntax."""
        top = self._polynomial_text(self.numerator)
        return top if self.denominator.is_ground else f"({top})/({self._polynomial_text(self.denominator)})"

    def mapped(self, change: Callable[[Rational], Rational]) -> "Quotient":
        """The quotient with a function applied to each coefficient."""

        def mapped(poly: Poly) -> Poly:
            return poly.ring.from_dict({powers: coefficient(change(rational(value))) for powers, value in poly.items()})

        return Quotient(self.atoms, mapped(self.numerator), mapped(self.denominator))

    def _polynomial_text(self, poly: Poly) -> str:
        """Terms sorted by degree, highest first, then alphabetically."""
        parts = []
        for powers, value in poly.terms():
            factors = [
                atom if power == 1 else f"{atom}^{power}"
                for atom, power in zip(self.atoms, powers, strict=True)
                if power
            ]
            number = exact_text(rational(abs(value)))
            parts.append(" - " if value < 0 else " + ")
            parts.append("*".join(factors if number == "1" and factors else [number, *factors]))
        if not parts:
            return "0"
        return "".join(["-" if parts[0] == " - " else "", *parts[1:]])


Value = Rational | Quotient


def variable(atom: str) -> Quotient:
    """An atom as a value."""
    return Quotient((atom,), ring(1).gens[0], ring(1).one)


def operation(operator: str, left: Value, right: Value) -> Value:
    """`+`, `-`, `*` or `/` of two values.

    Raises:
        MathsError: a division by zero, or the result is too large.
    """
    atoms = tuple(sorted({*atoms_of(left), *atoms_of(right)}))
    (a, b), (c, d) = fraction(left, atoms=atoms), fraction(right, atoms=atoms)
    if operator == "*":
        return quotient(multiply(a, c), multiply(b, d), atoms=atoms)
    if operator == "/":
        return quotient(multiply(a, d), multiply(b, c), atoms=atoms)
    if b != d:
        a, b, c = multiply(a, d), multiply(b, d), multiply(c, b)
    return quotient(bounded(a + c if operator == "+" else a - c), b, atoms=atoms)


def power(base: Quotient, exponent: int) -> Value:
    """A value to an integer's power.

    Raises:
        MathsError: the result is too large.
    """
    if abs(exponent) > MAX_POWER:
        raise MathsError(Failure.LIMIT, f"an expression has at most degree {MAX_POWER}")
    top = bottom = base.numerator.ring.one
    for _ in range(abs(exponent)):
        top, bottom = multiply(top, base.numerator), multiply(bottom, base.denominator)
    return quotient(top, bottom, atoms=base.atoms) if exponent >= 0 else quotient(bottom, top, atoms=base.atoms)


def atoms_of(value: Value) -> tuple[str, ...]:
    """The atoms that occur, sorted."""
    return value.atoms if isinstance(value, Quotient) else ()


def fraction(value: Value, *, atoms: Sequence[str]) -> tuple[Poly, Poly]:
    """Numerator and denominator in the ring of these atoms, a superset of the value's."""
    common = ring(len(atoms))
    if not isinstance(value, Quotient):
        return common.ground_new(coefficient(value)), common.one
    if value.atoms == tuple(atoms):
        return value.numerator, value.denominator
    places = [atoms.index(atom) for atom in value.atoms]
    return _moved(value.numerator, places, common), _moved(value.denominator, places, common)


def quotient(top: Poly, bottom: Poly, *, atoms: Sequence[str]) -> Value:
    """The reduced quotient of two polynomials; a number if no atom remains.

    Raises:
        MathsError: a division by zero, or a number has too many digits.
    """
    if not bottom:
        raise MathsError(Failure.DOMAIN, "division by zero")
    if not bottom.is_ground:
        top, bottom = top.cancel(bottom)
    numbers = bottom.values()
    content = QQ(gcd(*(int(value.numerator) for value in numbers)), lcm(*(int(value.denominator) for value in numbers)))
    content = content if bottom.LC > 0 else -content
    top, bottom = bounded(top.quo_ground(content)), bounded(bottom.quo_ground(content))
    used = sorted({*places_in(top), *places_in(bottom)})
    if not used:
        return rational(top.coeff(1))
    if len(used) < len(atoms):
        smaller = ring(len(used))
        top, bottom = (
            smaller.from_dict({tuple(powers[place] for place in used): value for powers, value in poly.items()})
            for poly in (top, bottom)
        )
    return Quotient(tuple(atoms[place] for place in used), top, bottom)


def multiply(a: Poly, b: Poly) -> Poly:
    """The product of two polynomials.

    Raises:
        MathsError: it is too large.
    """
    if a and b and total_degree(a) + total_degree(b) > MAX_POWER:
        raise MathsError(Failure.LIMIT, f"an expression has at most degree {MAX_POWER}")
    return bounded(a * b)


def substitute(poly: Poly, place: int, value: Poly) -> Poly:
    """The polynomial with a generator replaced by another polynomial.

    Raises:
        MathsError: the result is too large.
    """
    result = poly.ring.zero
    for part in reversed(coefficients(poly, place)):
        result = bounded(multiply(result, value) + part)
    return result


def coefficients(poly: Poly, place: int) -> list[Poly]:
    """The coefficients of the powers of a generator, from power 0."""
    generator = poly.ring.gens[place]
    return [poly.coeff_wrt(generator, power) for power in range(max(poly.degree(generator), 0) + 1)]


def places_in(poly: Poly) -> set[int]:
    """The generators that occur."""
    return {place for powers in poly for place, power in enumerate(powers) if power}


def total_degree(poly: Poly) -> int:
    """The highest sum of powers."""
    return max(map(sum, poly))


def bounded(poly: Poly) -> Poly:
    """Check the size of a polynomial.

    Raises:
        MathsError: too many terms, or too many digits.
    """
    if len(poly) > MAX_TERMS:
        raise MathsError(Failure.LIMIT, f"an expression has at most {MAX_TERMS} terms")
    for value in poly.values():
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
            raise too_many_digits()
    return poly


def rational(value: Any) -> Rational:
    """A number from sympy."""
    return plain(Fraction(int(value.numerator), int(value.denominator)))


def coefficient(value: Rational) -> Any:
    """A number for sympy."""
    return QQ(value.numerator, value.denominator)


@lru_cache(maxsize=256)
def ring(count: int) -> Any:
    """The ring of polynomials in `count` generators."""
    return PolyRing([Symbol(f"v{place}") for place in range(count)], QQ, grlex)


def _moved(poly: Poly, places: Iterable[int], common: Any) -> Poly:
    """The polynomial in a ring with more generators."""
    terms = {}
    for powers, value in poly.items():
        moved = [0] * common.ngens
        for place, power in zip(places, powers, strict=True):
            moved[place] = power
        terms[tuple(moved)] = value
    return common.from_dict(terms)
