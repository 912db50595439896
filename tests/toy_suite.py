"""A suite of sums, to show that a suite is one module: nothing else knows of it.

Its requests ask for twice a number, its two tools double and add numbers, and its judge computes what a plan says.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from evaluator.core.canonical_json import digest
from evaluator.core.plans.model import Plan, Step
from evaluator.core.records import Reason
from evaluator.core.suites.base import Column, Conditions, IntervalMethod, Panel, Suite, Task
from evaluator.core.suites.registry import Entry
from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.episodes.judgement import JudgedPlans, Judgement
from evaluator.episodes.parts import Planned

NUMBER = ResourceType.TEXT


def _tool(name: str, *inputs: str) -> Tool:
    return Tool(
        name=name, domain="sums", description=f"{name} numbers.",
        inputs=MappingProxyType(dict.fromkeys(inputs, NUMBER)), outputs=MappingProxyType({"sum": NUMBER}),
    )  # fmt: skip


TOOLS = Catalogue(
    name="sums", tools=MappingProxyType({"Double": _tool("Double", "number"), "Add": _tool("Add", "one", "other")})
)
COLUMNS = (
    Column(
        key="right", label="Right", description="Share of plans whose result is the wanted sum.", primary=True,
        indicator=True, interval=IntervalMethod.WILSON, good="gives the sum", bad="gives another number",
    ),
    Column(
        key="steps", label="Steps", description="Mean number of steps.", indicator=True, ordered=False, fault=None,
        high=None,
    ),
)  # fmt: skip


class SumJudge:
    """Right is a plan whose first answer is the number that the request asks for."""

    def digest(self) -> str:
        return digest({"judge": "sums", "version": 1})

    def not_judged(self, suite: Suite) -> Mapping[str, tuple[Reason, str]]:
        return {}

    def __call__(self, *, suite: Suite, planned: Planned) -> Judgement:
        plan, wanted = planned.plan.plan, 2 * int(planned.task.key)
        found = computed(plan, numbers={"number": int(planned.task.key)})
        right = float(found == wanted)
        return Judgement(
            score=right,
            indicators={"right": right, "steps": float(len(plan.steps))},
            explanations={"right": f"the plan gives {found}, and {wanted} is wanted"},
        )


def computed(plan: Plan, *, numbers: dict[str, int]) -> int | None:
    """The number that a plan's first answer is; None if it cannot be computed."""
    known = {f"${name}": number for name, number in numbers.items()}
    for step in plan.steps:
        given = [known.get(str(value), _written(value)) for value in step.inputs.values()]
        if None in given:
            return None
        result = sum(number for number in given if number is not None) * (2 if step.tool == "Double" else 1)
        known |= dict.fromkeys(step.outputs.values(), result)
    return known.get(str(plan.answers[0])) if plan.answers else None


def _written(value: object) -> int | None:
    found = re.fullmatch(r"\d{1,6}", str(value))
    return int(found[0]) if found else None


def sums() -> Suite:
    """Twelve requests."""
    return Suite(
        slug="sums", version="1", title="Sums", description="Twelve requests for the double of a number.",
        metrics=COLUMNS, catalogue=TOOLS, tasks=tuple(_task(number) for number in range(1, 13)),
        conditions=Conditions(experts=False, samples=False, splits=("all",)), panels=(Panel.INDICATORS,),
    )  # fmt: skip


def _task(number: int) -> Task:
    step = Step(id="s1", tool="Double", inputs={"number": "$number"}, outputs={"sum": "s1.sum"})
    return Task(
        key=str(number), text=f"What is twice {number}?", structure="linear", metric="right",
        resources=MappingProxyType({"number": NUMBER}), expects=NUMBER, gold=Plan(steps=(step,), answers=("s1.sum",)),
    )  # fmt: skip


SUITES = (Entry(slug="sums", build=sums, episode=JudgedPlans(judge=SumJudge())),)
