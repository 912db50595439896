"""What the board pages show, ready for the templates: every number is a text, every bar has its coordinates."""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from leaderboard.boards.models import Snapshot
from leaderboard.boards.ranking import sort_rows
from leaderboard.boards.services import primary_metric
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation

DEFAULT_SORT = "rank"


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


class Cell(NamedTuple):
    """One metric of one row."""

    value: Mapping[str, Any] | None
    is_primary: bool
    missing: str
    """Why there is no value."""
    scale: tuple[float, float] | None


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


def board_table(*, suite: Suite, snapshot: Snapshot, sort: str = "") -> Table:
    """The board in the order that `sort` asks for: a column's key, with `-` in front for descending."""
    key, descending = _read_sort(sort=sort, suite=suite)
    rows = sort_rows(rows=snapshot.content["rows"], key=key, descending=descending)
    scales = {metric["key"]: scale_of(rows=rows, metric=metric["key"]) for metric in suite.metrics}
    return Table(
        columns=_columns(suite=suite, key=key, descending=descending, scales=scales),
        rows=tuple(_row(data=data, suite=suite, scales=scales) for data in rows),
        coverage=snapshot.content["coverage"],
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
    *, suite: Suite, key: str, descending: bool, scales: Mapping[str, tuple[float, float] | None]
) -> tuple[Column, ...]:
    primary = primary_metric(suite)["key"]
    fixed = [("rank", "Rank", "Place by the first metric; equal means share it", False)]
    fixed += [("planner", "Planner", "", False)]
    metrics = [(metric["key"], metric["label"], metric["description"], True) for metric in suite.metrics]
    last = [("finished", "Finished", "", False)]
    return tuple(
        Column(
            key=name,
            label=label,
            description=description,
            is_metric=is_metric,
            is_primary=name == primary,
            sorted=("descending" if descending else "ascending") if name == key else "",
            link=_next_sort(name=name, key=key, descending=descending),
            scale=scales.get(name),
        )
        for name, label, description, is_metric in [*fixed, *metrics, *last]
    )


def _next_sort(*, name: str, key: str, descending: bool) -> str:
    """The other direction of the sorted column; otherwise the direction that puts the most telling row first."""
    if name == key:
        return name if descending else f"-{name}"
    return name if name in {"rank", "planner"} else f"-{name}"


def _row(*, data: Mapping[str, Any], suite: Suite, scales: Mapping[str, tuple[float, float] | None]) -> Row:
    primary = primary_metric(suite)["key"]
    cells = tuple(
        Cell(
            value=data["metrics"].get(metric["key"]),
            is_primary=metric["key"] == primary,
            missing=f"No task with the metric {metric['label']} can run under this profile, so there is no value",
            scale=scales[metric["key"]],
        )
        for metric in suite.metrics
    )
    low, high = data["rank_low"], data["rank_high"]
    return Row(
        data=data,
        finished=datetime.fromisoformat(data["finished"]),
        cells=cells,
        rank_is_open=low != high,
    )
