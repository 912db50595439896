"""The differences between a plan and the nearest sufficient plan. Pure.

Plans are aligned at the lowest cost. A missing or an extra step costs 1. A step that calls another tool of the same
types costs slightly more than one of them, so that an exchanged tool is one difference and not two. A wrong input costs
less than half a step. Steps without a counterpart are skipped when inputs are compared: after a missing step, the
inputs of that step are right.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

from evaluator.core.plans.model import Plan
from evaluator.core.suites.base import RightPlans
from evaluator.core.tools.types import Catalogue
from evaluator.scoring.causes.graphs import Graph, Made, Resource, Text, Value
from evaluator.scoring.causes.taxonomy import Cause, Finding, shortened

STEP = 1.0
"""Cost of a missing or an extra step."""
EXCHANGED = 1.2
INVENTED = 0.5
"""Cost of an unknown tool instead of a known one."""
INPUT = 0.4
ORDER = 0.35
REPEATED = 0.1
"""Extra cost of aligning a repeated step, so that the first one is preferred."""
_NEVER = 2.5
"""More than a missing and an extra step."""
_SIMILARITY = 0.2
_ROUNDS = 6


@dataclass(frozen=True)
class Alignment:
    """A plan aligned with a sufficient one."""

    plan: Graph
    right: Graph
    pairs: Mapping[int, int]
    """The plan's steps by their counterparts in the sufficient plan."""

    @cached_property
    def missing(self) -> tuple[int, ...]:
        """Steps of the sufficient plan without a counterpart."""
        return tuple(place for place in range(len(self.right.steps)) if place not in self.pairs)

    @cached_property
    def extra(self) -> tuple[int, ...]:
        """Steps of the plan without a counterpart."""
        return tuple(sorted(set(range(len(self.plan.steps))) - set(self.pairs.values())))

    @cached_property
    def inverted(self) -> tuple[tuple[int, int], ...]:
        """Pairs of steps of the sufficient plan whose dependency is reversed in the plan."""
        return tuple(
            (first, second)
            for second in self.pairs
            for first in sorted(self.right.ancestors[second])
            if first in self.pairs and self.pairs[second] in self.plan.ancestors[self.pairs[first]]
        )

    def is_right(self, *, wanted: Value, given: Value | None) -> bool:
        """Whether a value equals that of the sufficient plan, skipping unaligned and inverted steps."""
        if given is None:
            return False
        if isinstance(wanted, Text) and isinstance(given, Text):
            return wanted.words == given.words
        right = {
            Made(self.pairs[value.step]) if isinstance(value, Made) and value.step in self.pairs else value
            for value in self.right.origins(wanted, through=self._through_right)
        }
        return not right.isdisjoint(self.plan.origins(given, through=self._through_plan))

    @cached_property
    def _through_right(self) -> frozenset[int]:
        return frozenset(self.missing) | {place for pair in self.inverted for place in pair}

    @cached_property
    def _through_plan(self) -> frozenset[int]:
        return frozenset(self.extra) | {self.pairs[place] for pair in self.inverted for place in pair}

    def wrong_inputs(self, place: int) -> tuple[str, ...]:
        """The inputs of a step of the sufficient plan that differ in its counterpart."""
        inputs = self.plan.inputs[self.pairs[place]]
        # The inputs of an exchanged tool have other names, so any of them may have the value.
        is_exchanged = self.plan.steps[self.pairs[place]].tool != self.right.steps[place].tool
        return tuple(
            name
            for name, wanted in self.right.inputs[place].items()
            if not any(
                self.is_right(wanted=wanted, given=value)
                for value in (inputs.values() if is_exchanged else (inputs.get(name),))
            )
        )


def align(*, plan: Graph, right: Graph, catalogue: Catalogue) -> Alignment:
    """The alignment of a plan with a sufficient one at the lowest cost, by local search.

    Args:
        plan: the planner's plan.
        right: a sufficient plan.
        catalogue: signatures of the tools; unknown tools may be aligned with any.
    """
    kinds = [
        [
            _kind(step.tool, wanted=wanted.tool, catalogue=catalogue) + (REPEATED if place in plan.repeated else 0.0)
            for place, step in enumerate(plan.steps)
        ]
        for wanted in right.steps
    ]
    """The cost of each pair of steps without inputs."""
    costs = _first_costs(plan=plan, right=right, kinds=kinds)
    best: tuple[float, Alignment] | None = None
    for _ in range(_ROUNDS):
        # A row without a counterpart is missing, a column extra.
        table = [[cost - STEP for cost in line] + [STEP] * len(costs) for line in costs]
        columns = enumerate(cheapest_assignment(table))
        pairs = {row: column for row, column in columns if column < len(plan.steps)}
        alignment = Alignment(plan=plan, right=right, pairs=pairs)
        cost = cost_of(alignment, catalogue=catalogue, check_answers=True)
        if best is not None and cost >= best[0]:
            break
        best = cost, alignment
        costs = _next_costs(alignment, kinds=kinds)
    assert best is not None
    return best[1]


def cost_of(alignment: Alignment, *, catalogue: Catalogue, check_answers: bool) -> float:
    """The cost of the differences of an alignment.

    Args:
        alignment: the alignment.
        catalogue: signatures of the tools.
        check_answers: whether to compare the answers.
    """
    right, plan, pairs = alignment.right, alignment.plan, alignment.pairs
    matched = sum(
        _matched_cost(
            kind=_kind(plan.steps[pairs[place]].tool, wanted=right.steps[place].tool, catalogue=catalogue),
            wrong=len(alignment.wrong_inputs(place)),
        )
        for place in pairs
    )
    answers = sum(
        not alignment.is_right(wanted=wanted, given=plan.answers[number] if number < len(plan.answers) else None)
        for number, wanted in enumerate(right.answers)
    )
    return (
        STEP * (len(alignment.missing) + len(alignment.extra))
        + matched
        + ORDER * len(alignment.inverted)
        + (INPUT * answers if check_answers else 0.0)
    )


def _kind(tool: str, *, wanted: str, catalogue: Catalogue) -> float:
    if tool == wanted:
        return 0.0
    if tool not in catalogue:
        return INVENTED
    if wanted not in catalogue:
        return _NEVER
    called, right = catalogue[tool], catalogue[wanted]
    has_same_inputs = sorted(called.input_types) == sorted(right.input_types)
    return EXCHANGED if has_same_inputs and called.output_types == right.output_types else _NEVER


def _first_costs(*, plan: Graph, right: Graph, kinds: list[list[float]]) -> list[list[float]]:
    """The cost of each pair of steps by the sources of their results, and by inputs that are no results."""

    def differs(value: Value, given: Value | None) -> bool:
        if isinstance(value, Text) and isinstance(given, Text):
            return value.words != given.words
        return value != given

    costs = []
    for row, line in enumerate(kinds):
        direct = {name: value for name, value in right.inputs[row].items() if isinstance(value, Resource | Text)}
        costs.append([
            kind
            + _SIMILARITY * _distance(right.signatures[row], plan.signatures[column])
            + INPUT * sum(differs(value, plan.inputs[column].get(name)) for name, value in direct.items())
            for column, kind in enumerate(line)
        ])  # fmt: skip
    return costs


def _distance(first: frozenset[str], second: frozenset[str]) -> float:
    return 1 - len(first & second) / len(first | second) if first | second else 0.0


def _next_costs(alignment: Alignment, *, kinds: list[list[float]]) -> list[list[float]]:
    """The cost of each pair of steps by their inputs, given the other pairs of the alignment."""
    plan, right = alignment.plan, alignment.right
    costs = [[_NEVER] * len(line) for line in kinds]
    for row, line in enumerate(kinds):
        for column, kind in enumerate(line):
            if kind < _NEVER:
                others = {place: step for place, step in alignment.pairs.items() if step != column}
                moved = Alignment(plan=plan, right=right, pairs={**others, row: column})
                costs[row][column] = _matched_cost(kind=kind, wrong=len(moved.wrong_inputs(row)))
            costs[row][column] += _SIMILARITY / 10 * _distance(right.signatures[row], plan.signatures[column])
    return costs


def _matched_cost(*, kind: float, wrong: int) -> float:
    # A tool of the same types with wrong inputs is not an exchanged tool.
    return _NEVER if wrong and kind >= EXCHANGED else kind + INPUT * wrong


def differences(
    *, plan: Plan, right: RightPlans, catalogue: Catalogue, resources: Collection[str]
) -> tuple[Finding, ...]:
    """The differences of a plan from the nearest sufficient plan; none if it is sufficient.

    Args:
        plan: the planner's plan, with at least one step.
        right: the sufficient plans.
        catalogue: signatures of the tools.
        resources: names of the request's inputs.
    """
    own = Graph.of(plan, resources=resources)
    aligned = [
        align(plan=own, right=Graph.of(other, resources=resources), catalogue=catalogue) for other in right.plans
    ]
    findings: list[Finding] = []
    if aligned:
        nearest = min(aligned, key=lambda other: cost_of(other, catalogue=catalogue, check_answers=right.with_answers))
        findings += _of_steps(nearest, catalogue=catalogue, harmless=right.harmless)
        if right.with_answers:
            findings += _of_answers(nearest)
    if right.in_written_order:
        findings += _taken_too_early(plan)
    return tuple(sorted(dict.fromkeys(findings), key=lambda other: _RANKS[other.cause]))


_RANKS = {
    cause: rank
    for rank, cause in enumerate(
        (
            Cause.MISSING_STEP, Cause.WRONG_TOOL, Cause.WRONG_ORDER, Cause.WRONG_INPUT, Cause.WRONG_LITERAL,
            Cause.EXTRA_STEP, Cause.WRONG_ANSWERS,
        )
    )
}  # fmt: skip
"""Main causes first."""


def _of_steps(nearest: Alignment, *, catalogue: Catalogue, harmless: Collection[str]) -> Iterator[Finding]:
    plan, right = nearest.plan, nearest.right
    for place in nearest.missing:
        yield Finding(cause=Cause.MISSING_STEP, tool=right.steps[place].tool)
    for place in nearest.extra:
        step = plan.steps[place]
        if step.tool in catalogue and (place in plan.repeated or step.tool not in harmless):
            yield Finding(cause=Cause.EXTRA_STEP, step=step.id, tool=step.tool)
    for place, other in nearest.pairs.items():
        wanted, step = right.steps[place], plan.steps[other]
        if step.tool == wanted.tool:
            yield from _of_inputs(nearest, place=place)
        elif step.tool in catalogue:
            yield Finding(cause=Cause.WRONG_TOOL, step=step.id, tool=step.tool, wanted=wanted.tool, given=step.tool)
    for second in dict.fromkeys(second for _, second in nearest.inverted):
        step = plan.steps[nearest.pairs[second]]
        before = [right.steps[first].tool for first, other in nearest.inverted if other == second]
        yield Finding(cause=Cause.WRONG_ORDER, step=step.id, tool=step.tool, wanted=f"after {', '.join(before)}")


def _of_inputs(nearest: Alignment, *, place: int) -> Iterator[Finding]:
    step = nearest.plan.steps[nearest.pairs[place]]
    for name in nearest.wrong_inputs(place):
        wanted = nearest.right.inputs[place][name]
        given = nearest.plan.inputs[nearest.pairs[place]].get(name)
        is_text = isinstance(wanted, Text) and isinstance(given, Text)
        yield Finding(
            cause=Cause.WRONG_LITERAL if is_text else Cause.WRONG_INPUT, step=step.id, tool=step.tool, input=name,
            wanted=_described(wanted, nearest.right), given=_described(given, nearest.plan),
        )  # fmt: skip


def _of_answers(nearest: Alignment) -> Iterator[Finding]:
    given, wanted = nearest.plan.answers, nearest.right.answers
    is_right = len(given) == len(wanted) and all(
        nearest.is_right(wanted=one, given=other) for one, other in zip(wanted, given, strict=True)
    )
    if not is_right:
        yield Finding(
            cause=Cause.WRONG_ANSWERS,
            wanted=_listed(wanted, nearest.right), given=_listed(given, nearest.plan),
        )  # fmt: skip


def _taken_too_early(plan: Plan) -> Iterator[Finding]:
    """Steps that take results of later steps in the written order."""
    later = {reference: step.tool for step in plan.steps for reference in step.outputs.values()}
    for step in plan.steps:
        makers = [later[value] for value in step.inputs.values() if value in later]
        if makers:
            yield Finding(cause=Cause.WRONG_ORDER, step=step.id, tool=step.tool, wanted=f"after {', '.join(makers)}")
        for reference in step.outputs.values():
            later.pop(reference, None)


def _listed(values: Sequence[Value], graph: Graph) -> str:
    return shortened(", ".join(_described(value, graph) or "" for value in values) or "none")


def _described(value: Value | None, graph: Graph) -> str | None:
    if isinstance(value, Resource):
        return shortened(f"${value.name}")
    if isinstance(value, Made):
        return shortened(f"the result of {graph.steps[value.step].tool}")
    return None if value is None else shortened(f"“{value.text}”")


def cheapest_assignment(costs: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """The column of each row, all different, with the lowest sum of costs.

    The Hungarian method with shortest augmenting paths (Jonker and Volgenant, 1987), in O(rows^2 columns).

    Args:
        costs: finite, (rows, columns), with at least as many columns as rows.
    """
    columns = len(costs[0]) if costs else 0
    row_prices, column_prices = [0.0] * (len(costs) + 1), [0.0] * (columns + 1)
    taken_by = [0] * (columns + 1)
    """The row of each column, both counted from 1; 0: none. Column 0 has the row that is being assigned."""
    for row in range(1, len(costs) + 1):
        taken_by[0] = row
        _augment(costs=costs, row_prices=row_prices, column_prices=column_prices, taken_by=taken_by)
    column_of = {taken_by[column]: column - 1 for column in range(1, columns + 1)}
    return tuple(column_of[row] for row in range(1, len(costs) + 1))


def _augment(
    *, costs: Sequence[Sequence[float]], row_prices: list[float], column_prices: list[float], taken_by: list[int]
) -> None:
    """Assign the row in column 0 by a shortest augmenting path."""
    columns = len(column_prices) - 1
    shortest, came_from = [inf] * (columns + 1), [0] * (columns + 1)
    visited = [False] * (columns + 1)
    column = 0
    while taken_by[column]:
        visited[column] = True
        row, step, following = taken_by[column], inf, 0
        for other in range(1, columns + 1):
            if visited[other]:
                continue
            reduced = costs[row - 1][other - 1] - row_prices[row] - column_prices[other]
            if reduced < shortest[other]:
                shortest[other], came_from[other] = reduced, column
            if shortest[other] < step:
                step, following = shortest[other], other
        for other in range(columns + 1):
            if visited[other]:
                row_prices[taken_by[other]] += step
                column_prices[other] -= step
            else:
                shortest[other] -= step
        column = following
    while column:
        taken_by[column] = taken_by[came_from[column]]
        column = came_from[column]
