"""Ranking of evaluations, without a database.

A snapshot's content is `{"rows": [row, ...], "coverage": {"run": int, "total": int}}`. A row is::

    {"rank": 1, "rank_low": 1, "rank_high": 2,
     "planner": "gold", "kind": "bundled", "owner": "ada",
     "evaluation": "6d0c...", "finished": "2026-11-20T10:00:00+00:00", "samples": 8,
     "metrics": {"overall": {"mean": 0.71, "low": 0.65, "high": 0.77, "tasks": 30}},
     "outcomes": {"scored": 30, "not_run": 155},
     "team": "Plan Lab",                             (only if it was submitted for a team)
     "strategy": "controlllm/adaptive",              (only of planners that come with PlanArena)
     "usage": {"seconds": 1.4, "prompt_tokens": 812.0, "completion_tokens": 64.0},     (what is known, per task)
     "model_name": "Qwen3-8B", "parameters": 8190735360, "open_weights": true,      (of the language model, if known)
     "cost": {"usd": 0.00012, "prompt_price": 0.05, "completion_price": 0.2},       (US dollars per task, if known)
     "declared": true}                               (only if the five facts before are what the planner's owner says)

`rank` is the standard competition rank by the primary metric (1, 2, 2, 4): equal means share a rank. `rank_low` and
`rank_high` are the ranks that the 95 % intervals leave open: a row is certainly worse than another only if the other's
interval is wholly better. All three are null for a row without the primary metric; such rows come last. `low` and
`high` of a metric are null over fewer than ten tasks: a row without an interval of the primary metric certainly lies
neither above nor below any other, and its `rank_low` and `rank_high` are null.
A metric that no task measured is left out of `metrics`, or null. `"run_by_owner": true` stands in the rows, and only in
those, that the planner's owner measured with a worker of their own and a worker of this site has verified.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from math import inf, isfinite
from types import MappingProxyType
from typing import Any, NamedTuple

from leaderboard.results.filters import sort_by

_MILLION = 1_000_000


class MetricValue(NamedTuple):
    """One metric of one evaluation with its 95 % interval, in the metric's own unit."""

    mean: float
    low: float | None = None
    high: float | None = None
    tasks: int | None = None
    """Number of tasks that it was measured on."""


class Entry(NamedTuple):
    """One evaluation that may be ranked."""

    planner: str
    kind: str
    owner: str
    evaluation: str
    metrics: Mapping[str, MetricValue]
    outcomes: Mapping[str, int]
    finished: str
    """ISO 8601 with offset."""
    samples: int
    team: str = ""
    """Name of the team that it was submitted for, if it was for one."""
    run_by_owner: bool = False
    """Measured by its owner's own worker, and verified."""
    strategy: str = ""
    """The bundled strategy, perhaps with its model after a colon; empty if it is not known."""
    usage: Mapping[str, float] = MappingProxyType({})
    """Means per task of what the planner took: `seconds`, `prompt_tokens`, `completion_tokens`, if known."""
    model_name: str = ""
    """The language model; empty if it is not known."""
    parameters: int | None = None
    """Number of the language model's parameters."""
    open_weights: bool | None = None
    """Whether the language model's weights are public."""
    prices: tuple[float, float] | None = None
    """US dollars for a million tokens of prompts and of answers, if the owner declared both."""
    declared: bool = False
    """Whether the owner declared the four facts before; else they were read from the model itself."""


class RankedEntry(NamedTuple):
    """An entry and its place."""

    entry: Entry
    rank: int | None
    rank_low: int | None
    rank_high: int | None


def rank_entries(*, entries: Sequence[Entry], metric: str, higher_is_better: bool = True) -> list[RankedEntry]:
    """Entries in the order of the board: by `metric`, ties by finishing time and id, those without it last."""
    measured = [(_span(entry.metrics[metric], higher_is_better), entry) for entry in entries if metric in entry.metrics]
    measured.sort(key=lambda pair: (-pair[0].mean, pair[1].finished, pair[1].evaluation))
    lows = sorted(span.low for span, _ in measured)
    means = sorted(span.mean for span, _ in measured)
    highs = sorted(span.high for span, _ in measured)
    ranked = [
        RankedEntry(
            entry=entry,
            rank=1 + len(means) - bisect_right(means, span.mean),
            rank_low=1 + len(lows) - bisect_right(lows, span.high) if span.is_known else None,
            rank_high=len(highs) - bisect_left(highs, span.low) if span.is_known else None,
        )
        for span, entry in measured
    ]
    unmeasured = sorted(
        (entry for entry in entries if metric not in entry.metrics),
        key=lambda entry: (entry.finished, entry.evaluation),
    )
    return ranked + [RankedEntry(entry=entry, rank=None, rank_low=None, rank_high=None) for entry in unmeasured]


def best_per_planner(*, entries: Sequence[Entry], metric: str, higher_is_better: bool = True) -> list[Entry]:
    """The best entry of each planner (owner and name); of equal ones the earliest."""
    best: dict[tuple[str, str], Entry] = {}
    for ranked in rank_entries(entries=entries, metric=metric, higher_is_better=higher_is_better):
        best.setdefault((ranked.entry.owner, ranked.entry.planner), ranked.entry)
    return list(best.values())


def read_metrics(summary: Mapping[str, Any]) -> dict[str, MetricValue]:
    """The metrics of an evaluation's summary; those that nothing measured are left out."""
    read = {}
    for key, value in (summary.get("metrics") or {}).items():
        if value and value.get("mean") is not None:
            read[key] = MetricValue(
                mean=float(value["mean"]), low=value.get("low"), high=value.get("high"), tasks=value.get("tasks")
            )
    return read


def to_row(ranked: RankedEntry) -> dict[str, Any]:
    """The row of a snapshot, as the module's docstring describes it."""
    entry = ranked.entry
    return {
        "rank": ranked.rank,
        "rank_low": ranked.rank_low,
        "rank_high": ranked.rank_high,
        "planner": entry.planner,
        "kind": entry.kind,
        "owner": entry.owner,
        "evaluation": entry.evaluation,
        "finished": entry.finished,
        "samples": entry.samples,
        "metrics": {key: value._asdict() for key, value in entry.metrics.items()},
        "outcomes": dict(entry.outcomes),
        # Left out where there is none, so that boards without teams keep their digests.
        **({"team": entry.team} if entry.team else {}),
        **({"run_by_owner": True} if entry.run_by_owner else {}),
        **_known(entry),
    }


def _known(entry: Entry) -> dict[str, Any]:
    facts = {
        "strategy": entry.strategy or None,
        "usage": dict(entry.usage) or None,
        "model_name": entry.model_name or None,
        "parameters": entry.parameters,
        "open_weights": entry.open_weights,
        "cost": _cost(entry),
    }
    known = {name: fact for name, fact in facts.items() if fact is not None}
    declared = known.keys() & {"model_name", "parameters", "open_weights", "cost"}
    return {**known, "declared": True} if entry.declared and declared else known


def _cost(entry: Entry) -> dict[str, float] | None:
    """The cost of a task at the declared prices; None unless the planner reported tokens of prompts and answers."""
    usage = entry.usage
    if entry.prices is None or "prompt_tokens" not in usage or "completion_tokens" not in usage:
        return None
    prompt, completion = entry.prices
    usd = (usage["prompt_tokens"] * prompt + usage["completion_tokens"] * completion) / _MILLION
    return {"usd": round(usd, 9), "prompt_price": prompt, "completion_price": completion}


def tokens_of(row: Mapping[str, Any]) -> float | None:
    """Tokens per task, of prompts and answers together; None unless both are known."""
    usage = row.get("usage") or {}
    if "prompt_tokens" not in usage or "completion_tokens" not in usage:
        return None
    return float(usage["prompt_tokens"] + usage["completion_tokens"])


def cost_of(row: Mapping[str, Any]) -> float | None:
    """US dollars per task; None if it is not known."""
    cost = row.get("cost") or {}
    return cost.get("usd")


def value_of(row: Mapping[str, Any], key: str) -> Any:
    """What rows are sorted by: a metric's mean, or a fact of the row. None if the row has none."""
    if key in {"planner", "owner", "strategy", "model_name", "kind"}:
        return str(row.get(key) or "").casefold() or None
    if key in {"rank", "finished", "parameters"}:
        return row.get(key)
    if key == "tokens":
        return tokens_of(row)
    if key == "cost":
        return cost_of(row)
    if key == "seconds":
        return (row.get("usage") or {}).get("seconds")
    return (row["metrics"].get(key) or {}).get("mean")


def sort_rows(*, rows: Sequence[Mapping[str, Any]], key: str, descending: bool) -> list[Mapping[str, Any]]:
    """Rows ordered by a metric or another key of `value_of`; rows without a value always last."""
    return sort_by(rows=rows, key=lambda row: value_of(row, key), descending=descending)


class _Span(NamedTuple):
    """Mean and interval on an axis on which more is better. Without an interval anything is possible."""

    low: float
    mean: float
    high: float

    @property
    def is_known(self) -> bool:
        return isfinite(self.low) and isfinite(self.high)


def _span(value: MetricValue, higher_is_better: bool) -> _Span:
    low = -inf if value.low is None else value.low
    high = inf if value.high is None else value.high
    return _Span(low, value.mean, high) if higher_is_better else _Span(-high, -value.mean, -low)
