"""What the board pages show, ready for the templates: every number is a text, every bar has its coordinates."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.core.paginator import Page, Paginator

from evaluator.core.suites import base
from evaluator.scoring.metrics.statistics import ends_in_words
from evaluator.scoring.metrics.undecided import ranged
from leaderboard.boards.anchors import Baseline, baseline_of
from leaderboard.boards.contents import BoardContent
from leaderboard.boards.drawing.picture import tenths
from leaderboard.boards.ranking import tokens_of
from leaderboard.boards.selecting import (
    FACTS,
    UNSORTED,
    Selection,
    read_sort,
    select_rows,
    usual_columns,
)
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import primary_metric
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.results.filters import Filter, Sort
from leaderboard.evaluations.visibility import words_of
from leaderboard.platform.lru_cache import Mark, SharedCache
from leaderboard.reliability.columns import RELIABILITY, reliability_facts

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


MOST_NARROW = 5
"""Metrics that fit beside each other on a common screen."""
FACT_LABELS = {
    "normalised": (
        "Normalised",
        "The first metric between doing nothing (0) and gold plans (1), on the same tasks and scenes",
    ),
    "strategy": ("Strategy", "The strategy that makes the plans, if it is one of PlanArena's"),
    "model_name": ("Language model", "The planner's language model"),
    "parameters": ("Model size", "Parameters of the language model: read from its weights, or declared by the owner"),
    "weights": ("Weights", "Whether the language model's weights are openly available"),
    "tokens": ("Tokens", "Mean per task, of prompts and answers together, as reported by the planner"),
    "cost": (
        "Cost",
        "US dollars per task: reported tokens at the prices that the owner declares per million",
    ),
    "seconds": ("Latency", "Mean planner latency per task"),
    **RELIABILITY,
    "tasks": ("Tasks", "Outcomes of the tasks that can run"),
    "finished": ("Finished", ""),
}
_LOWER_FIRST = frozenset({"rank", "planner", "strategy", "model_name", "parameters", "tokens", "cost", "seconds"})


class Column(NamedTuple):
    """One heading."""

    key: str
    label: str
    description: str
    is_metric: bool
    is_primary: bool
    sorted: str
    """`ascending`, `descending` or nothing: the value of `aria-sort`."""
    link: str
    """The `sort` parameter that a click asks for; empty if the column cannot be sorted."""
    scale: tuple[float, float] | None
    """Where the bars of a metric begin and end; None where there are none."""
    direction: str
    """`higher` or `lower`, where the metrics of the suite differ in which is better; else nothing."""

    @property
    def kept_key(self) -> Hashable:
        """All of it, and the ends of the scale as they are written: 0 and 0.0 are equal."""
        return self, str(self.scale)


class ColumnChoice(NamedTuple):
    """A column that may be shown."""

    key: str
    label: str
    shown: bool


class Table(NamedTuple):
    """A page of a board."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    coverage: Mapping[str, int]
    is_wide: bool
    """Whether there are so many columns that the table scrolls beside a planner column that stays."""
    runs_tasks: bool
    """Whether plans or actions are run, and not judged."""
    metrics: tuple[Mapping[str, Any], ...]
    """The shown metrics of the suite, in order."""
    page: Page[Mapping[str, Any]]
    total: int
    """Rows of the board, before filters and pages."""
    filters: tuple[Filter, ...]
    choices: tuple[ColumnChoice, ...]
    usual: tuple[str, ...]
    """Keys of the columns that are shown unless others are chosen."""
    policy: str
    """What a row shows of several runs: `latest` or `mean`."""
    baseline: Baseline | None
    """Drawn in where the metric that the board ranks by is."""
    mark: tuple[Mark, str, tuple[tuple[object, ...], ...]]
    """Stands in cache keys for how a row looks: rows of the board, suite and columns, but neither order nor page."""
    tests: int | None
    """Pairs of rows that were tested for the ranges of ranks; None of all evaluations."""

    @property
    def coverage_words(self) -> str:
        return f"{self.coverage['run']} of {self.coverage['total']} {'run' if self.runs_tasks else 'judged'}"

    @property
    def usual_words(self) -> str:
        """The usual columns as the form sends them."""
        return " ".join(self.usual)

    @property
    def fact_columns(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.key in FACT_LABELS)


def board_table(*, suite: Suite, content: BoardContent, selection: Selection, reader: str = "") -> Table:
    """The page of the board that the selection asks for."""
    keys = [metric["key"] for metric in suite.shown_metrics]
    scales = _scales(content=content, suite=suite)
    found = select_rows(indexed=content.index, selection=selection, metrics=keys, reader=reader)
    page = Paginator(found.rows, selection.per_page).get_page(selection.page)
    usual = usual_columns(facts=content.facts, metrics=keys)
    chosen = _chosen(columns=selection.column, usual=usual, known=(*keys, *FACTS))
    metrics = tuple(metric for metric in suite.shown_metrics if metric["key"] in chosen)
    facts = tuple(fact for fact in FACTS if fact in chosen)
    primary, sort = primary_metric(suite)["key"], read_sort(sort=selection.sort, metrics=keys)
    columns = _columns(metrics=metrics, facts=facts, primary=primary, sort=sort, scales=scales)
    frame = Frame(metrics, facts, primary, scales, content.coverage["run"], suite.shown_columns)
    return Table(
        columns=columns,
        rows=tuple(Row(data, frame=frame) for data in page.object_list),
        coverage=content.coverage,
        is_wide=len(metrics) > MOST_NARROW,
        runs_tasks=suite.runs_experts or suite.in_turns,
        metrics=metrics,
        page=page,
        total=len(content.rows),
        filters=found.filters,
        choices=_choices(suite=suite, known=content.facts, chosen=chosen),
        usual=usual,
        policy=next(((row.get("runs") or {}).get("policy", "latest") for row in content.rows), ""),
        baseline=baseline_of(rows=content.rows, metric=primary),
        mark=(content.mark, suite.digest, tuple((one.key, one.label, one.scale, one.is_primary) for one in columns)),
        tests=next((row.get("rank_tests") for row in content.rows), None),
    )


def first_rows(*, suite: Suite, content: BoardContent, rows: int, metrics: int) -> Table:
    """The first rows and columns of a board, for the start page."""
    columns = [metric["key"] for metric in suite.shown_metrics[:metrics]]
    facts = [fact for fact in usual_columns(facts=content.facts, metrics=()) if fact in {"tasks", "finished"}]
    selection = Selection(column=(*columns, *facts), per_page=rows)
    return board_table(suite=suite, content=content, selection=selection)


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
            "seen": words_of(evaluation.submission),
            "created": evaluation.created.isoformat(timespec="seconds"),
        }
        for evaluation in evaluations
    ]


def _chosen(*, columns: Sequence[str], usual: Sequence[str], known: Sequence[str]) -> frozenset[str]:
    """Unknown columns are ignored; an address without any known one shows the usual."""
    return frozenset(column for column in columns if column in known) or frozenset(usual)


def _choices(*, suite: Suite, known: Sequence[str], chosen: frozenset[str]) -> tuple[ColumnChoice, ...]:
    named = [(metric["key"], metric["label"]) for metric in suite.shown_metrics]
    named += [(fact, FACT_LABELS[fact][0]) for fact in known]
    return tuple(ColumnChoice(key, label, key in chosen) for key, label in named)


_Scales = Mapping[str, tuple[float, float] | None]
_known_scales: SharedCache[tuple[Mark, str], _Scales] = SharedCache(maxsize=100)
"""By the rows of a board and the suite."""


def _scales(*, content: BoardContent, suite: Suite) -> _Scales:
    key = content.mark, suite.digest
    return _known_scales.get_or_make(key, lambda: _make_scales(content=content, columns=suite.shown_columns))


def _make_scales(*, content: BoardContent, columns: Sequence[base.Column]) -> _Scales:
    """Where the bars of each metric begin and end: with room for what undecided tasks leave open."""
    found = dict(content.scales)
    for column in columns:
        if column.undecided and (scale := found.get(column.key)) is not None:
            values = (ranged(metrics=row["metrics"], column=column) or {} for row in content.rows)
            found[column.key] = tenths([*scale, *(value["upper"] for value in values if "upper" in value)])
    return found


def _columns(
    *,
    metrics: Sequence[Mapping[str, Any]],
    facts: Sequence[str],
    primary: str,
    sort: Sort,
    scales: Mapping[str, tuple[float, float] | None],
) -> tuple[Column, ...]:
    directions = _directions(metrics)
    fixed = [("rank", "Rank", "Rank by the first metric; equal means share a rank", False)]
    fixed += [("planner", "Planner", "", False)]
    measured = [(metric["key"], metric["label"], metric["description"], True) for metric in metrics]
    last = [(fact, *FACT_LABELS[fact], False) for fact in facts]
    return tuple(
        Column(
            key=name,
            label=label,
            description=description,
            is_metric=is_metric,
            is_primary=name == primary,
            sorted=sort.direction(name),
            link=""
            if name in UNSORTED
            else sort.link(name, ascends=directions.get(name) == "lower" or name in _LOWER_FIRST),
            scale=scales.get(name),
            direction=directions.get(name, ""),
        )
        for name, label, description, is_metric in [*fixed, *measured, *last]
    )


def _directions(metrics: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The better direction of each metric of quality; empty where more is better in all of them."""
    judging = [metric for metric in metrics if metric["ordered"]]
    found = {metric["key"]: "higher" if metric.get("higher_is_better", True) else "lower" for metric in judging}
    return found if "lower" in found.values() else {}
