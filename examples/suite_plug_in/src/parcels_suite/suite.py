"""Requests, tools and judge. Planners get the text of a request, its inputs and the tools; never a gold plan."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from evaluator.core.plans.model import Plan, Step
from evaluator.core.plug_ins import digest_of_files
from evaluator.core.records import Reason
from evaluator.core.suites.base import Column, Conditions, IntervalMethod, Panel, Suite, Task
from evaluator.core.suites.registry import Entry
from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.episodes.judgement import JudgedPlans, Judgement
from evaluator.episodes.parts import Planned
from evaluator.scoring.metrics.plan_equality import edge_f1, is_same_plan

TEXT = ResourceType.TEXT


def _tool(name: str, description: str, *, inputs: tuple[str, ...], output: str) -> Tool:
    return Tool(
        name=name, domain="parcels", description=description,
        inputs=MappingProxyType(dict.fromkeys(inputs, TEXT)), outputs=MappingProxyType({output: TEXT}),
    )  # fmt: skip


TOOLS = Catalogue(
    name="parcels",
    tools=MappingProxyType({
        tool.name: tool
        for tool in (
            _tool("Weigh", "Weighs a parcel.", inputs=("parcel",), output="weight"),
            _tool("Quote Price", "Gives the price to a city.", inputs=("weight", "city"), output="price"),
            _tool("Print Label", "Prints a label with a city.", inputs=("parcel", "city"), output="label"),
            _tool("Book Courier", "Books a courier for a label.", inputs=("label",), output="booking"),
            _tool("Notify", "Sends somebody a message.", inputs=("message",), output="receipt"),
        )
    }),
)  # fmt: skip
COLUMNS = (
    Column(
        key="same", label="Same plan", description="Share of plans that equal the gold plan as graphs.", primary=True,
        indicator=True, interval=IntervalMethod.WILSON, good="the gold plan", bad="another plan",
    ),
    Column(
        key="overlap", label="Overlap", description="Mean F1 of the edges of plan and gold plan.", indicator=True,
    ),
)  # fmt: skip
_CITIES = ("Lyon", "Porto", "Graz", "Turku", "Brno")


class PlanJudge:
    """Compares a plan with the gold plan of its task. Names and order of steps do not matter."""

    def digest(self) -> str:
        """Changes with every file of this package, so that no board mixes two versions of the judge."""
        return digest_of_files("parcels_suite", of="the judge")

    def not_judged(self, suite: Suite) -> Mapping[str, tuple[Reason, str]]:  # noqa: ARG002 - the interface
        """Every task has a gold plan."""
        return {}

    def __call__(self, *, suite: Suite, planned: Planned) -> Judgement:  # noqa: ARG002 - the interface
        plan, gold = planned.plan.plan, planned.task.gold
        assert gold is not None, "`not_judged` would name the task"
        if planned.record.problems:
            why = f"the plan is invalid: {planned.record.problems[0].message}"
            return Judgement(score=0.0, indicators={"same": 0.0, "overlap": 0.0}, explanations={"same": why})
        same = float(is_same_plan(plan=plan, other=gold))
        return Judgement(
            score=same,
            indicators={"same": same, "overlap": edge_f1(plan=plan, other=gold)},
            explanations={"same": f"the plan is {'the' if same else 'not the'} gold plan"},
        )


def parcels() -> Suite:
    """Fifteen requests: three goals for each of five cities."""
    return Suite(
        slug="parcels", version="1", title="Parcels", description="Fifteen requests to send a parcel.",
        metrics=COLUMNS, catalogue=TOOLS, tasks=tuple(_tasks()),
        conditions=Conditions(experts=False, samples=False, splits=("all",)), panels=(Panel.INDICATORS,),
    )  # fmt: skip


def _tasks() -> Iterator[Task]:
    for number, city in enumerate(_CITIES):
        weigh = _step(1, "Weigh", parcel="$parcel")
        price = _step(2, "Quote Price", weight="s1.weight", city=city)
        label = _step(1, "Print Label", parcel="$parcel", city=city)
        yield _task(f"price/{number}", f"What does it cost to send this parcel to {city}?", weigh, price)
        yield _task(
            f"send/{number}",
            f"Have a courier take this parcel to {city}.",
            label,
            _step(2, "Book Courier", label="s1.label"),
        )
        yield _task(f"label/{number}", f"I need a label for {city} on this parcel.", label)


def _step(number: int, tool: str, **inputs: str) -> Step:
    (output,) = TOOLS.tools[tool].outputs
    return Step(id=f"s{number}", tool=tool, inputs=inputs, outputs={output: f"s{number}.{output}"})


def _task(key: str, text: str, *steps: Step) -> Task:
    (answer,) = steps[-1].outputs.values()
    return Task(
        key=key, text=text, structure="linear", metric="same", resources=MappingProxyType({"parcel": TEXT}),
        expects=TEXT, gold=Plan(steps=steps, answers=(answer,)),
    )  # fmt: skip


SUITES = (Entry(slug="parcels", build=parcels, episode=JudgedPlans(judge=PlanJudge())),)
