"""Floors: what is earned without planning: no answer, random plans, one plan for all, the request handed to one tool.

Attacks are compared with the best of them.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from evaluator.core.planner import OfferedTool, Planner, PlannerRequest
from evaluator.core.plans.model import Plan, Step, plan_to_json
from evaluator.core.suites.base import Suite, Task
from evaluator.core.turns import TurnPlanner
from evaluator.planners.ablations import with_texts
from evaluator.planners.anchors import BundledEntry
from evaluator.planners.attacks.base import Knowledge, PlansOf, Target, on_judged_texts
from evaluator.planners.attacks.public_plans import (
    MostFrequent,
    Shape,
    literals_of,
    plan_from,
    shape_of,
    shape_of_task,
)
from evaluator.planners.bundled import BUNDLED

_NAME = re.compile(r"\S+\.\w{2,4}\b")
_SEEDS = 5
"""Random planners, so that an attack is no better for being lucky once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """A planner that solves nothing."""

    name: str
    make: Callable[[Target], Planner | TurnPlanner]


def floors(target: Target, *, knows: Knowledge) -> tuple[Floor, ...]:
    """The floors for attackers with this knowledge."""
    return tuple(_with_tools() if knows is Knowledge.TOOLS else _of_requests(target))


def _of_requests(target: Target) -> Iterator[Floor]:
    for entry in BUNDLED.values():
        if entry.is_floor and entry.understands(target.public.slug):
            yield Floor(name=entry.name, make=partial(_bundled, entry=entry))
    yield Floor(name="most-frequent", make=lambda target: PlansOf("most-frequent", MostFrequent(target.public.tasks)))
    for seed in range(_SEEDS):
        name = f"any-public-plan/{seed + 1}"
        yield Floor(name=name, make=partial(_any_public, seed=seed))
    if on_judged_texts(target):
        for tool in target.public.catalogue.tools.values():
            kinds = [str(kind) for kind in tool.inputs.values()]
            if kinds.count("text") == 1 and set(kinds) - {"text"} <= {"image", "video", "audio"}:
                name = f"copied-to-{tool.name}"
                yield Floor(name=name, make=partial(_copying, tool=tool.name))


def _bundled(target: Target, *, entry: BundledEntry) -> Planner:
    return entry.make(target.asked)


def _any_public(target: Target, *, seed: int) -> Planner:
    return PlansOf("any", AnyPublic(target.public, seed=seed))


def _copying(target: Target, *, tool: str) -> Planner:
    del target
    return PlansOf(tool, copying(tool))


class AnyPublic:
    """The gold plan of a random public request with the same types of inputs and answers: what chance is worth."""

    def __init__(self, suite: Suite, *, seed: int) -> None:
        self._seed = seed
        self._tasks: dict[Shape, list[Task]] = {}
        for task in suite.tasks:
            self._tasks.setdefault(shape_of_task(task), []).append(task)

    def __call__(self, request: PlannerRequest) -> object:
        rng = random.Random(f"{self._seed}/{request.task.id}")  # noqa: S311 - not for secrets
        tasks = self._tasks.get(shape_of(request))
        return plan_from(rng.choice(tasks) if tasks else None, request=request)


def copying(tool: str) -> Callable[[PlannerRequest], object]:
    """Hands the request to one tool for each file that it takes, without the names of files."""

    def plan(request: PlannerRequest) -> object:
        offered = next((each for each in request.tools if each.name == tool), None)
        if offered is None:
            return plan_to_json(Plan(steps=(), answers=()))
        steps = tuple(_calls(offered, request=request))
        return plan_to_json(Plan(steps=steps, answers=tuple(name for step in steps for name in step.outputs.values())))

    return plan


def _calls(tool: OfferedTool, *, request: PlannerRequest) -> Iterator[Step]:
    text = without_names(request.task.request)
    wanted = next((kind for kind in tool.inputs.values() if kind != "text"), None)
    files: Mapping[str, str] = {name: kind for name, kind in request.task.resources.items() if kind == wanted}
    for number, file in enumerate(files if wanted else [""], start=1):
        inputs = {name: text if kind == "text" else f"${file}" for name, kind in tool.inputs.items()}
        yield Step(f"s{number}", tool.name, inputs, {name: f"s{number}.{name}" for name in tool.outputs})


def without_names(text: str) -> str:
    """A request with `the file` for each name of a file."""
    return _NAME.sub("the file", text)


def _with_tools() -> Iterator[Floor]:
    yield Floor(name="one word as every text", make=partial(with_every_text, text="thing"))


def with_every_text(target: Target, *, text: str) -> Planner:
    """The gold plans with one text in the place of every text."""

    def plan(request: PlannerRequest) -> object:
        task = target.asked.task(request.task.id)
        if task.gold is None:
            return plan_to_json(Plan(steps=(), answers=()))
        texts = {(step.id, slot): text for step, slot in literals_of(task)}
        return plan_to_json(with_texts(plan=task.gold, texts=texts))

    return PlansOf("texts", plan)
