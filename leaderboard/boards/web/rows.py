"""One row of a board, ready for the templates: every number is a text."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from evaluator.core.suites import base
from evaluator.scoring.metrics.statistics import ends_in_words
from evaluator.scoring.metrics.undecided import ranged
from leaderboard.boards.ranking import tokens_of
from leaderboard.reliability.columns import reliability_facts

DECLARED = "as declared"


class Cell(NamedTuple):
    """One metric of one row."""

    key: str
    value: Mapping[str, Any] | None
    is_primary: bool
    missing: str
    """Why there is no value."""
    scale: tuple[float, float] | None
    tasks: int | None
    """Number of tasks measured, where the coverage of the board does not say it."""


class Fact(NamedTuple):
    """Something else that is known of a row."""

    key: str
    text: str
    """Empty where it is not known."""
    detail: str


class Frame(NamedTuple):
    """What the rows of a table have in common."""

    metrics: tuple[Mapping[str, Any], ...]
    facts: tuple[str, ...]
    primary: str
    scales: Mapping[str, tuple[float, float] | None]
    covered: int
    columns: Sequence[base.Column]


class Row:
    """One row of the table. Pages show most rows as they were rendered before (`{% keptfor %}`), so that what a row
    shows is worked out when it is asked for."""

    def __init__(self, data: Mapping[str, Any], *, frame: Frame) -> None:
        self.data = data
        self._frame = frame

    @property
    def kept_key(self) -> str:
        """The evaluation's id, which tells rows of a table apart."""
        return str(self.data["evaluation"])

    @property
    def finished(self) -> datetime:
        return datetime.fromisoformat(self.data["finished"])

    @property
    def cells(self) -> tuple[Cell, ...]:
        return _cells(self.data, frame=self._frame)

    @property
    def facts(self) -> tuple[Fact, ...]:
        known = facts_of(self.data)
        return tuple(known.get(fact) or Fact(fact, "", "") for fact in self._frame.facts)

    @property
    def rank_is_open(self) -> bool:
        """Whether more than one rank is left open."""
        return bool(self.data["rank_low"] != self.data["rank_high"])

    @property
    def runs(self) -> str:
        """How many runs the planner has, and their spread; empty for a single one."""
        return runs_in_words(self.data.get("runs") or {})


def facts_of(row: Mapping[str, Any]) -> dict[str, Fact]:
    """What is known of a row besides its metrics, in words."""
    usage = row.get("usage") or {}
    tokens = tokens_of(row)
    cost = row.get("cost") or {}
    is_open = row.get("open_weights")
    declared = DECLARED if row.get("declared") else ""
    found = [
        _normalised(row.get("normalised") or {}),
        Fact("strategy", str(row.get("strategy") or ""), ""),
        Fact("model_name", str(row.get("model_name") or ""), declared),
        Fact("parameters", size_in_words(row.get("parameters")), declared),
        Fact("weights", "" if is_open is None else "open" if is_open else "closed", declared),
        Fact("cost", dollars_in_words(cost.get("usd")), f"declared {prices_in_words(cost)}" if cost else ""),
        Fact(
            "tokens",
            "" if tokens is None else f"{tokens:,.0f}",
            "" if tokens is None else f"{usage['prompt_tokens']:,.0f} in, {usage['completion_tokens']:,.0f} out",
        ),
        *(Fact(*one) for one in reliability_facts(row)),
        Fact("seconds", seconds_in_words(usage.get("seconds")), "per task" if "seconds" in usage else ""),
    ]
    return {fact.key: fact for fact in found}


def _normalised(found: Mapping[str, Any]) -> Fact:
    if "mean" not in found:
        return Fact("normalised", "", found.get("missing", ""))
    interval = ends_in_words(low=found["low"], high=found["high"], form=".3f")
    return Fact("normalised", f"{found['mean']:.3f}", interval)


def size_in_words(parameters: int | None) -> str:
    """A number of parameters as it is usually written, such as `7 B`; empty if it is not known."""
    if parameters is None:
        return ""
    for factor, unit in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k")):
        if parameters >= factor:
            return f"{parameters / factor:.3g} {unit}"
    return str(parameters)


def dollars_in_words(usd: float | None) -> str:
    """A cost with up to three digits, however small; empty if it is not known."""
    if usd is None:
        return ""
    if usd == 0:
        return "$0"
    # As many places as three digits need.
    places = max(2, 2 - math.floor(math.log10(abs(usd))))
    whole, _, part = f"{usd:,.{places}f}".partition(".")
    return f"${whole}.{part.rstrip('0').ljust(2, '0')}"


def prices_in_words(cost: Mapping[str, float]) -> str:
    """The declared prices that a cost was worked out from: of a million tokens of prompts and of answers."""
    return f"${cost['prompt_price']:g} / ${cost['completion_price']:g}"


def seconds_in_words(seconds: float | None) -> str:
    """A duration with three digits; empty if it is not known."""
    if seconds is None:
        return ""
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.1f} s"


def _why_missing(metric: Mapping[str, Any]) -> str:
    what = f"the metric {metric['label']}"
    if metric.get("weights"):
        what = f"one of the metrics {', '.join(metric['weights'])}"
    return f"No task with {what} can run under this profile, so there is no value"


def _cells(data: Mapping[str, Any], *, frame: Frame) -> tuple[Cell, ...]:
    found = {column.key: ranged(metrics=data["metrics"], column=column) for column in frame.columns}
    return tuple(
        Cell(
            key=metric["key"],
            value=value,
            is_primary=metric["key"] == frame.primary,
            missing=_why_missing(metric),
            scale=frame.scales.get(metric["key"]),
            tasks=None if (tasks := (value or {}).get("tasks")) == frame.covered else tasks,
        )
        for metric in frame.metrics
        for value in [found[metric["key"]]]
    )


def runs_in_words(runs: Mapping[str, Any]) -> str:
    """How many runs a row has and how far they are apart, such as `latest of 3 runs, sd 0.012 (0.691 to 0.715)`; empty
    for a single one."""
    count = runs.get("count", 1)
    if count < 2:
        return ""
    told = f"mean of {count} runs" if runs["policy"] == "mean" else f"latest of {count} runs"
    if runs["identical"]:
        return f"{count} runs, identical"
    if runs["sd"] is None:
        return told
    return f"{told}, sd {runs['sd']:.3f} ({runs['low']:.3f} to {runs['high']:.3f})"
