"""Running what a reliability profile needs: the same requests again, and in other forms.

All runs share one evaluator, so that a call of an expert that some run made is not made again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evaluator.episodes.base import Episode, Evaluator
from evaluator.planners.bundled import GoldPlanner
from evaluator.planners.protocol import Planner, reseeded
from evaluator.reliability.perturbations import perturbations_of
from evaluator.reliability.perturbed_evaluation import PerturbedEvaluator
from evaluator.reliability.profile import Profile, Records, profile_of
from evaluator.suites.base import IntervalMethod

RUNS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What is measured."""

    evaluator: Evaluator
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
    plain = [first]
    for number in range(2, study.runs + 1):
        say(f"run {number} of {study.runs}")
        plain.append(_run(study, evaluator=study.evaluator, planner=reseeded(study.planner, run=number - 1)))
    suite = study.evaluator.suite
    perturbed = {}
    for one in perturbations_of(suite=suite, in_turns=study.episode.in_turns):
        say(one.label)
        evaluator = PerturbedEvaluator(
            study.evaluator, perturbation=one.name, episode=study.episode, profile=study.profile
        )
        perturbed[one.name] = _run(study, evaluator=evaluator, planner=study.planner)
    column = next(column for column in suite.metrics if column.primary)
    gold = None
    if study.has_gold and column.interval is not IntervalMethod.WILSON:
        say("gold plans")
        gold = _run(study, evaluator=study.evaluator, planner=GoldPlanner(suite))
    return profile_of(column=column, plain_runs=plain, perturbed=perturbed, gold=gold)


def _run(study: Study, *, evaluator: Evaluator, planner: Planner) -> Records:
    records = {record.task: record for record in evaluator.run(planner=planner, tasks=study.tasks)}
    return {task: records[task] for task in study.tasks}
