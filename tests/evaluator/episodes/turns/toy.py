"""A small suite in turns: sums of numbers, with two tools that compute and one that is slow to say no."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from evaluator.core.canonical_json import digest
from evaluator.core.plans.model import Plan, Step
from evaluator.core.records import PlannerCall, Reason
from evaluator.core.suites.base import Column, Conditions, IntervalMethod, Panel, Suite, Task
from evaluator.core.suites.registry import Entry
from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.core.transcripts import ActionProblem, Transcript
from evaluator.core.turns import Formulation, TurnReply, TurnRequest, TurnResponse
from evaluator.episodes.turns.environment import Bounds, Call, Made, Outcome, Refused, TurnScore
from evaluator.episodes.turns.evaluator import TurnEvaluator
from evaluator.episodes.turns.interactive import InteractiveEpisodes
from evaluator.replies.turns.model import substitute

CALL = PlannerCall(seconds=0.01, prompt_tokens=3, completion_tokens=2)


def _tool(name: str, *inputs: str) -> Tool:
    return Tool(
        name=name, domain="sums", description=f"{name} numbers.",
        inputs=MappingProxyType(dict.fromkeys(inputs, ResourceType.TEXT)),
        outputs=MappingProxyType({"sum": ResourceType.TEXT}),
    )  # fmt: skip


TOOLS = Catalogue(
    name="sums",
    tools=MappingProxyType({"Add": _tool("Add", "one", "other"), "Repeat": _tool("Repeat", "text"),
                            "Broken": _tool("Broken", "text")}),
)  # fmt: skip


@dataclass(slots=True)
class Sums:
    """`Add(a, b)` adds, `Repeat(text)` says something long, `Broken` raises."""

    calls: list[list[Call]] = field(default_factory=list)

    def digest(self) -> str:
        return digest({"sums": 1})

    def not_run(self, suite: Suite) -> Mapping[str, tuple[Reason, str]]:
        del suite
        return {"9": (Reason.NO_DATA, "Nine has no data.")}

    def scope(self, task: Task) -> str:
        return task.key

    def run(self, calls: Sequence[Call]) -> Sequence[Outcome]:
        self.calls.append(list(calls))
        return [self._one(call) for call in calls]

    def _one(self, call: Call) -> Outcome:
        text = substitute(text=call.arguments, references=call.references, values=call.values)
        match call.tool:
            case "Add":
                parts = text.split(",")
                if not all(part.strip().lstrip("-").isdigit() for part in parts):
                    return Refused(ActionProblem.BAD_ARGUMENTS, f"Add takes whole numbers, not {text!r}.")
                return Made((str(sum(map(int, parts))),))
            case "Repeat":
                return Made((text * 5000,))
            case "Broken":
                raise RuntimeError("secret details")
        return Refused(
            ActionProblem.UNKNOWN_TOOL, f"There is no tool {call.tool!r}; there are: {', '.join(TOOLS.tools)}."
        )

    def score(self, *, task: Task, answer: str | None, transcript: Transcript) -> TurnScore:
        del transcript
        wanted = str(2 * int(task.key))
        right = float(answer == wanted)
        return TurnScore(score=right, indicators={"right": right}, expected=wanted)


def _gold(number: int) -> Plan:
    inputs = {"one": str(number), "other": str(number)}
    step = Step(id="s1", tool="Add", inputs=inputs, outputs={"sum": "R1"})
    return Plan(steps=(step,), answers=("R1",), subgoals=("Add the number to itself",))


def suite() -> Suite:
    """Nine requests for twice a number."""
    column = Column(
        key="right", label="Right", description="Share of right answers.", primary=True, indicator=True,
        interval=IntervalMethod.WILSON,
    )  # fmt: skip
    tasks = tuple(
        Task(
            key=str(number), text=f"What is twice {number}?", structure="linear", metric="right",
            resources=MappingProxyType({}), expects=ResourceType.TEXT, gold=_gold(number),
        )
        for number in range(1, 10)
    )  # fmt: skip
    return Suite(
        slug="toy-turns", version="1", title="Toy", description="Sums in turns.", metrics=(column,), catalogue=TOOLS,
        tasks=tasks, conditions=Conditions(experts=False, samples=False, splits=("all",)), panels=(Panel.TRANSCRIPT,),
    )  # fmt: skip


SUITES = (Entry(slug="toy-turns", build=suite, episode=InteractiveEpisodes(environment=lambda _: Sums())),)


@dataclass(slots=True)
class Answers:
    """A planner that answers by a function of the request."""

    answer: Callable[[TurnRequest], TurnResponse]
    formulation: Formulation = Formulation.INTEGRATED
    name: str = "answers"
    asked: list[TurnRequest] = field(default_factory=list)

    def turn(self, request: TurnRequest) -> TurnReply:
        self.asked.append(request)
        return TurnReply(response=self.answer(request), call=CALL)


def evaluator(*, environment: Sums | None = None, **bounds: float) -> TurnEvaluator:
    """An evaluator of the toy suite."""
    return TurnEvaluator(suite=suite(), environment=environment or Sums(), bounds=Bounds(**bounds))  # type: ignore[arg-type]
