"""ControlLLM as a strategy: decompose the request, search the tool graph for each subtask, return the best solutions.

Each of the four search strategies uses a language model for every stage, or none: then decomposition, tool assessment,
solution expert and resource expert are the offline ones of this package.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from evaluator.controlllm.strategies.asking import SCORES, ask, text_of
from evaluator.controlllm.strategies.decomposing import Decomposed, decompose_by_asking
from evaluator.controlllm.strategies.offline_decomposing import decompose_offline
from evaluator.controlllm.strategies.planning import (
    Planned,
    Toolbox,
    as_demanded,
    plan_by_asking,
    plan_offline,
    plans_of,
)
from evaluator.controlllm.strategies.search import GOOD, CandidateFunction, adaptive, beam, exhaustive, greedy
from evaluator.controlllm.strategies.subtasks import TypedSubtask
from evaluator.core.canonical_json import JsonValue, dumps
from evaluator.core.language_model import Ability, Answer, Call, GenerateCall
from evaluator.core.planner import PlannerRequest, RanPlan
from evaluator.core.strategy import Conversation, Draft, in_role
from evaluator.core.strategy_options import NumberOption, Options, Role
from evaluator.core.tools.catalogues import CONTROLLLM

_MAX_TOKENS = 512

INSTRUCTIONS = """\
Tools were called to serve a user's request. First answer the request plainly. Then tell in the first person which tools
you used and what each resulted in. Name every file of the results by its full name. If there are no results, say that
you could not do it. Claim nothing that the results do not show."""


def response_call(
    *, request: str, calls: Sequence[str], results: Mapping[str, JsonValue], failures: Sequence[str] = ()
) -> GenerateCall:
    """The call that asks for the response.

    Args:
        request: the user's request.
        calls: the tool calls, in words.
        results: the results by reference or file name.
        failures: the failed subtasks, in words.
    """
    failed = f"\n\nFailed:\n{_lines(failures)}" if failures else ""
    return ask(
        instructions=INSTRUCTIONS,
        question=f"Request: {request}\n\nTool calls:\n{_lines(calls)}\n\nResults:\n{_lines(_listed(results))}{failed}",
        max_tokens=_MAX_TOKENS,
    )


def read_response(answer: Answer) -> str:
    """The response of a model."""
    return text_of(answer).strip()


def respond_offline(*, calls: Sequence[str], results: Mapping[str, JsonValue], failures: Sequence[str] = ()) -> str:
    """Sentences that list calls, results and failures."""
    failed = f" I could not do: {'; '.join(failures)}." if failures else ""
    if not results:
        return f"I could not do this: there are no results.{failed}"
    count = f"{len(calls)} tool{'' if len(calls) == 1 else 's'}"
    used = f"I called {count}: {'; '.join(calls)}. " if calls else ""
    return f"{used}The results: {'; '.join(_listed(results))}.{failed}"


def respond_by_names(*, calls: Sequence[str], results: Mapping[str, str]) -> str:
    """Sentences that name each tool that ran and each result, and state nothing else."""
    tools = ", ".join(dict.fromkeys(call.partition("(")[0] for call in calls))
    said = [f'The result {name} says: "{value}".' if name.endswith(".txt") else f"The result is {name}: {value}."
            for name, value in results.items()]  # fmt: skip
    return " ".join([f"I used {tools}." if tools else "I used no tool.", *said])


def _listed(results: Mapping[str, JsonValue]) -> list[str]:
    return [f"{name} is {value if isinstance(value, str) else dumps(value)}" for name, value in results.items()]


def _lines(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "none"


@dataclass(frozen=True, slots=True)
class Staged:
    """The results of the stages before execution."""

    toolbox: Toolbox
    decomposed: Decomposed
    planned: tuple[Planned, ...]
    """One for each subtask; none if the decomposition cannot be parsed."""

    def notes(self) -> dict[str, JsonValue]:
        """Details for the task's page."""
        return _decomposition_notes(self.decomposed) | {"search": [subtask.notes() for subtask in self.planned]}


DECOMPOSE, ASSESS, RESPOND = "decompose", "assess", "respond"
ROLES = (
    Role(
        name=DECOMPOSE, label="Decomposition",
        sentence="Splits the request into subtasks. A model for it and another one for the rest are the paper's Mix.",
    ),
    Role(
        name=ASSESS, label="Assessment",
        sentence="Scores the tools of a subtask, chooses among the solutions found, and binds their resources.",
    ),
    Role(name=RESPOND, label="Response", sentence="Words the response to the user from the results of the calls."),
)  # fmt: skip


class ControlLLM:
    """Base class of the search strategies."""

    name = ""
    description = ""
    catalogue: str = CONTROLLLM.name
    optional: frozenset[Ability] = frozenset({Ability.GENERATE})
    """The abilities that it needs with a language model: `ControlLLM(with_model=True)`."""
    roles: tuple[Role, ...] = ROLES
    all_in_roles = True
    demanding = False
    """Whether only tools that do what a part of the request demands make its result, and it abstains from requests with
    a part that no tool does. Otherwise likeness finds a tool for any sentence."""

    def __init__(self, *, with_model: bool = False) -> None:
        self.needs: frozenset[Ability] = self.optional if with_model else frozenset()

    def choose(self) -> CandidateFunction:
        """The candidate function F."""
        raise NotImplementedError

    def converse(self, request: PlannerRequest) -> Conversation:
        """Decompose, plan and, if the history has results, respond."""
        staged = yield from self.stages(request, by_demand=self.demanding)
        decomposed = staged.decomposed
        if decomposed.subtasks is None:
            return Draft(
                plan=decomposed.text,
                unreadable=f"there is no decomposition to plan by: {'; '.join(decomposed.problems)}",
                notes=_decomposition_notes(decomposed),
            )
        notes = staged.notes()
        lacking = [own.lacks for own in decomposed.subtasks if own.lacks]
        if self.demanding and (lacking or not decomposed.subtasks):
            reasons: list[JsonValue] = [*lacking] or ["the request asks for nothing"]
            return Draft(plan=[], notes={**notes, "declined": reasons})
        plans = plans_of(staged.planned)
        results: dict[str, JsonValue] = {}
        for turn in request.history:
            turn_results = turn.get("results")
            results |= turn_results if isinstance(turn_results, dict) else {}
        if results:
            solutions = [subtask.candidates[0].solution for subtask in staged.planned if subtask.candidates]
            calls = [action.call() for solution in solutions for action in solution]
            if self.asks:
                call = response_call(request=request.task.request, calls=calls, results=results)
                answers = yield [replace(call, role=RESPOND)]
                notes["response"] = read_response(answers[0])
            else:
                notes["response"] = respond_offline(calls=calls, results=results)
        return Draft(plan=plans[0], alternatives=tuple(plans[1:]), notes=notes)

    def respond(self, ran: RanPlan) -> Conversation:
        """The response to the results of its plan: sentences by rules, or by the model of the role `respond`."""
        results: dict[str, JsonValue] = dict(ran.results)
        if not self.asks:
            return Draft(plan=respond_by_names(calls=ran.calls, results=ran.results))
        call = response_call(request=ran.request.task.request, calls=ran.calls, results=results)
        (answer,) = yield [replace(call, role=RESPOND)]
        return Draft(plan=read_response(answer))

    def stages(
        self, request: PlannerRequest, *, by_demand: bool = False
    ) -> Generator[Sequence[Call], Sequence[Answer], Staged]:
        """Decompose and plan: the stages before execution.

        Args:
            request: the request.
            by_demand: whether the rules may only use tools that do what a part of the request demands.
        """
        toolbox = _toolbox(frozenset(tool.name for tool in request.tools))
        if by_demand and self.by_rules:
            decomposed = self._by_the_rules(request=request, toolbox=toolbox, by_demand=True)
        else:
            decomposed = yield from self._decomposed(request=request, toolbox=toolbox)
        if decomposed.subtasks is None:
            return Staged(toolbox=toolbox, decomposed=decomposed, planned=())
        planned = yield from self._planned(request=request, subtasks=decomposed.subtasks, toolbox=toolbox)
        if by_demand and self.by_rules:
            planned = tuple(as_demanded(subtask, toolbox=toolbox) for subtask in planned)
        return Staged(toolbox=toolbox, decomposed=decomposed, planned=planned)

    @property
    def asks(self) -> bool:
        """Whether it uses a language model."""
        return bool(self.needs)

    def _decomposed(
        self, *, request: PlannerRequest, toolbox: Toolbox
    ) -> Generator[Sequence[Call], Sequence[Answer], Decomposed]:
        if self.asks:
            asking = decompose_by_asking(request=request, tools=toolbox.tools)
            return (yield from in_role(asking, role=DECOMPOSE))
        return self._by_the_rules(request=request, toolbox=toolbox)

    @property
    def by_rules(self) -> bool:
        """Whether the rules decompose: neither a language model nor a network does."""
        return not self.asks

    @staticmethod
    def _by_the_rules(*, request: PlannerRequest, toolbox: Toolbox, by_demand: bool = False) -> Decomposed:
        subtasks = decompose_offline(request=request, tools=toolbox.tools, lexicon=toolbox.lexicon, by_demand=by_demand)
        return Decomposed(subtasks=subtasks, text="", tries=0)

    def _planned(
        self, *, request: PlannerRequest, subtasks: Sequence[TypedSubtask], toolbox: Toolbox
    ) -> Generator[Sequence[Call], Sequence[Answer], tuple[Planned, ...]]:
        choose = self.choose()
        if not self.asks:
            return plan_offline(subtasks=subtasks, toolbox=toolbox, choose=choose)
        asking = plan_by_asking(request=request.task.request, subtasks=subtasks, toolbox=toolbox, choose=choose)
        return (yield from in_role(asking, role=ASSESS))


class GreedyControlLLM(ControlLLM):
    """Enters the best tool at every node."""

    name = "controlllm/greedy"
    description = "Thoughts-on-Graph that enters only the best tool at every step."

    def choose(self) -> CandidateFunction:
        return greedy


class BeamControlLLM(ControlLLM):
    """Enters the five best tools at every node."""

    name = "controlllm/beam"
    description = "Thoughts-on-Graph that enters the five best tools at every step."

    def choose(self) -> CandidateFunction:
        return beam


class AdaptiveControlLLM(ControlLLM):
    """Enters every tool with a score of at least a threshold, 3 by default."""

    name = "controlllm/adaptive"
    description = "Thoughts-on-Graph that enters every tool with a score of at least 3: the paper's default."
    options = Options(
        (
            NumberOption(
                name="threshold", label="Threshold", default=float(GOOD), least=SCORES[0], most=SCORES[-1],
                sentence="The lowest score of tools that the search enters.",
            ),
        ),
        bare="threshold",
    )  # fmt: skip

    def __init__(self, *, with_model: bool = False, option: str = "") -> None:
        """Raises OptionError if `option` (2.5 in `controlllm/adaptive@2.5`) is no threshold."""
        super().__init__(with_model=with_model)
        self.threshold = float(self.options.read_text(option)["threshold"])
        if self.threshold != GOOD:
            self.name = f"{type(self).name}@{self.threshold:g}"

    def choose(self) -> CandidateFunction:
        return partial(adaptive, least=self.threshold)


class ExhaustiveControlLLM(ControlLLM):
    """Enters every tool."""

    name = "controlllm/exhaustive"
    description = "Thoughts-on-Graph that follows every path through the tools of the subtask's domains."

    def choose(self) -> CandidateFunction:
        return exhaustive


class ChainControlLLM(AdaptiveControlLLM):
    """Adaptive search for what each part of the request demands; abstains where no tool does a part."""

    name = "controlllm/chain"
    description = "Thoughts-on-Graph as in the whole chain: plans only what tools do, and abstains from the rest."
    demanding = True


STRATEGIES = (GreedyControlLLM, BeamControlLLM, AdaptiveControlLLM, ExhaustiveControlLLM, ChainControlLLM)
"""Strategies that differ only in the search; `controlllm/trained` has its own package."""


@lru_cache(maxsize=16)
def _toolbox(offered: frozenset[str]) -> Toolbox:
    """The offered tools of the catalogue. Other tools have no domain, so the search cannot use them."""
    return Toolbox.of(tuple(CONTROLLLM.restricted_to(offered).tools.values()))


def _decomposition_notes(decomposed: Decomposed) -> dict[str, JsonValue]:
    return {
        "decomposition": {
            "by": decomposed.network or ("language model" if decomposed.tries else "rules"),
            "tries": decomposed.tries,
            "answer": decomposed.text,
            "problems": list(decomposed.problems),
            "subtasks": [
                {
                    "id": subtask.id,
                    "description": subtask.description,
                    "task": list(subtask.domains),
                    "args": [argument.to_json() for argument in subtask.args],
                    "returns": [result.to_json() for result in subtask.returns],
                }
                for subtask in decomposed.subtasks or ()
            ],
        }
    }
