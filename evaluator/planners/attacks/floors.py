"""Floors: what is earned without planning: no answer, random plans, one plan for all, the request handed to one tool.

Attacks are compared with the best of them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from evaluator.core.planner import OfferedTool, Planner, PlannerRequest
from evaluator.core.plans.model import Plan, Step, plan_to_json
from evaluator.core.turns import TurnPlanner
from evaluator.planners.ablations import with_texts
from evaluator.planners.attacks.base import Knowledge, PlansOf, Target, on_judged_texts
from evaluator.planners.attacks.public_plans import MostFrequent, literals_of
from evaluator.planners.bundled import BUNDLED

_NAME = re.compile(r"\S+\.\w{2,4}\b")


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
            yield Floor(name=entry.name, make=lambda target, make=entry.make: make(target.asked))
    yield Floor(name="most-frequent", make=lambda target: PlansOf("most-frequent", MostFrequent(target.public.tasks)))
    if on_judged_texts(target):
        for tool in target.public.catalogue.tools.values():
            kinds = [str(kind) for kind in tool.inputs.values()]
            if kinds.count("text") == 1 and set(kinds) - {"text"} <= {"image", "video", "audio"}:
                name = f"copied-to-{tool.name}"
                yield Floor(name=name, make=lambda _, name=name, tool=tool.name: PlansOf(name, copying(tool)))


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
    yield Floor(name="one word as every text", make=lambda target: with_every_text(target, text="thing"))


def with_every_text(target: Target, *, text: str) -> Planner:
    """The gold plans with one text in the place of every text."""

    def plan(request: PlannerRequest) -> object:
        task = target.asked.task(request.task.id)
        if task.gold is None:
            return plan_to_json(Plan(steps=(), answers=()))
        texts = {(step.id, slot): text for step, slot in literals_of(task)}
        return plan_to_json(with_texts(plan=task.gold, texts=texts))

    return PlansOf("texts", plan)
