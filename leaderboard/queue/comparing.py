"""Compares results of a self-hosted worker with those of an operator's worker. Pure: no database.

Task by task:

    same plan             results follow from the plan: outcome and indicators must be equal, and so must the scores of
                          all samples except for the few that another device's rounding changes
    different plan        the planner is not deterministic, or the plan is forged: a single task is no evidence. A
                          deterministic planner must not return a different plan
    no plan, but scored   impossible without a plan

Over all tasks, the owner's scores must not be significantly better than the new ones: a planner that is not
deterministic is worse as often as better, while forged plans are chosen because they are better. One test covers both
the number of different plans and their direction: k plans that are all better have the p-value 2^-k. Repeating a plan
here is no evidence either way: on the owner's device an honest planner may settle on a different answer each time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import Outcome, ResultRecord
from evaluator.scoring.metrics.aggregate import indicators_of_samples
from evaluator.scoring.metrics.statistics import paired_permutation

SAMPLE_TOLERANCE = 0.02
"""Largest difference between the scores of one plan on one sample; scores are in [-1, 1]."""
DIFFERING_SHARE = 0.01
"""Share of samples whose score may differ on another device: rounding decides a word of a text or a level of a picture
that was a close call. `docs/install.md`, "When results are bit-equal", has the measurements."""
DIFFERING_LEVEL = 0.01
"""Significance level of the binomial test of that share."""
INDICATOR_TOLERANCE = 1e-6
"""Largest difference between indicators, which follow from the plan by rules, without a device."""
NOISE = 1e-3
"""Differences up to this count as zero in the test over all tasks: rounding may favour one side on every task."""
LEVEL = 1 / 16
"""Significance level of the test over all tasks: four different plans that are all better. An upper bound of the share
of honest planners that are rejected, since only the last sample can reject by this test."""
SUSPICION = 0.5
"""p-value up to which more tasks are run again before the test decides, such as that of one better plan. A sample too
small to reject anything must not protect forged results."""
_OF_FURTHER_PLANS = "SE_best"
"""The one indicator that depends on a planner's further plans."""
_MOST_NAMED = 5


class Finding(StrEnum):
    """Result of comparing one task."""

    SAME = "same"
    OTHER_PLAN = "other_plan"
    """A different plan of a planner that is not deterministic: evidence only together with the other tasks."""
    OTHER_PLAN_OF_REPEATABLE = "other_plan_of_repeatable"
    NO_PLAN = "no_plan"
    OTHER_OUTCOME = "other_outcome"
    OTHER_SAMPLES = "other_samples"
    """Samples scored differently: contradicts if rounding does not explain their number over all tasks."""
    OTHER_SCORE = "other_score"
    """A different score although nothing was executed, so that rounding does not explain it."""
    INCONSISTENT = "inconsistent"
    """The score is not the mean of its samples, or their number is wrong."""
    OTHER_INDICATORS = "other_indicators"


_NEUTRAL = frozenset({Finding.SAME, Finding.OTHER_PLAN, Finding.OTHER_SAMPLES})
"""Findings that do not contradict the owner's result by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One worker's result of one task."""

    task: str
    outcome: str
    score: float
    """The suite's primary metric, in [-1, 1]; 0 for a `planner_fault`."""
    samples: tuple[float, ...] = ()
    """Score of each sample; empty if nothing was executed."""
    plan: JsonValue = None
    """The parsed plan as `plan/1`."""
    indicators: Mapping[str, float] = field(default_factory=dict)
    """Indicators that follow from the plan."""
    by_sample: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Indicators that follow from the execution, for each sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskComparison:
    """Comparison of one task."""

    task: str
    finding: Finding
    own_outcome: str
    own_score: float
    outcome: str
    score: float
    samples: int
    """Compared samples: of the same plan, executed on both sides."""
    differing: int
    """Number of them that differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Comparison of all tasks of the sample."""

    tasks: tuple[TaskComparison, ...]
    p_value: float
    """Of the test over all tasks, in (0, 1]."""

    @property
    def contradicting(self) -> tuple[TaskComparison, ...]:
        """The tasks that contradict the owner's results."""
        neutral = _NEUTRAL - {Finding.OTHER_SAMPLES} if self.too_many_differ else _NEUTRAL
        return tuple(task for task in self.tasks if task.finding not in neutral)

    @property
    def samples(self) -> int:
        """Number of compared samples."""
        return sum(task.samples for task in self.tasks)

    @property
    def differing(self) -> int:
        """Number of compared samples that differ."""
        return sum(task.differing for task in self.tasks)

    @property
    def too_many_differ(self) -> bool:
        """Whether more samples of the same plans differ than rounding explains."""
        return self.differing > most_differing(self.samples)

    @property
    def better_than_chance(self) -> bool:
        """Whether the owner's scores are significantly better."""
        return self.p_value <= LEVEL

    @property
    def leans(self) -> bool:
        """Whether a larger sample has to decide: nothing contradicts the results, but the owner's scores are better."""
        return not self.contradicting and self.p_value <= SUSPICION

    @property
    def agrees(self) -> bool:
        """Whether the results may be ranked."""
        return not self.contradicting and not self.better_than_chance

    def as_json(self) -> dict[str, Any]:
        """The value of `Verification.comparison`."""
        contradicting = self.contradicting
        tasks = [{**asdict(task), "contradicts": task in contradicting} for task in self.tasks]
        return {"tasks": tasks, "p_value": self.p_value}


def most_differing(samples: int) -> int:
    """Number of samples that may differ: the (1 - `DIFFERING_LEVEL`) quantile of the binomial distribution with
    probability `DIFFERING_SHARE`."""
    most, term = 0, (1 - DIFFERING_SHARE) ** samples
    reached = term
    while reached < 1 - DIFFERING_LEVEL:
        term *= (samples - most) / (most + 1) * DIFFERING_SHARE / (1 - DIFFERING_SHARE)
        most += 1
        reached += term
    return most


def measured(*, record: ResultRecord, ranked_by: str) -> Measured:
    """The comparable part of a stored record.

    Args:
        record: of a task that was `scored` or ended as `planner_fault`.
        ranked_by: key of the suite's primary metric, which judged suites take from the indicators.
    """
    scored = record.outcome is Outcome.SCORED
    by_sample = indicators_of_samples(record) if scored else {}
    return Measured(
        task=record.task,
        outcome=record.outcome,
        score=float(record.indicators.get(ranked_by, record.score or 0.0)),
        # A task at fault scores 0, whatever the scores of its samples.
        samples=tuple(sample.score or 0.0 for sample in record.samples) if scored else (),
        plan=record.plan,
        indicators={name: value for name, value in record.indicators.items() if name not in by_sample},
        by_sample=by_sample,
    )


def compare(*, own: Sequence[Measured], again: Sequence[Measured], repeatable: bool) -> Comparison:
    """Compare both results of each task of a sample.

    Args:
        own: results of the owner's worker.
        again: results of the operator's worker for the same tasks in the same order, without any `infra_fault`.
        repeatable: whether the planner is known to be deterministic.

    Raises:
        ValueError: the tasks are not the same.
    """
    if [result.task for result in own] != [result.task for result in again]:
        raise ValueError("results of different tasks cannot be compared")
    tasks = tuple(
        _compare(mine=mine, theirs=theirs, repeatable=repeatable) for mine, theirs in zip(own, again, strict=True)
    )
    return Comparison(tasks=tasks, p_value=paired_permutation([_difference(task) for task in tasks]))


def _compare(*, mine: Measured, theirs: Measured, repeatable: bool) -> TaskComparison:
    finding = _find(mine=mine, theirs=theirs, repeatable=repeatable)
    executed = finding in {Finding.SAME, Finding.OTHER_SAMPLES}
    return TaskComparison(
        task=mine.task,
        finding=finding,
        own_outcome=mine.outcome,
        own_score=mine.score,
        outcome=theirs.outcome,
        score=theirs.score,
        samples=len(theirs.samples) if executed else 0,
        differing=_differing(mine, theirs) if executed else 0,
    )


def _find(*, mine: Measured, theirs: Measured, repeatable: bool) -> Finding:
    if canonical_json.dumps(mine.plan) != canonical_json.dumps(theirs.plan):
        if mine.plan is None and mine.outcome == Outcome.SCORED:
            return Finding.NO_PLAN
        return Finding.OTHER_PLAN_OF_REPEATABLE if repeatable else Finding.OTHER_PLAN
    if mine.outcome != theirs.outcome:
        return Finding.OTHER_OUTCOME
    names = (set(mine.indicators) | set(theirs.indicators)) - {_OF_FURTHER_PLANS}
    if not names <= set(mine.indicators) & set(theirs.indicators) or not all(
        abs(mine.indicators[name] - theirs.indicators[name]) <= INDICATOR_TOLERANCE for name in names
    ):
        return Finding.OTHER_INDICATORS
    if len(mine.samples) != len(theirs.samples) or set(mine.by_sample) != set(theirs.by_sample):
        return Finding.INCONSISTENT
    if any(len(values) != len(mine.samples) for values in mine.by_sample.values()):
        # Samples without a score, which a self-hosted worker may send.
        return Finding.INCONSISTENT
    if not all(-1 <= score <= 1 for score in mine.samples):
        return Finding.INCONSISTENT
    if mine.samples and not abs(sum(mine.samples) / len(mine.samples) - mine.score) <= INDICATOR_TOLERANCE:
        return Finding.INCONSISTENT
    if not mine.samples and abs(mine.score - theirs.score) > INDICATOR_TOLERANCE:
        return Finding.OTHER_SCORE
    return Finding.OTHER_SAMPLES if _differing(mine, theirs) else Finding.SAME


def _differing(mine: Measured, theirs: Measured) -> int:
    pairs = zip(_figures(mine), _figures(theirs), strict=True)
    return sum(
        any(abs(left - right) > SAMPLE_TOLERANCE for left, right in zip(first, second, strict=True))
        for first, second in pairs
    )


def _figures(measured: Measured) -> list[tuple[float, ...]]:
    """Score and indicators of each sample."""
    return list(zip(measured.samples, *(measured.by_sample[name] for name in sorted(measured.by_sample)), strict=True))


def _difference(task: TaskComparison) -> float:
    difference = task.own_score - task.score
    return difference if abs(difference) > NOISE else 0.0


def sentence(comparison: Comparison) -> str:
    """The outcome as a public sentence."""
    total = len(comparison.tasks)
    if contradicting := comparison.contradicting:
        by_finding = {finding: [t.task for t in contradicting if t.finding is finding] for finding in Finding}
        named = "; ".join(f"{_names(tasks)} ({WORDS[finding]})" for finding, tasks in by_finding.items() if tasks)
        return f"{len(contradicting)} of {total} tasks that were run again gave other results: {named}."
    others = [task for task in comparison.tasks if task.finding is Finding.OTHER_PLAN]
    if comparison.better_than_chance:
        better = _names([task.task for task in comparison.tasks if _difference(task) > 0])
        return (
            f"the planner made a different plan in {len(others)} of {total} tasks that were run again, and the owner's "
            f"scores are better, in {better}, than chance explains (p = {comparison.p_value:.3f})."
        )
    same = f"the results agreed on {total - len(others)} of {total} tasks that were run again"
    if comparison.differing:
        same += f" ({comparison.differing} of {comparison.samples} samples differ, within rounding)"
    if not others:
        return f"{same}."
    return f"{same}; in {len(others)} the planner made another plan, and the scores differ no more than by chance."


def leaning(comparison: Comparison) -> str:
    """Why a larger sample has to decide, as a sentence."""
    better = _names([task.task for task in comparison.tasks if _difference(task) > 0])
    return (
        f"nothing contradicts the owner's results in {len(comparison.tasks)} tasks that were run again, but their "
        f"scores are better in {better} (p = {comparison.p_value:.3f}): more tasks are run again."
    )


def _names(tasks: Sequence[str]) -> str:
    more = f" and {len(tasks) - _MOST_NAMED} more" if len(tasks) > _MOST_NAMED else ""
    return ", ".join(tasks[:_MOST_NAMED]) + more


WORDS: Mapping[Finding, str] = {
    Finding.SAME: "the same",
    Finding.OTHER_PLAN: "another plan",
    Finding.OTHER_PLAN_OF_REPEATABLE: "different plan from a deterministic planner",
    Finding.NO_PLAN: "scored without a plan",
    Finding.OTHER_OUTCOME: "the same plan ended differently",
    Finding.OTHER_SAMPLES: "the same plan scored differently",
    Finding.OTHER_SCORE: "the same plan scored differently",
    Finding.INCONSISTENT: "the score does not follow from its samples",
    Finding.OTHER_INDICATORS: "the same plan was judged differently",
}
