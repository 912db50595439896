"""Running what a reliability profile needs: the same requests again, and in other forms.

All runs share one evaluator's experts and store, so that a call of an expert that some run made is not made again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from evaluator.episodes.base import Episode, Evaluator
from evaluator.planners.bundled import GoldPlanner
from evaluator.planners.protocol import Planner, reseeded
from evaluator.reliability.perturbations import perturbations_of
from evaluator.reliability.perturbed_evaluation import PerturbedEvaluator
from evaluator.reliability.profile import Profile, profile_of
from evaluator.reliability.shared_samples import Records, samples_of_further_runs
from evaluator.reliability.unavailable import unavailable
from evaluator.suites.base import IntervalMethod

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
    plain, further = [first], _of_further_runs(study.evaluator)
    for number in range(2, study.runs + 1):
        say(f"run {number} of {study.runs}")
        plain.append(_run(study, evaluator=further, planner=reseeded(study.planner, run=number - 1)))
    suite = study.evaluator.suite
    perturbed = {}
    for one in perturbations_of(suite=suite, in_turns=study.episode.in_turns):
        say(one.label)
        evaluator = PerturbedEvaluator(further, perturbation=one.name, episode=study.episode, profile=study.profile)
        perturbed[one.name] = _run(study, evaluator=evaluator, planner=study.planner)
    column = next(column for column in suite.metrics if column.primary)
    gold = None
    if study.has_gold and column.interval is not IntervalMethod.WILSON:
        say("gold plans")
        gold = _run(study, evaluator=further, planner=GoldPlanner(suite))
    return profile_of(
        column=column, plain_runs=plain, perturbed=perturbed, gold=gold,
        unavailable=unavailable(in_turns=study.episode.in_turns, applied=perturbed),
    )  # fmt: skip


def _of_further_runs(evaluator: Evaluator) -> Evaluator:
    if isinstance(evaluator, SampledEvaluator):
        return evaluator.with_samples(samples_of_further_runs(evaluator.count))
    return evaluator


def _run(study: Study, *, evaluator: Evaluator, planner: Planner) -> Records:
    records = {record.task: record for record in evaluator.run(planner=planner, tasks=study.tasks)}
    return {task: records[task] for task in study.tasks}
