"""The runs of a reliability profile: repeated and perturbed requests.

All runs share one evaluator's experts and store, so that no expert call is repeated. Since experts always compute full,
padded batches (`evaluator.execution.engine.frontier`), the plans of all further runs are executed together.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

from evaluator.core.planner import BatchPlanner, Planner, PlannerError, PlannerReply, PlannerRequest, reseeded
from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.episodes.base import Episode, Evaluator
from evaluator.execution.engine.jobs import Job
from evaluator.planners.bundled import GoldPlanner
from evaluator.reliability.perturbations import perturbations_of, unavailable
from evaluator.reliability.perturbed_evaluation import PerturbedEvaluator
from evaluator.reliability.profile import Profile, profile_of
from evaluator.reliability.shared_samples import Records, samples_of_further_runs

Form = Callable[[Evaluator], Evaluator]
"""From an evaluator to the evaluator of a run: itself, or a perturbed one."""


@runtime_checkable
class CollectingEvaluator(Evaluator, Protocol):
    """An evaluator that can defer the execution of plans."""

    def collecting(self, jobs: list[Job]) -> Evaluator:
        """The evaluator whose runs append to `jobs` instead of executing them."""
        ...

    def execute(self, jobs: Sequence[Job]) -> None:
        """Execute jobs, so that later runs find their steps in the store."""
        ...


def executed_together(
    evaluator: Evaluator, *, runs: Sequence[tuple[Form, Planner]], tasks: Sequence[str]
) -> list[Planner]:
    """Ask the planners of all runs, execute their plans together, and return planners that replay the replies.

    Args:
        evaluator: evaluator of all runs. If it executes no plans, the planners are returned unchanged.
        runs: form and planner of each run.
        tasks: keys of tasks.
    """
    if not isinstance(evaluator, CollectingEvaluator):
        return [planner for _, planner in runs]
    jobs: list[Job] = []
    collecting = evaluator.collecting(jobs)
    recorders = [
        _BatchRecorder(planner) if isinstance(planner, BatchPlanner) else _Recorder(planner) for _, planner in runs
    ]
    for (form, _), planner in zip(runs, recorders, strict=True):
        for _ in form(collecting).run(planner=planner, tasks=tasks):
            pass
    evaluator.execute(jobs)
    return [Replayed(planner.name, planner.replies) for planner in recorders]


class Replayed:
    """Replays replies, by id of the task."""

    def __init__(self, name: str, replies: dict[str, PlannerReply | PlannerError]) -> None:
        self.name = name
        self._replies = replies

    def plan(self, request: PlannerRequest) -> PlannerReply:
        reply = self._replies[request.task.id]
        if isinstance(reply, PlannerError):
            raise reply
        return reply


class _Recorder:
    """Records the replies of a planner by id of the task."""

    def __init__(self, planner: Planner) -> None:
        self.name = planner.name
        self.replies: dict[str, PlannerReply | PlannerError] = {}
        self._planner = planner

    def plan(self, request: PlannerRequest) -> PlannerReply:
        try:
            reply = self._planner.plan(request)
        except PlannerError as error:
            self.replies[request.task.id] = error
            raise
        self.replies[request.task.id] = reply
        return reply


class _BatchRecorder(_Recorder):
    def __init__(self, planner: BatchPlanner) -> None:
        super().__init__(planner)
        self._together = planner

    def plan_all(self, requests: Iterable[PlannerRequest]) -> Iterator[tuple[int, PlannerReply | PlannerError]]:
        ids: list[str] = []

        def recorded() -> Iterator[PlannerRequest]:
            for request in requests:
                ids.append(request.task.id)
                yield request

        for index, end in self._together.plan_all(recorded()):
            self.replies[ids[index]] = end
            yield index, end


RUNS = 5


@runtime_checkable
class SampledEvaluator(Evaluator, Protocol):
    """An evaluator that executes whole plans on several data points."""

    @property
    def count(self) -> int:
        """Data points per task."""
        ...

    def with_samples(self, count: int) -> Evaluator:
        """The evaluator on the first data points only."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """The subject of a measurement."""

    evaluator: Evaluator
    """Evaluator of the first run; further runs use fewer data points (`samples_of_further_runs`)."""
    episode: Episode
    """Episode of the evaluator's suite."""
    profile: str
    """Profile of the experts, if any."""
    planner: Planner
    tasks: Sequence[str]
    has_gold: bool
    """Whether the suite has gold plans."""
    runs: int = RUNS
    """Number of unperturbed runs."""


def reliability(study: Study, *, first: Records, say: Callable[[str], None] = lambda _: None) -> Profile:
    """Measure the reliability of a planner.

    Args:
        study: the subject.
        first: records of the first run, which is not repeated.
        say: receives a message at the start of each run.
    """
    further = study.evaluator
    if isinstance(further, SampledEvaluator):
        further = further.with_samples(samples_of_further_runs(further.count))
    runs, results = _further_runs(study), []
    say(f"{len(runs)} further runs")
    planners = executed_together(further, runs=[(run.form, run.planner) for run in runs], tasks=study.tasks)
    for run, planner in zip(runs, planners, strict=True):
        say(run.label)
        records = {record.task: record for record in run.form(further).run(planner=planner, tasks=study.tasks)}
        results.append((run, {task: records[task] for task in study.tasks}))
    perturbed = {run.perturbation: records for run, records in results if run.perturbation}
    return profile_of(
        column=_column(study),
        plain_runs=[first, *(records for run, records in results if not run.perturbation and not run.is_of_gold)],
        perturbed=perturbed,
        gold=next((records for run, records in results if run.is_of_gold), None),
        unavailable=unavailable(in_turns=study.episode.in_turns, applied=perturbed),
    )


class _FurtherRun(NamedTuple):
    """A run after the first."""

    label: str
    form: Form
    planner: Planner
    perturbation: str = ""
    is_of_gold: bool = False


def _further_runs(study: Study) -> list[_FurtherRun]:
    suite = study.evaluator.suite
    runs = [
        _FurtherRun(f"run {number} of {study.runs}", _plain, reseeded(study.planner, run=number - 1))
        for number in range(2, study.runs + 1)
    ]
    for perturbation in perturbations_of(suite=suite, in_turns=study.episode.in_turns):
        form = partial(PerturbedEvaluator, perturbation=perturbation.name, episode=study.episode, profile=study.profile)
        runs.append(_FurtherRun(perturbation.label, form, study.planner, perturbation=perturbation.name))
    if study.has_gold and _column(study).interval is not IntervalMethod.WILSON:
        runs.append(_FurtherRun("gold plans", _plain, GoldPlanner(suite), is_of_gold=True))
    return runs


def _plain(evaluator: Evaluator) -> Evaluator:
    return evaluator


def _column(study: Study) -> Column:
    return next(column for column in study.evaluator.suite.metrics if column.primary)
