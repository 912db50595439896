"""Plots of a reliability profile. No database. The table beside each has the same figures."""

from collections.abc import Mapping, Sequence
from typing import Any

from leaderboard.boards.drawing.dot_plot import Band, Scale, Value, dot_plot
from leaderboard.boards.drawing.picture import Picture
from leaderboard.evaluations.results.figures import score
from leaderboard.evaluations.web.line_plot import Dot, LinePlot, Tick, across, up

_SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)

Interval = Mapping[str, Any]
"""`{"mean", "low", "high", "count"}`; the ends are null over too few tasks."""


def interval_plot(
    *, key: str, title: str, x_label: str, values: Sequence[tuple[str, Interval]], reference: str = ""
) -> Picture | None:
    """Values with whiskers on a scale that holds 0 and 1; None without any.

    Args:
        key: names the picture on its page.
        title: of the picture.
        x_label: of the scale.
        values: label and value of each row.
        reference: what a value of 1 means; empty: no line is drawn there.
    """
    if not values:
        return None
    bands = [
        Band(label, (Value(one["mean"], one["low"], one["high"], f"{label}: {in_words(one)}"),))
        for label, one in values
    ]
    return dot_plot(
        key=key,
        title=title,
        description="One line for each value, with its 95 % interval. The table has the same figures.",
        bands=bands,
        scale=Scale(label=x_label, holds=(0.0, 1.0), baseline=(1.0, reference) if reference else None),
    )


def in_words(value: Interval) -> str:
    """A value with its interval, for people."""
    if value["low"] is None or value["high"] is None:
        return score(value["mean"])
    return f"{score(value['mean'])}, 95 % interval {score(value['low'])} to {score(value['high'])}"


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
