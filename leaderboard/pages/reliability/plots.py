"""Plots of a reliability profile as coordinates for SVG. No database. The table beside each has the same figures.

All plots are `WIDTH` wide; y grows downwards.
"""

from collections.abc import Mapping, Sequence
from itertools import count
from math import ceil
from typing import Any, NamedTuple

from leaderboard.pages.line_plot import BOTTOM, RIGHT, TOP, WIDTH, Dot, LinePlot, Tick, across, up
from leaderboard.results.figures import score

_LABELS = 230
"""Width of the labels of a dot plot's rows."""
_ROW = 34
_MOST_TICKS = 7
_SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


class Row(NamedTuple):
    """A row of a dot plot: a value with its interval."""

    label: str
    y: str
    x: str
    low: str
    """Where its whisker begins; empty: it has none."""
    high: str
    words: str


class DotPlot(NamedTuple):
    """Values below each other on one scale, with whiskers."""

    key: str
    title: str
    x_label: str
    ticks: tuple[Tick, ...]
    rows: tuple[Row, ...]
    reference: Tick | None
    """A line across all rows, and what it stands for."""
    height: int
    bottom: int
    width: int = WIDTH
    left: int = _LABELS
    right: int = WIDTH - RIGHT
    middle: int = (_LABELS + WIDTH - RIGHT) // 2


Interval = Mapping[str, Any]
"""`{"mean", "low", "high", "count"}`; the ends are null over too few tasks."""


def dot_plot(
    *, key: str, title: str, x_label: str, values: Sequence[tuple[str, Interval]], reference: str = ""
) -> DotPlot | None:
    """Values with whiskers on a scale from 0; None without any.

    Args:
        values: label and value of each row.
        reference: what a value of 1 means; empty: no line is drawn there.
    """
    if not values:
        return None
    largest = max(max(one["mean"], one["high"] or 0.0) for _, one in values)
    step, end = _scale(largest)

    def x(value: float) -> str:
        return f"{_LABELS + (WIDTH - RIGHT - _LABELS) * value / end:.1f}"

    bottom = TOP + _ROW * len(values)
    return DotPlot(
        key=key,
        title=title,
        x_label=x_label,
        ticks=tuple(Tick(x(step * number), f"{step * number:g}") for number in range(round(end / step) + 1)),
        rows=tuple(
            Row(
                label=label,
                y=f"{TOP + _ROW * (number + 0.5):.1f}",
                x=x(one["mean"]),
                low="" if one["low"] is None else x(one["low"]),
                high="" if one["high"] is None else x(one["high"]),
                words=f"{label}: {in_words(one)}",
            )
            for number, (label, one) in enumerate(values)
        ),
        reference=Tick(x(1.0), reference) if reference else None,
        height=bottom + BOTTOM,
        bottom=bottom,
    )


def in_words(value: Interval) -> str:
    """A value with its interval, for people."""
    if value["low"] is None or value["high"] is None:
        return score(value["mean"])
    return f"{score(value['mean'])}, 95 % interval {score(value['low'])} to {score(value['high'])}"


def _scale(largest: float) -> tuple[float, float]:
    """Distance of ticks and end of a scale from 0 that holds 1 and `largest`."""
    steps = (base * 10**power for power in count() for base in (0.2, 0.5, 1.0))
    step = next(step for step in steps if largest <= step * _MOST_TICKS)
    return step, max(1.0, step * ceil(round(largest / step, 6)))


def reliability_diagram(bins: Sequence[Mapping[str, Any]]) -> LinePlot:
    """Success by confidence: the nearer to the diagonal, the better a confidence tells success.

    Args:
        bins: at least one, each with answers, mean confidence and share of successes.
    """
    dots = [Dot(across(one["confidence"]), up(one["success"]), _bin_words(one)) for one in bins]
    return _square(
        key="diagram",
        title="Reliability diagram",
        description="Share of answers that succeed, by confidence in ten bins. On the dashed line both are equal; "
        "below it the planner is overconfident.",
        labels=("Mean confidence", "Share that succeeds"),
        dots=dots,
        reference=f"M{across(0)} {up(0)}L{across(1)} {up(1)}",
        reference_words="perfectly calibrated",
    )


def _bin_words(one: Mapping[str, Any]) -> str:
    return f"{one['answers']} answers, mean confidence {score(one['confidence'])}: {score(one['success'])} succeed"


def risk_coverage(curve: Sequence[Sequence[float]]) -> LinePlot:
    """The share of wrong answers among the most confident ones.

    Args:
        curve: coverage and risk of so many most confident answers, at least one.
    """
    whole = curve[-1][1]
    shown = [curve[round(number * (len(curve) - 1) / 10)] for number in range(11)] if len(curve) > 11 else curve
    return _square(
        key="coverage",
        title="Risk and coverage",
        description=f"Share of wrong answers among the most confident ones. All answers together: {score(whole)}, the "
        "dashed line, which a confidence that says nothing follows.",
        labels=("Coverage: share of answers, the most confident first", "Risk: share that is wrong"),
        dots=[
            Dot(across(coverage), up(risk), f"The most confident {coverage:.0%}: {score(risk)} are wrong")
            for coverage, risk in shown
        ],
        line="M" + "L".join(f"{across(coverage)} {up(risk)}" for coverage, risk in curve),
        reference=f"M{across(0)} {up(whole)}L{across(1)} {up(whole)}",
        reference_words="all answers",
    )


def _square(
    *,
    key: str,
    title: str,
    description: str,
    labels: tuple[str, str],
    dots: Sequence[Dot],
    reference: str,
    reference_words: str,
    line: str = "",
) -> LinePlot:
    path = line or "M" + "L".join(f"{dot.x} {dot.y}" for dot in dots)
    return LinePlot(
        key=key, title=title, description=description, x_label=labels[0], y_label=labels[1],
        x_ticks=tuple(Tick(across(value), f"{value:g}") for value in _SHARES),
        y_ticks=tuple(Tick(up(value), f"{value:g}") for value in _SHARES),
        line=path, reference=reference, reference_words=reference_words, dots=tuple(dots),
    )  # fmt: skip
