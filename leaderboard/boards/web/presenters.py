"""Values of the board pages, ready for the templates: numbers as text, bars with coordinates."""

import math
import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.urls import reverse

from evaluator.core.suites import base
from evaluator.reliability.further_runs import Claim, Verdict
from evaluator.scoring.board_sentences import RankedRow, Sentence, remarks, sentences
from evaluator.scoring.metrics.statistics import ends_in_words
from evaluator.scoring.metrics.undecided import decider_words, ranged, undecided_notes
from leaderboard.boards.anchors import Baseline, baseline_of
from leaderboard.boards.contents import BoardContent
from leaderboard.boards.drawing.forest import Forest, Marks, Reference, Span, forest_of
from leaderboard.boards.drawing.picture import tenths
from leaderboard.boards.ranking import is_anchor_row, ranked_rows, tokens_of
from leaderboard.boards.selecting import (
    FACTS,
    UNSORTED,
    Selection,
    read_sort,
    select_rows,
    usual_columns,
)
from leaderboard.catalog.metric_words import MetricWords, words_of_metric
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import primary_metric
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.results.devices import Device
from leaderboard.evaluations.results.figures import exact_words, tokens_in_words
from leaderboard.evaluations.results.filters import Filter, Sort
from leaderboard.evaluations.visibility import Reader, words_of
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
    """Number of tasks measured, if it differs from the coverage of the board."""
    marks: Marks | None
    """In the forest plot; None in other columns, and without a value."""


class Fact(NamedTuple):
    """A fact of a row besides its metrics."""

    key: str
    text: str
    """Empty if unknown."""
    detail: str


class Frame(NamedTuple):
    """Properties that the rows of a table share."""

    metrics: tuple[Mapping[str, Any], ...]
    facts: tuple[str, ...]
    primary: str
    scales: Mapping[str, tuple[float, float] | None]
    covered: int
    columns: Sequence[base.Column]
    forest: Forest | None
    """In the column of the primary metric; None if no row has a value."""


class Row:
    """One row of the table. Lazy, since pages take most rows from the fragment cache (`{% keptfor %}`)."""

    def __init__(self, data: Mapping[str, Any], *, frame: Frame) -> None:
        self.data = data
        self._frame = frame

    @property
    def kept_key(self) -> str:
        """The evaluation's id, which identifies rows of a table."""
        return str(self.data["evaluation"])

    @property
    def finished(self) -> datetime:
        return datetime.fromisoformat(self.data["finished"])

    @property
    def cells(self) -> tuple[Cell, ...]:
        frame, values = self._frame, self._values
        return tuple(
            Cell(
                key=metric["key"],
                value=value,
                is_primary=metric["key"] == frame.primary,
                missing=_why_missing(metric),
                scale=frame.scales.get(metric["key"]),
                tasks=None if (tasks := (value or {}).get("tasks")) == frame.covered else tasks,
                marks=frame.forest.marks(value) if value and frame.forest and metric["key"] == frame.primary else None,
            )
            for metric in frame.metrics
            for value in [values[metric["key"]]]
        )

    @property
    def _values(self) -> dict[str, dict[str, Any] | None]:
        return {column.key: ranged(metrics=self.data["metrics"], column=column) for column in self._frame.columns}

    @property
    def band(self) -> Span | None:
        """In the forest plot, the means of the rows that cannot be told apart from this one."""
        return None if self._frame.forest is None else self._frame.forest.bands.get(self.kept_key)

    @property
    def tie(self) -> tuple[int, int] | None:
        """The best and the worst rank of these rows."""
        return None if self._frame.forest is None else self._frame.forest.ties.get(self.kept_key)

    @property
    def figures(self) -> list[tuple[str, str]]:
        """Label and exact value of every metric with a value, and who decided."""
        values = self._values
        found = [(column.label, value) for column in self._frame.columns if (value := values[column.key]) is not None]
        deciders = [(f"{label} decided by", words) for label, value in found if (words := decider_words(value))]
        return [(label, "; ".join([exact_words(value), *undecided_notes(value)])) for label, value in found] + deciders

    @property
    def known(self) -> list[tuple[str, list[tuple[str, Fact]]]]:
        """The known facts with their labels by group, whichever columns are shown."""
        facts = facts_of(self.data)
        groups = [
            (group, [(FACT_LABELS[key][0], facts[key]) for key in keys if facts[key].text])
            for group, keys in _GROUPS.items()
        ]
        return [(group, found) for group, found in groups if found]

    @property
    def facts(self) -> tuple[Fact, ...]:
        known = facts_of(self.data)
        return tuple(known.get(fact) or Fact(fact, "", "") for fact in self._frame.facts)

    @property
    def is_anchor(self) -> bool:
        return is_anchor_row(self.data)

    @property
    def rank_is_open(self) -> bool:
        """Whether the paired tests leave more than one rank open."""
        return bool(self.data["rank_low"] != self.data["rank_high"])

    @property
    def runs(self) -> str:
        """The number of runs of the planner and their spread, and what further runs say; empty for a single run of
        which nothing else is known."""
        words = runs_in_words(self.data.get("runs") or {}), asked_in_words(self.data.get("asked") or {})
        return "; ".join(filter(None, words))


def facts_of(row: Mapping[str, Any]) -> dict[str, Fact]:
    """The facts of a row besides its metrics, as text."""
    usage = row.get("usage") or {}
    tokens = tokens_of(row)
    cost = row.get("cost") or {}
    is_open = row.get("open_weights")
    declared = DECLARED if row.get("declared") else ""
    readable = row.get("readable") or {}
    normalised, ends = row.get("normalised") or {}, ""
    if "mean" in normalised:
        ends = ends_in_words(low=normalised["low"], high=normalised["high"], form=".3f")
    facts = [
        Fact(
            "normalised",
            f"{normalised['mean']:.3f}" if "mean" in normalised else "",
            normalised.get("missing", ends),
        ),
        Fact("strategy", str(row.get("strategy") or ""), ""),
        Fact("model_name", str(row.get("model_name") or ""), declared),
        Fact("parameters", size_in_words(row.get("parameters")), declared),
        Fact("weights", "" if is_open is None else "open" if is_open else "closed", declared),
        Fact("cost", dollars_in_words(cost.get("usd")), f"{prices_in_words(cost)}, {DECLARED}" if cost else ""),
        Fact(
            "tokens",
            "" if tokens is None else f"{tokens:,.0f}",
            "" if tokens is None else tokens_in_words(usage),
        ),
        *(Fact(*fact) for fact in reliability_facts(row)),
        Fact(
            "readable",
            f"{100 * readable['mean']:.4g} %" if readable else "",
            f"of {readable['tasks']} replies" if readable else "",
        ),
        Fact("seconds", seconds_in_words(usage.get("seconds")), "per task" if "seconds" in usage else ""),
        Fact("devices", "; ".join(map(str, map(Device.from_json, row.get("devices", ())))), ""),
    ]
    return {fact.key: fact for fact in facts}


def size_in_words(parameters: int | None) -> str:
    """A number of parameters, such as `7 B`; empty if unknown."""
    if parameters is None:
        return ""
    for factor, unit in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k")):
        if parameters >= factor:
            return f"{parameters / factor:.3g} {unit}"
    return str(parameters)


def dollars_in_words(usd: float | None) -> str:
    """A cost with up to three significant digits; empty if unknown."""
    if usd is None:
        return ""
    if usd == 0:
        return "$0"
    # Enough decimals for three significant digits.
    places = max(2, 2 - math.floor(math.log10(abs(usd))))
    whole, _, part = f"{usd:,.{places}f}".partition(".")
    return f"${whole}.{part.rstrip('0').ljust(2, '0')}"


def prices_in_words(cost: Mapping[str, float]) -> str:
    """The prices of a cost, such as `$2.50 in, $0.125 cached, $10.00 out per million`."""
    words = (("prompt_price", "in"), ("cached_price", "cached"), ("completion_price", "out"))
    prices = [f"{dollars_in_words(cost[name])} {word}" for name, word in words if name in cost]
    return f"{', '.join(prices)} per million"


def seconds_in_words(seconds: float | None) -> str:
    """A duration; empty if unknown."""
    if seconds is None:
        return ""
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.1f} s"


def _why_missing(metric: Mapping[str, Any]) -> str:
    if metric.get("is_optional"):
        return "Not measured: this planner has nothing to measure, or no rater was set up or reached when it ran"
    what = f"the metric {metric['label']}"
    if metric.get("weights"):
        what = f"one of the metrics {', '.join(metric['weights'])}"
    return f"No task with {what} can run under this profile, so there is no value"


def asked_in_words(asked: Mapping[str, Any]) -> str:
    """What a row must say of how often its planner was asked; empty where further runs say enough."""
    claim, verdict = Claim(asked.get("claim", "")), asked.get("verdict")
    if verdict == Verdict.ONE_RUN:
        return "asked once, may vary" if claim is Claim.NONE else "asked once, not checked"
    if verdict == Verdict.CONTRADICTED:
        return "varies, declared not to" if claim is Claim.DECLARED else "varies, but does not sample"
    return ""


def runs_in_words(runs: Mapping[str, Any]) -> str:
    """The number of runs of a row and their spread, such as `latest of 3 runs, sd 0.012 (0.691 to 0.715)`; empty for a
    single run."""
    count = runs.get("count", 1)
    if count < 2:
        return ""
    if runs["identical"]:
        return f"{count} runs, identical"
    words = f"mean of {count} runs" if runs["policy"] == "mean" else f"latest of {count} runs"
    if runs["sd"] is None:
        return words
    return f"{words}, sd {runs['sd']:.3f} ({runs['low']:.3f} to {runs['high']:.3f})"


MOST_NARROW = 5
"""Number of metrics that fit on a typical screen."""
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
    "readable": ("Readable", "Share of the planner's replies that could be read as a plan; the others score worst"),
    **RELIABILITY,
    "tasks": ("Tasks", "Outcomes of the tasks that can run"),
    "finished": ("Finished", ""),
    "devices": ("Devices", "On which the experts ran, with the driver and CUDA"),
}
_LOWER_FIRST = frozenset({"rank", "planner", "strategy", "model_name", "parameters", "tokens", "cost", "seconds"})


_GROUPS = {
    "Planner": ("strategy", "model_name", "parameters", "weights"),
    "Cost per task": ("cost", "tokens", "seconds"),
    "Reliability": ("readable", *RELIABILITY),
    "Execution": ("devices",),
}
"""The facts of an unfolded row."""


class Column(NamedTuple):
    key: str
    label: str
    description: str
    is_metric: bool
    is_primary: bool
    sorted: str
    """`ascending`, `descending` or empty: the value of `aria-sort`."""
    link: str
    """The `sort` parameter of its link; empty if the column cannot be sorted."""
    scale: tuple[float, float] | None
    """The range of the metric's bars, or None."""
    direction: str
    """Which values are better, `higher` or `lower`, if the suite has metrics of both kinds; otherwise empty."""
    references: tuple[Reference, ...] = ()
    """The lines of the forest plot, in its column."""
    has_forest: bool = False

    @property
    def kept_key(self) -> Hashable:
        # The scale as text too: 0 and 0.0 are equal but rendered differently.
        return self, str(self.scale)


class ColumnChoice(NamedTuple):
    """An optional column."""

    key: str
    label: str
    shown: bool


class Table(NamedTuple):
    """A page of a board."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    coverage: Mapping[str, int]
    is_wide: bool
    """Whether the table scrolls horizontally, with a sticky planner column."""
    runs_tasks: bool
    """Whether plans or actions are executed instead of judged."""
    metrics: tuple[Mapping[str, Any], ...]
    """The shown metrics of the suite, in order."""
    page: Page[Mapping[str, Any]]
    total: int
    """Rows of the board, before filters and pages."""
    filters: tuple[Filter, ...]
    choices: tuple[ColumnChoice, ...]
    usual: tuple[str, ...]
    """Keys of the default columns."""
    policy: str
    """What a row shows of several runs: `latest` or `mean`."""
    baseline: Baseline | None
    forest: Forest | None
    """Drawn in the column of the primary metric."""
    mark: tuple[Mark, str, tuple[tuple[object, ...], ...]]
    """Cache key of rendered rows: the board's rows, suite and columns, but neither order nor page."""
    tests: int | None
    """Number of pairs of rows tested for the rank ranges; None for all evaluations."""
    leader: Mapping[str, Any] | None
    """The first ranked row of the board, which others are compared with."""

    @property
    def coverage_words(self) -> str:
        return f"{self.coverage['run']} of {self.coverage['total']} {'run' if self.runs_tasks else 'judged'}"

    @property
    def usual_words(self) -> str:
        """The default columns as the form sends them."""
        return " ".join(self.usual)

    @property
    def fact_columns(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.key in FACT_LABELS)


def board_table(*, suite: Suite, content: BoardContent, selection: Selection, reader: str = "") -> Table:
    """The selected page of the board."""
    # A column that no row has a value in is no choice if only some planners have one.
    known = {key for row in content.rows for key in row["metrics"]}
    shown = tuple(own for own in suite.shown_metrics if own["key"] in known or not own.get("is_optional"))
    keys = [metric["key"] for metric in shown]
    scales = _scales(content=content, suite=suite)
    selected = select_rows(indexed=content.index, selection=selection, metrics=keys, reader=reader)
    page = Paginator(selected.rows, selection.per_page).get_page(selection.page)
    usual = usual_columns(facts=content.facts, metrics=shown)
    # Unknown columns are ignored; without any known column, the default ones are shown.
    chosen = frozenset(column for column in selection.column if column in {*keys, *FACTS}) or frozenset(usual)
    metrics = tuple(metric for metric in shown if metric["key"] in chosen)
    facts = tuple(fact for fact in FACTS if fact in chosen)
    primary, sort = primary_metric(suite)["key"], read_sort(sort=selection.sort, metrics=keys)
    words = {column.key: words_of_metric(column) for column in suite.shown_columns}
    forest = _forest(content=content, suite=suite, scale=scales.get(primary))
    columns = _columns(
        metrics=metrics, words=words, facts=facts, primary=primary, sort=sort, scales=scales, forest=forest
    )
    frame = Frame(metrics, facts, primary, scales, content.coverage["run"], suite.shown_columns, forest)
    choices = [(metric["key"], metric["label"]) for metric in shown]
    choices += [(fact, FACT_LABELS[fact][0]) for fact in content.facts]
    return Table(
        columns=columns,
        rows=tuple(Row(data, frame=frame) for data in page.object_list),
        coverage=content.coverage,
        is_wide=len(metrics) > MOST_NARROW,
        runs_tasks=suite.runs_experts or suite.in_turns,
        metrics=metrics,
        page=page,
        total=len(content.rows),
        filters=selected.filters,
        choices=tuple(ColumnChoice(key, label, key in chosen) for key, label in choices),
        usual=usual,
        policy=next(((row.get("runs") or {}).get("policy", "latest") for row in content.rows), ""),
        baseline=baseline_of(rows=content.rows, metric=primary),
        forest=forest,
        leader=_leader(content),
        mark=(content.mark, suite.digest, tuple((c.key, c.label, c.scale, c.is_primary) for c in columns)),
        tests=next((row.get("rank_tests") for row in content.rows), None),
    )


class Part(NamedTuple):
    """A part of a sentence."""

    text: str
    evaluation: str
    """Of the planner that the text names; empty for other texts."""


def answer_of(*, suite: Suite, content: BoardContent) -> list[list[Part]]:
    """The first lines of a board: who leads, by how much, and which ranks cannot be told apart; empty for rows that are
    not one for each planner."""
    if content.summary is None:
        return []
    rows = ranked_rows(rows=content.rows, column=suite.ranking_column)
    return _parts(sentences(summary=content.summary, rows=rows), rows=rows, content=content)


def is_long(answer: Sequence[Sequence[Part]]) -> bool:
    """Whether the first lines of a board are set small, so that the ranking stays on the first screen."""
    return sum(len(part.text) for sentence in answer for part in sentence) > LONG_ANSWER


def remarks_of(*, suite: Suite, content: BoardContent) -> list[list[Part]]:
    """What other metrics, random plans and shortcuts say against the order of a board; empty as for `answer_of`."""
    if content.summary is None:
        return []
    rows = ranked_rows(rows=content.rows, column=suite.ranking_column)
    said = remarks(summary=content.summary, rows=rows, columns=suite.columns)
    return _parts(said, rows=rows, content=content)


def _parts(said: Sequence[Sentence], *, rows: Sequence[RankedRow], content: BoardContent) -> list[list[Part]]:
    evaluations = [row["evaluation"] for row in content.rows if row["rank"] is not None]

    def part(text: str | int) -> Part:
        return Part(typeset(text), "") if isinstance(text, str) else Part(rows[text].name, evaluations[text])

    return [[part(text) for text in sentence] for sentence in said]


class ComparisonLink(NamedTuple):
    """A comparison that a board offers."""

    label: str
    address: str


_COUNTS = {2: "two", 3: "three", 4: "four", 5: "five"}
MOST_COMPARED = 5
LONG_ANSWER = 300
"""Characters from which on the first lines of a board take more than two lines of a wide screen."""


def comparison_links(
    *, suite: Suite, content: BoardContent, own: Collection[str] = (), unpublished: Sequence[Mapping[str, Any]] = ()
) -> tuple[ComparisonLink, ...]:
    """Comparisons of the first ranked rows, and of the reader's best evaluation with the best of others.

    Args:
        suite: of the board.
        content: the board, with one row for each planner.
        own: evaluations on the board that the reader may act on.
        unpublished: the reader's unpublished evaluations under the same conditions (`standing.unpublished_rows`).
    """
    ranked = [row for row in content.rows if row["rank"] is not None]
    links = []
    top = [row["evaluation"] for row in ranked[:MOST_COMPARED]]
    if len(top) > 1:
        links.append(ComparisonLink(f"Compare the top {_COUNTS[len(top)]}", _comparison(top)))
    column = suite.ranking_column
    mine = [(row["metrics"][column.key]["mean"], row["evaluation"]) for row in ranked if row["evaluation"] in own]
    mine += [(row["value"]["mean"], row["id"]) for row in unpublished if row["value"]]
    others = [row["evaluation"] for row in ranked if row["evaluation"] not in own]
    if mine and others:
        _, best = (max if column.higher_is_better else min)(mine, key=lambda pair: pair[0])
        leads = best == ranked[0]["evaluation"]
        label = "Compare mine with the next best" if leads else "Compare mine with the best"
        links.append(ComparisonLink(label, _comparison([best, others[0]])))
    return tuple(links)


def _comparison(evaluations: Sequence[str]) -> str:
    return f"{reverse('compare:compare')}?{urlencode([('e', evaluation) for evaluation in evaluations])}"


_UNBROKEN = re.compile(r"(?<=p) (?=[<=])|(?<=[<=]) (?=\.?\d)|(?<=\d) (?=%)")
"""Spaces inside `p < .001` and `95 %`."""
_MINUS = re.compile(r"(?<![^ (])-(?=\d)")
"""Hyphens before numbers."""


def typeset(text: str) -> str:
    """A sentence with minus signs, and with p-values and percentages that stay on one line."""
    return _MINUS.sub("\N{MINUS SIGN}", _UNBROKEN.sub("\N{NO-BREAK SPACE}", text))


def progress_rows(evaluations: Iterable[Evaluation], *, reader: Reader) -> list[dict[str, Any]]:
    """Unranked evaluations as JSON values, since they are part of the page's ETag."""
    return [
        {
            "id": str(evaluation.pk),
            "planner": evaluation.submission.planner.name,
            "owner": evaluation.submission.planner.owner.username,
            "state": evaluation.state,
            "label": _state(evaluation, reader=reader),
            "reason": evaluation.reason_text,
            "seen": words_of(evaluation.submission),
            "created": evaluation.created.isoformat(timespec="seconds"),
        }
        for evaluation in evaluations
    ]


def _state(evaluation: Evaluation, *, reader: Reader) -> str:
    if evaluation.state == EvaluationState.ON_HOLD and evaluation.submission.planner.owner_id == reader.pk:
        return "Waiting for you"
    return evaluation.get_state_display()


_Scales = Mapping[str, tuple[float, float] | None]
_known_scales: SharedCache[tuple[Mark, str], _Scales] = SharedCache(maxsize=100)
"""By the rows of a board and the suite."""


def _scales(*, content: BoardContent, suite: Suite) -> _Scales:
    """The range of each metric's bars: 0 to 1 for shares and scores, so that bars compare across columns; otherwise the
    range of the values, including the upper ends of undecided ones."""

    def make() -> _Scales:
        scales = dict(content.scales)
        for column in suite.shown_columns:
            if (column.low, column.high) == (0.0, 1.0):
                scales[column.key] = (0.0, 1.0) if scales.get(column.key) else None
            elif column.undecided and (scale := scales.get(column.key)) is not None:
                values = (ranged(metrics=row["metrics"], column=column) or {} for row in content.rows)
                scales[column.key] = tenths([*scale, *(value["upper"] for value in values if "upper" in value)])
        return scales

    return _known_scales.get_or_make((content.mark, suite.digest), make)


_forests: SharedCache[tuple[Mark, str], Forest] = SharedCache(maxsize=100)
"""By the rows of a board and the suite."""


def _forest(*, content: BoardContent, suite: Suite, scale: tuple[float, float] | None) -> Forest | None:
    if scale is None:
        return None

    def make() -> Forest:
        column = suite.ranking_column
        return forest_of(rows=content.rows, summary=content.summary, column=column, scale=scale)

    return _forests.get_or_make((content.mark, suite.digest), make)


def _leader(content: BoardContent) -> Mapping[str, Any] | None:
    return next((row for row in content.rows if row["rank"] is not None), None)


def _columns(
    *,
    metrics: Sequence[Mapping[str, Any]],
    words: Mapping[str, MetricWords],
    facts: Sequence[str],
    primary: str,
    sort: Sort,
    scales: Mapping[str, tuple[float, float] | None],
    forest: Forest | None,
) -> tuple[Column, ...]:
    # The better direction of each quality metric; empty if higher is better in all of them.
    judged = [metric for metric in metrics if metric["ordered"]]
    directions = {m["key"]: "higher" if m.get("higher_is_better", True) else "lower" for m in judged}
    if "lower" not in directions.values():
        directions = {}
    fixed = [("rank", "Rank", "Rank by the first metric; equal means share a rank", False)]
    fixed += [("planner", "Planner", "", False)]
    measured = [(metric["key"], metric["label"], words[metric["key"]].tooltip, True) for metric in metrics]
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
            references=forest.references if forest and name == primary else (),
            has_forest=forest is not None and name == primary,
        )
        for name, label, description, is_metric in [*fixed, *measured, *last]
    )
