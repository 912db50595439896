"""Scores of executed plans: each answer is compared with its reference."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
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
from evaluator.episodes.counterparts import with_drop
from evaluator.episodes.samples import SampleArtefacts, sample_results
from evaluator.execution.engine.jobs import JobResult
from evaluator.execution.engine.progress import Stopwatch, Work
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import ObjectDamagedError, ObjectMissingError, Store
from evaluator.execution.experts.profile import Profile
from evaluator.scoring.metrics.plan_equality import edge_f1, is_same_plan
from evaluator.scoring.metrics.results.texts import is_right
from evaluator.scoring.metrics.scorers.base import Scorer, rounded
from evaluator.scoring.metrics.scorers.loading import load_scorer, scorer_facts

UNREADABLE = (OSError, ValueError, LookupError, TypeError)
"""Exceptions of sample sources on missing and damaged files."""
SCORER_FAILURES = (RuntimeError, ValueError, TypeError, OSError, LookupError, ObjectDamagedError, ExpertError)
"""Exceptions of `ResultScorer.scored` if a score cannot be computed."""
_SCORES_KEPT = 200_000
"""A few hundred bytes each."""
PAIRS_AT_ONCE = 512
"""Most pairs that are scored together, whose values are in memory at the same time."""
_Pair = tuple[ArtefactReference, ArtefactReference]
"""An answer and its reference."""
_ScoreKey = tuple[str, str, str]
"""A metric and the digests of answer and reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """The scores of a task."""

    samples: tuple[SampleResult, ...]
    indicators: dict[str, float]
    """The task's indicators: means over its samples."""

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
        engine: reads the artefacts.
        samples: the data points.
        count: data points per task.
        profile: names the scorers.
        device: torch device of the scorers.
        scorers: creates the scorer of a metric instead of the profile. Its scores are not stored, since their
            dependencies are unknown.
        """
        self.spent = Stopwatch()
        """Time spent in scorers, including their loading."""
        self.work: defaultdict[str, Work] = defaultdict(Work)
        """By metric."""
        self.running: str | None = None
        """The metric whose scorer is loaded or runs at this moment."""
        self._engine, self._samples, self._count = engine, samples, count
        self._profile, self._device, self._make_scorer = profile, device, scorers
        self._scorers: dict[str, Scorer] = {}
        self._known_scores: dict[_ScoreKey, float] = {}
        """By metric and the digests of output and reference, the only inputs of a score (`metrics.scorers`)."""
        self._stored: set[tuple[_ScoreKey, ...]] = set()
        """Groups of these keys that this process knows to be in the store."""
        self._missing: set[tuple[_ScoreKey, ...]] = set()
        """Groups that are not in the store, and whose scores are known."""

    def with_samples(self, count: int) -> "ResultScorer":
        """A copy for another number of data points that shares scorers and known scores."""
        other = copy(self)
        other._count = count
        return other

    def stored_references(self, *, task: Task, index: int) -> tuple[ArtefactReference, ...]:
        """Store and return the reference of each answer, from a source that has references."""
        return tuple(self._samples.reference(task=answer, index=index) for answer in task.answers)

    def references(
        self, *, task: Task, results: Sequence[JobResult], pending: Pending
    ) -> list[tuple[ArtefactReference, ...]]:
        """The references of each sample; raises `LookupError` if the gold plan should give them but failed."""
        if not self._samples.compares_with_gold:
            return [self.stored_references(task=task, index=result.job.sample) for result in results]
        gold = pending.gold_results(self._count)
        failure = next((result.failure for result in gold if result.failure is not None), None)
        if failure is not None:
            raise LookupError(f"the gold plan failed: {failure.message}")
        return [self._samples.gold_references(task=task, gold=result) for result in gold]

    def prepare(self, finished: Sequence[tuple[Task, Pending]]) -> None:
        """Compute the scores of several tasks together, which fills the scorers' batches.

        Changes no score. What cannot be computed here is computed, or reported, with its task (`scored`).

        Args:
            finished: tasks with the results of all their jobs.
        """
        if len(finished) < 2:
            return
        unknown: dict[str, dict[_ScoreKey, _Pair]] = {}
        groups: list[tuple[_ScoreKey, ...]] = []
        for task, pending in finished:
            for metric, pairs in self._groups(task=task, pending=pending):
                keys = _keys(metric=metric, pairs=pairs)
                if keys and not self._are_found(metric=metric, keys=keys):
                    unknown.setdefault(metric, {}).update(zip(keys, pairs, strict=True))
                    groups.append(keys)
        for metric, pairs_by_key in unknown.items():
            items = list(pairs_by_key.items())
            for start in range(0, len(items), PAIRS_AT_ONCE):
                with suppress(*SCORER_FAILURES):
                    self._compute(metric=metric, pairs=dict(items[start : start + PAIRS_AT_ONCE]))
        self._missing.update(keys for keys in groups if all(key in self._known_scores for key in keys))

    def _groups(self, *, task: Task, pending: Pending) -> Iterator[tuple[str, list[_Pair]]]:
        """For each answer of a task its metric and the pairs that `scored` looks up, of the plan, the gold plan and the
        plan on counterparts; none if a sample failed or references are missing."""
        results = pending.results(self._count)
        if any(result.failure is not None for result in results):
            return
        try:
            references = self.references(task=task, results=results, pending=pending)
        except (*UNREADABLE, ObjectDamagedError):
            return
        for executed in (results, pending.gold_results(self._count), pending.counterpart_results(self._count)):
            if any(result.failure is not None for result in executed):
                continue
            # A plan without steps has no answers. There may be no gold results.
            answered = [pair for pair in zip(executed, references, strict=False) if pair[0].answers]
            for n, answer in enumerate(task.answers):
                yield answer.metric, [(result.answers[n], expected[n]) for result, expected in answered]

    def scored(
        self,
        *,
        task: Task,
        results: Sequence[JobResult],
        references: Sequence[tuple[ArtefactReference, ...]],
        pending: Pending,
    ) -> Scored:
        """Score every sample; samples without answers score 0.

        Args:
            task: the task.
            results: one for each sample.
            references: for each sample, one for each answer of the task.
            pending: holds the gold plan's results, if compared.

        Raises:
            Exception: one of `SCORER_FAILURES`.
        """
        scores = self._scores_of_all(task=task, results=results, references=references)
        gold: list[float] = []
        gold_results = pending.gold_results(self._count)
        if gold_results and all(result.failure is None for result in gold_results):
            by_answer = self._answer_scores(task=task, results=gold_results, references=references)
            gold = [sum(answers) / len(answers) for answers in by_answer]
        counterparts: list[float] = []
        counterpart_results = pending.counterpart_results(self._count)
        if counterpart_results and all(result.failure is None for result in counterpart_results):
            by_answer = self._scores_of_all(task=task, results=counterpart_results, references=references)
            counterparts = [sum(answers) / len(answers) for answers in by_answer]
        samples = sample_results(task=task, results=results, references=references, scores=scores)
        closed = _closed_answers(task=task, samples=samples, value=self._engine.value)
        own = [sample.score for sample in samples if sample.score is not None]
        by_sample, relative = with_relative(closed, own=own, gold=gold)
        by_sample, drop = with_drop(by_sample, own=own, counterparts=counterparts)
        return Scored(
            samples=tuple(
                sample.model_copy(update={"indicators": values})
                for sample, values in zip(samples, by_sample, strict=True)
            ),
            indicators={
                **{name: fsum(own[name] for own in closed) / len(closed) for name in closed[0]}, **relative, **drop,
            },
        )  # fmt: skip

    def _scores_of_all(
        self, *, task: Task, results: Sequence[JobResult], references: Sequence[Sequence[ArtefactReference]]
    ) -> list[tuple[float, ...]]:
        """For each sample, the score of each answer of the task; 0 for samples without answers."""
        answered = [number for number, result in enumerate(results) if result.answers]
        scores = [(0.0,) * len(task.answers) for _ in results]
        answer_scores = self._answer_scores(
            task=task, results=[results[n] for n in answered], references=[references[n] for n in answered]
        )
        for number, own_scores in zip(answered, answer_scores, strict=True):
            scores[number] = own_scores
        return scores

    def _answer_scores(
        self, *, task: Task, results: Sequence[JobResult], references: Sequence[Sequence[ArtefactReference]]
    ) -> list[tuple[float, ...]]:
        """For each sample, the score of each answer of the task."""
        by_answer = [
            self._scores(
                metric=answer.metric,
                pairs=[(result.answers[n], expected[n]) for result, expected in zip(results, references, strict=True)],
            )
            for n, answer in enumerate(task.answers)
        ]
        return list(zip(*by_answer, strict=True))

    def _scores(self, *, metric: str, pairs: Sequence[_Pair]) -> list[float]:
        """The score of each pair of answer and reference: known, stored, or computed and stored.

        A group is stored even if all its scores were known: another process may need this group first.
        """
        keys = _keys(metric=metric, pairs=pairs)
        if keys and not self._are_found(metric=metric, keys=keys):
            self._compute(metric=metric, pairs=dict(zip(keys, pairs, strict=True)))
            facts = self._scorer_facts(metric)
            if facts is not None:
                computed = [self._known_scores[key] for key in keys]
                store_scores(store=self._engine.store, facts=facts, pairs=_digests(keys), scores=computed)
                self._stored.add(keys)
            self._missing.discard(keys)
        scores = [self._known_scores[key] for key in keys]
        if len(self._known_scores) > _SCORES_KEPT:
            self._known_scores.clear()
            self._stored.clear()
            self._missing.clear()
        return scores

    def _are_found(self, *, metric: str, keys: tuple[_ScoreKey, ...]) -> bool:
        """Whether the scores of a group are in the store. Then they are known afterwards."""
        if keys in self._stored:
            return True
        facts = None if keys in self._missing else self._scorer_facts(metric)
        if facts is None:
            return False
        stored = stored_scores(store=self._engine.store, facts=facts, pairs=_digests(keys))
        if stored is None:
            return False
        self._known_scores.update(zip(keys, stored, strict=True))
        self._stored.add(keys)
        return True

    def _scorer_facts(self, metric: str) -> Mapping[str, JsonValue] | None:
        """Everything that scores of a metric depend on besides the pair; None: they are not stored."""
        if self._make_scorer is not None:
            return None
        try:
            return scorer_facts(name=metric, profile=self._profile, device=self._device)
        except LookupError:
            # Loading the scorer reports this error.
            return None

    def _compute(self, *, metric: str, pairs: Mapping[_ScoreKey, _Pair]) -> None:
        """Score the pairs without a known score."""
        new = {key: pair for key, pair in pairs.items() if key not in self._known_scores}
        if not new:
            return
        outputs, references = ([self._engine.value(pair[side]) for pair in new.values()] for side in (0, 1))
        self.running = metric
        try:
            with self.spent.running():
                scorer = self._scorer(metric)
                started = time.perf_counter()
                scores = scorer.score(outputs=outputs, references=references)
        finally:
            self.running = None
        self.work[metric].add(items=len(new), seconds=time.perf_counter() - started)
        self._known_scores.update(zip(new, rounded(scores), strict=True))

    def _scorer(self, metric: str) -> Scorer:
        """The scorer of a metric, loaded at its first use."""
        if metric not in self._scorers:
            started = time.perf_counter()
            self._scorers[metric] = (
                load_scorer(name=metric, profile=self._profile, device=self._device)
                if self._make_scorer is None
                else self._make_scorer(metric)
            )
            self.work[metric].loading += time.perf_counter() - started
        return self._scorers[metric]


def _keys(*, metric: str, pairs: Sequence[_Pair]) -> tuple[_ScoreKey, ...]:
    return tuple((metric, answer.digest, reference.digest) for answer, reference in pairs)


def _digests(keys: Sequence[_ScoreKey]) -> list[tuple[str, str]]:
    return [(answer, reference) for _, answer, reference in keys]


def agreement(*, plan: Plan, gold: Plan) -> dict[str, float]:
    """The indicators that compare a plan as given by the planner with the gold plan."""
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
    """The stored scores of these pairs, in order; None if there are none.

    `facts` holds everything that they depend on besides the pairs (`metrics.scorers.scorer_facts`).
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
    """Store the scores of these pairs, in order."""
    data = canonical_json.dumps([float(score) for score in scores]).encode()
    artefact = Artefact(data=data, media_type=MediaType.TEXT)
    digest = store.put(artefact)
    reference = ArtefactReference(digest=digest, media_type=artefact.media_type)
    store.put_step(key=_key(facts=facts, pairs=pairs), outputs={_OUTPUT: reference})


def _key(*, facts: Mapping[str, JsonValue], pairs: Pairs) -> str:
    return canonical_json.digest({"score": dict(facts), "pairs": [list(pair) for pair in pairs]})
