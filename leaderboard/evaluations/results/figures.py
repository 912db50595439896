"""Scores, intervals, indicators and outcomes formatted for pages, without a database.

A value is `{"mean", "low", "high", "tasks"}`, perhaps with the keys added by
`evaluator.scoring.metrics.undecided.ranged`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from evaluator.core.records import Outcome, Reason
from evaluator.core.suites.base import Column
from evaluator.scoring.metrics.statistics import Interval, ends_of, wilson
from evaluator.scoring.metrics.undecided import range_in_words, range_text


def score(value: float | None) -> str:
    """A score with three decimals."""
    return "—" if value is None else f"{value:.3f}"


def value_of(interval: Interval) -> dict[str, float | None]:
    """An interval as a value."""
    return {"mean": interval.mean, "low": interval.low, "high": interval.high, "tasks": interval.count}


def figure(value: Mapping[str, Any] | None) -> str:
    """A mean, or its range if tasks are undecided."""
    return "—" if value is None else range_text(value)


def interval_ends(value: Mapping[str, Any]) -> tuple[float, float] | None:
    """The ends of a value's 95 % interval; None for too few independent values."""
    return ends_of(low=value.get("low"), high=value.get("high"))


def interval_words(value: Mapping[str, Any] | None) -> str:
    """The 95 % interval in words; empty if there is none."""
    ends = interval_ends(value or {})
    return "" if ends is None else f"95 % interval {score(ends[0])} to {score(ends[1])}"


def tokens_in_words(usage: Mapping[str, float | None]) -> str:
    """Reported tokens, such as `1,200 in (900 cached), 34 out (20 reasoning)`; empty if there are none.

    Args:
        usage: counts or means by the names of `PlannerCall`.
    """

    def side(name: str, *, word: str, part: str, of_it: str) -> str:
        count, share = usage.get(name), usage.get(part)
        if count is None:
            return ""
        return f"{count:,.0f} {word}" + (f" ({share:,.0f} {of_it})" if share else "")

    sides = (
        side("prompt_tokens", word="in", part="cached_tokens", of_it="cached"),
        side("completion_tokens", word="out", part="reasoning_tokens", of_it="reasoning"),
    )
    return ", ".join(filter(None, sides))


def exact_words(value: Mapping[str, Any]) -> str:
    """A mean with three decimals, its range and its 95 % interval in words, as beside a rounded value."""
    words = interval_words(value)
    return f"{range_in_words(value)}{words and f'; {words}'}"


OUTCOMES = {
    "scored": "Scored",
    "empty_plan": "Empty plan",
    "planner_fault": "Planner fault",
    "infra_fault": "Infrastructure fault",
    "not_run": "Not run",
    "cancelled": "Cancelled",
    "pending": "Waiting",
}
"""Labels of badges in display order."""
EMPTY_PLAN = "empty_plan"
"""A badge for scored tasks whose plan has no steps. Counts and filters use the outcome "scored"."""


def badge_of(*, outcome: str, plan_summary: str) -> str:
    """The badge of a task: its outcome, or `EMPTY_PLAN`.

    Args:
        outcome: of the result, or `pending`.
        plan_summary: the plan's tools; empty if it has no steps.
    """
    return EMPTY_PLAN if outcome == Outcome.SCORED and not plan_summary else outcome


def sentence_in_place_of_steps(
    *, plan: Mapping[str, Any], outcome: str, judged: bool, abstained: bool = False, is_right: bool = False
) -> str:
    """The sentence in place of the drawing of a plan without steps; empty for a plan with steps.

    Args:
        plan: `plan/1`.
        outcome: of the task.
        judged: whether the suite judges plans instead of executing them.
        abstained: whether the planner stated that no plan can meet the request.
        is_right: whether no plan can, so that a plan without steps is right.
    """
    if plan.get("steps"):
        return ""
    answer = "The planner answered with a plan that has no steps."
    if not plan.get("answers"):
        answer = (
            "The planner abstained." if abstained else "The planner abstained: its plan has no steps and no answers."
        )
    if outcome != Outcome.SCORED:
        return answer
    if is_right:
        return f"{answer} That is right: no tool can meet this request."
    if judged and abstained:
        return f"{answer} The request can be met, so that it counts like a missing plan."
    if judged:
        return f"{answer} It counts like a missing plan: every indicator has its worst value."
    return f"{answer} No tool ran: the request's own input was scored as the answer."


UNDECIDED = "undecided"
UNDECIDED_WORDS = "not decided"


class Mark(NamedTuple):
    """One indicator of one plan."""

    name: str
    """Key of the column, used in query strings."""
    value: str
    """`1` or `0`; undecided marks count as `0`."""
    good: bool
    words: str
    title: str
    lower_is_better: bool
    label: str
    """Label of the board's column."""
    undecided: bool = False

    @property
    def shown(self) -> str:
        """The value on pages and in filters: `1`, `0` or `undecided`."""
        return UNDECIDED if self.undecided else self.value

    @property
    def tone(self) -> str:
        """`good`, `bad` or `undecided`."""
        return UNDECIDED if self.undecided else "good" if self.good else "bad"


class Share(NamedTuple):
    """Mean of an indicator over some tasks, with its interval."""

    name: str
    label: str
    interval: Interval
    """From the low end of Wilson's interval with undecided tasks counted as 0 to its high end with them counted as
    1."""
    lower_is_better: bool
    undecided: float = 0.0
    """Share of undecided tasks; they count 0 in the mean."""

    @property
    def bar(self) -> Mapping[str, Any]:
        """The interval as a value, with the undecided share."""
        value: dict[str, Any] = {**value_of(self.interval)}
        upper = self.interval.mean + self.undecided
        return {**value, "undecided": self.undecided, "upper": upper} if self.undecided else value


def mark_columns(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns whose values are marks of a task: those with words for both values."""
    return tuple(column for column in columns if column.good)


def marks(columns: Sequence[Column], *, outcome: str, indicators: Mapping[str, float]) -> tuple[Mark, ...]:
    """The marks of one task in the board's order: the worst ones for a planner's fault; empty if the task does not
    count."""
    if outcome not in {Outcome.PLANNER_FAULT, Outcome.SCORED}:
        return ()
    marks = []
    for column in mark_columns(columns):
        value = column.fault if outcome == Outcome.PLANNER_FAULT else indicators.get(column.key)
        if value is None:
            continue
        undecided = outcome == Outcome.SCORED and indicators.get(column.undecided, 0.0) > 0
        good = (value >= 0.5) == column.higher_is_better
        mark = Mark(
            name=column.key,
            value=f"{value:.0f}",
            good=good,
            words=UNDECIDED_WORDS if undecided else column.good if good else column.bad,
            title=column.title or column.label,
            lower_is_better=not column.higher_is_better,
            label=column.label,
            undecided=undecided,
        )
        marks.append(mark)
    return tuple(marks)


def good_marks(marks: Sequence[Mark]) -> int | None:
    """The number of good marks; None without marks."""
    return sum(mark.good for mark in marks) if marks else None


def shares(tasks: Sequence[Sequence[Mark]]) -> tuple[Share, ...]:
    """Means over at least one task; all tasks have the same marks."""
    shares = []
    for marks in zip(*tasks, strict=True):
        ones, undecided = sum(mark.value == "1" for mark in marks), sum(mark.undecided for mark in marks)
        highest = wilson(successes=ones + undecided, total=len(marks))
        share = Share(
            name=marks[0].name,
            label=marks[0].label,
            interval=replace(wilson(successes=ones, total=len(marks)), high=highest.high),
            lower_is_better=marks[0].lower_is_better,
            undecided=undecided / len(marks),
        )
        shares.append(share)
    return tuple(shares)


UNASKED = frozenset({Reason.ENDPOINT_UNAVAILABLE, Reason.MODEL_UNAVAILABLE, Reason.WORKER_LOST})
"""Reasons of tasks that were not sent to the planner, because others before them could not be run."""
LEFT_OUT = UNASKED | {Reason.EVALUATION_FAILED}
"""Reasons of tasks that did not run although they could have."""


def never_ran(*, outcome: str, reason: str) -> bool:
    """Whether the task of a result was left out. Such tasks do not count as ended."""
    return outcome == Outcome.CANCELLED or (outcome == Outcome.NOT_RUN and reason in LEFT_OUT)


def arbiter_words(identity: Mapping[str, Any]) -> str:
    """The name of an arbiter with its commit, the digest of its weights, or the version of its prompt."""
    pinned = identity.get("revision") or identity.get("weights")
    detail = str(pinned)[:12] if pinned else str(identity.get("prompt") or "")
    return f"{identity.get('name', 'an arbiter')}{f' ({detail})' if detail else ''}"
