"""Whether what an own worker sent agrees with what a worker of the operator's measured again. Pure: knows no database.

Task by task:

    the same plan         what is measured follows from it: outcome and indicators must be the same, and so must the
                          scores of all samples but for the few that another device's rounding changes
    another plan          the planner decides differently each time, or the plan is not the planner's: one task alone
                          tells nothing. A planner that repeats itself must not have another plan
    no plan, yet scored   nothing can be scored without a plan

Over all tasks, the owner's scores must not be significantly better than those measured again: a planner that decides
differently each time is as often worse as better, while plans that it would not make are chosen since they are better.
One test has both how many plans differ and which way: k that are all better have the p-value 2^-k. That a planner gives
its own answer again here says nothing more: on the owner's device an honest one may settle on another answer each time.
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
"""How far the scores of one plan on one sample may lie apart; scores are in [-1, 1]."""
DIFFERING_SHARE = 0.01
"""Share of samples on which another device may lead to another score: its rounding decides a word of a text or a level
of a picture that lay on the edge. `docs/install.md`, "When results are bit-equal", has the measurements."""
DIFFERING_LEVEL = 0.01
"""More samples that differ than so rarely happens at that share contradict the owner's results."""
INDICATOR_TOLERANCE = 1e-6
"""How far indicators may lie apart: they follow from the plan by rules, without a device."""
NOISE = 1e-3
"""Differences up to this count as none in the test over all tasks: rounding may lean to one side on every task."""
LEVEL = 1 / 16
"""Of the test over all tasks: four tasks with another plan that are all better. So often an honest planner that decides
differently each time is rejected, at most, since only the last sample convicts by this test."""
SUSPICION = 0.5
"""p-value up to which more tasks are run again before the test decides: one task with another plan that is better, for
one. A sample in which nobody could be convicted must not be a good place to hide."""
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
    OTHER_SAMPLES = "other_samples"
    """Samples scored differently: contradicts if there are more than rounding explains in the whole sample of tasks."""
    OTHER_SCORE = "other_score"
    """Nothing was executed, so that no rounding explains another score."""
    INCONSISTENT = "inconsistent"
    """The score is not the mean of its samples, or there are not as many as there should be."""
    OTHER_INDICATORS = "other_indicators"


_NEUTRAL = frozenset({Finding.SAME, Finding.OTHER_PLAN, Finding.OTHER_SAMPLES})
"""What does not contradict the owner's result by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one worker said of one task."""

    task: str
    outcome: str
    score: float
    """What the board is ranked by, in [-1, 1]; 0 for a `planner_fault`."""
    samples: tuple[float, ...] = ()
    """Score of each sample; empty where nothing was executed."""
    plan: JsonValue = None
    """The parsed plan as `plan/1`; None where there is none."""
    indicators: Mapping[str, float] = field(default_factory=dict)
    """Those that follow from the plan."""
    by_sample: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Those that follow from what was executed, of each sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskComparison:
    """One task of the sample."""

    task: str
    finding: Finding
    own_outcome: str
    own_score: float
    outcome: str
    score: float
    samples: int
    """Samples that were compared: of the same plan, executed on both sides."""
    differing: int
    """How many of them differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All tasks of the sample."""

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
        """Samples that were compared."""
        return sum(task.samples for task in self.tasks)

    @property
    def differing(self) -> int:
        """How many of them differ."""
        return sum(task.differing for task in self.tasks)

    @property
    def too_many_differ(self) -> bool:
        """Whether more samples of the same plans differ than rounding explains."""
        return self.differing > most_differing(self.samples)

    @property
    def better_than_chance(self) -> bool:
        """Whether the owner's scores are better than what differences by chance explain."""
        return self.p_value <= LEVEL

    @property
    def leans(self) -> bool:
        """Whether a larger sample has to decide: nothing contradicts the results, but their scores are better."""
        return not self.contradicting and self.p_value <= SUSPICION

    @property
    def agrees(self) -> bool:
        """Whether the results may be ranked."""
        return not self.contradicting and not self.better_than_chance

    def as_json(self) -> dict[str, Any]:
        """As `Verification.comparison` documents it."""
        contradicting = self.contradicting
        tasks = [{**asdict(task), "contradicts": task in contradicting} for task in self.tasks]
        return {"tasks": tasks, "p_value": self.p_value}


def most_differing(samples: int) -> int:
    """How many of so many samples may differ: exceeded with a probability of at most `DIFFERING_LEVEL` if each differs
    with the probability `DIFFERING_SHARE` (binomial)."""
    most, term = 0, (1 - DIFFERING_SHARE) ** samples
    reached = term
    while reached < 1 - DIFFERING_LEVEL:
        term *= (samples - most) / (most + 1) * DIFFERING_SHARE / (1 - DIFFERING_SHARE)
        most += 1
        reached += term
    return most


def measured(*, record: ResultRecord, ranked_by: str) -> Measured:
    """What a stored record says.

    Args:
        record: of a task that was `scored` or ended as `planner_fault`.
        ranked_by: key of the suite's primary metric: where plans are judged, the board takes it from the indicators.
    """
    by_sample = indicators_of_samples(record) if record.outcome is Outcome.SCORED else {}
    return Measured(
        task=record.task,
        outcome=record.outcome,
        score=float(record.indicators.get(ranked_by, record.score or 0.0)),
        samples=_scores(record),
        plan=record.plan,
        indicators={name: value for name, value in record.indicators.items() if name not in by_sample},
        by_sample=by_sample,
    )


def _scores(record: ResultRecord) -> tuple[float, ...]:
    """Of a task that is at fault the score is 0, whatever some of its samples came to."""
    if record.outcome is not Outcome.SCORED:
        return ()
    return tuple(0.0 if sample.score is None else sample.score for sample in record.samples)


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
    if not _same_indicators(mine.indicators, theirs.indicators):
        return Finding.OTHER_INDICATORS
    if len(mine.samples) != len(theirs.samples) or set(mine.by_sample) != set(theirs.by_sample):
        return Finding.INCONSISTENT
    if any(len(values) != len(mine.samples) for values in mine.by_sample.values()):
        # Of samples without a score, which an own worker may send.
        return Finding.INCONSISTENT
    if not _is_consistent(mine):
        return Finding.INCONSISTENT
    if not mine.samples and abs(mine.score - theirs.score) > INDICATOR_TOLERANCE:
        return Finding.OTHER_SCORE
    return Finding.OTHER_SAMPLES if _differing(mine, theirs) else Finding.SAME


def _is_consistent(mine: Measured) -> bool:
    """Whether the score is the mean of the samples, which is what is compared, and each of these can be one."""
    if not all(-1 <= score <= 1 for score in mine.samples):
        return False
    return not mine.samples or abs(sum(mine.samples) / len(mine.samples) - mine.score) <= INDICATOR_TOLERANCE


def _differing(mine: Measured, theirs: Measured) -> int:
    pairs = zip(_figures(mine), _figures(theirs), strict=True)
    return sum(
        any(abs(one - two) > SAMPLE_TOLERANCE for one, two in zip(first, second, strict=True))
        for first, second in pairs
    )


def _figures(measured: Measured) -> list[tuple[float, ...]]:
    """Score and indicators of each sample."""
    return list(zip(measured.samples, *(measured.by_sample[name] for name in sorted(measured.by_sample)), strict=True))


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
        named = "; ".join(f"{_names(tasks)} ({WORDS[finding]})" for finding, tasks in by_finding.items() if tasks)
        return f"{len(contradicting)} of {total} tasks that were run again came out otherwise: {named}."
    others = [task for task in comparison.tasks if task.finding is Finding.OTHER_PLAN]
    if comparison.better_than_chance:
        better = _names([task.task for task in comparison.tasks if _difference(task) > 0])
        return (
            f"the planner made a different plan in {len(others)} of {total} tasks that were run again, and the owner's "
            f"scores are better, in {better}, than chance explains (p = {comparison.p_value:.3f})."
        )
    same = f"the results agreed on {total - len(others)} of {total} tasks that were run again"
    if comparison.differing:
        same += f" ({comparison.differing} of {comparison.samples} samples differ, as rounding may make them)"
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
