"""Plots of a board as coordinates for SVG: score over time, and score against what a plan costs. No database.

The drawing area is `WIDTH` by `HEIGHT`; y grows downwards. Every plot also carries its telling points as a table.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from leaderboard.boards.baselines import Baseline
from leaderboard.boards.pages.presenters import dollars_in_words, seconds_in_words
from leaderboard.boards.ranking import value_of
from leaderboard.boards.scales import tenths

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 18, 52
_LOG_FROM = 30.0
"""If the largest x is so many times the smallest, the axis is logarithmic."""

_MINUTES = 5 / 1440
"""Days; within them minutes do not tell times apart."""
_CROWDED = 300
COSTS: Mapping[str, tuple[str, str, Callable[[float], str]]] = {
    "cost": ("cost", "US dollars at declared prices", dollars_in_words),
    "seconds": ("latency", "Seconds until the answer", seconds_in_words),
    "tokens": ("tokens", "Tokens", lambda value: f"{value:,.0f}"),
}
"""What each cost is called, its axis, and how a value is written."""


class Tick(NamedTuple):
    """A mark on an axis."""

    at: str
    text: str


class Point(NamedTuple):
    """A point that is named: on the line of the best, or on the front."""

    x: str
    y: str
    words: str
    evaluation: str


class Plot(NamedTuple):
    """One plot."""

    key: str
    title: str
    description: str
    """What can be seen in it, as sentences."""
    x_label: str
    y_label: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    dots: str
    """Path of all points."""
    is_crowded: bool
    """Whether there are so many points that each is drawn small."""
    line: str
    """Path through the named points, as steps."""
    points: tuple[Point, ...]
    heads: tuple[str, ...]
    """Headings of the table of the named points: planner, x, score."""
    table: tuple[tuple[str, str, str, str], ...]
    """Evaluation, planner, x, score."""
    baseline: Tick | None = None
    """Where the board's baseline is on the axis of scores, and its name."""


class Sample(NamedTuple):
    """One row of the board on two axes."""

    x: float
    y: float
    row: Mapping[str, Any]


def time_samples(*, rows: Sequence[Mapping[str, Any]], metric: Mapping[str, Any]) -> list[Sample]:
    """Score by the time at which the evaluation ended, in seconds since 1970, the first first."""
    found = (
        Sample(datetime.fromisoformat(row["finished"]).timestamp(), value, row)
        for row in rows
        if (value := value_of(row, metric["key"])) is not None
    )
    return sorted(found, key=lambda sample: sample.x)


def cost_samples(*, rows: Sequence[Mapping[str, Any]], metric: Mapping[str, Any], cost: str) -> list[Sample]:
    """Score by `cost`, `seconds` or `tokens` per task, the cheapest first, without rows whose cost is not known."""
    found = (
        Sample(float(spent), value, row)
        for row in rows
        if (value := value_of(row, metric["key"])) is not None and (spent := value_of(row, cost)) is not None
    )
    return sorted(found, key=lambda sample: sample.x)


def bests(*, samples: Sequence[Sample], better: int) -> list[Sample]:
    """Samples that are better than all before them. `better` is 1 if more score is better, else -1."""
    found: list[Sample] = []
    for sample in samples:
        if not found or better * sample.y > better * found[-1].y:
            found.append(sample)
    return found


def over_time(*, rows: Sequence[Mapping[str, Any]], metric: Mapping[str, Any]) -> Plot | None:
    """Every evaluation by the time it ended, with the best until then as a line; None without any."""
    samples = time_samples(rows=rows, metric=metric)
    if not samples:
        return None
    best = bests(samples=samples, better=sign_of(metric))
    x = _Axis.of([sample.x for sample in samples], low=LEFT, high=WIDTH - RIGHT, may_be_log=False)
    return _plot(
        key="time",
        title=f"{metric['label']} over time",
        description=f"{_count(len(samples), 'published evaluation')}. The line is the best until then, at last "
        f"{best[-1].y:.3f}.",
        x_label="Finished (UTC)",
        metric=metric,
        samples=samples,
        named=best,
        x=x,
        x_ticks=_time_ticks(x),
        x_words=lambda value: f"{datetime.fromtimestamp(value, tz=UTC):%Y-%m-%d %H:%M}",
        until=WIDTH - RIGHT,
    )


def against_cost(*, rows: Sequence[Mapping[str, Any]], metric: Mapping[str, Any], cost: str) -> Plot | None:
    """Score against `cost`, `seconds` or `tokens` per task, with the Pareto front: the rows that no other row beats in
    the score without costing more. None if the cost of no row is known."""
    samples = cost_samples(rows=rows, metric=metric, cost=cost)
    if not samples:
        return None
    front = pareto_front(samples=samples, better=sign_of(metric))
    name, axis, words = COSTS[cost]
    x = _Axis.of([sample.x for sample in samples], low=LEFT, high=WIDTH - RIGHT, may_be_log=True)
    return _plot(
        key=cost,
        title=f"{metric['label']} against {name}",
        description=f"{_count(len(samples), 'planner')} whose {name} {'are' if name == 'tokens' else 'is'} known; "
        f"{_count(len(front), 'planner')} on the line {'is' if len(front) == 1 else 'are'} not beaten by another one "
        f"that takes no more.",
        x_label=f"{axis}, mean per task{' (logarithmic)' if x.is_log else ''}",
        metric=metric,
        samples=samples,
        named=front,
        x=x,
        x_ticks=tuple(Tick(_number(x.at(value)), words(value)) for value in x.ticks()),
        x_words=words,
        until=WIDTH - RIGHT,
    )


def pareto_front(*, samples: Sequence[Sample], better: int) -> list[Sample]:
    """Samples that no other one beats: by growing cost, each better than all cheaper ones. `better` is 1 if more score
    is better, else -1."""
    return bests(samples=sorted(samples, key=lambda sample: (sample.x, -better * sample.y)), better=better)


class _Axis(NamedTuple):
    start: float
    end: float
    low: float
    high: float
    is_log: bool

    @classmethod
    def of(cls, values: Sequence[float], *, low: float, high: float, may_be_log: bool) -> "_Axis":
        least, most = min(values), max(values)
        is_log = may_be_log and least > 0 and most / least >= _LOG_FROM
        if is_log:
            return cls(math.floor(math.log10(least)), math.ceil(math.log10(most)), low, high, True)
        if may_be_log:
            return cls(0.0, most or 1.0, low, high, False)
        return cls(least, most if most > least else least + 1, low, high, False)

    def at(self, value: float) -> float:
        place = math.log10(value) if self.is_log else value
        return self.low + (self.high - self.low) * (place - self.start) / (self.end - self.start)

    def ticks(self) -> list[float]:
        if self.is_log:
            return [10.0**power for power in range(int(self.start), int(self.end) + 1)]
        step = _round_step((self.end - self.start) / 4)
        return [step * number for number in range(int(self.end / step) + 1)]


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)


def _time_ticks(x: _Axis) -> tuple[Tick, ...]:
    days = (x.end - x.start) / 86_400
    layout = "%H:%M:%S" if days < _MINUTES else "%H:%M" if days < 1 else "%d %b %H:%M" if days < 4 else "%Y-%m-%d"
    found = []
    for number in range(4):
        value = x.start + (x.end - x.start) * number / 3
        found.append(Tick(_number(x.at(value)), f"{datetime.fromtimestamp(value, tz=UTC):{layout}}"))
    return tuple(found)


def _plot(
    *,
    key: str,
    title: str,
    description: str,
    x_label: str,
    metric: Mapping[str, Any],
    samples: Sequence[Sample],
    named: Sequence[Sample],
    x: _Axis,
    x_ticks: tuple[Tick, ...],
    x_words: Any,
    until: float,
) -> Plot:
    low, high = tenths([sample.y for sample in samples]) or (0.0, 1.0)
    y = _Axis(low, high, HEIGHT - BOTTOM, TOP, False)
    placed = [(x.at(sample.x), y.at(sample.y)) for sample in named]
    return Plot(
        key=key,
        title=title,
        description=description,
        x_label=x_label,
        y_label=metric["label"] + ("" if metric.get("higher_is_better", True) else " (lower is better)"),
        x_ticks=x_ticks,
        y_ticks=tuple(Tick(_number(y.at(value)), f"{value:.1f}") for value in _tenths_between(low, high)),
        dots="".join(f"M{_number(x.at(sample.x))} {_number(y.at(sample.y))}h0" for sample in samples),
        is_crowded=len(samples) > _CROWDED,
        line=_steps(placed, until=until),
        points=tuple(
            Point(_number(left), _number(top), f"{_name(sample)}: {sample.y:.3f}, {x_words(sample.x)}", _id(sample))
            for sample, (left, top) in zip(named, placed, strict=True)
        ),
        heads=("Planner", x_label, metric["label"]),
        table=tuple((_id(sample), _name(sample), x_words(sample.x), f"{sample.y:.3f}") for sample in named),
    )


def with_baseline(plot: Plot, *, baseline: Baseline | None) -> Plot:
    """The plot with a line for the board's baseline, if that is within the axis."""
    if baseline is None:
        return plot
    low, high = (tick.at for tick in (plot.y_ticks[0], plot.y_ticks[-1]))
    bottom, top = float(plot.y_ticks[0].text), float(plot.y_ticks[-1].text)
    at = float(low) + (float(high) - float(low)) * (baseline.value - bottom) / (top - bottom)
    words = f"baseline {baseline.planner} {baseline.value:.3f}"
    return plot._replace(baseline=Tick(_number(at), words)) if TOP <= at <= HEIGHT - BOTTOM else plot


def _steps(placed: Sequence[tuple[float, float]], *, until: float) -> str:
    left, top = placed[0]
    path = f"M{_number(left)} {_number(top)}"
    for left, top in placed[1:]:
        path += f"H{_number(left)}V{_number(top)}"
    return f"{path}H{_number(until)}"


def _tenths_between(low: float, high: float) -> list[float]:
    count = round((high - low) * 10)
    every = 1 if count <= 6 else 2
    return [low + number / 10 for number in range(0, count + 1, every)]


def _name(sample: Sample) -> str:
    return f"{sample.row['planner']} by {sample.row['owner']}"


def _id(sample: Sample) -> str:
    return str(sample.row["evaluation"])


def sign_of(metric: Mapping[str, Any]) -> int:
    """1 if more of a metric is better, else -1."""
    return 1 if metric.get("higher_is_better", True) else -1


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _number(value: float) -> str:
    return f"{value:.1f}"
