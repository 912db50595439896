"""Context of the evaluation page, from records: progress, metrics, causes, groups, failures and tasks. No database."""

import json
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from django.core.paginator import Page, Paginator

from evaluator.core.suites.base import IntervalMethod, Panel
from evaluator.scoring.metrics.undecided import ranged
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.causes import CauseBars, cause_bars
from leaderboard.evaluations.results.breakdowns import (
    Breakdown,
    EpisodeLines,
    FailureGroup,
    ScoreRow,
    ShareRow,
    episode_lines,
    failures,
    score_breakdowns,
    share_breakdowns,
)
from leaderboard.evaluations.results.filters import Filter
from leaderboard.evaluations.results.task_rows import (
    FIRST,
    INDICATORS,
    PENDING,
    Selection,
    TaskRow,
    Tasks,
    index,
    read_sort,
)
from leaderboard.evaluations.web.line_plot import LinePlot, turn_plot
from leaderboard.platform.lru_cache import Mark

TASKS_PER_PAGE = 50
OUTCOME_ORDER = ("scored", "planner_fault", "infra_fault", "not_run", "cancelled", PENDING)


class Heading(NamedTuple):
    """A sortable heading of the task table."""

    key: str
    label: str
    sorted: str
    link: str


class MetricCard(NamedTuple):
    """One metric of the suite with this evaluation's value, if any."""

    label: str
    description: str
    is_primary: bool
    higher_is_better: bool
    is_size: bool
    """Whether it is a size of plans, which has no best value."""
    value: Mapping[str, Any] | None


class Progress(NamedTuple):
    """Progress of the tasks."""

    done: int
    total: int
    counts: tuple[tuple[str, int], ...]
    """(outcome, count) in the order of `OUTCOME_ORDER`."""
    is_moving: bool
    latest: tuple[TaskRow, ...] = ()
    """While it moves: the tasks that ended last, the latest first."""
    waiting: str = ""
    """While it waits: its place in the queue, and why."""


class Gathered(NamedTuple):
    """Everything that is computed from all tasks of an evaluation, before filters."""

    version: Hashable
    """Version of the results."""
    mark: Mark
    """Identifies it in cache keys (`{% kept %}`)."""
    tasks: Tasks
    failures: tuple[FailureGroup, ...]
    breakdowns: tuple[Breakdown[ShareRow], ...]
    score_breakdowns: tuple[Breakdown[ScoreRow], ...]
    episodes: EpisodeLines | None
    """For suites in turns."""
    causes: CauseBars
    total: int
    """Number of tasks, including unlisted ones."""
    done: int
    """Number of tasks that have ended, without those that were left out."""
    counts: tuple[tuple[str, int], ...]
    """(outcome, count) in the order of `OUTCOME_ORDER`."""
    latest: tuple[TaskRow, ...]
    """The tasks that ended last, the latest first; empty if nobody follows them."""


class EpisodesPart(NamedTuple):
    """The episodes of a suite in turns."""

    lines: EpisodeLines
    plot: LinePlot | None
    gained: str
    """Heading of the sums of scores."""
    digits: int
    """Decimals of these sums."""
    has_samples: bool
    """Whether a task has several episodes."""


class EvaluationPage(NamedTuple):
    """Context of the page without the evaluation itself."""

    mark: Mark
    """Identifies everything computed from all tasks in cache keys (`{% kept %}`)."""
    progress: Progress
    metrics: tuple[MetricCard, ...]
    failures: tuple[FailureGroup, ...]
    selection: Selection
    page: "Page[TaskRow]"
    headings: tuple[Heading, ...]
    provenance: list[tuple[str, str]]
    has_results: bool
    breakdowns: tuple[Breakdown[ShareRow], ...]
    """For suites that judge plans: the indicators by level and by group."""
    score_breakdowns: tuple[Breakdown[ScoreRow], ...]
    """For suites that execute plans: the mean score by kind of task."""
    episodes: EpisodesPart | None
    """For suites in turns, unless it is withheld."""
    causes: CauseBars

    @property
    def first_filters(self) -> list[Filter]:
        """The filters that are always visible."""
        return [each for each in self.selection.filters if each.section == FIRST]

    @property
    def indicator_filters(self) -> list[Filter]:
        return [each for each in self.selection.filters if each.section == INDICATORS]

    @property
    def further_filters(self) -> list[Filter]:
        return [each for each in self.selection.filters if not each.section]

    @property
    def further_are_set(self) -> bool:
        return any(each.is_set for each in self.further_filters)


def gathered_from(
    rows: Sequence[TaskRow], *, suite: Suite, samples: int, latest: Sequence[TaskRow] = (), version: Hashable = None
) -> Gathered:
    """Everything that the page computes from all tasks.

    Args:
        rows: the tasks with their results.
        suite: of the tasks.
        samples: of each task.
        latest: the tasks that ended last, the latest first.
        version: of the results.
    """
    counted = Counter(row.outcome for row in rows)
    # Groups show marks if plans are judged, and for suites in turns unless scores are graded.
    has_shares = suite.has(Panel.INDICATORS) or (suite.has(Panel.TRANSCRIPT) and not suite.has(Panel.SCORES))
    return Gathered(
        version=version,
        mark=Mark(),
        tasks=index(rows=rows, suite=suite.facets),
        failures=tuple(failures(rows)),
        breakdowns=share_breakdowns(rows=rows, suite=suite.facets) if has_shares else (),
        score_breakdowns=score_breakdowns(
            rows=rows, suite=suite.facets, method=suite.ranking_column.interval, samples=samples
        )
        if suite.has(Panel.SCORES)
        else (),
        episodes=episode_lines(rows) if suite.has(Panel.TRANSCRIPT) else None,
        causes=cause_bars((row.outcome, row.why) for row in rows),
        total=len(rows),
        done=sum(row.outcome != PENDING and not row.was_left_out for row in rows),
        counts=tuple((outcome, counted[outcome]) for outcome in OUTCOME_ORDER),
        latest=tuple(latest),
    )


def page_of(
    gathered: Gathered,
    *,
    selection: Selection,
    progress: Progress,
    suite: Suite,
    summary: Mapping[str, Any],
    provenance: Mapping[str, Any],
    parameters: Mapping[str, str],
) -> EvaluationPage:
    """Assemble the page.

    Args:
        gathered: from all tasks.
        selection: the tasks that the query string selects.
        progress: of the tasks.
        suite: of the evaluation.
        summary: means and intervals, as `Evaluation.summary`; empty before they are computed.
        provenance: of the results.
        parameters: the query string.
    """
    return EvaluationPage(
        mark=gathered.mark,
        progress=progress,
        metrics=_metric_cards(suite=suite, summary=summary),
        failures=gathered.failures,
        selection=selection,
        page=Paginator(selection.rows, TASKS_PER_PAGE).get_page(parameters.get("page")),
        headings=_headings(sort=parameters.get("sort", ""), shows_marks=not suite.runs_experts),
        provenance=flatten(provenance),
        has_results=progress.done > 0,
        breakdowns=gathered.breakdowns,
        score_breakdowns=gathered.score_breakdowns,
        episodes=_episodes_part(suite=suite, lines=gathered.episodes),
        causes=gathered.causes,
    )


def _episodes_part(*, suite: Suite, lines: EpisodeLines | None) -> EpisodesPart | None:
    if lines is None:
        return None
    is_share = suite.ranking_column.interval is IntervalMethod.WILSON
    plot = turn_plot(lines, is_share=is_share)
    gained, digits = ("Solved", 0) if is_share else ("Sum of scores", 2)
    has_samples = any(line.episodes != line.tasks for line in lines.stops)
    return EpisodesPart(lines=lines, plot=plot, gained=gained, digits=digits, has_samples=has_samples)


def _metric_cards(*, suite: Suite, summary: Mapping[str, Any]) -> tuple[MetricCard, ...]:
    measured = summary.get("metrics") or {}
    return tuple(
        MetricCard(
            label=column.label,
            description=column.description,
            is_primary=column.primary,
            higher_is_better=column.higher_is_better,
            is_size=not column.ordered,
            value=ranged(metrics=measured, column=column),
        )
        for column in suite.shown_columns
    )


def _headings(*, sort: str, shows_marks: bool) -> tuple[Heading, ...]:
    order = read_sort(sort)
    measured = ("marks", "Indicators") if shows_marks else ("score", "Score")
    labels = (("task", "Task"), ("outcome", "Outcome"), measured, ("seconds", "Time"))
    return tuple(
        Heading(key, label, order.direction(key), order.link(key, ascends=key in {"task", "outcome"}))
        for key, label in labels
    )


def flatten(value: Mapping[str, Any], *, prefix: str = "") -> list[tuple[str, str]]:
    """Nested provenance as (name, value) pairs, in order."""
    pairs: list[tuple[str, str]] = []
    for key, item in value.items():
        name = f"{prefix}{key}".replace("_", " ")
        if isinstance(item, Mapping):
            pairs += flatten(item, prefix=f"{name} / ")
        else:
            pairs.append((name, item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)))
    return pairs
