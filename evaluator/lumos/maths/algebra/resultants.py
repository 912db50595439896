"""The resultant of two polynomials in two unknowns, by interpolation.

Its degree is at most the product of the total degrees (Bezout), so that its values at one more point determine it. Each
value is the determinant of Sylvester's matrix with numbers, of the formal degrees.
"""

from fractions import Fraction
from itertools import pairwise

from evaluator.lumos.maths.algebra.arithmetic import Rational
from evaluator.lumos.maths.algebra.errors import MAX_SOLVED_DEGREE, Failure, MathsError, Work
from evaluator.lumos.maths.algebra.polynomials import Poly, coefficients, constant, constant_of, degree_in, substitute


def resultant(a: Poly, b: Poly, *, unknown: str, keep: str, work: Work) -> Poly:
    """The polynomial in `keep` that is zero wherever both others have a common root in `unknown`.

    Raises:
        MathsError: its degree may be too high.
    """
    total = _total_degree(a) * _total_degree(b)
    if total > MAX_SOLVED_DEGREE:
        raise MathsError(Failure.LIMIT, f"the product of the degrees of two equations is at most {MAX_SOLVED_DEGREE}")
    degrees = degree_in(a, unknown), degree_in(b, unknown)
    if not all(degrees):
        return a if not degrees[0] else b
    points = range(total + 1)
    values = [_value_at(a, b, unknown=unknown, keep=keep, point=point, degrees=degrees, work=work) for point in points]
    return {((keep, power),) if power else (): value for power, value in enumerate(_interpolated(values)) if value}


def _value_at(
    a: Poly, b: Poly, *, unknown: str, keep: str, point: int, degrees: tuple[int, int], work: Work
) -> Rational:
    rows = []
    size = sum(degrees)
    for poly, degree, count in ((a, degrees[0], degrees[1]), (b, degrees[1], degrees[0])):
        at = substitute(poly, keep, constant(point), work=work)
        numbers = [constant_of(part) or 0 for part in coefficients(at, unknown)]
        high = [Fraction(0)] * (degree + 1 - len(numbers)) + [Fraction(value) for value in reversed(numbers)]
        rows += [[Fraction(0)] * shift + high + [Fraction(0)] * (size - degree - 1 - shift) for shift in range(count)]
    work.spend(size**3)
    return _determinant(rows)


def _determinant(rows: list[list[Fraction]]) -> Fraction:
    found = Fraction(1)
    for column in range(len(rows)):
        pivot = next((index for index in range(column, len(rows)) if rows[index][column]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != column:
            rows[column], rows[pivot], found = rows[pivot], rows[column], -found
        lead = rows[column][column]
        found *= lead
        for index in range(column + 1, len(rows)):
            factor = rows[index][column] / lead
            if factor:
                rows[index] = [x - factor * y for x, y in zip(rows[index], rows[column], strict=True)]
    return found


def _interpolated(values: list[Rational]) -> list[Rational]:
    """Coefficients from power 0 of the polynomial with these values at 0, 1, 2, ... (Newton)."""
    differences, column = [], [Fraction(value) for value in values]
    for order in range(len(values)):
        differences.append(column[0])
        column = [(second - first) / (order + 1) for first, second in pairwise(column)]
    found: list[Fraction] = []
    for node in range(len(values) - 1, -1, -1):
        shifted = [Fraction(0), *found]
        found = [x - node * y for x, y in zip(shifted, [*found, Fraction(0)], strict=True)]
        found[0] += differences[node]
    return [value.numerator if value.denominator == 1 else value for value in found]


def _total_degree(poly: Poly) -> int:
    return max(sum(power for _, power in monomial) for monomial in poly)
