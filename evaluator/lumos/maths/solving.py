"""Solves relations for `SolveEquation` and `SolveInequality`.

For inequalities, the roots of all numerators and denominators divide the line into points and open intervals of
constant sign, and each is tested with one number. (sympy's sets take 15 seconds to compare roots of degree 12.)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from evaluator.lumos.maths.algebra.arithmetic import Rational, rounded
from evaluator.lumos.maths.algebra.equations import Root, Solution, real_roots, solve, univariate
from evaluator.lumos.maths.algebra.errors import MAX_UNKNOWNS, Failure, MathsError
from evaluator.lumos.maths.algebra.evaluate import Evaluator, evaluated, variables_in
from evaluator.lumos.maths.algebra.symbolic import Value, atoms_of, coefficient, fraction, variable
from evaluator.lumos.maths.algebra.values import Relation, Relations, Result, relation_of, result_of
from evaluator.lumos.maths.session import combined

_HOLDS = {"<": {-1}, "<=": {-1, 0}, ">": {1}, ">=": {0, 1}, "=": {0}, "!=": {-1, 1}}


@dataclass(frozen=True, slots=True)
class Interval:
    """A range of numbers; None for an infinite end."""

    low: Root | None
    high: Root | None
    has_low: bool
    has_high: bool


@dataclass(frozen=True, slots=True)
class _Test:
    top: Any
    bottom: Any
    operator: str
    zeros: frozenset[Rational]
    poles: frozenset[Rational]

    def holds(self, value: Rational) -> bool:
        if value in self.poles:
            return False
        sign = 0
        if value not in self.zeros:
            product = self.top.eval(coefficient(value)) * self.bottom.eval(coefficient(value))
            sign = bool(product > 0) - bool(product < 0)
        return sign in _HOLDS[self.operator]


def solve_inequalities(*, conditions: Sequence[tuple[Value, str]], unknown: str) -> tuple[Interval, ...]:
    """The intervals on which all conditions hold, in increasing order; a single number is an interval with equal ends.

    Args:
        conditions: values, and the operators that compare them with zero.
        unknown: the only variable.

    Raises:
        MathsError: a condition has other variables or functions of them, or too high a degree.
    """
    if len(conditions) > 2 * MAX_UNKNOWNS:
        raise MathsError(Failure.LIMIT, f"at most {2 * MAX_UNKNOWNS} inequalities are solved together")
    roots: dict[Rational, Root] = {}
    tests = []
    for value, operator in conditions:
        if set(atoms_of(value)) - {unknown}:
            message = f"inequalities are solved in one unknown without functions of it, here {unknown}"
            raise MathsError(Failure.UNSOLVED, message)
        top, bottom = (univariate(part, 0) for part in fraction(value, atoms=(unknown,)))
        zeros, poles = (real_roots(part) if part.degree() > 0 else () for part in (top, bottom))
        roots.update({root.value: root for root in (*zeros, *poles)})
        tests.append(
            _Test(
                top=top, bottom=bottom, operator=operator, zeros=frozenset(root.value for root in zeros),
                poles=frozenset(root.value for root in poles),
            )
        )  # fmt: skip
    return tuple(_intervals(tests, roots=[roots[value] for value in sorted(roots)]))


def _intervals(tests: Sequence[_Test], *, roots: Sequence[Root]) -> Iterator[Interval]:
    """The pieces of the line on which the conditions hold, with adjacent ones joined."""
    current: Interval | None = None
    for piece, sample in _pieces(roots):
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
    """The points and open intervals of the line, each with a number in it."""
    for low, high in pairwise([None, *roots, None]):
        if low is not None:
            yield Interval(low, low, has_low=True, has_high=True), low.value
        if low is None:
            inside = 0 if high is None else high.value - 1
        else:
            inside = low.value + 1 if high is None else Fraction(low.value + high.value) / 2
        yield Interval(low, high, has_low=False, has_high=False), inside


class _Condition(NamedTuple):
    value: Value
    """The left side minus the right one."""
    operator: str


def solved(*, relations: Sequence[Relation], named: Sequence[str], outputs: int, exact: bool) -> tuple[Result, ...]:
    """The values for the outputs of `SolveEquation`; see `evaluator.lumos.maths.tools`.

    Raises:
        MathsError: there is no solution, or the number of outputs does not fit.
    """
    conditions = list(_conditions(relations))
    wrong = next((condition.operator for condition in conditions if condition.operator != "="), None)
    if wrong:
        raise MathsError(Failure.KIND, f"expected equations, found {wrong!r}; inequalities are for SolveInequality")
    unknowns = list(named) or _variables(conditions)
    if not unknowns:
        raise MathsError(Failure.UNSOLVED, "the equation has no unknown")
    if not named and outputs < len(unknowns) and len(conditions) < len(unknowns):
        names = ", ".join(unknowns)
        message = f"fewer equations than unknowns ({names}); name the one to solve for last"
        raise MathsError(Failure.UNSOLVED, f"{message}, as in SolveEquation({relations[0].text}, {unknowns[0]})")
    solutions = [
        Solution(solution.values, solution.exact and exact)
        for solution in solve(equations=[condition.value for condition in conditions], unknowns=unknowns)
    ]
    if not solutions:
        raise MathsError(Failure.UNSOLVED, "no real number solves this")
    return _outputs(solutions, unknowns=unknowns, outputs=outputs)


def _outputs(solutions: Sequence[Solution], *, unknowns: Sequence[str], outputs: int) -> tuple[Result, ...]:
    if len(unknowns) == 1:
        values = [_result(solution, unknowns[0]) for solution in solutions]
        return tuple(values) if outputs == len(values) else (combined(values),)
    if outputs == 1:
        return (
            combined(
                [
                    Relations(
                        tuple(
                            relation_of(variable(name), "=", _rounded(solution.values[name], exact=solution.exact))
                            for name in unknowns
                        ),
                        solution.exact,
                    )
                    for solution in solutions
                ]
            ),
        )
    if outputs == len(unknowns):
        return tuple(combined([_result(solution, name) for solution in solutions]) for name in unknowns)
    message = f"{len(unknowns)} unknowns ({', '.join(unknowns)}) need 1 or {len(unknowns)} outputs, not {outputs}"
    raise MathsError(Failure.OUTPUTS, message)


def solved_inequalities(*, relations: Sequence[Relation], exact: bool) -> Result:
    """The numbers that satisfy all relations, as relations of the unknown.

    Raises:
        MathsError: no number or every number satisfies them, or the relations are not supported.
    """
    conditions = list(_conditions(relations))
    unknowns = _variables(conditions)
    if len(unknowns) != 1:
        raise MathsError(Failure.UNSOLVED, f"expected one unknown, found {', '.join(unknowns) or 'none'}")
    intervals = solve_inequalities(conditions=conditions, unknown=unknowns[0])
    if not intervals:
        raise MathsError(Failure.UNSOLVED, f"no real {unknowns[0]} satisfies this")
    if intervals[0].low is None and intervals[0].high is None:
        raise MathsError(Failure.UNSOLVED, f"every real {unknowns[0]} satisfies this")
    return combined([_interval(interval, unknown=unknowns[0], exact=exact) for interval in intervals])


def _conditions(relations: Sequence[Relation]) -> Iterator[_Condition]:
    state = Evaluator()
    for relation in relations:
        left, right = (evaluated(side, bindings={}, state=state) for side in (relation.left, relation.right))
        yield _Condition(state.operation("-", left, right), relation.operator)


def _variables(conditions: Sequence[_Condition]) -> list[str]:
    return sorted({name for condition in conditions for name in variables_in(condition.value)})


def _result(solution: Solution, name: str) -> Result:
    return result_of(solution.values[name], exact=solution.exact)


def _interval(interval: Interval, *, unknown: str, exact: bool) -> Relations:
    low, high = interval.low, interval.high
    ends = [end for end in (low, high) if end is not None]
    exact = exact and all(end.exact for end in ends)
    if low is not None and low == high:
        return Relations((_relation(unknown, "=", low, exact=exact),), exact)
    relations = []
    if low is not None:
        relations.append(_relation(unknown, ">=" if interval.has_low else ">", low, exact=exact))
    if high is not None:
        relations.append(_relation(unknown, "<=" if interval.has_high else "<", high, exact=exact))
    return Relations(tuple(relations), exact)


def _relation(unknown: str, operator: str, end: Root, *, exact: bool) -> Relation:
    return relation_of(variable(unknown), operator, _rounded(end.value, exact=exact))


def _rounded(value: Value, *, exact: bool) -> Value:
    return value if exact or not isinstance(value, Rational) else rounded(value)
