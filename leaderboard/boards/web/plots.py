"""Plots of a board: score over time, and score against cost or model size. No database access."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.urls import reverse

from leaderboard.boards.anchors import Baseline
from leaderboard.boards.drawing.picture import Picture, Unit, axis, ticks_of, time_ticks, unit_of
from leaderboard.boards.drawing.scatter import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axes, Dot, linked, scatter
from leaderboard.boards.ranking import is_anchor_row, value_of
from leaderboard.boards.web.presenters import dollars_in_words, seconds_in_words, size_in_words

_PLAIN = Unit("")
LEAST_SCORES = 0.2
"""Minimum range of an axis of scores."""


class Cost(NamedTuple):
    """A cost of better scores."""

    name: str
    """In titles, such as `latency`."""
    units: tuple[tuple[float, Unit], ...]
    """Limit of the largest value, and the axis unit below this limit."""
    words: Callable[[float], str]
    """Formats a value with its unit."""


COSTS: Mapping[str, Cost] = {
    "cost": Cost(
        "cost",
        (
            (0.05, Unit("US dollars per 1,000 tasks, at declared prices", 0.001, "$")),
            (0.0, Unit("US dollars per task, at declared prices", 1.0, "$")),
        ),
        dollars_in_words,
    ),
    "seconds": Cost(
        "latency",
        (
            (1.0, Unit("Milliseconds until the answer, mean per task", 0.001)),
            (600.0, Unit("Seconds until the answer, mean per task")),
            (0.0, Unit("Minutes until the answer, mean per task", 60.0)),
        ),
        seconds_in_words,
    ),
    "tokens": Cost(
        "tokens",
        (
            (20_000.0, Unit("Tokens, mean per task")),
            (0.0, Unit("Thousand tokens, mean per task", 1000.0)),
        ),
        "{:,.0f}".format,
    ),
    "parameters": Cost(
        "size",
        (
            (1e6, Unit("Parameters of the model")),
            (1e9, Unit("Million parameters of the model", 1e6)),
            (0.0, Unit("Billion parameters of the model", 1e9)),
        ),
        lambda parameters: size_in_words(round(parameters)),
    ),
}
"""By key of `value_of`."""


class Plot(NamedTuple):
    """One plot with its table."""

    picture: Picture
    heads: tuple[str, ...]
    """Headings of the table: planner, x, score, interval, whether it is on the line."""
    table: tuple[tuple[str, str, str, str, str, bool], ...]
    """Link, planner, x, score, interval, and whether it is on the line."""
    left_out: int
    """Number of small dots, which are not in the table."""


class Sample(NamedTuple):
    """One row of the board on two axes."""

    x: float
    y: float
    row: Mapping[str, Any]


def time_samples(*, rows: Sequence[Mapping[str, Any]], metric: Mapping[str, Any]) -> list[Sample]:
    """Score by finishing time, in seconds since 1970, oldest first, without anchors."""
    samples = (
        Sample(datetime.fromisoformat(row["finished"]).timestamp(), value, row)
        for row in rows
        if (value := value_of(row, metric["key"])) is not None and not is_anchor_row(row)
    )
    return sorted(samples, key=lambda sample: sample.x)


def cost_samples(*, rows: Sequence[Mapping[str, Any]], metric: Mapping[str, Any], cost: str) -> list[Sample]:
    """Score by one of `COSTS`, cheapest first, without anchors and rows of unknown cost."""
    samples = (
        Sample(float(spent), value, row)
        for row in rows
        if (value := value_of(row, metric["key"])) is not None
        and (spent := value_of(row, cost)) is not None
        and not is_anchor_row(row)
    )
    return sorted(samples, key=lambda sample: sample.x)


def bests(*, samples: Sequence[Sample], better: int) -> list[Sample]:
    """Samples that are better than all before them. `better` is 1 if higher scores are better, else -1."""
    records: list[Sample] = []
    for sample in samples:
        if not records or better * sample.y > better * records[-1].y:
            records.append(sample)
    return records


def pareto_front(*, samples: Sequence[Sample], better: int) -> list[Sample]:
    """Samples not dominated in cost and score, by ascending cost. `better` is 1 if higher scores are better, else
    -1."""
    return bests(samples=sorted(samples, key=lambda sample: (sample.x, -better * sample.y)), better=better)


def over_time(
    *, rows: Sequence[Mapping[str, Any]], metric: Mapping[str, Any], baseline: Baseline | None = None
) -> Plot | None:
    """Every evaluation by finishing time, with the best score so far as a line; None without evaluations."""
    samples = time_samples(rows=rows, metric=metric)
    if not samples:
        return None
    best = bests(samples=samples, better=sign_of(metric))
    x = axis(values=[sample.x for sample in samples], low=LEFT, high=WIDTH - RIGHT)
    if samples[0].x == samples[-1].x:
        x = x._replace(start=samples[0].x - 43_200, end=samples[0].x + 43_200)
    drawing = _Drawing(
        metric=metric,
        samples=samples,
        best=best,
        baseline=baseline,
        words=lambda value: f"{datetime.fromtimestamp(value, tz=UTC):%Y-%m-%d %H:%M}",
    )
    return drawing.plot(
        key="time",
        title=f"{metric['label']} over time",
        description=f"{_count(len(samples), 'published evaluation')}. The line is the best score so far, "
        f"now {best[-1].y:.3f}.",
        axes=drawing.axes(x=x, x_ticks=time_ticks(x), x_label="Finished (UTC)"),
        until=samples[-1].x,
    )


def against_cost(
    *,
    rows: Sequence[Mapping[str, Any]],
    metric: Mapping[str, Any],
    cost: str,
    baseline: Baseline | None = None,
    is_log: bool = False,
) -> Plot | None:
    """Score against one of `COSTS`, with the Pareto frontier. None if no row's cost is known.

    Args:
        rows: of the board.
        metric: its primary metric.
        cost: key of `COSTS`.
        baseline: drawn as a line.
        is_log: whether to use a logarithmic axis; ignored if a cost is 0.
    """
    samples = cost_samples(rows=rows, metric=metric, cost=cost)
    if not samples:
        return None
    front = pareto_front(samples=samples, better=sign_of(metric))
    name, units, words = COSTS[cost]
    costs = [sample.x for sample in samples]
    is_log = is_log and min(costs) > 0
    unit = unit_of(costs, units=units)
    x = axis(values=costs, low=LEFT, high=WIDTH - RIGHT, is_log=is_log, floor=None if is_log else 0.0)
    drawing = _Drawing(metric=metric, samples=samples, best=front, baseline=baseline, words=words)
    return drawing.plot(
        key=cost,
        title=f"{metric['label']} against {name}",
        description=f"{_count(len(samples), 'planner')} with known {name}. The line is the Pareto frontier: "
        f"{_count(len(front), 'planner')} that no other planner beats at the same cost or less.",
        axes=drawing.axes(
            x=x, x_ticks=ticks_of(x, unit=unit), x_label=f"{unit.name}{' (logarithmic)' if is_log else ''}"
        ),
        until=None,
    )


class _Drawing(NamedTuple):
    """The common part of both kinds of plots."""

    metric: Mapping[str, Any]
    samples: Sequence[Sample]
    best: Sequence[Sample]
    baseline: Baseline | None
    words: Callable[[float], str]

    def axes(self, *, x: Any, x_ticks: Any, x_label: str) -> Axes:
        values = [sample.y for sample in self.samples]
        for sample in self.samples:
            values += _ends(sample, metric=self.metric)
        values += [] if self.baseline is None else [self.baseline.value]
        y = axis(values=values, low=HEIGHT - BOTTOM, high=TOP, least_range=LEAST_SCORES)
        label = self.metric["label"] + ("" if self.metric.get("higher_is_better", True) else " (lower is better)")
        return Axes(x, y, x_ticks, ticks_of(y, unit=_PLAIN), x_label, label)

    def plot(self, *, key: str, title: str, description: str, axes: Axes, until: float | None) -> Plot:
        on_line = set(map(id, self.best))
        dots = [self._dot(sample, is_best=id(sample) in on_line) for sample in self.samples]
        better = sign_of(self.metric)
        baseline = None
        if self.baseline is not None:
            baseline = self.baseline.value, f"baseline {self.baseline.planner} {self.baseline.value:.3f}"
        picture = scatter(
            key=key, title=title, description=description, axes=axes, dots=dots, better=better, until=until,
            baseline=baseline,
        )  # fmt: skip
        table = []
        for dot in sorted(linked(dots, better=better), key=lambda dot: dot.x):
            interval = "" if dot.low is None or dot.high is None else f"{dot.low:.3f} to {dot.high:.3f}"
            name = dot.words.rsplit(": ", 1)[0]
            table.append((dot.address, name, self.words(dot.x), f"{dot.y:.3f}", interval, dot.is_best))
        return Plot(
            picture=picture,
            heads=("Planner", axes.x_label, axes.y_label, "95 % interval", "On the line"),
            table=tuple(table),
            left_out=len(dots) - len(table),
        )

    def _dot(self, sample: Sample, *, is_best: bool) -> Dot:
        low, high = _ends(sample, metric=self.metric) or (None, None)
        name = str(sample.row["planner"])
        return Dot(
            x=sample.x,
            y=sample.y,
            name=name,
            words=f"{name} by {sample.row['owner']}: {sample.y:.3f}, {self.words(sample.x)}",
            address=reverse("evaluations:detail", args=[sample.row["evaluation"]]),
            low=low,
            high=high,
            is_best=is_best,
        )


def _ends(sample: Sample, *, metric: Mapping[str, Any]) -> list[float]:
    """The ends of the interval of a sample's score; empty without an interval."""
    value = sample.row["metrics"].get(metric["key"]) or {}
    low, high = value.get("low"), value.get("high")
    return [] if low is None or high is None else [low, high]


def sign_of(metric: Mapping[str, Any]) -> int:
    """1 if higher values of a metric are better, else -1."""
    return 1 if metric.get("higher_is_better", True) else -1


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
