"""From relations to the values of `SolveEquation` and `SolveInequality`."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evaluator.lumos.maths.algebra.arithmetic import Rational, rounded
from evaluator.lumos.maths.algebra.errors import Failure, MathsError, Work
from evaluator.lumos.maths.algebra.evaluate import Evaluator, Value, evaluated, variables_in
from evaluator.lumos.maths.algebra.inequalities import Interval, solve_inequalities
from evaluator.lumos.maths.algebra.polynomials import ONE, Quotient, variable
from evaluator.lumos.maths.algebra.roots import Root
from evaluator.lumos.maths.algebra.systems import Solution, solve
from evaluator.lumos.maths.algebra.values import Relation, Relations, Result, relation_of, result_of
from evaluator.lumos.maths.session import combined


class _Condition(NamedTuple):
    value: Value
    """The left side minus the right one."""
    operator: str


def solved(
    *, relations: Sequence[Relation], named: Sequence[str], outputs: int, exact: bool, work: Work
) -> tuple[Result, ...]:
    """The values for the outputs of `SolveEquation`; see `evaluator.lumos.maths.tools`.

    Raises:
        MathsError: there is no solution, or the number of outputs does not fit.
    """
    conditions = list(_conditions(relations, work=work))
    wrong = next((one.operator for one in conditions if one.operator != "="), None)
    if wrong:
        raise MathsError(Failure.KIND, f"expected equations, found {wrong!r}; inequalities are for SolveInequality")
    unknowns = list(named) or _variables(conditions)
    if not unknowns:
        raise MathsError(Failure.UNSOLVED, "the equation has no unknown")
    if not named and outputs < len(unknowns) and len(conditions) < len(unknowns):
        names = ", ".join(unknowns)
        message = f"fewer equations than unknowns ({names}); name the one to solve for last"
        raise MathsError(Failure.UNSOLVED, f"{message}, as in SolveEquation({relations[0].text}, {unknowns[0]})")
    solutions = solve(equations=[one.value for one in conditions], unknowns=unknowns, work=work)
    if not solutions:
        raise MathsError(Failure.UNSOLVED, "no real number solves this")
    return _outputs([_exactly(one, exact) for one in solutions], unknowns=unknowns, outputs=outputs)


def _outputs(solutions: Sequence[Solution], *, unknowns: Sequence[str], outputs: int) -> tuple[Result, ...]:
    if len(unknowns) == 1:
        values = [_result(solution, unknowns[0]) for solution in solutions]
        return tuple(values) if outputs == len(values) else (combined(values),)
    if outputs == 1:
        return (combined([_together(solution, unknowns) for solution in solutions]),)
    if outputs == len(unknowns):
        return tuple(combined([_result(solution, name) for solution in solutions]) for name in unknowns)
    message = f"{len(unknowns)} unknowns ({', '.join(unknowns)}) need 1 or {len(unknowns)} outputs, not {outputs}"
    raise MathsError(Failure.OUTPUTS, message)


def solved_inequalities(*, relations: Sequence[Relation], exact: bool, work: Work) -> Result:
    """The numbers that satisfy all relations, as relations of the unknown.

    Raises:
        MathsError: there are none, all do, or the relations are not solved.
    """
    conditions = list(_conditions(relations, work=work))
    unknowns = _variables(conditions)
    if len(unknowns) != 1:
        raise MathsError(Failure.UNSOLVED, f"expected one unknown, found {', '.join(unknowns) or 'none'}")
    found = solve_inequalities(conditions=conditions, unknown=unknowns[0], work=work)
    if not found:
        raise MathsError(Failure.UNSOLVED, f"no real {unknowns[0]} satisfies this")
    if found[0].low is None and found[0].high is None:
        raise MathsError(Failure.UNSOLVED, f"every real {unknowns[0]} satisfies this")
    return combined([_interval(one, unknown=unknowns[0], exact=exact) for one in found])


def _conditions(relations: Sequence[Relation], *, work: Work) -> Iterator[_Condition]:
    state = Evaluator(work=work)
    for relation in relations:
        left, right = (evaluated(side, bindings={}, state=state) for side in (relation.left, relation.right))
        yield _Condition(state.operation("-", left, right), relation.operator)


def _variables(conditions: Sequence[_Condition]) -> list[str]:
    return sorted({name for condition in conditions for name in variables_in(condition.value)})


def _exactly(solution: Solution, exact: bool) -> Solution:
    return Solution(solution.values, solution.exact and exact)


def _result(solution: Solution, name: str) -> Result:
    return result_of(solution.values[name], exact=solution.exact)


def _together(solution: Solution, unknowns: Sequence[str]) -> Relations:
    relations = tuple(
        relation_of(_variable(name), "=", _kept(solution.values[name], exact=solution.exact)) for name in unknowns
    )
    return Relations(relations, solution.exact)


def _interval(interval: Interval, *, unknown: str, exact: bool) -> Relations:
    low, high = interval.low, interval.high
    ends = [end for end in (low, high) if end is not None]
    exact = exact and all(end.exact for end in ends)
    if low is not None and low == high:
        return Relations((_relation(unknown, "=", low, exact=exact),), exact)
    found = []
    if low is not None:
        found.append(_relation(unknown, ">=" if interval.has_low else ">", low, exact=exact))
    if high is not None:
        found.append(_relation(unknown, "<=" if interval.has_high else "<", high, exact=exact))
    return Relations(tuple(found), exact)


def _relation(unknown: str, operator: str, end: Root, *, exact: bool) -> Relation:
    return relation_of(_variable(unknown), operator, _kept(end.value, exact=exact))


def _kept(value: Value, *, exact: bool) -> Value:
    return value if exact or not isinstance(value, Rational) else rounded(value)


def _variable(name: str) -> Value:
    return Quotient(variable(name), ONE)
