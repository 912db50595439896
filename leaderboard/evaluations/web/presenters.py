"""Context of the evaluation page, from records: progress, metrics, causes, groups, failures and tasks. No database."""

import json
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from django.core.paginator import Page, Paginator

from evaluator.core.suites.base import IntervalMethod, Panel, default_columns
from evaluator.core.transcripts import MAIN
from evaluator.scoring.causes.costs import Costs
from evaluator.scoring.metrics.aggregate import TaskScore
from evaluator.scoring.metrics.undecided import ranged
from evaluator.scoring.readability import Reading
from evaluator.scoring.task_comparison import PENDING
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
from leaderboard.evaluations.results.devices import Device, devices_of
from leaderboard.evaluations.results.figures import tokens_in_words
from leaderboard.evaluations.results.filters import Filter
from leaderboard.evaluations.results.task_rows import (
    FIRST,
    INDICATORS,
    Selection,
    TaskRow,
    Tasks,
    index,
    read_sort,
)
from leaderboard.evaluations.web.dot_plot import DotPlots, dot_plots
from leaderboard.evaluations.web.explained import WhyBelowGold, costs_of_rows, why_below_gold
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


class MetricPlace(NamedTuple):
    """The rank of an evaluation in one metric, among the ranked rows of its board that have a value."""

    rank: int
    planners: int
    low: int | None = None
    """In the metric that the board ranks by: the best rank that paired tests allow."""
    high: int | None = None
    """The worst one."""

    @property
    def words(self) -> str:
        """The rank, such as `rank 2 of 9 (1 to 4)`."""
        span = "" if self.low is None or self.low == self.high else f" ({self.low} to {self.high})"
        return f"rank {self.rank} of {self.planners}{span}"


class MetricCard(NamedTuple):
    """One metric of the suite with this evaluation's value, if any."""

    label: str
    description: str
    is_primary: bool
    is_default: bool
    """Whether it is shown without unfolding the others."""
    higher_is_better: bool
    is_size: bool
    """Whether it is a size of plans, which has no best value."""
    value: Mapping[str, Any] | None
    place: MetricPlace | None
    """None if the evaluation has no rank on its board, and for sizes."""

    @property
    def lower_is_better(self) -> bool:
        """Whether a lower value is better; sizes have no better value."""
        return not self.higher_is_better and not self.is_size


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
    costs: Costs
    """What each cause costs; only faults, without costs, where scored tasks are not explained."""
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
    why: WhyBelowGold | None
    """None before a task has run."""
    selection: Selection
    page: "Page[TaskRow]"
    headings: tuple[Heading, ...]
    provenance: list[tuple[str, str]]
    has_results: bool
    plots: DotPlots
    """Means by kind of task."""
    episodes: EpisodesPart | None
    """For suites in turns, unless it is withheld."""
    reading: tuple[str, ...]
    """How many replies could be read, and what was tolerated in them, in sentences."""
    usage: Mapping[str, float]
    """Means per task of the planner's seconds and reported tokens; empty if unknown."""
    roles: tuple[str, ...]
    """Mean usage per task by role, a line each."""
    devices: tuple[Device, ...]
    """On which the experts ran; empty if none did or it is unknown."""

    @property
    def first_metrics(self) -> list[MetricCard]:
        """The default metrics, the one that boards rank by first."""
        return [card for card in self.metrics if card.is_default]

    @property
    def further_metrics(self) -> list[MetricCard]:
        """The other metrics, in the order of the suite's columns."""
        return [card for card in self.metrics if not card.is_default]

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
    rows: Sequence[TaskRow],
    *,
    suite: Suite,
    samples: int,
    gold: Mapping[str, TaskScore] = MappingProxyType({}),
    latest: Sequence[TaskRow] = (),
    version: Hashable = None,
) -> Gathered:
    """Everything that the page computes from all tasks.

    Args:
        rows: the tasks with their results.
        suite: of the tasks.
        samples: of each task.
        gold: results of gold plans under the same conditions, by task; empty if they are not known.
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
        costs=costs_of_rows(
            rows, column=suite.ranking_column, samples=samples, has_experts=suite.runs_experts, gold=gold
        ),
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
    places: Mapping[str, MetricPlace] = MappingProxyType({}),
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
        places: ranks by metric (`metric_places`).
    """
    return EvaluationPage(
        mark=gathered.mark,
        progress=progress,
        metrics=_metric_cards(suite=suite, summary=summary, places=places),
        why=why_below_gold(gathered.costs, metric=suite.ranking_column.label),
        selection=selection,
        page=Paginator(selection.rows, TASKS_PER_PAGE).get_page(parameters.get("page")),
        headings=_headings(sort=parameters.get("sort", ""), shows_marks=not suite.runs_experts),
        provenance=flatten(provenance),
        has_results=progress.done > 0,
        plots=dot_plots(
            scores=gathered.score_breakdowns,
            shares=gathered.breakdowns,
            column=suite.ranking_column,
            metrics=summary.get("metrics") or {},
        ),
        episodes=_episodes_part(suite=suite, lines=gathered.episodes),
        reading=reading.sentences if (reading := Reading.from_json(summary.get("reading"))) else (),
        usage={name: known["mean"] for name, known in (summary.get("usage") or {}).items()},
        roles=role_lines(summary.get("role_usage") or {}),
        devices=devices_of(provenance) if suite.runs_experts else (),
    )


def _episodes_part(*, suite: Suite, lines: EpisodeLines | None) -> EpisodesPart | None:
    if lines is None:
        return None
    is_share = suite.ranking_column.interval is IntervalMethod.WILSON
    plot = turn_plot(lines, is_share=is_share)
    gained, digits = ("Solved", 0) if is_share else ("Sum of scores", 2)
    has_samples = any(line.episodes != line.tasks for line in lines.stops)
    return EpisodesPart(lines=lines, plot=plot, gained=gained, digits=digits, has_samples=has_samples)


def metric_places(*, rows: Sequence[Mapping[str, Any]], evaluation: str, suite: Suite) -> dict[str, MetricPlace]:
    """The ranks of an evaluation in each metric; empty if it has no rank.

    Args:
        rows: of the latest snapshot of its board.
        evaluation: its id.
        suite: of the board.
    """
    own = next((row for row in rows if row["evaluation"] == evaluation), None)
    if own is None or own["rank"] is None:
        return {}
    ranked = [row["metrics"] for row in rows if row["rank"] is not None]
    places = {}
    for column in suite.shown_columns:
        means = [value["mean"] for metrics in ranked if (value := metrics.get(column.key)) and column.ordered]
        mean = (own["metrics"].get(column.key) or {}).get("mean")
        if mean is None or not means:
            continue
        sign = 1 if column.higher_is_better else -1
        places[column.key] = MetricPlace(1 + sum(sign * other > sign * mean + _SAME for other in means), len(means))
    key = suite.ranking_column.key
    if key in places:
        places[key] = MetricPlace(own["rank"], places[key].planners, own["rank_low"], own["rank_high"])
    return places


_SAME = 1e-12
"""Tolerance for rounding errors of means."""


def _metric_cards(
    *, suite: Suite, summary: Mapping[str, Any], places: Mapping[str, MetricPlace]
) -> tuple[MetricCard, ...]:
    """The cards in the order of the suite's columns, the one that boards rank by first."""
    measured = summary.get("metrics") or {}
    default = {column.key for column in default_columns(suite.columns)}
    return tuple(
        MetricCard(
            label=column.label,
            description=column.description,
            is_primary=column.primary,
            is_default=column.key in default,
            higher_is_better=column.higher_is_better,
            is_size=not column.ordered,
            value=ranged(metrics=measured, column=column),
            place=places.get(column.key),
        )
        for column in sorted(suite.shown_columns, key=lambda column: not column.primary)
        if column.key in measured or not column.is_optional
    )


def role_lines(usage: Mapping[str, Mapping[str, float]]) -> tuple[str, ...]:
    """The mean usage per task of each role in words, the planner's own model last."""
    order = sorted(usage.items(), key=lambda item: (item[0] == MAIN, item[0]))
    return tuple(
        f"{'no role' if role == MAIN else role}: {own.get('calls', 0):.3g} calls, "
        + ", ".join(filter(None, (f"{own.get('seconds', 0):.3g} s", _tokens(own))))
        for role, own in order
    )


def _tokens(usage: Mapping[str, float]) -> str:
    words = tokens_in_words(usage)
    return words and f"tokens {words}"


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
