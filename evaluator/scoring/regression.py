"""The verdict of a paired comparison for a pipeline: has a planner become worse? Pure."""

import math
from dataclasses import dataclass
from enum import StrEnum

from evaluator.core.suites.base import IntervalMethod

LEVEL = 0.05
"""Significance level of `better` and `worse`."""
_POWER = ((1.960 + 0.842) / 1.960) ** 2
"""How many times as many units give an interval that ends before a limit in 80 % of all repetitions, not half."""


class GateVerdict(StrEnum):
    """What a comparison shows."""

    BETTER = "better"
    """It scores higher, by the paired test."""
    NOT_WORSE = "not_worse"
    """The 95 % interval excludes a regression beyond the allowed one, or no task scores differently."""
    WORSE = "worse"
    """It scores lower, by the paired test, and the interval does not exclude a regression beyond the allowed one."""
    CANNOT_TELL = "cannot_tell"
    """Neither is shown."""

    @property
    def in_words(self) -> str:
        """The verdict as words of a sentence."""
        return self.value.replace("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """A metric of a candidate minus that of its baseline over the tasks that both have."""

    mean: float
    low: float | None
    """Ends of the 95 % interval; None over too few tasks or scenes."""
    high: float | None
    p_value: float | None
    """Two-sided, of the paired test; None over too few tasks or scenes."""
    tasks: int
    wins: int
    """Tasks on which the candidate is better."""
    losses: int
    undecided: int = 0
    """Tasks whose winner depends on undecided verdicts of a judge."""
    higher_is_better: bool = True
    samples: int = 1
    """Scenes of each task."""
    method: IntervalMethod = IntervalMethod.BOOTSTRAP

    @property
    def counts_scenes(self) -> bool:
        """Whether more scenes narrow the interval, instead of more tasks."""
        return self.method is IntervalMethod.FIXED_TASKS


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict with its reason."""

    verdict: GateVerdict
    sentence: str
    needed: int | None = None
    """Tasks (or scenes of each task, on a fixed list) with which the verdict would be another one in 80 % of all
    repetitions, if the difference is the observed one; None: it is known, or no number would do."""


def judge(difference: PairedDifference, *, max_regression: float, label: str) -> Judgement:
    """The verdict on a candidate.

    Args:
        difference: candidate minus baseline.
        max_regression: by how much the candidate may be worse, at least 0, in the unit of the metric.
        label: of the metric.
    """
    sign = 1.0 if difference.higher_is_better else -1.0
    mean, p_value = sign * difference.mean, difference.p_value
    if difference.low is None or difference.high is None or p_value is None:
        return Judgement(
            verdict=GateVerdict.CANNOT_TELL,
            sentence=f"{label}: cannot tell over {_tasks(difference.tasks)}; these are too few for an interval.",
        )
    low = sign * (difference.low if sign > 0 else difference.high)
    figures = (
        f"{difference.mean:+.4f} (95 % interval {difference.low:+.4f} to {difference.high:+.4f}, p = {p_value:.3g}) "
        f"over {_tasks(difference.tasks)}"
    )
    if mean > 0 and p_value < LEVEL:
        return Judgement(verdict=GateVerdict.BETTER, sentence=f"{label}: better, {figures}.")
    if not (difference.wins or difference.losses or difference.undecided):
        return Judgement(
            verdict=GateVerdict.NOT_WORSE,
            sentence=f"{label}: not worse: {_tasks(difference.tasks)}, all with equal scores.",
        )
    if low >= -max_regression:
        said = f"{label}: not worse by more than {max_regression:g}: {figures}."
        return Judgement(verdict=GateVerdict.NOT_WORSE, sentence=said)
    if mean < 0 and p_value < LEVEL:
        return Judgement(verdict=GateVerdict.WORSE, sentence=f"{label}: worse, {figures}.")
    needed = _needed(difference, mean=mean, max_regression=max_regression)
    said = f"{label}: cannot tell whether it is worse by more than {max_regression:g}: {figures}."
    if needed is not None:
        units = "scenes of each task" if difference.counts_scenes else "tasks"
        said += f" About {needed:,} {units} would tell, if the difference stays as it is."
    return Judgement(verdict=GateVerdict.CANNOT_TELL, sentence=said, needed=needed)


def _needed(difference: PairedDifference, *, mean: float, max_regression: float) -> int | None:
    """Units with which the interval would exclude the allowed regression, or 0, in most repetitions: its width
    decreases with the square root of their number."""
    assert difference.low is not None
    assert difference.high is not None
    half = (difference.high - difference.low) / 2
    room = max(mean + max_regression, -mean)
    if room <= 0:
        return None
    units = difference.samples if difference.counts_scenes else difference.tasks
    return max(units + 1, math.ceil(units * (half / room) ** 2 * _POWER))


def _tasks(count: int) -> str:
    return f"{count:,} task{'' if count == 1 else 's'}"
