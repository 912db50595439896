"""Solving inequalities in one real unknown: the sets of numbers that satisfy all of them.

The roots of all numerators and denominators cut the line into points and open intervals on which no sign changes; each
is tried by one number.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from evaluator.lumos.maths.algebra.arithmetic import Rational
from evaluator.lumos.maths.algebra.errors import MAX_UNKNOWNS, Failure, MathsError, Work
from evaluator.lumos.maths.algebra.evaluate import Value, as_quotient
from evaluator.lumos.maths.algebra.polynomials import atoms_of, degree_in
from evaluator.lumos.maths.algebra.roots import Root, real_roots, sign_at
from evaluator.lumos.maths.algebra.systems import dense_coefficients

_HOLDS = {"<": {-1}, "<=": {-1, 0}, ">": {1}, ">=": {0, 1}, "=": {0}, "!=": {-1, 1}}


@dataclass(frozen=True, slots=True)
class Interval:
    """A range of numbers; an end that is None is infinite."""

    low: Root | None
    high: Root | None
    has_low: bool
    has_high: bool


@dataclass(frozen=True, slots=True)
class _Condition:
    top: list[Rational]
    bottom: list[Rational]
    operator: str
    zeros: frozenset[Rational]
    poles: frozenset[Rational]

    def holds(self, value: Rational) -> bool:
        if value in self.poles:
            return False
        sign = 0 if value in self.zeros else sign_at(self.top, value) * sign_at(self.bottom, value)
        return sign in _HOLDS[self.operator]


def solve_inequalities(*, conditions: Sequence[tuple[Value, str]], unknown: str, work: Work) -> tuple[Interval, ...]:
    """The intervals on which all conditions hold, in increasing order; one number is an interval with equal ends.

    Args:
        conditions: each a value and how it compares with zero.
        unknown: the only variable.
        work: what may be done.

    Raises:
        MathsError: a condition has other variables or functions of them, or too high a degree.
    """
    if len(conditions) > 2 * MAX_UNKNOWNS:
        raise MathsError(Failure.LIMIT, f"at most {2 * MAX_UNKNOWNS} inequalities are solved together")
    roots: dict[Rational, Root] = {}
    tests = [_condition(value, operator, unknown=unknown, roots=roots, work=work) for value, operator in conditions]
    return tuple(_intervals(tests, roots=[roots[value] for value in sorted(roots)], work=work))


def _condition(value: Value, operator: str, *, unknown: str, roots: dict[Rational, Root], work: Work) -> _Condition:
    quotient = as_quotient(value)
    if set(atoms_of(quotient.numerator, quotient.denominator)) - {unknown}:
        raise MathsError(
            Failure.UNSOLVED, f"inequalities are solved in one unknown without functions of it, here {unknown}"
        )
    found = []
    for part in (quotient.numerator, quotient.denominator):
        zeros = real_roots(dense_coefficients(part, unknown), work=work) if degree_in(part, unknown) else ()
        roots.update({root.value: root for root in zeros})
        found.append(frozenset(root.value for root in zeros))
    top, bottom = (dense_coefficients(part, unknown) for part in (quotient.numerator, quotient.denominator))
    return _Condition(top=top, bottom=bottom, operator=operator, zeros=found[0], poles=found[1])


def _intervals(tests: Sequence[_Condition], *, roots: Sequence[Root], work: Work) -> Iterator[Interval]:
    """Neighbouring pieces of the line on which the conditions hold, joined."""
    current: Interval | None = None
    for piece, sample in _pieces(roots):
        work.spend(10 * len(tests))
        if not all(test.holds(sample) for test in tests):
            if current is not None:
                yield current
            current = None
        elif current is None:
            current = piece
        else:
            current = Interval(current.low, piece.high, current.has_low, piece.has_high)
    if current is not None:
        yield current


def _pieces(roots: Sequence[Root]) -> Iterator[tuple[Interval, Rational]]:
    ends = [None, *roots, None]
    for low, high in pairwise(ends):
        if low is not None:
            yield Interval(low, low, has_low=True, has_high=True), low.value
        yield Interval(low, high, has_low=False, has_high=False), _between(low, high)


def _between(low: Root | None, high: Root | None) -> Rational:
    if low is None:
        return 0 if high is None else high.value - 1
    return low.value + 1 if high is None else Fraction(low.value + high.value) / 2
