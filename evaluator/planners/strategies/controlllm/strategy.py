"""ControlLLM as a strategy: decompose the request, search the tool graph for each subtask, hand on the best solutions.

Each of the four search strategies runs with a language model for every stage, or without any: then decomposition, tool
assessment, solution expert and resource expert are the offline ones of this package.
"""

from collections.abc import Generator, Mapping, Sequence
from functools import lru_cache

from evaluator.canonical_json import JsonValue
from evaluator.planners.language_models.protocol import Ability, Answer, Call
from evaluator.planners.protocol import PlannerRequest
from evaluator.planners.strategies.controlllm.decomposing import Decomposed, decompose_by_asking
from evaluator.planners.strategies.controlllm.offline_decomposing import decompose_offline
from evaluator.planners.strategies.controlllm.planning import (
    Planned,
    Toolbox,
    plan_by_asking,
    plan_offline,
    plans_of,
)
from evaluator.planners.strategies.controlllm.responding import read_response, respond_offline, response_call
from evaluator.planners.strategies.controlllm.search import (
    CandidateFunction,
    adaptive,
    beam,
    exhaustive,
    greedy,
)
from evaluator.planners.strategies.controlllm.subtasks import Resource, TypedSubtask
from evaluator.planners.strategies.protocol import Conversation, Draft
from evaluator.tools.controlllm import CONTROLLLM

Talk = Generator[Sequence[Call], Sequence[Answer], None]


class ControlLLM:
    """One search strategy; the subclasses say which."""

    name = ""
    description = ""
    catalogue: str = CONTROLLLM.name
    optional: frozenset[Ability] = frozenset({Ability.GENERATE})
    """What it needs where it is to use a language model: `ControlLLM(with_model=True)`."""

    def __init__(self, *, with_model: bool = False) -> None:
        self.needs: frozenset[Ability] = self.optional if with_model else frozenset()

    def choose(self) -> CandidateFunction:
        """The candidate function F."""
        raise NotImplementedError

    def converse(self, request: PlannerRequest) -> Conversation:
        """Decompose, plan and, where the history holds results, respond."""
        toolbox = _toolbox(frozenset(tool.name for tool in request.tools))
        decomposed = yield from self._decomposed(request=request, toolbox=toolbox)
        if decomposed.subtasks is None:
            return Draft(
                plan=decomposed.text,
                unreadable=f"there is no decomposition to plan by: {'; '.join(decomposed.problems)}",
                notes=_decomposition_notes(decomposed),
            )
        planned = yield from self._planned(request=request, subtasks=decomposed.subtasks, toolbox=toolbox)
        plans = plans_of(planned)
        notes = _decomposition_notes(decomposed)
        notes["search"] = [one.notes() for one in planned]
        results = _results(request)
        if results:
            notes["response"] = yield from self._response(request=request, planned=planned, results=results)
        return Draft(plan=plans[0], alternatives=tuple(plans[1:]), notes=notes)

    @property
    def _asks(self) -> bool:
        return bool(self.needs)

    def _decomposed(
        self, *, request: PlannerRequest, toolbox: Toolbox
    ) -> Generator[Sequence[Call], Sequence[Answer], Decomposed]:
        if self._asks:
            return (yield from decompose_by_asking(request=request, tools=toolbox.tools))
        subtasks = decompose_offline(request=request, tools=toolbox.tools, lexicon=toolbox.lexicon)
        return Decomposed(subtasks=subtasks, text="", tries=0)

    def _planned(
        self, *, request: PlannerRequest, subtasks: Sequence[TypedSubtask], toolbox: Toolbox
    ) -> Generator[Sequence[Call], Sequence[Answer], tuple[Planned, ...]]:
        choose = self.choose()
        if not self._asks:
            return plan_offline(subtasks=subtasks, toolbox=toolbox, choose=choose)
        return (
            yield from plan_by_asking(request=request.task.request, subtasks=subtasks, toolbox=toolbox, choose=choose)
        )

    def _response(
        self, *, request: PlannerRequest, planned: Sequence[Planned], results: Mapping[str, JsonValue]
    ) -> Generator[Sequence[Call], Sequence[Answer], str]:
        calls = [
            f"{action.tool.name}({', '.join(f'{name}={value}' for name, value in action.inputs.items())})"
            for one in planned
            for action in (one.candidates[0].solution if one.candidates else ())
        ]
        if not self._asks:
            return respond_offline(calls=calls, results=results)
        answers = yield [response_call(request=request.task.request, calls=calls, results=results)]
        return read_response(answers[0])


class GreedyControlLLM(ControlLLM):
    """Enters the one best tool at every node."""

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
    """Enters every tool with a score of at least 3, the paper's default."""

    name = "controlllm/adaptive"
    description = "Thoughts-on-Graph that enters every tool with a score of at least 3: the paper's default."

    def choose(self) -> CandidateFunction:
        return adaptive


class ExhaustiveControlLLM(ControlLLM):
    """Enters every tool."""

    name = "controlllm/exhaustive"
    description = "Thoughts-on-Graph that follows every path through the tools of the subtask's domains."

    def choose(self) -> CandidateFunction:
        return exhaustive


STRATEGIES = (GreedyControlLLM, BeamControlLLM, AdaptiveControlLLM, ExhaustiveControlLLM)


@lru_cache(maxsize=16)
def _toolbox(offered: frozenset[str]) -> Toolbox:
    """The tools of the catalogue that a request offers. Others have no domain, so the search could not use them."""
    return Toolbox.of(tuple(CONTROLLLM.restricted_to(offered).tools.values()))


def _results(request: PlannerRequest) -> dict[str, JsonValue]:
    """What executed steps resulted in, by reference, over all earlier turns."""
    found: dict[str, JsonValue] = {}
    for turn in request.history:
        results = turn.get("results")
        if isinstance(results, dict):
            found |= results
    return found


def _decomposition_notes(decomposed: Decomposed) -> dict[str, JsonValue]:
    return {
        "decomposition": {
            "by": "language model" if decomposed.tries else "rules",
            "tries": decomposed.tries,
            "answer": decomposed.text,
            "problems": list(decomposed.problems),
            "subtasks": [_subtask(one) for one in decomposed.subtasks or ()],
        }
    }


def _subtask(subtask: TypedSubtask) -> dict[str, JsonValue]:
    return {
        "id": subtask.id,
        "description": subtask.description,
        "task": list(subtask.domains),
        "args": [_resource(one) for one in subtask.args],
        "returns": [_resource(one) for one in subtask.returns],
    }


def _resource(resource: Resource) -> dict[str, JsonValue]:
    return {"type": str(resource.type), "value": resource.value}
