"""`controlllm/trained`: adaptive search with a trained decomposer and a trained scorer.

Both networks ship with PlanArena and run on a CPU, without downloads or a language model.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace

from evaluator.controlllm.strategies import ranking
from evaluator.controlllm.strategies.asking import ReadScore
from evaluator.controlllm.strategies.decomposing import Decomposed
from evaluator.controlllm.strategies.planning import Planned, Toolbox, planned_of, search_subtask, usable_tools
from evaluator.controlllm.strategies.strategy import AdaptiveControlLLM
from evaluator.controlllm.strategies.subtasks import TypedSubtask, typed_subtasks
from evaluator.controlllm.strategies.trained.kinds import ASKING_IMAGES, PERCEPTION
from evaluator.controlllm.strategies.trained.linear import written
from evaluator.controlllm.strategies.trained.networks import (
    DECOMPOSER,
    SCORER,
    Decomposer,
    Scorer,
    shipped_decomposer,
    shipped_folder,
    shipped_scorer,
)
from evaluator.controlllm.strategies.trained.reading import read_request
from evaluator.core.language_model import Ability, Answer, Call
from evaluator.core.planner import PlannerRequest
from evaluator.core.strategy_options import Role
from evaluator.core.tools.types import ResourceType
from evaluator.execution.experts.weights import weights_digest
from evaluator.replies.decomposition import parse_decomposition


class TrainedControlLLM(AdaptiveControlLLM):
    """Adaptive search; the shipped networks decompose and score."""

    name = "controlllm/trained"
    description = "Thoughts-on-Graph with a trained decomposer and a trained scorer that come with PlanArena."
    optional: frozenset[Ability] = frozenset()
    roles: tuple[Role, ...] = ()
    task_seconds = 0.15
    by_rules = False

    def weights_digests(self) -> Mapping[str, str]:
        """See `StrategyWithWeights`."""
        return {name: weights_digest(shipped_folder(name)) for name in (DECOMPOSER, SCORER)}

    def _decomposed(
        self, *, request: PlannerRequest, toolbox: Toolbox
    ) -> Generator[Sequence[Call], Sequence[Answer], Decomposed]:
        del toolbox
        yield from ()
        text = trained_decomposition(request)
        subtasks = typed_subtasks(parse_decomposition(text))
        if request.expects.type is not None or request.expects.types:
            # The answer to a second question about a count would be one result too many.
            subtasks = _without_second_counts(subtasks)
        return Decomposed(subtasks=subtasks, text=text, tries=0, network=DECOMPOSER)

    def _planned(
        self, *, request: PlannerRequest, subtasks: Sequence[TypedSubtask], toolbox: Toolbox
    ) -> Generator[Sequence[Call], Sequence[Answer], tuple[Planned, ...]]:
        del request
        yield from ()
        scorer = shipped_scorer()
        return tuple(self._plan(subtask=subtask, toolbox=toolbox, scorer=scorer) for subtask in subtasks)

    def _plan(self, *, subtask: TypedSubtask, toolbox: Toolbox, scorer: Scorer) -> Planned:
        tools = usable_tools(subtask=subtask, toolbox=toolbox)
        scores = scorer.tools(subtask=subtask, tools=tools) if tools else []
        assessed = {tool.name: ReadScore(score=score) for tool, score in zip(tools, scores, strict=True)}
        searching = search_subtask(subtask=subtask, toolbox=toolbox, choose=self.choose(), assessed=assessed)
        best = searching.ranked[: ranking.MOST_JUDGED]
        if best:
            path_scores = scorer.solutions(subtask=subtask, paths=[solution.path for solution in best])
            judged = (replace(solution, score=score) for solution, score in zip(best, path_scores, strict=True))
            best = tuple(sorted(judged, key=lambda solution: (-round(solution.score, 3), len(solution.path))))
        return planned_of(searching=searching, ranked=best)


def trained_decomposition(request: PlannerRequest) -> str:
    """The decomposition of a request by the shipped network."""
    return decomposition_text(request=request, decomposer=shipped_decomposer())


def decomposition_text(*, request: PlannerRequest, decomposer: Decomposer) -> str:
    """The decomposition of a request in the protocol of Table 1."""
    files = {name: ResourceType(kind) for name, kind in request.task.resources.items()}
    reading = read_request(text=request.task.request, files=files)
    return written(subtasks=decomposer.decompose(reading), reading=reading)


def _without_second_counts(subtasks: Sequence[TypedSubtask]) -> tuple[TypedSubtask, ...]:
    """The subtasks without the question about the same image that ControlLLM's decompositions add to each count."""
    return tuple(
        subtask
        for previous, subtask in zip((None, *subtasks), subtasks, strict=False)
        if previous is None
        or subtask.domains != (ASKING_IMAGES,)
        or (previous.domains, previous.return_types) != ((PERCEPTION,), (ResourceType.TEXT,))
        or subtask.args[0] != previous.args[0]
    )
