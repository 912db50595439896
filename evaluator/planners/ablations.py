"""Ablations: what the gold plans score when steps are left out or change places.

A board is worth as much as its measure: a plan that leaves out what an image needs must score less than one that does
not. These are the plans with which `planarena validity` checks that, over the whole suite.
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
    """How a variant differs from the gold plan."""

    GOLD = "gold"
    SHUFFLED = "shuffled"
    DROPPED = "dropped"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Variant:
    """A changed gold plan."""

    kind: Kind
    plan: Plan
    left_out: str | None = None
    """Tool of the step that is missing."""

    @property
    def name(self) -> str:
        """Unique among the variants of a task."""
        return self.kind.value if self.left_out is None else f"without {self.left_out}"


def without_step(*, plan: Plan, step: str, catalogue: Catalogue, resources: Mapping[str, ResourceType]) -> Plan | None:
    """The plan without one step: who used its output gets the step's first input of the same type instead.

    Returns:
        None if the step has no input of the type it makes; without it, nobody could take its place.
    """
    gone = next(candidate for candidate in plan.steps if candidate.id == step)
    types = _types(plan=plan, catalogue=catalogue, resources=resources)
    made = next(iter(gone.outputs.values()))
    stand_in = next((value for value in gone.inputs.values() if types.get(value) is types[made]), None)
    if stand_in is None:
        return None
    steps = tuple(_replaced(step=other, old=made, new=stand_in) for other in plan.steps if other is not gone)
    return Plan(steps=steps, answers=tuple(stand_in if answer == made else answer for answer in plan.answers))


def without_dependents(*, plan: Plan, step: str) -> Plan:
    """The plan without one step and without every step that takes its results, directly or not."""
    lost: set[str] = set()
    kept: list[Step] = []
    for other in execution_order(plan):
        if other.id == step or not lost.isdisjoint(other.inputs.values()):
            lost |= set(other.outputs.values())
        else:
            kept.append(other)
    order = {other.id for other in kept}
    return Plan(
        steps=tuple(other for other in plan.steps if other.id in order),
        answers=tuple(answer for answer in plan.answers if answer not in lost),
    )


def minus_one(*, plan: Plan, seed: str, catalogue: Catalogue, resources: Mapping[str, ResourceType]) -> Plan:
    """The plan without one step, drawn by the seed: rewired where types allow (`without_step`), otherwise without its
    dependents."""
    if not plan.steps:
        return plan
    step = random.Random(f"minus one {seed}").choice(plan.steps).id  # noqa: S311 - not for secrets
    shorter = without_step(plan=plan, step=step, catalogue=catalogue, resources=resources)
    return without_dependents(plan=plan, step=step) if shorter is None else shorter


def literals(*, plan: Plan, resources: Mapping[str, ResourceType]) -> tuple[tuple[Step, str], ...]:
    """The arguments that are texts of the plan, as step and argument name, and not resources or results of a step."""
    references = {reference for step in plan.steps for reference in step.outputs.values()}
    return tuple(
        (step, name)
        for step in plan.steps
        for name, value in step.inputs.items()
        if value not in references and value.removeprefix("$") not in resources
    )


def with_texts(*, plan: Plan, texts: Mapping[tuple[str, str], str]) -> Plan:
    """The plan with other values for some arguments, named by step id and argument."""
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
        None if fewer than two steps can change places.
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
            steps = tuple(_with_tool(step, chosen.get(step.id, step.tool)) for step in plan.steps)
            return Plan(steps=steps, answers=plan.answers)
    return None


def variants(*, task: Task, catalogue: Catalogue, movable: frozenset[str]) -> Iterator[Variant]:
    """The gold plan and every change of it that can still be executed, by unique names.

    Args:
        movable: tools of which each makes what it takes, such as the restoring ones.
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
            yield Variant(Kind.DROPPED, shorter, left_out=_name(plan=gold, step=step))
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


def _name(*, plan: Plan, step: Step) -> str:
    """The step's tool, and what it works on where the plan calls the tool more than once."""
    if plan.tools().count(step.tool) == 1:
        return step.tool
    return f"{step.tool} of {next(iter(step.inputs.values()))}"


def _types(*, plan: Plan, catalogue: Catalogue, resources: Mapping[str, ResourceType]) -> dict[str, ResourceType]:
    # Plans may name resources with or without `$`.
    types = {form: kind for name, kind in resources.items() for form in (f"${name}", name)}
    for step in plan.steps:
        made = catalogue[step.tool].outputs
        types |= {reference: made[name] for name, reference in step.outputs.items()}
    return types


def _replaced(*, step: Step, old: str, new: str) -> Step:
    inputs = {name: new if value == old else value for name, value in step.inputs.items()}
    return Step(id=step.id, tool=step.tool, inputs=inputs, outputs=step.outputs)


def _with_tool(step: Step, tool: str) -> Step:
    return Step(id=step.id, tool=tool, inputs=step.inputs, outputs=step.outputs)
