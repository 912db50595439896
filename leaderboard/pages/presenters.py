"""What the evaluation page shows, ready for its template."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.core.paginator import Page, Paginator

from evaluator.records import Outcome
from evaluator.suites.base import Panel
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.events import LATEST
from leaderboard.evaluations.gold import Withheld, withheld_from
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.transitions import FINAL
from leaderboard.evaluations.unfinished import never_ran
from leaderboard.pages.queue_place import place_of
from leaderboard.results.breakdowns import ScoreBreakdown, score_breakdowns
from leaderboard.results.failures import FailureGroup, failures
from leaderboard.results.indicators import Breakdown, breakdown
from leaderboard.results.task_filters import PENDING, YES_NO, Group, Index, Selection, TaskRow, index, select
from leaderboard.results.task_rows import task_rows
from leaderboard.site.lru_cache import SharedCache

TASKS_PER_PAGE = 50
LEVELS = ("easy", "medium", "hard")
OUTCOME_ORDER = ("scored", "planner_fault", "infra_fault", "not_run", "cancelled", PENDING)
MOVING = frozenset(
    {EvaluationState.QUEUED, EvaluationState.LAUNCHING, EvaluationState.RUNNING, EvaluationState.AGGREGATING}
)
_FIRST_FILTERS = frozenset({"outcome", "reason", "cause"})
_ENDED_KEPT = 24
"""Evaluations whose tasks are kept in memory; one of 2,500 tasks takes some 3 MB."""
_GOING_ON_KEPT = 8
"""The same of evaluations that go on, each as its results stand."""


class Heading(NamedTuple):
    """One sortable heading of the task table."""

    key: str
    label: str
    sorted: str
    link: str


class MetricCard(NamedTuple):
    """One metric of the suite with this evaluation's value, if it has one."""

    label: str
    description: str
    is_primary: bool
    higher_is_better: bool
    is_size: bool
    """It tells how large plans are, without a best and a worst."""
    value: Mapping[str, Any] | None


class Progress(NamedTuple):
    """How far the tasks are."""

    done: int
    total: int
    counts: tuple[tuple[str, int], ...]
    """(outcome, count) in the order in which they are always shown."""
    is_moving: bool
    latest: tuple[TaskRow, ...] = ()
    """While it moves: the tasks that ended last, the last one first."""
    waiting: str = ""
    """While it waits: its place in the queue, and why."""


class Gathered(NamedTuple):
    """What is computed from all tasks of an evaluation, whatever the reader filters by."""

    index: Index
    failures: tuple[FailureGroup, ...]
    breakdowns: tuple[Breakdown, ...]
    score_breakdowns: tuple[ScoreBreakdown, ...]


class EvaluationPage(NamedTuple):
    """Everything on the page besides the evaluation itself."""

    progress: Progress
    metrics: tuple[MetricCard, ...]
    failures: tuple[FailureGroup, ...]
    selection: Selection
    page: Page
    headings: tuple[Heading, ...]
    provenance: list[tuple[str, str]]
    has_results: bool
    breakdowns: tuple[Breakdown, ...]
    """Of suites that judge plans: the indicators by level and by group."""
    score_breakdowns: tuple[ScoreBreakdown, ...]
    """Of suites that execute plans: the mean score by kind of task."""

    @property
    def first_filters(self) -> list[Group]:
        """The filters that are always in view; the five indicators and all others follow."""
        return [group for group in self.selection.groups if group.name in _FIRST_FILTERS]

    @property
    def indicator_filters(self) -> list[Group]:
        return [group for group in self.selection.groups if group.is_indicator]

    @property
    def further_filters(self) -> list[Group]:
        return [group for group in self.selection.groups if group.name not in _FIRST_FILTERS and not group.is_indicator]

    @property
    def further_are_set(self) -> bool:
        return any(group.is_set for group in self.further_filters)


_ended: SharedCache[tuple[UUID, str, Withheld], Gathered] = SharedCache(maxsize=_ENDED_KEPT)
_going_on: SharedCache[tuple[UUID, int], Gathered] = SharedCache(maxsize=_GOING_ON_KEPT)


def evaluation_page(*, evaluation: Evaluation, parameters: Mapping[str, str]) -> EvaluationPage:
    """Gather the page: one query for the results, everything else in memory."""
    gathered = gather(evaluation)
    selection = select(rows=gathered.index, parameters=parameters)
    progress = _progress(rows=gathered.index.rows, evaluation=evaluation)
    return EvaluationPage(
        progress=progress,
        metrics=_metric_cards(suite=evaluation.suite, summary=evaluation.summary or {}),
        failures=gathered.failures,
        selection=selection,
        page=Paginator(selection.rows, TASKS_PER_PAGE).get_page(parameters.get("page")),
        headings=_headings(sort=parameters.get("sort", ""), shows_marks=evaluation.suite.has(Panel.INDICATORS)),
        provenance=flatten(evaluation.provenance or {}),
        has_results=progress.done > 0,
        breakdowns=gathered.breakdowns,
        score_breakdowns=gathered.score_breakdowns,
    )


def gather(evaluation: Evaluation) -> Gathered:
    """The tasks with what is computed from all of them.

    Kept in memory once the evaluation has ended, and before that as long as no result came: whoever watches asks again
    and again, and most of the time goes into intervals.
    """
    suite = evaluation.suite
    if evaluation.state in FINAL:
        key = evaluation.pk, evaluation.state, withheld_from(reader=None, evaluation=evaluation)
        return _ended.get_or_make(key, lambda: _gathered(task_rows(evaluation), suite=suite))
    rows = task_rows(evaluation)
    results = hash(tuple((row.ended, row.outcome, row.score) for row in rows))
    return _going_on.get_or_make((evaluation.pk, results), lambda: _gathered(rows, suite=suite))


def _gathered(rows: Sequence[TaskRow], *, suite: Suite) -> Gathered:
    return Gathered(
        index=index(rows),
        failures=tuple(failures(rows)),
        breakdowns=_breakdowns(rows) if suite.has(Panel.INDICATORS) else (),
        score_breakdowns=score_breakdowns(rows) if suite.has(Panel.SCORES) else (),
    )


def forget_gathered() -> None:
    """Empty the memory of this process, for tests that change what never changes."""
    _ended.clear()
    _going_on.clear()


def _breakdowns(rows: Sequence[TaskRow]) -> tuple[Breakdown, ...]:
    """Of the properties that plans are judged by: those with several values, level and group always."""
    found = []
    for facet, (label, value, order) in _JUDGED.items():
        tasks = [(value(row), row.marks) for row in rows]
        ordered = order or _ordered([name for name, _ in tasks], by_count=facet == "modality")
        part = breakdown(facet=facet, label=label, tasks=tasks, order=ordered)
        if len(part.rows) > (0 if facet in {"level", "group"} else 1):
            found.append(part)
    return tuple(found)


def _ordered(names: Sequence[str], *, by_count: bool) -> list[str]:
    """Each name once: in the order of letters, or the most frequent first."""
    counted = Counter(names)
    return sorted(counted, key=lambda name: (-counted[name] if by_count else 0, name))


_JUDGED: Mapping[str, tuple[str, Callable[[TaskRow], str], tuple[str, ...]]] = {
    "structure": ("Structure", lambda row: row.structure, ()),
    "modality": ("Modality", lambda row: row.modality, ()),
    "level": ("Difficulty", lambda row: row.level, LEVELS),
    "group": ("Group", lambda row: row.group, ()),
    "active": (
        "Active split",
        lambda row: "" if row.active is None else YES_NO[row.active],
        (YES_NO[True], YES_NO[False]),
    ),
}
"""Label, value and order of the values, by the filter that a row's link sets."""


def _progress(*, rows: Sequence[TaskRow], evaluation: Evaluation) -> Progress:
    counted = Counter(row.outcome for row in rows)
    is_moving = evaluation.state in MOVING
    place = place_of(evaluation)
    return Progress(
        done=sum(row.outcome != PENDING and not never_ran(outcome=row.outcome, reason=row.reason) for row in rows),
        total=len(rows),
        counts=tuple((outcome, counted[outcome]) for outcome in OUTCOME_ORDER),
        is_moving=is_moving,
        latest=latest_rows(rows) if is_moving else (),
        waiting=place.sentence if place else "",
    )


def latest_rows(rows: Sequence[TaskRow]) -> tuple[TaskRow, ...]:
    """The tasks that ended last, as `progress.latest_results` has them."""
    ran = [row for row in rows if row.ended is not None and row.outcome != Outcome.NOT_RUN]
    return tuple(sorted(ran, key=lambda row: (row.ended, row.position), reverse=True)[:LATEST])


def _metric_cards(*, suite: Suite, summary: Mapping[str, Any]) -> tuple[MetricCard, ...]:
    measured = summary.get("metrics") or {}

    def value(key: str) -> Mapping[str, Any] | None:
        found = measured.get(key)
        return found if found and found.get("mean") is not None else None

    return tuple(
        MetricCard(
            label=column.label,
            description=column.description,
            is_primary=column.primary,
            higher_is_better=column.higher_is_better,
            is_size=not column.ordered,
            value=value(column.key),
        )
        for column in suite.columns
    )


def _headings(*, sort: str, shows_marks: bool) -> tuple[Heading, ...]:
    key, descending = sort.removeprefix("-"), sort.startswith("-")
    measured = ("marks", "Indicators") if shows_marks else ("score", "Score")
    labels = (("task", "Task"), ("outcome", "Outcome"), measured, ("seconds", "Time"))
    return tuple(
        Heading(
            key=name,
            label=label,
            sorted=("descending" if descending else "ascending") if name == key else "",
            link=name if (name == key and descending) or (name != key and name in {"task", "outcome"}) else f"-{name}",
        )
        for name, label in labels
    )


def flatten(value: Mapping[str, Any], *, prefix: str = "") -> list[tuple[str, str]]:
    """Nested provenance as (name, value) pairs, in its own order."""
    pairs: list[tuple[str, str]] = []
    for key, item in value.items():
        name = f"{prefix}{key}".replace("_", " ")
        if isinstance(item, Mapping):
            pairs += flatten(item, prefix=f"{name} / ")
        else:
            pairs.append((name, item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)))
    return pairs
