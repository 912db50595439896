"""Scoring what was executed on the samples of a task: each answer against its reference."""

import json
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from math import fsum

from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.expert import ExpertError
from evaluator.core.plans.model import Plan
from evaluator.core.records import ArtefactReference, SampleResult
from evaluator.core.suites.base import CLOSED, EXACT, NEAR, Task
from evaluator.core.values import Artefact, MediaType, Value
from evaluator.episodes.beside_gold import Pending, with_relative
from evaluator.episodes.samples import SampleArtefacts, sample_results
from evaluator.execution.engine.jobs import JobResult
from evaluator.execution.engine.progress import Stopwatch
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import ObjectDamagedError, ObjectMissingError, Store
from evaluator.execution.experts.profile import Profile
from evaluator.scoring.metrics.plan_equality import edge_f1, is_same_plan
from evaluator.scoring.metrics.results.texts import is_right
from evaluator.scoring.metrics.scorers.base import Scorer, rounded
from evaluator.scoring.metrics.scorers.loading import load_scorer, scorer_facts

UNREADABLE = (OSError, ValueError, LookupError, TypeError)
"""What sources of samples raise on missing and damaged files."""
SCORER_FAILURES = (RuntimeError, ValueError, TypeError, OSError, LookupError, ObjectDamagedError, ExpertError)
"""What `ResultScorer.scored` raises where a score cannot be computed."""
_SCORES_KEPT = 200_000
"""Some hundred bytes each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What the samples of a task came to."""

    samples: tuple[SampleResult, ...]
    indicators: dict[str, float]
    """Of the task: the means of what its samples have."""

    @property
    def score(self) -> float:
        """Mean over the samples."""
        means = [sample.score for sample in self.samples if sample.score is not None]
        return sum(means) / len(means)


class ResultScorer:
    """Scores the results of one suite. Scorers stay loaded, and equal pairs are scored once."""

    def __init__(
        self,
        *,
        engine: Engine,
        samples: SampleArtefacts,
        count: int,
        profile: Profile,
        device: str,
        scorers: Callable[[str], Scorer] | None = None,
    ) -> None:
        """Args:
        engine: knows the artefacts.
        samples: the data points.
        count: data points per task.
        profile: has the scorers.
        device: torch device of the scorers.
        scorers: makes the scorer of a metric in the place of the profile's. Their scores are not kept in the store:
            it is not known what they depend on.
        """
        self.spent = Stopwatch()
        """Time that scorers took, loading them included."""
        self._engine, self._samples, self._count = engine, samples, count
        self._profile, self._device, self._make_scorer = profile, device, scorers
        self._scorers: dict[str, Scorer] = {}
        self._known_scores: dict[tuple[str, str, str], float] = {}
        """By metric and the digests of output and reference. A score depends on nothing else (`metrics.scorers`)."""
        self._stored: set[tuple[tuple[str, str, str], ...]] = set()
        """The groups of them that the store has, as far as this process knows."""

    def with_samples(self, count: int) -> "ResultScorer":
        """The same for another number of data points. What is loaded and known is shared."""
        other = copy(self)
        other._count = count
        return other

    def kept(self, *, task: Task, index: int) -> tuple[ArtefactReference, ...]:
        """What a right answer looks like, for each answer of the task, from a source that has right results."""
        return tuple(self._samples.reference(task=answer, index=index) for answer in task.answers)

    def references(
        self, *, task: Task, results: Sequence[JobResult], pending: Pending
    ) -> list[tuple[ArtefactReference, ...]]:
        """The references of each sample.

        Raises:
            LookupError: they are made by the gold plan, and it failed.
        """
        if not self._samples.compares_with_gold:
            return [self.kept(task=task, index=result.job.sample) for result in results]
        gold = pending.gold_results(self._count)
        failure = next((result.failure for result in gold if result.failure is not None), None)
        if failure is not None:
            raise LookupError(f"the gold plan failed: {failure.message}")
        return [self._samples.gold_references(task=task, gold=result) for result in gold]

    def scored(
        self,
        *,
        task: Task,
        results: Sequence[JobResult],
        references: Sequence[tuple[ArtefactReference, ...]],
        pending: Pending,
    ) -> Scored:
        """Score every sample. One without answers has 0.

        Args:
            task: what was asked.
            results: one for each sample.
            references: for each sample one for each answer of the task.
            pending: has the gold plan's results where they are compared with.

        Raises:
            Exception: one of `SCORER_FAILURES`.
        """
        answered = [number for number, result in enumerate(results) if result.answers]
        scores = [(0.0,) * len(task.answers) for _ in results]
        answer_scores = self._answer_scores(
            task=task, results=[results[n] for n in answered], references=[references[n] for n in answered]
        )
        for number, own_scores in zip(answered, answer_scores, strict=True):
            scores[number] = own_scores
        gold = self._gold_scores(task=task, pending=pending, references=references)
        samples = sample_results(task=task, results=results, references=references, scores=scores)
        closed = _closed_answers(task=task, samples=samples, value=self._engine.value)
        own = [sample.score for sample in samples if sample.score is not None]
        by_sample, relative = with_relative(closed, own=own, gold=gold)
        return Scored(
            samples=tuple(
                sample.model_copy(update={"indicators": values})
                for sample, values in zip(samples, by_sample, strict=True)
            ),
            indicators={**{name: fsum(own[name] for own in closed) / len(closed) for name in closed[0]}, **relative},
        )

    def _answer_scores(
        self,
        *,
        task: Task,
        results: Sequence[JobResult],
        references: Sequence[Sequence[ArtefactReference]],
    ) -> list[tuple[float, ...]]:
        """For each sample the score of each answer of the task."""
        by_answer = [
            self._scores(
                metric=answer.metric,
                pairs=[(result.answers[n], wanted[n]) for result, wanted in zip(results, references, strict=True)],
            )
            for n, answer in enumerate(task.answers)
        ]
        return list(zip(*by_answer, strict=True))

    def _gold_scores(
        self, *, task: Task, pending: Pending, references: Sequence[Sequence[ArtefactReference]]
    ) -> list[float]:
        """For each sample the score of the gold plan; none where it is not compared with, or failed."""
        results = pending.gold_results(self._count)
        if not results or any(result.failure is not None for result in results):
            return []
        scores = self._answer_scores(task=task, results=results, references=references)
        return [sum(answers) / len(answers) for answers in scores]

    def _scores(self, *, metric: str, pairs: Sequence[tuple[ArtefactReference, ArtefactReference]]) -> list[float]:
        """The score of each pair of an answer and its reference: known, stored, or computed and stored.

        A group is stored even if every pair in it was known: another process may ask for this group first.
        """
        keys = tuple((metric, answer.digest, reference.digest) for answer, reference in pairs)
        if keys and keys not in self._stored:
            facts = self._scorer_facts(metric)
            digests = [(answer, reference) for _, answer, reference in keys]
            stored = None if facts is None else stored_scores(store=self._engine.store, facts=facts, pairs=digests)
            if stored is not None:
                self._known_scores.update(zip(keys, stored, strict=True))
            else:
                self._compute(metric=metric, pairs=dict(zip(keys, pairs, strict=True)))
                if facts is not None:
                    computed = [self._known_scores[key] for key in keys]
                    store_scores(store=self._engine.store, facts=facts, pairs=digests, scores=computed)
            if facts is not None:
                self._stored.add(keys)
        scores = [self._known_scores[key] for key in keys]
        if len(self._known_scores) > _SCORES_KEPT:
            self._known_scores.clear()
            self._stored.clear()
        return scores

    def _scorer_facts(self, metric: str) -> Mapping[str, JsonValue] | None:
        """What scores of a metric depend on besides the pair; None: they are not kept in the store."""
        if self._make_scorer is not None:
            return None
        try:
            return scorer_facts(name=metric, profile=self._profile, device=self._device)
        except LookupError:
            # Loading the scorer reports this error.
            return None

    def _compute(
        self, *, metric: str, pairs: Mapping[tuple[str, str, str], tuple[ArtefactReference, ArtefactReference]]
    ) -> None:
        """Score the pairs that are not known yet."""
        new = {key: pair for key, pair in pairs.items() if key not in self._known_scores}
        if not new:
            return
        outputs, references = ([self._engine.value(pair[side]) for pair in new.values()] for side in (0, 1))
        with self.spent.running():
            if metric not in self._scorers:
                self._scorers[metric] = (
                    load_scorer(name=metric, profile=self._profile, device=self._device)
                    if self._make_scorer is None
                    else self._make_scorer(metric)
                )
            scores = self._scorers[metric].score(outputs=outputs, references=references)
        self._known_scores.update(zip(new, rounded(scores), strict=True))


def agreement(*, plan: Plan, gold: Plan) -> dict[str, float]:
    """The indicators that compare a plan with the gold plan of its task, as the planner gave it."""
    return {EXACT: float(is_same_plan(plan=plan, other=gold)), NEAR: edge_f1(plan=plan, other=gold)}


def _closed_answers(
    *, task: Task, samples: Sequence[SampleResult], value: Callable[[ArtefactReference], Value]
) -> list[dict[str, float]]:
    """For each sample the share of its closed answers that are right, as an indicator; empty if no answer is closed."""
    closed = [number for number, answer in enumerate(task.answers) if answer.is_closed]
    if not closed:
        return [{} for _ in samples]

    def is_answer_right(sample: SampleResult, number: int) -> bool:
        result = sample.further[number - 1] if number else sample
        if result.answer is None or result.reference is None:
            return False
        answer, reference = value(result.answer), value(result.reference)
        return isinstance(answer, str) and isinstance(reference, str) and is_right(answer=answer, reference=reference)

    return [{CLOSED: sum(is_answer_right(sample, number) for number in closed) / len(closed)} for sample in samples]


_OUTPUT = "scores"

Pairs = Sequence[tuple[str, str]]
"""Digests of an answer and of its reference."""


def stored_scores(*, store: Store, facts: Mapping[str, JsonValue], pairs: Pairs) -> list[float] | None:
    """The scores of these pairs, in order; None if they are not known.

    Args:
        store: where they may be.
        facts: everything that they depend on besides the pairs (`metrics.scorers.scorer_facts`).
        pairs: what is compared.
    """
    outputs = store.get_step(_key(facts=facts, pairs=pairs))
    if outputs is None or _OUTPUT not in outputs:
        return None
    try:
        scores = json.loads(store.get(outputs[_OUTPUT].digest).data)
    except (ObjectMissingError, ObjectDamagedError, ValueError):
        return None
    is_whole = isinstance(scores, list) and len(scores) == len(pairs)
    return scores if is_whole and all(isinstance(score, float) for score in scores) else None


def store_scores(*, store: Store, facts: Mapping[str, JsonValue], pairs: Pairs, scores: Sequence[float]) -> None:
    """Keep the scores of these pairs, in order."""
    data = canonical_json.dumps([float(score) for score in scores]).encode()
    artefact = Artefact(data=data, media_type=MediaType.TEXT)
    digest = store.put(artefact)
    reference = ArtefactReference(digest=digest, media_type=artefact.media_type)
    store.put_step(key=_key(facts=facts, pairs=pairs), outputs={_OUTPUT: reference})


def _key(*, facts: Mapping[str, JsonValue], pairs: Pairs) -> str:
    return canonical_json.digest({"score": dict(facts), "pairs": [list(pair) for pair in pairs]})
