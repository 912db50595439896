"""Running what a reliability profile needs: the same requests again, and in other forms.

All runs share one evaluator's experts and store, so that a call of an expert that some run made is not made again, and
what further runs call is called together (`together`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

from evaluator.core.planner import Planner, reseeded
from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.episodes.base import Episode, Evaluator
from evaluator.planners.bundled import GoldPlanner
from evaluator.reliability.perturbations import perturbations_of
from evaluator.reliability.perturbed_evaluation import PerturbedEvaluator
from evaluator.reliability.profile import Profile, profile_of
from evaluator.reliability.shared_samples import Records, samples_of_further_runs
from evaluator.reliability.together import Form, executed_together
from evaluator.reliability.unavailable import unavailable

RUNS = 5


@runtime_checkable
class SampledEvaluator(Evaluator, Protocol):
    """An evaluator that executes whole plans on a number of data points."""

    @property
    def count(self) -> int:
        """Data points per task."""
        ...

    def with_samples(self, count: int) -> Evaluator:
        """The same on the first data points only."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What is measured."""

    evaluator: Evaluator
    """Of the first run; the others execute plans on fewer data points (`samples_of_further_runs`)."""
    episode: Episode
    """Of the evaluator's suite."""
    profile: str
    """Of the experts, where they run."""
    planner: Planner
    tasks: Sequence[str]
    has_gold: bool
    """Whether the suite has gold plans."""
    runs: int = RUNS
    """On the requests as they are."""


def reliability(study: Study, *, first: Records, say: Callable[[str], None] = lambda _: None) -> Profile:
    """Measure the reliability of a planner.

    Args:
        study: what is measured.
        first: the records of the first run, which need not be made again.
        say: is told what begins.
    """
    further, runs, found = _of_further_runs(study.evaluator), _further_runs(study), []
    say(f"{len(runs)} further runs")
    planners = executed_together(further, runs=[(run.form, run.planner) for run in runs], tasks=study.tasks)
    for run, planner in zip(runs, planners, strict=True):
        say(run.label)
        found.append((run, _records(study, evaluator=run.form(further), planner=planner)))
    perturbed = {run.perturbation: records for run, records in found if run.perturbation}
    return profile_of(
        column=_column(study),
        plain_runs=[first, *(records for run, records in found if not run.perturbation and not run.is_of_gold)],
        perturbed=perturbed,
        gold=next((records for run, records in found if run.is_of_gold), None),
        unavailable=unavailable(in_turns=study.episode.in_turns, applied=perturbed),
    )


class _FurtherRun(NamedTuple):
    """A run besides the first one."""

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
    for one in perturbations_of(suite=suite, in_turns=study.episode.in_turns):
        form = partial(PerturbedEvaluator, perturbation=one.name, episode=study.episode, profile=study.profile)
        runs.append(_FurtherRun(one.label, form, study.planner, perturbation=one.name))
    if study.has_gold and _column(study).interval is not IntervalMethod.WILSON:
        runs.append(_FurtherRun("gold plans", _plain, GoldPlanner(suite), is_of_gold=True))
    return runs


def _plain(evaluator: Evaluator) -> Evaluator:
    return evaluator


def _column(study: Study) -> Column:
    return next(column for column in study.evaluator.suite.metrics if column.primary)


def _of_further_runs(evaluator: Evaluator) -> Evaluator:
    if isinstance(evaluator, SampledEvaluator):
        return evaluator.with_samples(samples_of_further_runs(evaluator.count))
    return evaluator


def _records(study: Study, *, evaluator: Evaluator, planner: Planner) -> Records:
    records = {record.task: record for record in evaluator.run(planner=planner, tasks=study.tasks)}
    return {task: records[task] for task in study.tasks}
