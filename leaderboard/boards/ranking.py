"""Ranking of evaluations, without a database.

A snapshot's content is `{"rows": [row, ...], "coverage": {"run": int, "total": int}, "summary": {...}}`;
the summary is a `BoardSummary` of `evaluator.core.signatures.statements`. A row is::

    {"rank": 1, "rank_low": 1, "rank_high": 2, "rank_tests": 190,
     "planner": "gold", "kind": "bundled", "owner": "ada",
     "evaluation": "6d0c...", "finished": "2026-11-20T10:00:00+00:00", "samples": 8,
     "metrics": {"overall": {"mean": 0.71, "low": 0.65, "high": 0.77, "tasks": 30}},
     "outcomes": {"scored": 30, "not_run": 155},
     "normalised": {"mean": 0.84, "low": 0.8, "high": 0.88, "tasks": 30, "gold": "0c1a...", "no_op": "99ab..."},
     "runs": {"policy": "latest", "count": 3, "sd": 0.01, "low": 0.7, "high": 0.72, "identical": false},
     "version": "3f2a9c1",                           (only if the submitter named one)
     "team": "Plan Lab",                             (only if it was submitted for a team)
     "strategy": "controlllm/adaptive",              (only of planners that come with PlanArena)
     "usage": {"seconds": 1.4, "prompt_tokens": 812.0, "completion_tokens": 64.0,
               "cached_tokens": 640.0},                                                (what is known, per task)
     "model_name": "Qwen3-8B", "parameters": 8190735360, "open_weights": true,      (of the language model, if known)
     "roles": {"decompose": "org/decomposer"},        (models of the strategy's roles that do not use that one, if any)
     "readable": {"mean": 0.95, "low": 0.9, "high": 0.98, "tasks": 120},        (of replies, if known)
     "cost": {"usd": 0.00012, "prompt_price": 0.05, "completion_price": 0.2,
              "cached_price": 0.01},                (US dollars per task, if known; the last only if it is declared)
     "reliability": {"consistency": {"mean": 0.9, "low": 0.8, "high": 1.0}, ...},   (only of planners with a profile)
     "devices": [{"kind": "cuda", "name": "NVIDIA H100", "driver": "570.86.15", "cuda": "12.8"}],   (of the experts, if
                                                                                            workers named theirs)
     "asked": {"claim": "declared", "verdict": "deterministic", "runs": 2, "tasks": 8, "differing": 0},
     "uncertainty": {"runs": 0.011, "asked": 30, "times": 3, "requests": 0.045, "scenes": null, "judge": 0.03,
                     "flips": {"mean": 0.12, "low": 0.05, "high": 0.24}, "passes": {...}},
     "declared": true}                               (only if the planner's owner declared the model facts and prices)

`rank` is the standard competition rank by the primary metric (1, 2, 2, 4): equal means share a rank. Anchors
(`evaluator.scoring.board_table.ANCHORS`) have their place in the order, no rank, and take no part in tests. `rank_low`
and `rank_high` are the ends of the range that paired tests (`evaluator.scoring.metrics.paired`) cannot rule out:
`rank_low` is 1 plus the number of rows that are significantly better, `rank_high` the number of ranked rows less those
that are significantly worse, by Holm's method at 5 % over the `rank_tests` pairs of the board that can be tested. Rows
without the primary metric come last, and their ranks are null. Rows with too few tasks or scenes (`crossed.are_enough`)
are not tested: their `rank_low` and `rank_high` are null, as are `low` and `high` of the metric, and they do not narrow
the ranges of others.

`normalised`, where plans are executed, is the primary score on a scale from the board's row of `no-op` (0) to that of
`gold` (1), with its interval; `{"missing": "a sentence"}` if either row is missing.

`runs` summarises the published runs of the same planner under the board's conditions: a row shows the latest (policy
`latest`), or the mean of all (`mean`, with their ids in `evaluations`), never the best. `sd`, `low` and `high` are
the standard deviation and the range of the runs' primary means; they and `identical` are absent for a single run.

`asked` says how often the planner was asked for the same requests, and what that shows
(`evaluator.reliability.further_runs`); it is absent in rows from before planners were asked again. A row with the
verdict `one_run` has one run of a planner that may vary; on a fixed list it is not tested, and has no range.

`uncertainty` has the margins of the primary metric (`evaluator.scoring.uncertainty`).

A metric that no task measured is left out of `metrics`, or null. Only rows measured on the owner's self-hosted worker
and verified by a worker of this site have `"run_by_owner": true`, only plans of another harness `"imported": true`, and
only stored plans that were scored again `"regraded": true`.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from evaluator.core.suites.base import EXACT, Column, IntervalMethod
from evaluator.scoring.board_agreement import RowFigures
from evaluator.scoring.board_sentences import RankedRow
from evaluator.scoring.board_table import is_anchor
from evaluator.scoring.metrics.paired import RankRange
from evaluator.scoring.metrics.undecided import ranged
from evaluator.scoring.uncertainty import in_sentences
from leaderboard.evaluations.results.filters import sort_by
from leaderboard.reliability.columns import RELIABILITY, reliability_of


class MetricValue(NamedTuple):
    """One metric of one evaluation with its 95 % interval, in the metric's own unit."""

    mean: float
    low: float | None = None
    high: float | None = None
    tasks: int | None = None
    """Number of tasks measured."""


class Runs(NamedTuple):
    """The published runs of one version of a planner on a board, in the board's primary metric."""

    policy: str = "latest"
    """What the row shows: the `latest` run, or the `mean` of all."""
    count: int = 1  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    sd: float | None = None
    """Standard deviation of the runs' means; None for fewer than two."""
    low: float | None = None
    """Lowest mean; None if no run was measured."""
    high: float | None = None
    identical: bool = False
    """Whether all figures of all runs are equal, as for a deterministic planner."""
    evaluations: tuple[str, ...] = ()
    """The runs that the row averages; empty if it shows a single run."""


class Prices(NamedTuple):
    """US dollars per million tokens."""

    prompt: float
    completion: float
    cached: float | None = None
    """Of prompt tokens that were read from a cache; None: as others."""

    @classmethod
    def of(cls, *, prompt: float | None, completion: float | None, cached: float | None) -> "Prices | None":
        """None unless the first two are declared."""
        return None if prompt is None or completion is None else cls(prompt, completion, cached)


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
    version: str = ""
    """Version of the planner as its submitter named it, or empty."""
    team: str = ""
    """Name of the team it was submitted for, or empty."""
    devices: tuple[Mapping[str, str], ...] = ()
    """On which its experts ran, as `Device.to_json` gives them; empty if unknown."""
    run_by_owner: bool = False
    """Measured on its owner's self-hosted worker, and verified."""
    imported: bool = False
    """Its plans are those of another harness's run."""
    regraded: bool = False
    """Stored plans were scored again, and the planner was not asked."""
    roles: Mapping[str, str] = MappingProxyType({})
    """Models of the strategy's roles that do not use the planner's, by role."""
    strategy: str = ""
    """The bundled strategy, optionally with its model after a colon; empty if unknown."""
    usage: Mapping[str, float] = MappingProxyType({})
    """Means per task: `seconds`, `prompt_tokens`, `completion_tokens`, `cached_tokens`, as far as known."""
    readable: Mapping[str, Any] = MappingProxyType({})
    """Share of the replies that could be read, as in the row; empty if unknown, and for suites in turns."""
    model_name: str = ""
    """The language model; empty if unknown."""
    parameters: int | None = None
    """Number of the language model's parameters, with those of the models of roles."""
    open_weights: bool | None = None
    """Whether the weights of the language model, and of the models of roles, are public."""
    prices: Prices | None = None
    """If the owner declared them, and no role has a model of its own, whose tokens cost something else."""
    declared: bool = False
    """Whether the owner declared the model facts and prices; otherwise they were read from the model."""
    runs: Runs | None = None
    """None in rows that predate run counts."""
    normalised: Mapping[str, Any] | None = None
    """As in the row; None where plans are not executed."""
    reliability: Mapping[str, Any] = MappingProxyType({})
    """As in the row; empty without a profile."""
    uncertainty: Mapping[str, Any] | None = None
    """As in the row; None on boards from before planners were asked again, and without the primary metric."""
    asked: Mapping[str, Any] = MappingProxyType({})
    """As in the row; empty if it was evaluated before planners were asked again."""

    @property
    def is_anchor(self) -> bool:
        """Whether it is a reference line without a rank."""
        return is_anchor(kind=self.kind, strategy=self.strategy)


class RankedEntry(NamedTuple):
    entry: Entry
    rank: int | None
    rank_low: int | None
    rank_high: int | None


def rank_entries(
    *,
    entries: Sequence[Entry],
    metric: str,
    higher_is_better: bool = True,
    ranges: Mapping[str, RankRange] = MappingProxyType({}),
) -> list[RankedEntry]:
    """Entries in board order: by `metric`, ties by finishing time and id, entries without the metric last. Anchors have
    their place in this order, and no rank.

    Args:
        ranges: of ranks by paired tests, by evaluation.
    """
    sign = 1 if higher_is_better else -1
    measured = [(sign * entry.metrics[metric].mean, entry) for entry in entries if metric in entry.metrics]
    measured.sort(key=lambda pair: (-pair[0], pair[1].finished, pair[1].evaluation))
    means = sorted(mean for mean, entry in measured if not entry.is_anchor)
    ranked = []
    for mean, entry in measured:
        span = ranges.get(entry.evaluation)
        ranked.append(
            RankedEntry(
                entry=entry,
                rank=None if entry.is_anchor else 1 + len(means) - bisect_right(means, mean),
                rank_low=None if span is None else span.low,
                rank_high=None if span is None else span.high,
            )
        )
    unmeasured = sorted(
        (entry for entry in entries if metric not in entry.metrics),
        key=lambda entry: (entry.finished, entry.evaluation),
    )
    return ranked + [RankedEntry(entry=entry, rank=None, rank_low=None, rank_high=None) for entry in unmeasured]


def ranked_rows(*, rows: Sequence[Mapping[str, Any]], column: Column) -> list[RankedRow]:
    """The rows of a snapshot that have a rank, as the sentences of its board take them.

    Args:
        column: by which the board ranks.
    """
    ranked = []
    for row in rows:
        if row["rank"] is None:
            continue
        value = ranged(metrics=row["metrics"], column=column) or row["metrics"][column.key]
        ranked.append(
            RankedRow(
                name=row["planner"],
                rank=row["rank"],
                mean=value["mean"],
                low=value["low"],
                high=value["high"],
                upper=value.get("upper"),
                exact=(row["metrics"].get(EXACT) or {}).get("mean"),
            )
        )
    return ranked


def figures_of(ranked: RankedEntry) -> RowFigures:
    """A row as `evaluator.scoring.board_agreement` reads it."""
    entry = ranked.entry
    return RowFigures(
        evaluation=entry.evaluation,
        finished=datetime.fromisoformat(entry.finished),
        rank=ranked.rank,
        strategy=entry.strategy,
        means={key: value.mean for key, value in entry.metrics.items()},
    )


def ranked_means(*, entries: Sequence[Entry], metric: str, higher_is_better: bool = True) -> dict[str, float]:
    """The means of the ranked entries by evaluation, in the order of their ranks."""
    ranked = rank_entries(entries=entries, metric=metric, higher_is_better=higher_is_better)
    return {row.entry.evaluation: row.entry.metrics[metric].mean for row in ranked if row.rank is not None}


def read_metrics(summary: Mapping[str, Any]) -> dict[str, MetricValue]:
    """The metrics of an evaluation's summary that have a mean."""
    return {
        key: MetricValue(float(value["mean"]), value.get("low"), value.get("high"), value.get("tasks"))
        for key, value in (summary.get("metrics") or {}).items()
        if value and value.get("mean") is not None
    }


def runs_of(entry: Entry) -> tuple[str, ...]:
    """The evaluations that an entry averages: usually itself alone."""
    return (entry.runs and entry.runs.evaluations) or (entry.evaluation,)


def read_runs(row: Mapping[str, Any]) -> Runs | None:
    """The runs of a row of a snapshot."""
    runs = row.get("runs")
    return None if runs is None else Runs(**{**runs, "evaluations": tuple(runs.get("evaluations", ()))})


def to_row(ranked: RankedEntry, *, tests: int | None = None) -> dict[str, Any]:
    """The row of a snapshot, as described in the module docstring. `tests` is the number of pairs tested on the board,
    or None if ranks are not tested."""
    entry = ranked.entry
    return {
        "rank": ranked.rank,
        "rank_low": ranked.rank_low,
        "rank_high": ranked.rank_high,
        **({} if tests is None else {"rank_tests": tests}),
        "planner": entry.planner,
        "kind": entry.kind,
        "owner": entry.owner,
        "evaluation": entry.evaluation,
        "finished": entry.finished,
        "samples": entry.samples,
        "metrics": {key: value._asdict() for key, value in entry.metrics.items()},
        "outcomes": dict(entry.outcomes),
        # Empty fields are left out, so that boards without versions and teams keep their digests.
        **({"version": entry.version} if entry.version else {}),
        **({"team": entry.team} if entry.team else {}),
        **({"run_by_owner": True} if entry.run_by_owner else {}),
        **({"imported": True} if entry.imported else {}),
        **({"regraded": True} if entry.regraded else {}),
        **({"devices": [dict(device) for device in entry.devices]} if entry.devices else {}),
        **({"normalised": dict(entry.normalised)} if entry.normalised else {}),
        **({"runs": _runs(entry.runs)} if entry.runs else {}),
        **({"reliability": dict(entry.reliability)} if entry.reliability else {}),
        **({"asked": dict(entry.asked)} if entry.asked else {}),
        **({"uncertainty": dict(entry.uncertainty)} if entry.uncertainty else {}),
        **_facts(entry),
    }


def _runs(runs: Runs) -> dict[str, Any]:
    spread = {"sd": runs.sd, "low": runs.low, "high": runs.high, "identical": runs.identical}
    return {
        "policy": runs.policy,
        "count": runs.count,
        **(spread if runs.count > 1 else {}),
        **({"evaluations": list(runs.evaluations)} if runs.evaluations else {}),
    }


def _facts(entry: Entry) -> dict[str, Any]:
    """What is known of the planner and its model, with the cost per task at the declared prices."""
    usage, cost = entry.usage, None
    if entry.prices is not None and (usd := usd_per_task(usage=usage, prices=entry.prices)) is not None:
        cost = {"usd": usd, "prompt_price": entry.prices.prompt, "completion_price": entry.prices.completion}
        if entry.prices.cached is not None:
            cost["cached_price"] = entry.prices.cached
    facts = {
        "strategy": entry.strategy or None,
        "usage": dict(usage) or None,
        "readable": dict(entry.readable) or None,
        "model_name": entry.model_name or None,
        "parameters": entry.parameters,
        "open_weights": entry.open_weights,
        "roles": dict(entry.roles) or None,
        "cost": cost,
    }
    known = {name: fact for name, fact in facts.items() if fact is not None}
    declared = known.keys() & {"model_name", "parameters", "open_weights", "cost"}
    return {**known, "declared": True} if entry.declared and declared else known


def usd_per_task(*, usage: Mapping[str, float], prices: Prices) -> float | None:
    """US dollars per task to nine decimals; None unless both numbers of tokens are known.

    Args:
        usage: means per task, as in `Entry`.
        prices: as declared.
    """
    if not usage.keys() >= {"prompt_tokens", "completion_tokens"}:
        return None
    cached = 0.0 if prices.cached is None else usage.get("cached_tokens", 0.0)
    prompt = (usage["prompt_tokens"] - cached) * prices.prompt + cached * (prices.cached or 0.0)
    return round((prompt + usage["completion_tokens"] * prices.completion) / 1_000_000, 9)


def tokens_of(row: Mapping[str, Any]) -> float | None:
    """Prompt and completion tokens per task; None unless both are known."""
    usage = row.get("usage") or {}
    if "prompt_tokens" not in usage or "completion_tokens" not in usage:
        return None
    return float(usage["prompt_tokens"] + usage["completion_tokens"])


def cost_of(row: Mapping[str, Any]) -> float | None:
    """US dollars per task; None if unknown."""
    return (row.get("cost") or {}).get("usd")


def value_of(row: Mapping[str, Any], key: str) -> Any:
    """The sort value of a row: a metric's mean, or a fact. None if the row has none."""
    if key in {"planner", "owner", "strategy", "model_name", "kind"}:
        return str(row.get(key) or "").casefold() or None
    if key in {"rank", "finished", "parameters"}:
        return row.get(key)
    if key == "tokens":
        return tokens_of(row)
    if key == "cost":
        return cost_of(row)
    if key == "readable":
        return (row.get("readable") or {}).get("mean")
    if key == "normalised":
        return (row.get("normalised") or {}).get("mean")
    if key == "seconds":
        return (row.get("usage") or {}).get("seconds")
    if key in RELIABILITY:
        return (reliability_of(row, key) or {}).get("mean")
    return (row["metrics"].get(key) or {}).get("mean")


def sort_rows(*, rows: Sequence[Mapping[str, Any]], key: str, descending: bool) -> list[Mapping[str, Any]]:
    """Rows ordered by a metric or another key of `value_of`; rows without a value always last.

    Args:
        rows: in board order, which is the order by `rank`: anchors keep their place in it.
    """
    if key == "rank":
        placed = [row for row in rows if row["rank"] is not None or is_anchor_row(row)]
        unmeasured = [row for row in rows if row["rank"] is None and not is_anchor_row(row)]
        return [*(reversed(placed) if descending else placed), *unmeasured]
    return sort_by(rows=rows, key=lambda row: value_of(row, key), descending=descending)


def is_anchor_row(row: Mapping[str, Any]) -> bool:
    """Whether a row of a snapshot is a reference line without a rank."""
    return is_anchor(kind=row["kind"], strategy=row.get("strategy") or "")


def margins_in_words(
    *, rows: Sequence[Mapping[str, Any]], evaluation: str, column: Column, has_present_judge: bool
) -> list[str]:
    """What the score of a row depends on, as sentences; empty without such a row, and on boards from before planners
    were asked again.

    Args:
        rows: of a snapshot.
        evaluation: that the row names.
        column: by which the board ranks.
        has_present_judge: whether the rules of the board are those of this release, whose judge's errors are measured.
    """
    row = next((row for row in rows if row["evaluation"] == evaluation), None)
    if row is None or not row.get("uncertainty"):
        return []
    value = ranged(metrics=row["metrics"], column=column) or {}
    return in_sentences(
        row["uncertainty"],
        is_fixed=column.interval is IntervalMethod.FIXED_TASKS,
        by_network=value.get("decided_by", {}).get("network", 0.0) if has_present_judge else 0.0,
    )
