"""Evaluating a planner by executing its plans: ask, check, execute, score.

This is the whole pipeline without a server; the worker runs the same code.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from evaluator.canonical_json import JsonValue
from evaluator.engine.clock import Stopwatch
from evaluator.engine.jobs import FailureKind, Job, JobResult
from evaluator.engine.pool import ExpertPool, Experts
from evaluator.engine.progress import Listener
from evaluator.engine.run import Engine
from evaluator.engine.store import ObjectDamagedError, Store
from evaluator.episodes.abstention import abstention_judged
from evaluator.episodes.agreement import closed_answers, means_of, with_agreement
from evaluator.episodes.beside_gold import Pending, task_of, with_relative
from evaluator.episodes.coverage import not_run_reasons
from evaluator.episodes.gold_references import GoldReferences
from evaluator.episodes.judgement import Judge, with_judgement
from evaluator.episodes.parts import Planned, faulty, not_run_records, plan_all, without_invalid
from evaluator.episodes.sample_artefacts import KeptSamples
from evaluator.episodes.sample_results import sample_results
from evaluator.experts.profile import Profile
from evaluator.experts.protocol import ExpertError
from evaluator.metrics.similarity import Scorer, load_scorer, rounded
from evaluator.planners.protocol import Planner
from evaluator.plans import PlanContext
from evaluator.provenance import provenance
from evaluator.records import ArtefactReference, Outcome, Reason, ResultRecord
from evaluator.suites.base import Suite, Task
from evaluator.suites.samples import GoldComparedSource, SampleSource, WithGaps

_UNREADABLE = (OSError, ValueError, LookupError, TypeError)
"""What sources of samples raise on missing and damaged files."""
_PLANNER_REASONS = {FailureKind.LIMIT: Reason.LIMIT_EXCEEDED, FailureKind.INPUT: Reason.UNFIT_INPUT}
"""Failures that are the plan's fault."""
_SCORES_KEPT = 200_000
"""Some hundred bytes each."""


class ExecutionEvaluator:
    """Evaluates planners on one suite under one profile: plans are executed, and their results scored.

    Experts and scorers stay loaded between calls.
    """

    def __init__(
        self,
        *,
        suite: Suite,
        profile: Profile,
        samples: SampleSource,
        count: int,
        store: Store,
        device: str = "cpu",
        experts: Experts | None = None,
        scorers: Callable[[str], Scorer] | None = None,
        memory_budget: int | None = None,
        listener: Listener | None = None,
        split: str = "",
        judge: Judge | None = None,
        beside_gold: bool = False,
    ) -> None:
        """Args:
        suite: the suite whose tasks are evaluated.
        profile: which expert implements each tool.
        samples: where the data points come from.
        count: data points per task, at least 1.
        store: where artefacts and executed steps are kept.
        device: torch device of experts and scorers.
        experts: where experts come from; by default the profile's, loaded when first needed.
        scorers: makes the scorer of a metric; by default the profile's.
        memory_budget: bytes that loaded experts may occupy together; None: no limit.
        listener: receives the progress of execution.
        split: name of the split that the samples are from, for reports.
        judge: judges plans as well; what it says are indicators of the record.
        beside_gold: execute gold plans too, for the indicator `RELATIVE`.
        """
        if count < 1:
            raise ValueError(f"an evaluation needs at least one sample per task, not {count}")
        self.suite = suite
        self.profile = profile
        pool = experts or ExpertPool(profile=profile, device=device, budget=memory_budget)
        self.engine = Engine(pool=pool, store=store, salt=suite.slug, listener=listener)
        self.scoring = Stopwatch()
        """Time that scorers took, loading them included."""
        self._samples = KeptSamples(source=samples, engine=self.engine)
        self._by_gold = GoldReferences(samples, self.engine) if isinstance(samples, GoldComparedSource) else None
        self.gaps = samples.gaps if isinstance(samples, WithGaps) else ""
        """What is lacking of the data, as a sentence; empty if nothing is."""
        if self._by_gold is not None and not beside_gold:
            raise ValueError("results can be compared with the gold plan's only where gold plans are executed too")
        self._count, self._split, self._device = count, split, device
        self._judge, self._beside_gold = judge, beside_gold
        self._make_scorer = scorers or partial(_profile_scorer, profile=profile, device=device)
        self._scorers: dict[str, Scorer] = {}
        self._known_scores: dict[tuple[str, str, str], float] = {}
        """By metric and the digests of output and reference. A score depends on nothing else (`metrics.similarity`)."""
        self.not_run = not_run_reasons(suite=suite, profile=profile, samples=samples)
        """The tasks that cannot run, with reason and sentence."""

    def run(
        self,
        *,
        planner: Planner,
        tasks: Sequence[str],
        run: str = "",  # noqa: ARG002 - plans are asked for at once
    ) -> Iterator[ResultRecord]:
        """Evaluate a planner on the named tasks and yield each task's record as soon as it is complete.

        Raises:
            LookupError: a key names no task of the suite.
        """
        wanted = [self.suite.task(key) for key in tasks]
        yield from not_run_records(suite=self.suite, tasks=wanted, reasons=self.not_run)
        runnable = [task for task in wanted if task.key not in self.not_run]
        planned: list[Planned] = []
        for item in plan_all(planner=planner, suite=self.suite, tasks=runnable, context=self._context):
            checked = abstention_judged(self._judged(with_agreement(without_invalid(item))))
            if isinstance(checked, ResultRecord):
                yield checked
            else:
                planned.append(checked)
        order = {task.key: position for position, task in enumerate(wanted)}
        yield from self._execute(sorted(planned, key=lambda item: order[item.task.key]))

    def facts(self) -> dict[str, JsonValue]:
        """Profile, data, executed calls and provenance."""
        return {
            "profile": {"name": self.profile.name, "digest": self.profile.digest},
            "data": {"split": self._split, "samples": self._count, "digest": self._samples.digest},
            "expert_calls": dict(sorted(self.engine.calls.items())),
            "provenance": provenance(device=self._device),
        }

    def _context(self, task: Task) -> PlanContext:
        return self.suite.context(task=task, offered=frozenset(self.profile.experts))

    def _judged(self, item: ResultRecord | Planned) -> ResultRecord | Planned:
        if self._judge is None or isinstance(item, ResultRecord):
            return item
        return with_judgement(item, judgement=self._judge(suite=self.suite, planned=item))

    def _execute(self, planned: Sequence[Planned]) -> Iterator[ResultRecord]:
        open_tasks: dict[str, tuple[Planned, Pending]] = {}
        jobs: list[Job] = []
        for item in planned:
            pending = Pending.of(item.plan.plan, gold=item.task.gold if self._beside_gold else None)
            try:
                own = [self._job(item=item, index=index) for index in range(self._count)]
            except _UNREADABLE as error:
                message = f"The data of this task cannot be read: {type(error).__name__}: {error}."
                yield faulty(item.record, reason=Reason.INTERNAL_ERROR, message=message)
            else:
                jobs += own + pending.gold_jobs(own)
                open_tasks[item.task.key] = (item, pending)
        try:
            for result in self.engine.run(jobs):
                item, pending = open_tasks[task_of(result.job)]
                pending.take(result)
                if pending.is_complete(self._count):
                    yield self._score(item=item, pending=pending)
        except Exception:
            self._samples.forget()
            raise

    def _job(self, *, item: Planned, index: int) -> Job:
        resources = self._samples.inputs(task=item.task, index=index)
        if self._by_gold is None:
            # Kept here and not when it is needed: the engine writes it before it hands out the first result.
            self._references(task=item.task, index=index)
        return Job(task=item.task.key, sample=index, plan=item.plan.plan, resources=resources)

    def _references(self, *, task: Task, index: int) -> tuple[ArtefactReference, ...]:
        """What a right answer looks like, for each answer of the task."""
        return tuple(self._samples.reference(task=answer, index=index) for answer in task.answers)

    def _score(self, *, item: Planned, pending: Pending) -> ResultRecord:
        results = pending.results(self._count)
        try:
            references = self._compared_with(item=item, pending=pending, results=results)
        except (*_UNREADABLE, ObjectDamagedError) as error:
            message = f"There is nothing to compare this plan's results with: {error}."
            return faulty(item.record, reason=Reason.EXPERT_FAILED, message=message)
        failures = [result.failure for result in results if result.failure is not None]
        unscored = partial(sample_results, task=item.task, results=results, references=references)
        if failures:
            record = item.record.model_copy(update={"samples": unscored()})
            own = next((failure for failure in failures if failure.kind in _PLANNER_REASONS), None)
            if own is not None:
                return faulty(record, reason=_PLANNER_REASONS[own.kind], message=f"{own.message}.")
            return faulty(record, reason=Reason.EXPERT_FAILED, message=f"{failures[0].message}.")
        try:
            by_sample = self._answer_scores(task=item.task, results=results, references=references)
            gold = self._gold_scores(task=item.task, pending=pending, references=references)
        except (RuntimeError, ValueError, TypeError, OSError, LookupError, ObjectDamagedError, ExpertError) as error:
            record = item.record.model_copy(update={"samples": unscored()})
            message = f"The {item.task.metric} score could not be computed: {error}."
            return faulty(record, reason=Reason.SCORER_FAILED, message=message)
        samples = unscored(scores=by_sample)
        means = [sample.score for sample in samples if sample.score is not None]
        closed = closed_answers(task=item.task, samples=samples, value=self.engine.value)
        by_sample_values, relative = with_relative(closed, own=means, gold=gold)
        update = {
            "outcome": Outcome.SCORED,
            "score": sum(means) / len(means),
            "samples": [
                sample.model_copy(update={"indicators": found})
                for sample, found in zip(samples, by_sample_values, strict=True)
            ],
            "indicators": {**item.record.indicators, **means_of(closed), **relative},
        }
        return item.record.model_copy(update=update)

    def _compared_with(
        self, *, item: Planned, pending: Pending, results: Sequence[JobResult]
    ) -> list[tuple[ArtefactReference, ...]]:
        """The references of each sample.

        Raises:
            LookupError: they are made by the gold plan, and it failed.
        """
        if self._by_gold is None:
            return [self._references(task=item.task, index=result.job.sample) for result in results]
        made = pending.gold_results(self._count)
        failed = next((result.failure for result in made if result.failure is not None), None)
        if failed is not None:
            raise LookupError(f"the gold plan failed: {failed.message}")
        return [self._by_gold.of(task=item.task, gold=result) for result in made]

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
        return [sum(one) / len(one) for one in scores]

    def _scores(self, *, metric: str, pairs: Sequence[tuple[ArtefactReference, ArtefactReference]]) -> list[float]:
        """The score of each pair of an answer and its reference."""
        keys = [(metric, answer.digest, wanted.digest) for answer, wanted in pairs]
        new = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in self._known_scores}
        if new:
            outputs = [self.engine.value(answer) for answer, _ in new.values()]
            right = [self.engine.value(wanted) for _, wanted in new.values()]
            with self.scoring.running():
                if metric not in self._scorers:
                    self._scorers[metric] = self._make_scorer(metric)
                found = self._scorers[metric].score(outputs=outputs, references=right)
            self._known_scores.update(zip(new, rounded(found), strict=True))
        scores = [self._known_scores[key] for key in keys]
        if len(self._known_scores) > _SCORES_KEPT:
            self._known_scores.clear()
        return scores


def _profile_scorer(metric: str, *, profile: Profile, device: str) -> Scorer:
    return load_scorer(name=metric, profile=profile, device=device)
