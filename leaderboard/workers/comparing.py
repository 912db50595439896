"""Whether what an own worker sent agrees with what a worker of the operator's measured again. Pure: knows no database.

Task by task:

    the same plan         what is measured follows from it: outcome, score and indicators must be the same
    another plan          the planner decides differently each time, or the plan is not the planner's: one task alone
                          tells nothing. A planner that repeats itself must not have another plan
    no plan, yet scored   nothing can be scored without a plan

Over all tasks, the owner's scores must not be significantly better than those measured again: a planner that decides
differently each time is as often worse as better, while plans that it would not make are chosen since they are better.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from evaluator import canonical_json
from evaluator.canonical_json import JsonValue
from evaluator.metrics.statistics import paired_permutation
from evaluator.records import Outcome, ResultRecord

SCORE_TOLERANCE = 0.02
"""How far the scores of one plan on one task may lie apart; scores are in [-1, 1]. Devices round differently, and on
the edge that moves a level of a picture or a word of a text: `docs/operating.md`, "When results are bit-equal", has the
measurements. What somebody could gain by it on a board is at most this."""
INDICATOR_TOLERANCE = 1e-6
"""The same for indicators: they follow from the plan by rules, without a device."""
NOISE = 1e-3
"""Differences up to this count as none in the test over all tasks: rounding may lean to one side on every task."""
LEVEL = 0.05
"""Of the test over all tasks: so often it rejects an honest planner that decides differently each time, at most."""
SUSPICION = 0.25
"""p-value up to which more tasks are run again before the results count as agreeing: two tasks with another plan that
are both better, for one. A sample in which nobody could be convicted must not be a good place to hide."""
_OF_FURTHER_PLANS = "SE_best"
"""The one indicator that does not follow from the plan alone, but from the further ones that a planner may give."""
_MOST_NAMED = 5


class Finding(StrEnum):
    """What became of one task."""

    SAME = "same"
    OTHER_PLAN = "other_plan"
    """Another plan, from a planner that may decide differently each time: says something only with all others."""
    OTHER_PLAN_OF_REPEATABLE = "other_plan_of_repeatable"
    NO_PLAN = "no_plan"
    OTHER_OUTCOME = "other_outcome"
    OTHER_SCORE = "other_score"
    OTHER_INDICATORS = "other_indicators"


AGREEING = frozenset({Finding.SAME, Finding.OTHER_PLAN})
"""What does not contradict the owner's result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one worker said of one task."""

    task: str
    outcome: str
    score: float
    """What the board is ranked by, in [-1, 1]; 0 for a `planner_fault`."""
    plan: JsonValue = None
    """The parsed plan as `plan/1`; None where there is none."""
    indicators: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskComparison:
    """One task of the sample."""

    task: str
    finding: Finding
    own_outcome: str
    own_score: float
    outcome: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All tasks of the sample."""

    tasks: tuple[TaskComparison, ...]
    p_value: float
    """Of the test over all tasks, in (0, 1]."""

    @property
    def contradicting(self) -> tuple[TaskComparison, ...]:
        """The tasks that contradict the owner's results."""
        return tuple(task for task in self.tasks if task.finding not in AGREEING)

    @property
    def better_than_chance(self) -> bool:
        """Whether the owner's scores are better than what differences by chance explain."""
        return self.p_value <= LEVEL

    @property
    def leans(self) -> bool:
        """Whether the owner's scores are better so often that a larger sample has to decide."""
        return self.p_value <= SUSPICION

    @property
    def agrees(self) -> bool:
        """Whether the results may be ranked."""
        return not self.contradicting and not self.better_than_chance

    def as_json(self) -> dict[str, Any]:
        """As `Verification.comparison` documents it."""
        return {"tasks": [asdict(task) for task in self.tasks], "p_value": self.p_value}


def measured(*, record: ResultRecord, ranked_by: str) -> Measured:
    """What a stored record says.

    Args:
        record: of a task that was `scored` or ended as `planner_fault`.
        ranked_by: key of the suite's primary metric: where plans are judged, the board takes it from the indicators.
    """
    return Measured(
        task=record.task,
        outcome=record.outcome,
        score=float(record.indicators.get(ranked_by, record.score or 0.0)),
        plan=record.plan,
        indicators=record.indicators,
    )


def compare(*, own: Sequence[Measured], again: Sequence[Measured], repeatable: bool) -> Comparison:
    """Compare both results of each task of a sample.

    Args:
        own: what the owner's worker sent.
        again: what the operator's worker measured, of the same tasks in the same order; none is an `infra_fault`.
        repeatable: whether the planner is known to give the same plan for the same request each time.

    Raises:
        ValueError: the tasks are not the same.
    """
    if [one.task for one in own] != [one.task for one in again]:
        raise ValueError("results of different tasks cannot be compared")
    tasks = tuple(
        TaskComparison(
            task=mine.task,
            finding=_find(mine=mine, theirs=theirs, repeatable=repeatable),
            own_outcome=mine.outcome,
            own_score=mine.score,
            outcome=theirs.outcome,
            score=theirs.score,
        )
        for mine, theirs in zip(own, again, strict=True)
    )
    return Comparison(tasks=tasks, p_value=paired_permutation([_difference(task) for task in tasks]))


def _find(*, mine: Measured, theirs: Measured, repeatable: bool) -> Finding:
    if not _same_plan(mine.plan, theirs.plan):
        if mine.plan is None and mine.outcome == Outcome.SCORED:
            return Finding.NO_PLAN
        return Finding.OTHER_PLAN_OF_REPEATABLE if repeatable else Finding.OTHER_PLAN
    if mine.outcome != theirs.outcome:
        return Finding.OTHER_OUTCOME
    if abs(mine.score - theirs.score) > SCORE_TOLERANCE:
        return Finding.OTHER_SCORE
    return Finding.SAME if _same_indicators(mine.indicators, theirs.indicators) else Finding.OTHER_INDICATORS


def _same_plan(first: JsonValue, second: JsonValue) -> bool:
    return canonical_json.dumps(first) == canonical_json.dumps(second)


def _same_indicators(first: Mapping[str, float], second: Mapping[str, float]) -> bool:
    names = (set(first) | set(second)) - {_OF_FURTHER_PLANS}
    return all(
        name in first and name in second and abs(first[name] - second[name]) <= INDICATOR_TOLERANCE for name in names
    )


def _difference(task: TaskComparison) -> float:
    difference = task.own_score - task.score
    return difference if abs(difference) > NOISE else 0.0


def sentence(comparison: Comparison) -> str:
    """The outcome in words, for the owner and everybody else."""
    total = len(comparison.tasks)
    if contradicting := comparison.contradicting:
        by_finding = {finding: [t.task for t in contradicting if t.finding is finding] for finding in Finding}
        named = "; ".join(f"{_names(tasks)} ({_WORDS[finding]})" for finding, tasks in by_finding.items() if tasks)
        return f"{len(contradicting)} of {total} tasks that were run again came out otherwise: {named}."
    others = [task for task in comparison.tasks if task.finding is Finding.OTHER_PLAN]
    if comparison.better_than_chance:
        better = _names([task.task for task in comparison.tasks if _difference(task) > 0])
        return (
            f"the planner made another plan in {len(others)} of {total} tasks that were run again, and the owner's "
            f"scores are better, in {better}, than chance explains (p = {comparison.p_value:.3f})."
        )
    same = f"the results agreed on {total - len(others)} of {total} tasks that were run again"
    if not others:
        return f"{same}."
    return f"{same}; in {len(others)} the planner made another plan, and the scores differ no more than by chance."


def leaning(comparison: Comparison) -> str:
    """In words why a larger sample has to decide."""
    better = _names([task.task for task in comparison.tasks if _difference(task) > 0])
    return (
        f"nothing contradicts the owner's results in {len(comparison.tasks)} tasks that were run again, but their "
        f"scores are better in {better} (p = {comparison.p_value:.3f}): more tasks are run again."
    )


def _names(tasks: Sequence[str]) -> str:
    more = f" and {len(tasks) - _MOST_NAMED} more" if len(tasks) > _MOST_NAMED else ""
    return ", ".join(tasks[:_MOST_NAMED]) + more


_WORDS: Mapping[Finding, str] = {
    Finding.OTHER_PLAN_OF_REPEATABLE: "another plan, although this planner always makes the same",
    Finding.NO_PLAN: "scored without a plan",
    Finding.OTHER_OUTCOME: "the same plan ended differently",
    Finding.OTHER_SCORE: "the same plan scored differently",
    Finding.OTHER_INDICATORS: "the same plan was judged differently",
}
