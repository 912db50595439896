"""Attacks: what a planner tries, and what it knows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from evaluator.core.planner import Planner, PlannerReply, PlannerRequest
from evaluator.core.records import PlannerCall
from evaluator.core.suites.base import Suite
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.turns import Formulation, TurnPlanner, TurnReply, TurnRequest, TurnResponse


class Knowledge(StrEnum):
    """What an attacker knows."""

    REQUEST = "request"
    """What planners get, this repository with its network, and the public requests with their gold plans."""
    TOOLS = "tools"
    """Also the tools and the data flow of a right plan of each request, without its texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFigure:
    """The mean of a group of tasks, as sites show it while a season is open."""

    tasks: frozenset[str]
    """The ids by which planners are asked."""
    mean: float
    """Of the suite's primary column."""


Figures = Sequence[GroupFigure]
"""Of one evaluation: all tasks, and each group that is large enough."""


def no_figures(planner: "Planner | TurnPlanner") -> Figures:
    """`Target.practised` where nothing can be evaluated."""
    del planner
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is attacked."""

    public: Suite
    """The suite of the registry, whose requests and gold plans are published."""
    asked: Suite
    """The suite as planners are asked. Only attacks that know the tools may read its gold plans."""
    split: str
    tasks: tuple[str, ...]
    """Keys of the tasks that count."""
    in_turns: bool
    executes: bool
    practised: Callable[[Planner | TurnPlanner], Figures] = no_figures
    """Evaluates a planner on these tasks, and returns what its owner then sees."""

    @property
    def is_hidden(self) -> bool:
        """Whether the requests are hidden."""
        return self.split == HIDDEN and self.public.hidden_requests is not None


def anywhere(target: Target) -> bool:
    """`Attack.applies` of attacks on every suite."""
    del target
    return True


def on_whole_plans(target: Target) -> bool:
    """`Attack.applies` of attacks on suites that ask for whole plans."""
    return not target.in_turns


def on_answers(target: Target) -> bool:
    """`Attack.applies` of attacks on suites in turns whose answers are texts."""
    return target.in_turns and not target.public.named_inputs and target.public.candidates is None


def on_judged_texts(target: Target) -> bool:
    """`Attack.applies` of attacks on judges that compare texts of plans."""
    return not target.in_turns and bool(target.public.step_problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One attempt to score without solving."""

    name: str
    description: str
    """What it does, as a sentence."""
    make: Callable[[Target], Planner | TurnPlanner]
    knows: Knowledge = Knowledge.REQUEST
    applies: Callable[[Target], bool] = anywhere
    inherent: Callable[[Target], str] = lambda target: ""  # noqa: ARG005
    """Why a gain is no flaw that could be mended, as a sentence; empty: it is one."""
    breach: Callable[[], str] = str
    """After the attack: what it reached outside of its planner, as a sentence; empty: nothing."""
    is_slow: bool = False
    """Whether quick audits leave it out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """A class of flaws, with the attacks on every suite."""

    name: str
    title: str
    description: str
    """The question that its attacks answer, as a sentence."""
    attacks: tuple[Attack, ...]


NO_TIME = PlannerCall(seconds=0.0)


@dataclass(slots=True)
class PlansOf:
    """Answers each request with the plan that a function makes of it."""

    name: str
    make: Callable[[PlannerRequest], object]
    alternatives: Callable[[PlannerRequest], Sequence[object]] = lambda request: ()  # noqa: ARG005

    def plan(self, request: PlannerRequest) -> PlannerReply:
        return PlannerReply(plan=self.make(request), alternatives=tuple(self.alternatives(request)), call=NO_TIME)


@dataclass(slots=True)
class AnswersOf:
    """Answers the first turn of each episode with the text that a function makes of the request."""

    name: str
    make: Callable[[TurnRequest], str]
    formulation: Formulation = Formulation.INTEGRATED

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """The same text, where a whole plan is asked for."""
        return PlannerReply(plan=request.task.request, call=NO_TIME)

    def turn(self, request: TurnRequest) -> TurnReply:
        return TurnReply(response=TurnResponse(answer=self.make(request)), call=NO_TIME)


@dataclass(slots=True)
class ActionsOf:
    """Runs actions in the first turn of each episode and ends it, so that the last result is the answer."""

    name: str
    make: Callable[[TurnRequest], str]
    formulation: Formulation = Formulation.INTEGRATED

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """The same text, where a whole plan is asked for."""
        return PlannerReply(plan=request.task.request, call=NO_TIME)

    def turn(self, request: TurnRequest) -> TurnReply:
        response = TurnResponse(stop=True) if request.history else TurnResponse(actions=self.make(request))
        return TurnReply(response=response, call=NO_TIME)


def empty_plan() -> dict[str, Any]:
    """A plan without steps and answers."""
    return {"steps": [], "answers": []}
