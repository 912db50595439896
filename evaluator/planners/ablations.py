"""Ablations: gold plans with steps left out or reordered.

On a valid board, a plan without a necessary step scores less than one with it. `planarena validity` checks this with
these plans over a whole suite.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from evaluator.core.planner import PlannerReply, PlannerRequest
from evaluator.core.plans.checks import execution_order
from evaluator.core.plans.model import Plan, Step, plan_to_json
from evaluator.core.records import PlannerCall
from evaluator.core.suites.base import Task
from evaluator.core.tools.types import Catalogue, ResourceType

_SHUFFLES = 20
"""Attempts to find an order that differs."""


class Kind(StrEnum):
    """The change of a gold plan."""

    GOLD = "gold"
    SHUFFLED = "shuffled"
    DROPPED = "dropped"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Variant:
    """A gold plan or a change of it."""

    kind: Kind
    plan: Plan
    left_out: str | None = None
    """Tool of the missing step."""

    @property
    def name(self) -> str:
        """Unique among the variants of a task."""
        return self.kind.value if self.left_out is None else f"without {self.left_out}"


def without_step(*, plan: Plan, step: str, catalogue: Catalogue, resources: Mapping[str, ResourceType]) -> Plan | None:
    """The plan without one step, whose output is replaced by the step's first input of the same type.

    Returns:
        None if the step has no such input.
    """
    removed = next(candidate for candidate in plan.steps if candidate.id == step)
    # Plans may name resources with or without `$`.
    types = {form: kind for name, kind in resources.items() for form in (f"${name}", name)}
    for other in plan.steps:
        types |= {reference: catalogue[other.tool].outputs[name] for name, reference in other.outputs.items()}
    result = next(iter(removed.outputs.values()))
    stand_in = next((value for value in removed.inputs.values() if types.get(value) is types[result]), None)
    if stand_in is None:
        return None
    steps = tuple(
        replace(other, inputs={name: stand_in if value == result else value for name, value in other.inputs.items()})
        for other in plan.steps
        if other is not removed
    )
    return Plan(steps=steps, answers=tuple(stand_in if answer == result else answer for answer in plan.answers))


def without_dependents(*, plan: Plan, step: str) -> Plan:
    """The plan without one step and without its direct and indirect dependents."""
    lost: set[str] = set()
    remaining: set[str] = set()
    for other in execution_order(plan):
        if other.id == step or not lost.isdisjoint(other.inputs.values()):
            lost |= set(other.outputs.values())
        else:
            remaining.add(other.id)
    return Plan(
        steps=tuple(other for other in plan.steps if other.id in remaining),
        answers=tuple(answer for answer in plan.answers if answer not in lost),
    )


def minus_one(*, plan: Plan, seed: str, catalogue: Catalogue, resources: Mapping[str, ResourceType]) -> Plan:
    """The plan without one random step: rewired where types allow (`without_step`), otherwise without its
    dependents."""
    if not plan.steps:
        return plan
    step = random.Random(f"minus one {seed}").choice(plan.steps).id  # noqa: S311 - not for secrets
    shorter = without_step(plan=plan, step=step, catalogue=catalogue, resources=resources)
    return without_dependents(plan=plan, step=step) if shorter is None else shorter


def literals(*, plan: Plan, resources: Mapping[str, ResourceType]) -> tuple[tuple[Step, str], ...]:
    """The literal arguments of the plan, as pairs of step and argument name."""
    references = {reference for step in plan.steps for reference in step.outputs.values()}
    return tuple(
        (step, name)
        for step in plan.steps
        for name, value in step.inputs.items()
        if value not in references and value.removeprefix("$") not in resources
    )


def with_texts(*, plan: Plan, texts: Mapping[tuple[str, str], str]) -> Plan:
    """The plan with the arguments `texts`, by step id and argument name, replaced."""
    return Plan(
        steps=tuple(
            replace(step, inputs={name: texts.get((step.id, name), value) for name, value in step.inputs.items()})
            for step in plan.steps
        ),
        answers=plan.answers,
    )


def shuffled(*, plan: Plan, seed: str, movable: frozenset[str]) -> Plan | None:
    """The plan with the tools of its movable steps, a chain of one type, in another order.

    Returns:
        None if no other order exists.
    """
    places = [step for step in execution_order(plan) if step.tool in movable]
    tools = [step.tool for step in places]
    if len(set(tools)) < 2:
        return None
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    for _ in range(_SHUFFLES):
        order = rng.sample(tools, len(tools))
        if order != tools:
            chosen = {step.id: tool for step, tool in zip(places, order, strict=True)}
            steps = tuple(replace(step, tool=chosen.get(step.id, step.tool)) for step in plan.steps)
            return Plan(steps=steps, answers=plan.answers)
    return None


def variants(*, task: Task, catalogue: Catalogue, movable: frozenset[str]) -> Iterator[Variant]:
    """The gold plan and all changes of it that can still be executed, with unique names.

    Args:
        movable: tools whose output has the type of their input, such as image restoration.
    """
    gold = task.gold
    if gold is None:
        return
    yield Variant(Kind.GOLD, gold)
    if task.metric == "ViT":
        other = shuffled(plan=gold, seed=task.key, movable=movable)
        if other is not None:
            yield Variant(Kind.SHUFFLED, other)
    for step in gold.steps:
        shorter = without_step(plan=gold, step=step.id, catalogue=catalogue, resources=task.resources)
        if shorter is not None and shorter.steps:
            # Names the step's input as well where the plan calls the tool more than once.
            is_unique = gold.tools().count(step.tool) == 1
            left_out = step.tool if is_unique else f"{step.tool} of {next(iter(step.inputs.values()))}"
            yield Variant(Kind.DROPPED, shorter, left_out=left_out)
    same = next((name for name, kind in task.resources.items() if kind is task.expects), None)
    if same is not None:
        yield Variant(Kind.NOTHING, Plan(steps=(), answers=(f"${same}",)))


class VariantPlanner:
    """Answers each task with one variant of its gold plan."""

    def __init__(self, *, name: str, plans: Mapping[str, Plan]) -> None:
        self.name = name
        self.plans = plans

    def plan(self, request: PlannerRequest) -> PlannerReply:
        return PlannerReply(plan=plan_to_json(self.plans[request.task.id]), call=PlannerCall(seconds=0.0))
