"""When an evaluation probably begins and ends, as a range in minutes.

Ahead of an evaluation are its owner's own that come before it, and of each other user what their share brings to work
meanwhile. What that work takes follows from the pace of the site's workers (`pace.py`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, F, Q

from leaderboard.catalog.conditions import tasks_per_shard
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation, EvaluationState, SubmitterPriority
from leaderboard.people.models import User
from leaderboard.queue.estimates.length import UNDER_WAY, open_shards
from leaderboard.queue.estimates.pace import Throughput, recent_throughput

_NARROWEST = 1.25
"""Both ends of the range are at least this factor from its middle, however much was measured."""
_WIDENING = 1.5
"""Divided by the root of the number of measured shards it is added to that factor: 2 for four shards."""


class Range(NamedTuple):
    """Minutes, `low` to `high`."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Line:
    """Waiting work, in seconds of one worker: of the same user ahead of the evaluation, of the evaluation itself, and
    of each other user. Users have weights."""

    before: float
    own: float
    weight: float = 1.0
    others: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """When an evaluation probably begins and ends, from now; None: not known yet."""

    begins: Range | None = None
    ends: Range | None = None
    shards: int = 0
    """That the range was measured from."""

    def in_words(self) -> str:
        """For pages, without a full stop."""
        if self.begins is None or self.ends is None:
            return "Unknown: too little ran lately for an estimate"
        begins = "within a minute" if self.begins.high < 1 else f"in {_words(self.begins)}"
        return f"Begins {begins}, ends in {_words(self.ends)}"


def _words(minutes: Range) -> str:
    low, high = math.floor(minutes.low), math.ceil(minutes.high)
    if high < 1 or (low < 1 and high <= 1):
        return "about a minute"
    if high >= 120:
        hours = math.floor(minutes.low / 60), math.ceil(minutes.high / 60)
        return f"{hours[0]} to {hours[1]} hours" if hours[0] >= 1 else f"{max(1, low)} minutes to {hours[1]} hours"
    return f"{max(1, low)} to {high} minutes" if max(1, low) < high else f"{high} minute{'' if high == 1 else 's'}"


def expectation(*, measured: Throughput | None, line: Line) -> Expectation:
    """When the evaluation of this line begins and ends. Pure."""
    if measured is None:
        return Expectation()
    begins = _range(_work_until(line.before, line=line), measured=measured)
    ends = _range(_work_until(line.before + line.own, line=line), measured=measured)
    return Expectation(begins=begins, ends=ends, shards=measured.shards)


def _work_until(own: float, *, line: Line) -> float:
    """The work of all users until so much of the user's own is done, by shares."""
    return own + sum(min(waiting, own * weight / line.weight) for waiting, weight in line.others)


def _range(work: float, *, measured: Throughput) -> Range:
    minutes = work / measured.at_once / 60
    factor = _NARROWEST + _WIDENING / math.sqrt(measured.shards)
    return Range(low=minutes / factor, high=minutes * factor)


def expected_of_new(*, user: User, suite: Suite, priority: str = "normal") -> Expectation:
    """The estimate for a submission of this suite, if it were made now."""
    measured = recent_throughput()
    if measured is None:
        return Expectation()
    shards = math.ceil(Task.objects.filter(suite=suite).count() / tasks_per_shard(suite))
    rank = SubmitterPriority.__members__.get(priority.upper(), 0)
    ahead = Q(evaluation__submission__priority__gte=rank) | Q(evaluation__priority__gt=0)
    own = shards * measured.seconds_of(suite=suite.slug, is_executed=suite.runs_experts)
    return expectation(measured=measured, line=_line(measured=measured, user=user, ahead=ahead, own=own))


def expected(evaluation: Evaluation) -> Expectation | None:
    """The estimate for an evaluation that waits or runs; None if it has ended, waits for its owner, or runs on a
    self-hosted worker, whose pace is unknown."""
    if evaluation.state not in UNDER_WAY or hasattr(evaluation, "own_worker_run"):
        return None
    measured = recent_throughput()
    if measured is None:
        return Expectation()
    submission = evaluation.submission
    same = Q(evaluation__priority=evaluation.priority)
    earlier = Q(evaluation__submission__priority__gt=submission.priority) | Q(
        evaluation__submission__priority=submission.priority, evaluation__created__lt=evaluation.created
    )
    ahead = Q(evaluation__priority__gt=evaluation.priority) | (same & earlier)
    suite, planner = evaluation.suite, submission.planner_id
    per_shard = measured.seconds_of(suite=suite.slug, is_executed=suite.runs_experts, planner=planner)
    own = per_shard * open_shards().filter(evaluation=evaluation).count()
    line = _line(measured=measured, user=submission.submitted_by, ahead=ahead, own=own, without=evaluation.pk)
    found = expectation(measured=measured, line=line)
    return replace(found, begins=Range(0, 0)) if evaluation.state == EvaluationState.RUNNING else found


def _line(*, measured: Throughput, user: User, ahead: Q, own: float, without: UUID | None = None) -> Line:
    """The waiting work of all users, in one query."""
    of = "evaluation__submission__submitted_by"
    suite, experts = "evaluation__suite__slug", "evaluation__suite__conditions__experts"
    weight = F("evaluation__submission__submitted_by__queue_weight")
    rows = open_shards().filter(~Q(evaluation=without)).order_by().values(of, suite, experts, weight=weight)
    before = 0.0
    others: dict[int, tuple[float, float]] = {}
    for row in rows.annotate(every=Count("pk"), ahead=Count("pk", filter=ahead)):
        is_own = row[of] == user.pk
        per_shard = measured.seconds_of(suite=row[suite], is_executed=bool(row[experts]))
        work = per_shard * row["ahead" if is_own else "every"]
        if is_own:
            before += work
        else:
            others[row[of]] = (others.get(row[of], (0.0, 0.0))[0] + work, float(row["weight"]))
    return Line(before=before, own=own, weight=float(user.queue_weight), others=tuple(others.values()))
