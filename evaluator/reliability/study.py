"""Running what a reliability profile needs: the same requests again, and in other forms.

All runs share one evaluator, so that a call of an expert that some run made is not made again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from evaluator.episodes.base import Evaluator
from evaluator.planners.bundled import GoldPlanner
from evaluator.planners.protocol import Planner
from evaluator.records import ResultRecord
from evaluator.reliability.perturbations import PERTURBATIONS
from evaluator.reliability.perturbed import perturbed_planner
from evaluator.reliability.profile import PerturbedRun, Profile, Records, Runs, profile_of
from evaluator.suites.base import IntervalMethod, Suite

RUNS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What is measured."""

    evaluator: Evaluator
    planner: Planner
    tasks: Sequence[str]
    has_gold: bool
    """Whether the suite has gold plans."""
    in_turns: bool
    """Whether planners are asked turn by turn: then requests are not perturbed."""
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
        plain.append(_run(study, planner=study.planner))
    suite = study.evaluator.suite
    column = next(column for column in suite.metrics if column.primary)
    perturbed = [] if study.in_turns else _perturbed(study, suite=suite, say=say)
    gold = None
    if study.has_gold and column.interval is not IntervalMethod.WILSON:
        say("gold plans")
        gold = _run(study, planner=GoldPlanner(suite))
    return profile_of(Runs(column=column, plain=plain, perturbed=perturbed, gold=gold))


def _perturbed(study: Study, *, suite: Suite, say: Callable[[str], None]) -> list[PerturbedRun]:
    keys = {task.asked_as or task.key: task.key for task in suite.tasks}
    found = []
    for perturbation in PERTURBATIONS.values():
        say(perturbation.name)
        planner = perturbed_planner(study.planner, perturbation=perturbation)
        records = _run(study, planner=planner)
        unchanged = {keys[name] for name in planner.unchanged}
        found.append(
            PerturbedRun(
                name=perturbation.name, kind=str(perturbation.kind), description=perturbation.description,
                records={task: record for task, record in records.items() if task not in unchanged},
            )
        )  # fmt: skip
    return found


def _run(study: Study, *, planner: Planner) -> Mapping[str, ResultRecord]:
    records = {record.task: record for record in study.evaluator.run(planner=planner, tasks=study.tasks)}
    return {task: records[task] for task in study.tasks}
