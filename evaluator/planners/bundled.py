"""The bundled planners, which anchor the boards: gold plans, damaged gold plans, trivial plans and random plans."""

import random
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from types import MappingProxyType

from evaluator.core.planner import OfferedTool, Planner, PlannerReply, PlannerRequest
from evaluator.core.plans.abstaining import abstention
from evaluator.core.plans.model import Plan, Step, plan_to_json
from evaluator.core.records import PlannerCall
from evaluator.core.suggestions import no_such
from evaluator.core.suites.base import Suite
from evaluator.core.suites.registry import paper_entries
from evaluator.core.turns import Formulation, TurnReply, TurnRequest, TurnResponse
from evaluator.planners.ablations import literals, minus_one, with_texts
from evaluator.planners.anchors import BundledEntry
from evaluator.planners.shortcuts import BUNDLED as SHORTCUTS

_NUMBER = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?")


class _Floor(ABC):
    """Answers in its first turn without any tool, or stops: what a suite's answers give away by themselves."""

    name: str
    formulation = Formulation.INTEGRATED

    def __init__(self, suite: Suite) -> None:
        self.suite = suite

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """An empty plan: plans without steps cannot hold a text answer."""
        del request
        return PlannerReply(plan=plan_to_json(Plan(steps=(), answers=())), call=PlannerCall(seconds=0.0))

    def turn(self, request: TurnRequest) -> TurnReply:
        answer = self.answer(request)
        response = TurnResponse(stop=True) if answer is None else TurnResponse(answer=answer)
        return TurnReply(response=response, call=PlannerCall(seconds=0.0))

    @abstractmethod
    def answer(self, request: TurnRequest) -> str | None:
        """The answer to a request, if any."""


class MajorityPlanner(_Floor):
    """The most frequent right answer of the training data, or the one that the suite declares."""

    name = "majority"

    def __init__(self, suite: Suite) -> None:
        super().__init__(suite)
        self._answers = suite.majority() if suite.majority is not None else {}

    def answer(self, request: TurnRequest) -> str | None:
        return self._answers.get(self.suite.task(request.task.id).metric)


class LastNumberPlanner(_Floor):
    """The last number in the request."""

    name = "last-number"

    def answer(self, request: TurnRequest) -> str | None:
        numbers = _NUMBER.findall(request.task.request)
        return numbers[-1] if numbers else None


_EMPTY = Plan(steps=(), answers=())
_NO_TIME = PlannerCall(seconds=0.0)
_NO_TOOL = "No plan over these tools can meet the request."


class GoldPlanner:
    """Answers with the suite's gold plan."""

    name = "gold"

    def __init__(self, suite: Suite) -> None:
        self._suite = suite

    def plan(self, request: PlannerRequest) -> PlannerReply:
        gold = self._suite.task(request.task.id).gold
        if gold is not None and not gold.steps and not gold.answers:
            return PlannerReply(plan=abstention(_NO_TOOL), call=_NO_TIME)
        return _reply(gold or _EMPTY)


class GoldMinusOnePlanner:
    """The gold plan without one random step, seeded by the task's key (`evaluator.planners.ablations.minus_one`)."""

    name = "gold-minus-one"

    def __init__(self, suite: Suite) -> None:
        self._suite = suite

    def plan(self, request: PlannerRequest) -> PlannerReply:
        task = self._suite.task(request.task.id)
        shorter = minus_one(
            plan=task.gold or _EMPTY, seed=task.key, catalogue=self._suite.catalogue, resources=task.resources
        )
        return _reply(shorter)


class ParrotPlanner:
    """The gold plan's tools and data flow, with the whole request as every text: the value of the tools alone."""

    name = "parrot"

    def __init__(self, suite: Suite) -> None:
        self._suite = suite

    def plan(self, request: PlannerRequest) -> PlannerReply:
        task = self._suite.task(request.task.id)
        gold = task.gold or _EMPTY
        slots = ((step.id, name) for step, name in literals(plan=gold, resources=task.resources))
        return _reply(with_texts(plan=gold, texts=dict.fromkeys(slots, task.text)))


class AskEverythingPlanner:
    """Asks a visual question answering tool the whole request about each file, whatever its type.

    Uses the first tool that takes an image and a text and returns a text. Without such a tool, the plan is empty.
    """

    name = "ask-everything"

    def __init__(self, suite: Suite) -> None:
        del suite

    def plan(self, request: PlannerRequest) -> PlannerReply:
        tool = next(
            (
                tool
                for tool in request.tools
                if sorted(tool.inputs.values()) == ["image", "text"] and list(tool.outputs.values()) == ["text"]
            ),
            None,
        )
        if tool is None:
            return _reply(_EMPTY)
        steps = tuple(
            Step(
                id=f"s{number}",
                tool=tool.name,
                inputs={
                    argument: request.task.request if kind == "text" else f"${file}"
                    for argument, kind in tool.inputs.items()
                },
                outputs={name: f"s{number}.{name}" for name in tool.outputs},
            )
            for number, file in enumerate(request.task.resources, start=1)
        )
        return _reply(Plan(steps=steps, answers=tuple(name for step in steps for name in step.outputs.values())))


class NoOpPlanner:
    """Calls no tool: returns an input of the request, of the expected type if possible."""

    name = "no-op"

    def __init__(self, suite: Suite) -> None:
        del suite

    def plan(self, request: PlannerRequest) -> PlannerReply:
        same = [name for name, kind in request.task.resources.items() if kind == request.expects.type]
        answers = [f"${name}" for name in [*same, *request.task.resources]][:1]
        return _reply(Plan(steps=(), answers=tuple(answers)))


class RandomValidPlanner:
    """A random chain of one to four different offered tools whose types agree; seeded by suite and task.

    It ignores the words of the request, so its score is the value of type correctness alone.
    """

    name = "random-valid"
    MAX_TOOLS = 4
    TRIES = 200

    def __init__(self, suite: Suite, *, seed: int = 0, run: int = 0) -> None:
        self._suite, self._seed, self._run = suite, seed, run

    def reseeded(self, run: int) -> "RandomValidPlanner":
        return RandomValidPlanner(self._suite, seed=self._seed, run=run)

    def plan(self, request: PlannerRequest) -> PlannerReply:
        seed = f"{self._seed}/{self._run}" if self._run else str(self._seed)
        rng = random.Random(f"{seed}/{request.suite}/{request.task.id}")  # noqa: S311 - not for secrets
        for _ in range(self.TRIES):
            plan = self._chain(request=request, rng=rng)
            if plan is not None:
                return _reply(plan)
        return _reply(_EMPTY)

    def _chain(self, *, request: PlannerRequest, rng: random.Random) -> Plan | None:
        values = [(f"${name}", kind) for name, kind in request.task.resources.items()]
        if request.expects.type is None:
            # Suites without a fixed answer type put their texts into the request itself.
            values.append((request.task.request, "text"))
        unused = list(request.tools)
        steps: list[Step] = []
        for number in range(1, rng.randint(1, self.MAX_TOOLS) + 1):
            kinds = {kind for _, kind in values}
            callable_now = [tool for tool in unused if kinds.issuperset(tool.inputs.values())]
            if not callable_now:
                break
            tool = rng.choice(callable_now)
            unused.remove(tool)
            steps.append(_call(tool=tool, number=number, values=values, steps=steps, rng=rng))
            values += [(steps[-1].outputs[name], kind) for name, kind in tool.outputs.items()]
        answers = [(steps[-1].outputs[name], kind) for name, kind in tool.outputs.items()] if steps else []
        fitting = [reference for reference, kind in answers if request.expects.type in {kind, None}]
        return Plan(steps=tuple(steps), answers=(fitting[0],)) if fitting else None


def _call(
    *, tool: OfferedTool, number: int, values: list[tuple[str, str]], steps: list[Step], rng: random.Random
) -> Step:
    inputs = {}
    step_id = f"s{number}"
    outputs = {reference for step in steps for reference in step.outputs.values()}
    for argument, expected in tool.inputs.items():
        fitting = [reference for reference, kind in values if kind == expected]
        results = [reference for reference in fitting if reference in outputs]
        # The newest result is used, so that the steps form a chain.
        inputs[argument] = results[-1] if results else rng.choice(fitting)
    return Step(id=step_id, tool=tool.name, inputs=inputs, outputs={name: f"{step_id}.{name}" for name in tool.outputs})


def _reply(plan: Plan) -> PlannerReply:
    return PlannerReply(plan=plan_to_json(plan), call=_NO_TIME)


_FURTHER_SEEDS = tuple(
    BundledEntry(
        name=f"random-valid/{seed + 1}",
        description="The same as random-valid with another seed.",
        make=partial(RandomValidPlanner, seed=seed),
        samples=True,
        is_further_seed=True,
    )
    for seed in range(1, 5)
)
_ENTRIES = (
    BundledEntry(
        name="gold",
        description="The suite's gold plans: what a planner that understands every request would answer.",
        make=GoldPlanner,
        knows_gold=True,
    ),
    BundledEntry(
        name="random-valid",
        description="Random chains of tools whose types agree: what type-correctness alone is worth.",
        make=RandomValidPlanner,
        samples=True,
        is_floor=True,
    ),
    *_FURTHER_SEEDS,
    BundledEntry(
        name="no-op",
        description="Calls no tool and hands back what the request gives.",
        make=NoOpPlanner,
        is_floor=True,
    ),
    BundledEntry(
        name="gold-minus-one",
        description="The gold plans without one step each: what a plan that is almost right scores.",
        make=GoldMinusOnePlanner,
        knows_gold=True,
        is_for_judged=True,
    ),
    BundledEntry(
        name="parrot",
        description="The gold plans with the whole request as every text: what the right tools alone are worth.",
        make=ParrotPlanner,
        knows_gold=True,
        is_for_judged=True,
    ),
    BundledEntry(
        name="ask-everything",
        description="Asks an image model the whole request about every file: what one tool is worth.",
        make=AskEverythingPlanner,
        is_floor=True,
        is_for_judged=True,
    ),
    BundledEntry(
        name="majority",
        description="The most frequent right answer of the training data, without any tool.",
        make=MajorityPlanner,
        is_floor=True,
        is_named_by_suites=True,
    ),
    BundledEntry(
        name="last-number",
        description="The last number of the request, without any tool: what guessing an operand is worth.",
        make=LastNumberPlanner,
        is_floor=True,
        is_named_by_suites=True,
    ),
    *SHORTCUTS,
    *(each for entry in paper_entries() if hasattr(entry, "BUNDLED") for each in import_module(entry.BUNDLED).BUNDLED),
)
BUNDLED: Mapping[str, BundledEntry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
KNOW_GOLD = frozenset(entry.name for entry in _ENTRIES if entry.knows_gold)
"""Planners whose answers disclose the gold plans."""


def bundled_names() -> tuple[str, ...]:
    return tuple(BUNDLED)


def each_once(suite: str) -> tuple[str, ...]:
    """Names of the anchors of the suite with this slug, without further seeds and shortcuts."""
    chosen = (entry for entry in _ENTRIES if not (entry.is_further_seed or entry.is_shortcut))
    return tuple(entry.name for entry in chosen if entry.understands(suite))


def shortcuts_of(suite: str) -> tuple[str, ...]:
    """Names of the shortcuts of the suite with this slug."""
    return tuple(entry.name for entry in _ENTRIES if entry.is_shortcut and entry.understands(suite))


def bundled_planner(*, name: str, suite: Suite) -> Planner:
    """The bundled planner of this name for a suite.

    Raises:
        LookupError: the name is unknown, or the planner is no anchor of this suite; the message lists the alternatives.
    """
    entry = BUNDLED.get(name)
    if entry is None:
        raise LookupError(no_such("bundled planner", name, BUNDLED))
    if entry.is_named_by_suites and suite.slug not in entry.suites:
        raise LookupError(
            f"the bundled planner {name} is an anchor of {', '.join(entry.suites)}; {suite.slug} does not name it"
        )
    if entry.is_for_judged and suite.slug not in entry.suites:
        how = "executes plans" if suite.conditions.experts else "runs actions in turns"
        raise LookupError(
            f"the bundled planner {name} is an anchor of suites whose plans are judged: {', '.join(entry.suites)}; "
            f"{suite.slug} {how}"
        )
    if suite.slug in entry.lacking:
        raise LookupError(f"the bundled planner {name} answers from gold plans, and {suite.slug} has none")
    return entry.make(suite)
