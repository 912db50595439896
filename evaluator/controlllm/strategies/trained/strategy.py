"""`controlllm/trained`: the adaptive search between a trained decomposer and a trained scorer.

Both networks come with PlanArena and run on a CPU; nothing is fetched and nobody is asked.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace

from evaluator.controlllm.strategies import ranking
from evaluator.controlllm.strategies.asking import ReadScore
from evaluator.controlllm.strategies.decomposing import Decomposed
from evaluator.controlllm.strategies.planning import Planned, Toolbox, kept, search_subtask, usable_tools
from evaluator.controlllm.strategies.ranking import Ranked
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
from evaluator.core.tools.types import ResourceType
from evaluator.execution.experts.weights import weights_digest
from evaluator.replies.decomposition import parse_decomposition


class TrainedControlLLM(AdaptiveControlLLM):
    """Adaptive search; decomposition and the two scores are by the shipped networks."""

    name = "controlllm/trained"
    description = "Thoughts-on-Graph with a trained decomposer and a trained scorer that come with PlanArena."
    optional: frozenset[Ability] = frozenset()

    def weights_digests(self) -> Mapping[str, str]:
        """See `StrategyWithWeights`. Computed from the files; for the shipped ones, those of `lock.json`."""
        return {name: weights_digest(shipped_folder(name)) for name in (DECOMPOSER, SCORER)}

    def _decomposed(
        self, *, request: PlannerRequest, toolbox: Toolbox
    ) -> Generator[Sequence[Call], Sequence[Answer], Decomposed]:
        del toolbox
        yield from ()
        text = trained_decomposition(request)
        subtasks = typed_subtasks(parse_decomposition(text))
        if request.expects.type is not None or request.expects.types:
            subtasks = _counting_once(subtasks)
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
        found = search_subtask(subtask=subtask, toolbox=toolbox, choose=self.choose(), assessed=assessed)
        return kept(searching=found, ranked=_judged(subtask=subtask, ranked=found.ranked, scorer=scorer))


def trained_decomposition(request: PlannerRequest) -> str:
    """The decomposition of a request by the shipped network."""
    return decomposition_text(request=request, decomposer=shipped_decomposer())


def decomposition_text(*, request: PlannerRequest, decomposer: Decomposer) -> str:
    """The decomposition of a request in the protocol of Table 1."""
    files = {name: ResourceType(kind) for name, kind in request.task.resources.items()}
    reading = read_request(text=request.task.request, files=files)
    return written(subtasks=decomposer.decompose(reading), reading=reading)


def _counting_once(subtasks: Sequence[TypedSubtask]) -> tuple[TypedSubtask, ...]:
    """The subtasks without the question that ControlLLM's decompositions ask beside each count, of the same image.

    For requests that say how many results they expect: there the question's answer is one too many.
    """
    return tuple(
        one
        for before, one in zip((None, *subtasks), subtasks, strict=False)
        if before is None
        or one.domains != (ASKING_IMAGES,)
        or (before.domains, before.return_types) != ((PERCEPTION,), (ResourceType.TEXT,))
        or one.args[0] != before.args[0]
    )


def _judged(*, subtask: TypedSubtask, ranked: Sequence[Ranked], scorer: Scorer) -> list[Ranked]:
    """The solutions that the words rank first, by the scorer, the best first; the rest is left out."""
    best = list(ranked[: ranking.MOST_JUDGED])
    if not best:
        return []
    scores = scorer.solutions(subtask=subtask, paths=[one.path for one in best])
    judged = [replace(one, score=score) for one, score in zip(best, scores, strict=True)]
    return sorted(judged, key=lambda one: (-round(one.score, 3), len(one.path)))
