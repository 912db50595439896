"""From an alignment to findings: what a plan does otherwise than the nearest sufficient plan. Pure."""

from collections.abc import Collection, Iterator, Sequence

from evaluator.core.plans.model import Plan
from evaluator.core.suites.base import RightPlans
from evaluator.core.tools.types import Catalogue
from evaluator.scoring.causes.alignment import Alignment, align, cost_of
from evaluator.scoring.causes.graphs import Graph, Made, Resource, Text, Value
from evaluator.scoring.causes.taxonomy import Cause, Finding, shortened


def differences(
    *, plan: Plan, right: RightPlans, catalogue: Catalogue, resources: Collection[str]
) -> tuple[Finding, ...]:
    """What a plan does otherwise than the nearest of some sufficient plans; none if it is one of them.

    Args:
        plan: the planner's, with at least one step.
        right: the sufficient plans.
        catalogue: signatures of the tools.
        resources: names of the request's inputs.
    """
    own = Graph.of(plan, resources=resources)
    aligned = [align(plan=own, right=Graph.of(one, resources=resources), catalogue=catalogue) for one in right.plans]
    found: list[Finding] = []
    if aligned:
        nearest = min(aligned, key=lambda one: cost_of(one, catalogue=catalogue, check_answers=right.with_answers))
        found += _of_steps(nearest, catalogue=catalogue, harmless=right.harmless)
        if right.with_answers:
            found += _of_answers(nearest)
    if right.in_written_order:
        found += _taken_too_early(plan)
    return tuple(sorted(dict.fromkeys(found), key=lambda one: _RANKS[one.cause]))


_RANKS = {
    cause: rank
    for rank, cause in enumerate(
        (
            Cause.MISSING_STEP, Cause.WRONG_TOOL, Cause.WRONG_ORDER, Cause.WRONG_INPUT, Cause.WRONG_LITERAL,
            Cause.EXTRA_STEP, Cause.WRONG_ANSWERS,
        )
    )
}  # fmt: skip
"""What weighs more comes first."""


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
    yield from _of_order(nearest)


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


def _of_order(nearest: Alignment) -> Iterator[Finding]:
    for second in dict.fromkeys(second for _, second in nearest.inverted):
        step = nearest.plan.steps[nearest.pairs[second]]
        before = [nearest.right.steps[first].tool for first, other in nearest.inverted if other == second]
        yield Finding(cause=Cause.WRONG_ORDER, step=step.id, tool=step.tool, wanted=f"after {', '.join(before)}")


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
    """Steps that take results of steps that are written below them."""
    made_below = {reference: step.tool for step in plan.steps for reference in step.outputs.values()}
    for step in plan.steps:
        early = [made_below[value] for value in step.inputs.values() if value in made_below]
        if early:
            yield Finding(cause=Cause.WRONG_ORDER, step=step.id, tool=step.tool, wanted=f"after {', '.join(early)}")
        for reference in step.outputs.values():
            made_below.pop(reference, None)


def _listed(values: Sequence[Value], graph: Graph) -> str:
    return shortened(", ".join(_described(value, graph) or "" for value in values) or "none")


def _described(value: Value | None, graph: Graph) -> str | None:
    if isinstance(value, Resource):
        return shortened(f"${value.name}")
    if isinstance(value, Made):
        return shortened(f"the result of {graph.steps[value.step].tool}")
    return None if value is None else shortened(f"“{value.text}”")
