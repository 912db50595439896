"""What the board pages show, ready for the templates: every number is a text, every bar has its coordinates."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from evaluator.metrics.aggregate import SIZES
from leaderboard.boards.models import Snapshot
from leaderboard.boards.ranking import sort_rows
from leaderboard.boards.services import primary_metric
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation

DEFAULT_SORT = "rank"
MOST_NARROW = 5
"""Metrics that fit beside each other on a common screen."""


class Column(NamedTuple):
    """One sortable heading."""

    key: str
    label: str
    description: str
    is_metric: bool
    is_primary: bool
    sorted: str
    """`ascending`, `descending` or nothing: the value of `aria-sort`."""
    link: str
    """The `sort` parameter that a click asks for."""
    scale: tuple[float, float] | None
    """Where the bars of a metric begin and end; None where there are none."""
    direction: str
    """`higher` or `lower`, where the metrics of the suite differ in which is better; else nothing."""


class Cell(NamedTuple):
    """One metric of one row."""

    value: Mapping[str, Any] | None
    is_primary: bool
    missing: str
    """Why there is no value."""
    scale: tuple[float, float] | None
    tasks: int | None
    """Number of tasks measured, where the coverage of the board does not say it."""


class Row(NamedTuple):
    """One row of the table."""

    data: Mapping[str, Any]
    finished: datetime
    cells: tuple[Cell, ...]
    rank_is_open: bool
    """Whether the 95 % intervals leave more than one rank open."""


class Table(NamedTuple):
    """A whole board."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    coverage: Mapping[str, int]
    is_wide: bool
    """Whether there are so many metrics that the table scrolls beside a planner column that stays."""
    judges_plans: bool

    @property
    def coverage_words(self) -> str:
        return f"{self.coverage['run']} of {self.coverage['total']} {'judged' if self.judges_plans else 'run'}"


def board_table(*, suite: Suite, snapshot: Snapshot, sort: str = "", most_metrics: int | None = None) -> Table:
    """The board in the order that `sort` asks for: a column's key, with `-` in front for descending.

    With `most_metrics` only the first columns of the suite are shown.
    """
    key, descending = _read_sort(sort=sort, suite=suite)
    rows = sort_rows(rows=snapshot.content["rows"], key=key, descending=descending)
    metrics = suite.metrics[:most_metrics]
    scales = {metric["key"]: scale_of(rows=rows, metric=metric["key"]) for metric in metrics}
    coverage = snapshot.content["coverage"]
    primary = primary_metric(suite)["key"]
    return Table(
        columns=_columns(metrics=metrics, primary=primary, key=key, descending=descending, scales=scales),
        rows=tuple(
            _row(data=data, metrics=metrics, primary=primary, scales=scales, covered=coverage["run"]) for data in rows
        ),
        coverage=coverage,
        is_wide=len(metrics) > MOST_NARROW,
        judges_plans=suite.judges_plans,
    )


def scale_of(*, rows: Iterable[Mapping[str, Any]], metric: str) -> tuple[float, float] | None:
    """The tenths around all intervals of a metric, so that bars tell planners apart; the heading names them."""
    ends: list[float] = []
    for row in rows:
        value = row["metrics"].get(metric) or {}
        ends += [value[name] for name in ("low", "mean", "high") if value.get(name) is not None]
    if not ends:
        return None
    # Rounded first: 0.7 is 0.7000000000000001 after some arithmetic, and would open another tenth.
    low, high = math.floor(round(min(ends) * 10, 6)), math.ceil(round(max(ends) * 10, 6))
    if low == high:
        low, high = (low - 1, high) if high >= 10 else (low, high + 1)
    return low / 10, high / 10


def progress_rows(evaluations: Iterable[Evaluation]) -> list[dict[str, Any]]:
    """Evaluations without a rank yet, as JSON values (they are part of the page's ETag)."""
    return [
        {
            "id": str(evaluation.pk),
            "planner": evaluation.submission.planner.name,
            "owner": evaluation.submission.planner.owner.username,
            "state": evaluation.state,
            "label": evaluation.get_state_display(),
            "reason": evaluation.reason_text,
            "created": evaluation.created.isoformat(timespec="seconds"),
        }
        for evaluation in evaluations
    ]


def _read_sort(*, sort: str, suite: Suite) -> tuple[str, bool]:
    """An unknown column sorts by rank: an old link still shows the board."""
    key = sort.removeprefix("-")
    known = {"rank", "planner", "finished", *(metric["key"] for metric in suite.metrics)}
    return (key, sort.startswith("-")) if key in known else (DEFAULT_SORT, False)


def _columns(
    *,
    metrics: Sequence[Mapping[str, Any]],
    primary: str,
    key: str,
    descending: bool,
    scales: Mapping[str, tuple[float, float] | None],
) -> tuple[Column, ...]:
    directions = _directions(metrics)
    fixed = [("rank", "Rank", "Place by the first metric; equal means share it", False)]
    fixed += [("planner", "Planner", "", False)]
    measured = [(metric["key"], metric["label"], metric["description"], True) for metric in metrics]
    last = [("finished", "Finished", "", False)]
    return tuple(
        Column(
            key=name,
            label=label,
            description=description,
            is_metric=is_metric,
            is_primary=name == primary,
            sorted=("descending" if descending else "ascending") if name == key else "",
            link=_next_sort(name=name, key=key, descending=descending, lower=directions.get(name) == "lower"),
            scale=scales.get(name),
            direction=directions.get(name, ""),
        )
        for name, label, description, is_metric in [*fixed, *measured, *last]
    )


def _directions(metrics: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Which is better in each metric that says how good plans are; empty where more is better in all of them."""
    judging = [metric for metric in metrics if metric["key"] not in SIZES]
    found = {metric["key"]: "higher" if metric.get("higher_is_better", True) else "lower" for metric in judging}
    return found if "lower" in found.values() else {}


def _next_sort(*, name: str, key: str, descending: bool, lower: bool) -> str:
    """The other direction of the sorted column; otherwise the direction that puts the best row first."""
    if name == key:
        return name if descending else f"-{name}"
    return name if lower or name in {"rank", "planner"} else f"-{name}"


def _row(
    *,
    data: Mapping[str, Any],
    metrics: Sequence[Mapping[str, Any]],
    primary: str,
    scales: Mapping[str, tuple[float, float] | None],
    covered: int,
) -> Row:
    values = {metric["key"]: data["metrics"].get(metric["key"]) for metric in metrics}
    alike = {value.get("tasks") for value in values.values() if value} <= {covered}
    cells = tuple(
        Cell(
            value=values[metric["key"]],
            is_primary=metric["key"] == primary,
            missing=f"No task with the metric {metric['label']} can run under this profile, so there is no value",
            scale=scales[metric["key"]],
            tasks=None if alike or not values[metric["key"]] else values[metric["key"]].get("tasks"),
        )
        for metric in metrics
    )
    low, high = data["rank_low"], data["rank_high"]
    return Row(
        data=data,
        finished=datetime.fromisoformat(data["finished"]),
        cells=cells,
        rank_is_open=low != high,
    )
