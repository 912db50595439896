"""Evaluation of a planner by executing its plans: query, check, execute, score.

This is the whole pipeline without a server; workers run the same code.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Protocol

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import Planner, PlannerRequest, request_for
from evaluator.core.provenance import provenance
from evaluator.core.records import Outcome, Reason, ResultRecord
from evaluator.core.suites.base import ABSTENTION, Suite
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.suites.samples import SampleSource, WithGaps, WithOrigin
from evaluator.episodes.beside_gold import Pending, task_of
from evaluator.episodes.counterparts import counterpart_jobs
from evaluator.episodes.judgement import Judge, with_judgement
from evaluator.episodes.parts import (
    Planned,
    faulty,
    measured,
    not_run_reasons,
    not_run_records,
    plan_all,
    without_invalid,
)
from evaluator.episodes.responding import Responding
from evaluator.episodes.samples import SampleArtefacts, sample_results
from evaluator.episodes.scoring import SCORER_FAILURES, UNREADABLE, ResultScorer, agreement
from evaluator.execution.engine.jobs import FailureKind, Job, JobResult
from evaluator.execution.engine.pool import ExpertPool, Experts
from evaluator.execution.engine.progress import Listener
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import ObjectDamagedError, Store
from evaluator.execution.experts.devices import device_facts
from evaluator.execution.experts.profile import Profile
from evaluator.scoring.metrics.scorers.base import Scorer

_PLANNER_REASONS = {FailureKind.LIMIT: Reason.LIMIT_EXCEEDED, FailureKind.INPUT: Reason.UNFIT_INPUT}
"""Failures caused by the plan."""


class Responses(Protocol):
    """Asks planners that answer in sentences for a response to their results, and scores it."""

    def __call__(
        self, record: ResultRecord, *, planner: Responding, item: Planned, request: PlannerRequest, result: JobResult,
        engine: Engine,
    ) -> ResultRecord:  # fmt: skip
        """The scored record with the response and its scores.

        Args:
            record: of a plan that ran, with which the planner promised a response.
            planner: the planner in this run.
            item: its plan.
            request: what it was asked.
            result: of the plan on the first sample.
            engine: holds the values of results.
        """
        ...


class ExecutionEvaluator:
    """Executes the plans of planners on one suite with one profile, and scores the results.

    Experts and scorers stay loaded between calls.
    """

    _collected: list[Job] | None = None
    """Receives jobs instead of the engine; None: jobs are executed."""

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
        counterparts: SampleSource | None = None,
        responses: Responses | None = None,
    ) -> None:
        """Args:
        suite: the suite whose tasks are evaluated.
        profile: the experts of the tools.
        samples: the data points.
        count: data points per task, at least 1.
        store: holds artefacts and executed steps.
        device: torch device of experts and scorers.
        experts: the source of experts; by default the profile, which loads them on first use.
        scorers: creates the scorer of a metric; by default the profile's.
        memory_budget: total bytes of loaded experts; None: see `ExpertPool`.
        listener: receives the progress of execution.
        split: name of the samples' split, for reports.
        judge: adds indicators of the plans.
        beside_gold: whether to execute gold plans too, for the indicator `RELATIVE`.
        counterparts: other inputs of the same tasks and samples, for the indicator `DROP`.
        responses: scores what planners say about their results; None: they are not asked. Of hidden data only planners
            on the worker are asked.
        """
        if count < 1:
            raise ValueError(f"an evaluation needs at least one sample per task, not {count}")
        self.suite, self.profile = suite, profile
        pool = experts or ExpertPool(profile=profile, device=device, budget=memory_budget)
        self.engine = Engine(pool=pool, store=store, salt=suite.slug, listener=listener)
        self._samples = SampleArtefacts(source=samples, engine=self.engine)
        self.gaps = samples.gaps if isinstance(samples, WithGaps) else ""
        """The missing data, as a sentence; empty if the data are complete."""
        self.origin = samples.origin if isinstance(samples, WithOrigin) else ""
        """Whose data they are, if not those of the suite's authors, as sentences."""
        if self._samples.compares_with_gold and not beside_gold:
            raise ValueError("results can be compared with the gold plan's only where gold plans are executed too")
        self._counterparts = None if counterparts is None else SampleArtefacts(source=counterparts, engine=self.engine)
        self.count, self._split, self._device = count, split, device
        self._judge, self._beside_gold, self._responses = judge, beside_gold, responses
        self._scoring = ResultScorer(
            engine=self.engine, samples=self._samples, count=count, profile=profile, device=device, scorers=scorers
        )
        self.scoring = self._scoring.spent
        """Time spent in scorers, including their loading."""
        self.scoring_work = self._scoring.work
        """What scorers did, by metric."""
        self.not_run = not_run_reasons(suite=suite, profile=profile, samples=samples)
        """The tasks that cannot run, with reason and sentence."""

    def run(
        self,
        *,
        planner: Planner,
        tasks: Sequence[str],
        run: str = "",  # noqa: ARG002 - each plan is requested at once
    ) -> Iterator[ResultRecord]:
        """See `Evaluator.run`."""
        return measured(self._run(planner=planner, tasks=tasks), suite=self.suite)

    def _run(self, *, planner: Planner, tasks: Sequence[str]) -> Iterator[ResultRecord]:
        requested = self.suite.asked(tasks)
        yield from not_run_records(suite=self.suite, tasks=requested, reasons=self.not_run)
        runnable = [task for task in requested if task.key not in self.not_run]
        planned: list[Planned] = []
        offered = frozenset(self.profile.experts)
        for item in plan_all(
            planner=planner,
            suite=self.suite,
            tasks=runnable,
            context=lambda task: self.suite.context(task=task, offered=offered),
        ):
            valid = without_invalid(item)
            if isinstance(valid, ResultRecord):
                yield valid
                continue
            judged = self._judged(valid)
            if judged.task.metric == ABSTENTION:
                score = 0.0 if judged.plan.plan.steps else 1.0
                yield judged.record.model_copy(update={"outcome": Outcome.SCORED, "score": score})
            else:
                planned.append(judged)
        order = {task.key: position for position, task in enumerate(requested)}
        yield from self._execute(sorted(planned, key=lambda item: order[item.task.key]), planner=planner)

    def on(self, suite: Suite) -> "ExecutionEvaluator":
        """A copy for another form of the suite's tasks, with the same data, experts and store."""
        other = copy(self)
        other.suite = suite
        return other

    def with_samples(self, count: int) -> "ExecutionEvaluator":
        """A copy for another number of data points, the first ones, with the same experts and store."""
        other = copy(self)
        other.count, other._scoring = count, self._scoring.with_samples(count)
        return other

    def collecting(self, jobs: list[Job]) -> "ExecutionEvaluator":
        """A copy that adds the jobs of plans to `jobs` instead of executing them. Its runs yield only the records of
        tasks without a plan to execute."""
        other = copy(self)
        other._collected = jobs
        return other

    @property
    def scored_now(self) -> str | None:
        """The metric whose scorer runs at this moment."""
        return self._scoring.running

    def execute(self, jobs: Sequence[Job]) -> None:
        """Execute jobs together, which fills batches. Later runs find their results in the store."""
        for _ in self.engine.run(jobs):
            pass

    def facts(self) -> dict[str, JsonValue]:
        """Profile, data, executed calls and provenance."""
        return {
            "profile": self.profile.facts(),
            "data": {
                "split": self._split,
                "samples": self.count,
                "digest": self._samples.digest,
                **({"origin": self.origin} if self.origin else {}),
            },
            "expert_calls": dict(sorted(self.engine.calls.items())),
            "provenance": {
                **provenance(device=self._device),
                **device_facts(self._device, of_class=self.engine.pool.device_class),
            },
        }

    def _judged(self, planned: Planned) -> Planned:
        """Add agreement with the gold plan and the judge's indicators to the record of a valid plan."""
        gold = planned.task.gold
        if gold is not None:
            update = {"indicators": agreement(plan=planned.plan.plan, gold=gold)}
            planned = replace(planned, record=planned.record.model_copy(update=update))
        if self._judge is None:
            return planned
        return with_judgement(planned, judgement=self._judge(suite=self.suite, planned=planned))

    def _execute(self, planned: Sequence[Planned], *, planner: Planner) -> Iterator[ResultRecord]:
        open_tasks: dict[str, tuple[Planned, Pending]] = {}
        jobs: list[Job] = []
        for item in planned:
            pending = Pending.of(item.plan.plan, gold=item.task.gold if self._beside_gold else None)
            own: list[Job] = []
            beside: list[Job] = []
            try:
                for index in range(self.count):
                    resources = self._samples.inputs(task=item.task, index=index)
                    if not self._samples.compares_with_gold:
                        # Stored now, because the engine flushes before it returns the first result.
                        self._scoring.stored_references(task=item.task, index=index)
                    own.append(Job(task=item.task.key, sample=index, plan=item.plan.plan, resources=resources))
                if self._counterparts is not None:
                    pending.has_counterparts = True
                    beside = counterpart_jobs(own, task=item.task, samples=self._counterparts)
            except UNREADABLE as error:
                message = f"The data of this task cannot be read: {type(error).__name__}: {error}."
                yield faulty(item.record, reason=Reason.INTERNAL_ERROR, message=message)
            else:
                jobs += own + pending.gold_jobs(own) + beside
                open_tasks[item.task.key] = (item, pending)
        if self._collected is not None:
            self._collected += jobs
            return
        responding = Responding(planner, is_hidden=self._split == HIDDEN)
        try:
            for results in self.engine.run_together(jobs):
                complete: list[tuple[Planned, Pending]] = []
                for result in results:
                    item, pending = open_tasks[task_of(result.job)]
                    pending.take(result)
                    if pending.is_complete(self.count):
                        complete.append((item, pending))
                self._scoring.prepare([(item.task, pending) for item, pending in complete])
                for item, pending in complete:
                    record = self._score(item=item, pending=pending)
                    yield self._with_response(record, planner=responding, item=item, pending=pending)
        except Exception:
            self._samples.forget()
            if self._counterparts is not None:
                self._counterparts.forget()
            raise

    def _with_response(
        self, record: ResultRecord, *, planner: Responding, item: Planned, pending: Pending
    ) -> ResultRecord:
        if self._responses is None or record.outcome is not Outcome.SCORED or not planner.is_promised(item.reply):
            return record
        context = self.suite.context(task=item.task, offered=frozenset(self.profile.experts))
        request = request_for(suite=self.suite, task=item.task, context=context)
        result = pending.results(self.count)[0]
        return self._responses(record, planner=planner, item=item, request=request, result=result, engine=self.engine)

    def _score(self, *, item: Planned, pending: Pending) -> ResultRecord:
        results = pending.results(self.count)
        try:
            references = self._scoring.references(task=item.task, results=results, pending=pending)
        except (*UNREADABLE, ObjectDamagedError) as error:
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
            scored = self._scoring.scored(task=item.task, results=results, references=references, pending=pending)
        except SCORER_FAILURES as error:
            record = item.record.model_copy(update={"samples": unscored()})
            message = f"The {item.task.metric} score could not be computed: {error}."
            return faulty(record, reason=Reason.SCORER_FAILED, message=message)
        update = {
            "outcome": Outcome.SCORED,
            "score": scored.score,
            "samples": list(scored.samples),
            "indicators": {**item.record.indicators, **scored.indicators},
        }
        return item.record.model_copy(update=update)
