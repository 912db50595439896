"""Evaluating a planner on tasks: ask for plans, check them, execute them, score the answers.

This is the whole pipeline without a server; the worker runs the same code.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from evaluator.asking import ask_all, faulty, new_record, not_run
from evaluator.coverage import not_run_reasons
from evaluator.engine.clock import Stopwatch
from evaluator.engine.jobs import FailureKind, Job, JobResult
from evaluator.engine.pool import ExpertPool, Experts
from evaluator.engine.progress import Listener
from evaluator.engine.run import Engine
from evaluator.engine.store import ObjectDamagedError, Store
from evaluator.experts.profile import Profile
from evaluator.experts.protocol import ExpertError
from evaluator.metrics.similarity import Scorer, load_scorer
from evaluator.planners.protocol import Planner, PlannerReply
from evaluator.plans import ParsedPlan, PlanContext, PlanSyntaxError, check_plan, plan_to_json, read_plan
from evaluator.records import ArtefactReference, Outcome, Reason, ResultRecord, SampleResult
from evaluator.sample_artefacts import KeptSamples
from evaluator.suites.model import Suite, Task
from evaluator.suites.samples import SampleSource

_UNREADABLE = (OSError, ValueError, LookupError, TypeError)
"""What sources of samples raise on missing and damaged files."""
_SCORES_KEPT = 200_000
"""Some hundred bytes each."""


@dataclass(slots=True)
class _Planned:
    """A task with a plan that passed its checks."""

    record: ResultRecord
    task: Task
    plan: ParsedPlan


class Evaluator:
    """Evaluates planners on one suite under one profile. Experts and scorers stay loaded between calls."""

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
        listener: is told how far the execution of plans is.
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
        self._count = count
        self._make_scorer = scorers or partial(_profile_scorer, profile=profile, device=device)
        self._scorers: dict[str, Scorer] = {}
        self._known_scores: dict[tuple[str, str, str], float] = {}
        """By metric and the digests of output and reference. A score depends on nothing else (`metrics.similarity`)."""
        self.not_run = not_run_reasons(suite=suite, profile=profile, samples=samples)
        """The tasks that cannot run, with reason and sentence."""

    def run(self, *, planner: Planner, tasks: Sequence[str]) -> Iterator[ResultRecord]:
        """Evaluate a planner on the named tasks and yield each task's record as soon as it is complete.

        Raises:
            LookupError: a key names no task of the suite.
        """
        wanted = [self.suite.task(key) for key in tasks]
        yield from (self._not_run_record(task) for task in wanted if task.key in self.not_run)
        planned: list[_Planned] = []
        for found in self._plan_all(planner=planner, tasks=[task for task in wanted if task.key not in self.not_run]):
            if isinstance(found, ResultRecord):
                yield found
            else:
                planned.append(found)
        order = {task.key: position for position, task in enumerate(wanted)}
        yield from self._execute(sorted(planned, key=lambda item: order[item.task.key]))

    def _plan_all(self, *, planner: Planner, tasks: Sequence[Task]) -> Iterator[ResultRecord | _Planned]:
        for task, record, reply in ask_all(planner=planner, suite=self.suite, tasks=tasks, context=self._context):
            yield record if reply is None else _checked(record, task=task, reply=reply, context=self._context(task))

    def _context(self, task: Task) -> PlanContext:
        return self.suite.context(task=task, offered=frozenset(self.profile.experts))

    def _execute(self, planned: Sequence[_Planned]) -> Iterator[ResultRecord]:
        open_tasks: dict[str, tuple[_Planned, dict[int, JobResult]]] = {}
        jobs: list[Job] = []
        for item in planned:
            try:
                jobs += [self._job(item=item, index=index) for index in range(self._count)]
            except _UNREADABLE as error:
                message = f"The data of this task cannot be read: {type(error).__name__}: {error}."
                yield faulty(item.record, reason=Reason.INTERNAL_ERROR, message=message)
            else:
                open_tasks[item.task.key] = (item, {})
        try:
            for result in self.engine.run(jobs):
                item, results = open_tasks[result.job.task]
                results[result.job.sample] = result
                if len(results) == self._count:
                    yield self._score(item=item, results=[results[index] for index in range(self._count)])
        except Exception:
            self._samples.forget()
            raise

    def _job(self, *, item: _Planned, index: int) -> Job:
        resources = self._samples.inputs(task=item.task, index=index)
        # Kept here and not when it is needed: the engine writes it before it hands out the first result.
        self._samples.reference(task=item.task, index=index)
        return Job(task=item.task.key, sample=index, plan=item.plan.plan, resources=resources)

    def _score(self, *, item: _Planned, results: Sequence[JobResult]) -> ResultRecord:
        references = [self._samples.reference(task=item.task, index=result.job.sample) for result in results]
        failures = [result.failure for result in results if result.failure is not None]
        if failures:
            record = item.record.model_copy(update={"samples": _sample_results(results, references, None)})
            at_limit = next((failure for failure in failures if failure.kind is FailureKind.LIMIT), None)
            if at_limit is not None:
                return faulty(record, reason=Reason.LIMIT_EXCEEDED, message=f"{at_limit.message}.")
            return faulty(record, reason=Reason.EXPERT_FAILED, message=f"{failures[0].message}.")
        try:
            scores = self._scores(metric=item.task.metric, results=results, references=references)
        except (RuntimeError, ValueError, OSError, LookupError, ObjectDamagedError, ExpertError) as error:
            record = item.record.model_copy(update={"samples": _sample_results(results, references, None)})
            message = f"The {item.task.metric} score could not be computed: {error}."
            return faulty(record, reason=Reason.SCORER_FAILED, message=message)
        return item.record.model_copy(
            update={
                "outcome": Outcome.SCORED,
                "score": sum(scores) / len(scores),
                "samples": _sample_results(results, references, scores),
            }
        )

    def _scores(
        self, *, metric: str, results: Sequence[JobResult], references: Sequence[ArtefactReference]
    ) -> list[float]:
        asked = [(result.answer, wanted) for result, wanted in zip(results, references, strict=True) if result.answer]
        keys = [(metric, answer.digest, wanted.digest) for answer, wanted in asked]
        new = {key: pair for key, pair in zip(keys, asked, strict=True) if key not in self._known_scores}
        if new:
            outputs = [self.engine.value(answer) for answer, _ in new.values()]
            right = [self.engine.value(wanted) for _, wanted in new.values()]
            with self.scoring.running():
                if metric not in self._scorers:
                    self._scorers[metric] = self._make_scorer(metric)
                found = self._scorers[metric].score(outputs=outputs, references=right)
            self._known_scores.update(zip(new, found, strict=True))
        scores = [self._known_scores[key] for key in keys]
        if len(self._known_scores) > _SCORES_KEPT:
            self._known_scores.clear()
        return scores

    def _not_run_record(self, task: Task) -> ResultRecord:
        reason, message = self.not_run[task.key]
        return not_run(new_record(suite=self.suite, task=task), reason=reason, message=message)


def _profile_scorer(metric: str, *, profile: Profile, device: str) -> Scorer:
    return load_scorer(name=metric, profile=profile, device=device)


def _checked(record: ResultRecord, *, task: Task, reply: PlannerReply, context: PlanContext) -> ResultRecord | _Planned:
    try:
        parsed = read_plan(value=reply.plan, context=context)
    except PlanSyntaxError as error:
        record = record.model_copy(update={"tolerated": list(error.tolerated)})
        return faulty(record, reason=Reason.UNPARSABLE_PLAN, message=f"The plan cannot be read: {error}.")
    problems = check_plan(plan=parsed.plan, context=context)
    record = record.model_copy(
        update={
            "plan": plan_to_json(parsed.plan),
            "tolerated": list(parsed.tolerated),
            "problems": list(problems),
        }
    )
    if problems:
        more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
        return faulty(record, reason=Reason.INVALID_PLAN, message=f"{_capitalised(problems[0].message)}{more}.")
    return _Planned(record=record, task=task, plan=parsed)


def _sample_results(
    results: Sequence[JobResult], references: Sequence[ArtefactReference], scores: Sequence[float] | None
) -> list[SampleResult]:
    return [
        SampleResult(
            index=result.job.sample,
            score=None if scores is None else scores[position],
            inputs=dict(result.job.resources),
            reference=references[position],
            answer=result.answer,
            steps=list(result.steps),
        )
        for position, result in enumerate(results)
    ]


def _capitalised(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def without_timings(record: ResultRecord) -> ResultRecord:
    """The part of a record that is equal whenever the same evaluation runs: no seconds, no cache hits, no tries."""
    samples = [
        sample.model_copy(
            update={"steps": [step.model_copy(update={"seconds": 0.0, "cached": False}) for step in sample.steps]}
        )
        for sample in record.samples
    ]
    planner = None if record.planner is None else record.planner.model_copy(update={"seconds": 0.0, "tries": 1})
    return record.model_copy(update={"samples": samples, "planner": planner})
