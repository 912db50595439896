"""Rivals of a gold plan: type-correct plans with at most one more step, and whether one of them scores higher.

A rival lacks a step of the gold plan, has another tool of the same types in its place, has one more step between two
steps, or has two neighbouring steps of the same types exchanged; or it combines two such changes at random. Rivals are
compared with gold on the same scenes by a paired t test.
"""

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import Plan, Step
from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.suites.base import Suite, Task
from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.planners.ablations import VariantPlanner, without_step
from evaluator.scoring.metrics.aggregate import scores_of_samples
from evaluator.scoring.metrics.plan_equality import canonical_form
from evaluator.scoring.metrics.student import two_sided_p

Evaluate = Callable[[VariantPlanner, Sequence[str]], Iterator[ResultRecord]]

LEAST = 0.005
"""Mean difference up to which a rival counts as equal: a tenth of the least cost of a missing step."""
LEVEL = 0.05
"""Upper bound of the probability that a task whose rivals are all equal is reported (Bonferroni over its rivals)."""


@dataclass(frozen=True, slots=True)
class Better:
    """A rival that scores significantly higher than the gold plan."""

    task: str
    tools: tuple[str, ...]
    gold: float
    rival: float
    p_value: float
    """One-sided, of this rival."""


def rivals_of(*, task: Task, suite: Suite, count: int, seed: str) -> tuple[Plan, ...]:
    """At most `count` distinct rivals of a task's gold plan, drawn by the seed."""
    if task.gold is None or not task.gold.steps:
        return ()
    rng = random.Random(f"rivals {seed} {task.key}")  # noqa: S311 - repeatable on purpose
    context = suite.context(task=task, offered=frozenset(suite.catalogue.tools))
    longest = len(task.gold.steps) + 1
    once = list(_changed(plan=task.gold, task=task, catalogue=suite.catalogue))
    twice: list[Plan] = []
    for first in rng.sample(once, min(len(once), count)):
        further = list(_changed(plan=first, task=task, catalogue=suite.catalogue))
        twice += rng.sample(further, min(len(further), 2))
    known = {canonical_form(task.gold)}
    distinct: list[list[Plan]] = [[], []]
    for plans, valid in zip((once, twice), distinct, strict=True):
        for plan in plans:
            if len(plan.steps) <= longest and not check_plan(plan=plan, context=context):
                form = canonical_form(plan)
                if form not in known:
                    known.add(form)
                    valid.append(plan)
    near, far = distinct
    # Two thirds differ by a single change, if there are enough.
    chosen = rng.sample(near, min(len(near), count - count // 3))
    return (*chosen, *rng.sample(far, min(len(far), count - len(chosen))))


def better_rivals(
    *, suite: Suite, tasks: Sequence[str], evaluate: Evaluate, count: int, seed: str
) -> tuple[int, tuple[Better, ...]]:
    """Execute gold plans and their rivals. Returns the number of rivals, and the better ones.

    Args:
        tasks: keys of the tasks.
        evaluate: evaluates a planner on tasks, on at least about ten scenes.
        count: rivals of each task.
        seed: draws the rivals.

    Raises:
        RuntimeError: a plan could not be executed.
    """
    golds: dict[str, Plan] = {}
    for key in tasks:
        plan = suite.task(key).gold
        if plan is None:
            raise ValueError(f"task {key} has no gold plan")
        golds[key] = plan
    gold = _scores(suite=suite, evaluate=evaluate, plans=golds)
    waiting = {key: list(rivals_of(task=suite.task(key), suite=suite, count=count, seed=seed)) for key in tasks}
    numbers = {key: len(plans) for key, plans in waiting.items()}
    better: list[Better] = []
    while any(waiting.values()):
        # In rounds, one rival of every task in each, so that experts see large batches.
        batch = {key: plans.pop(0) for key, plans in waiting.items() if plans}
        for key, scores in _scores(suite=suite, evaluate=evaluate, plans=batch).items():
            p_value = p_better(rival=scores, gold=gold[key])
            if np.mean(scores) - np.mean(gold[key]) > LEAST and p_value < LEVEL / numbers[key]:
                better.append(
                    Better(key, batch[key].tools(), float(np.mean(gold[key])), float(np.mean(scores)), p_value)
                )
    return sum(numbers.values()), tuple(better)


def p_better(*, rival: Sequence[float], gold: Sequence[float]) -> float:
    """One-sided p-value for a rival being better than gold, by a paired t test over the scenes."""
    differences = np.subtract(rival, gold)
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    if mean <= 0:
        return 1.0
    if spread < 1e-9:
        # Constant differences carry no more information than a sign test.
        return 2.0 ** -len(differences)
    return two_sided_p(t=mean / (spread / math.sqrt(len(differences))), df=len(differences) - 1) / 2


def _scores(*, suite: Suite, evaluate: Evaluate, plans: Mapping[str, Plan]) -> dict[str, tuple[float, ...]]:
    planner = VariantPlanner(name="rivals", plans=plans)
    scores: dict[str, tuple[float, ...]] = {}
    for record in evaluate(planner, list(plans)):
        if record.outcome is not Outcome.SCORED:
            raise RuntimeError(f"{suite.slug} {record.task}: {record.outcome} {record.reason_text}")
        scores[record.task] = scores_of_samples(record)
    return scores


def _changed(*, plan: Plan, task: Task, catalogue: Catalogue) -> Iterator[Plan]:
    """All plans that differ from a plan by one change."""
    for step in plan.steps:
        shorter = without_step(plan=plan, step=step.id, catalogue=catalogue, resources=task.resources)
        if shorter is not None:
            yield shorter
    for step in plan.steps:
        for tool in catalogue.tools.values():
            if tool.name != step.tool and _types(tool) == _types(catalogue[step.tool]):
                yield _replaced(plan, step, replace(step, tool=tool.name))
    yield from _longer(plan=plan, task=task, catalogue=catalogue)
    makers = {value: step for step in plan.steps for value in step.outputs.values()}
    for step in plan.steps:
        for value in step.inputs.values():
            before = makers.get(value)
            if before is None or before.tool == step.tool:
                continue
            if _types(catalogue[before.tool]) == _types(catalogue[step.tool]):
                yield _replaced(
                    _replaced(plan, before, replace(before, tool=step.tool)), step, replace(step, tool=before.tool)
                )


def _longer(*, plan: Plan, task: Task, catalogue: Catalogue) -> Iterator[Plan]:
    """A tool whose output has the type of its input, inserted before all uses of a value, or before one of several."""
    types = {f"${name}": kind for name, kind in task.resources.items()}
    for step in plan.steps:
        outputs = catalogue[step.tool].outputs
        types |= {reference: outputs[name] for name, reference in step.outputs.items()}
    for value, kind in types.items():
        users = [step.id for step in plan.steps if value in step.inputs.values()]
        places = [*users, *(["answers"] if value in plan.answers else [])]
        for tool in catalogue.tools.values():
            if set(tool.inputs.values()) == set(tool.outputs.values()) == {kind} and len(tool.inputs) == 1:
                for chosen in [places, *([place] for place in places if len(places) > 1)]:
                    if chosen:
                        yield _inserted(plan=plan, tool=tool, value=value, before=frozenset(chosen))


def _types(tool: Tool) -> tuple[dict[str, ResourceType], dict[str, ResourceType]]:
    return dict(tool.inputs), dict(tool.outputs)


def _inserted(*, plan: Plan, tool: Tool, value: str, before: frozenset[str]) -> Plan:
    name = f"extra{len(plan.steps)}"
    outputs = {output: f"{name}.{output}" for output in tool.outputs}
    result = next(iter(outputs.values()))
    extra = Step(id=name, tool=tool.name, inputs=dict.fromkeys(tool.inputs, value), outputs=outputs)
    steps = [
        replace(step, inputs={key: result if item == value else item for key, item in step.inputs.items()})
        if step.id in before
        else step
        for step in plan.steps
    ]
    answers = tuple(result if item == value and "answers" in before else item for item in plan.answers)
    return Plan(steps=(*steps, extra), answers=answers)


def _replaced(plan: Plan, old: Step, new: Step) -> Plan:
    return replace(plan, steps=tuple(new if step.id == old.id else step for step in plan.steps))
