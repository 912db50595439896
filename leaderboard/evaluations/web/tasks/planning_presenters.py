"""The judged plan and the planner's notes on the page of a task."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from evaluator.core.records import Outcome, ResultRecord, TextPair
from evaluator.core.suites.base import EXACT, Column, Defect, IntervalMethod, Panel, StepProblem
from evaluator.core.suites.base import Suite as LibrarySuite
from evaluator.core.suites.base import Task as LibraryTask
from evaluator.scoring.arbiters.network import shipped_network
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.results.figures import Mark, arbiter_words, marks
from leaderboard.evaluations.results.filters import in_words
from leaderboard.evaluations.web.tasks.faults_shown import ShownFault
from leaderboard.evaluations.withheld import open_attributes

_STEP = re.compile(r"\bstep (\d+) \(")


class IndicatorReason(NamedTuple):
    """An indicator with its reasons, one sentence each."""

    mark: Mark
    reasons: tuple[str, ...]


class GivenFile(NamedTuple):
    """A file of the request with its possible types."""

    name: str
    types: str


class ShownPair(NamedTuple):
    """Two texts that the rules leave open, and who decided."""

    pair: TextPair
    decider: str
    """Who decided and by which figures, or who did not, as sentences."""


class CallLine(NamedTuple):
    """A step as text."""

    id: str
    tool: str
    arguments: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    faults: tuple[ShownFault, ...] = ()
    """Findings of the step."""


class PlanningPage(NamedTuple):
    """The part of the task page for suites that judge plans."""

    shows_goal: bool
    """Whether the suite has goals."""
    shows_gold: bool
    """Whether the reader may see the goal; if not, `goal`, `uncovered`, `defects`, `gold_calls` and the
    reasons are empty."""
    goal: tuple[str, ...]
    uncovered: str
    files: tuple[GivenFile, ...] | None
    """None if this release does not have the registered version of the task."""
    defects: tuple[Defect, ...]
    reasons: tuple[IndicatorReason, ...]
    nothing_judged: bool
    """Whether there is no plan, so that each indicator has its worst value."""
    pairs: tuple[ShownPair, ...]
    """The texts on which the rules are undecided; empty for readers who may not see the goal."""
    by_rules: str
    """The verdict of the rules alone (`undecided`, `0` or `1`); empty if nobody else decided."""
    further: tuple[tuple[str, str, str], ...]
    gold_calls: tuple[CallLine, ...]


def planning_page(
    *, task: Task, library: LibraryTask | None, defined: Sequence[Defect], record: ResultRecord | None, outcome: str,
    shows_gold: bool = True, has_present_rules: bool = False,
) -> PlanningPage:  # fmt: skip
    """Assemble it from the registered task and the record, if any.

    Args:
        library: the task in this release, for the types of its files; None if it is unknown or has changed.
        defined: the defects that the suite describes.
        outcome: of the result: an accepted infrastructure fault counts as the planner's.
        has_present_rules: whether the plan was judged by the rules and the network of this release.
    """
    suite = task.suite
    attributes = task.attributes if shows_gold else open_attributes(task.attributes, suite=suite)
    parts = tuple(str(part) for part in attributes.get("parts") or ())
    indicators = record.indicators if record is not None else {}
    explanations = record.explanations if record is not None else {}
    files = None
    if library is not None:
        types = {name: " or ".join(sorted(kinds)) for name, kinds in library.types_given.items()}
        files = tuple(GivenFile(*item) for item in types.items())
    by_rules = ""
    if record is not None and any(pair.verdict != "undecided" for pair in record.pairs):
        low, high = (indicators.get(key) for key in suite.ranking_column.by_rules or ("", ""))
        by_rules = "" if low is None or high is None else "undecided" if low != high else f"{low:.0f}"
    return PlanningPage(
        shows_goal=suite.has(Panel.GOAL),
        shows_gold=shows_gold,
        goal=parts,
        uncovered=str(attributes.get("uncovered") or ""),
        files=files,
        defects=defects(attributes.get("flags") or (), defined=defined),
        reasons=tuple(
            IndicatorReason(mark=mark, reasons=split_reasons(explanations.get(mark.name, ""), parts=parts))
            for mark in marks(suite.columns, outcome=outcome, indicators=indicators)
        ),
        nothing_judged=outcome == Outcome.PLANNER_FAULT,
        pairs=shown_pairs(record, has_present_rules=has_present_rules) if record is not None and shows_gold else (),
        by_rules=by_rules,
        further=further_figures(suite=suite, indicators=indicators, explanations=explanations),
        gold_calls=calls(task.gold or {}) if shows_gold else (),
    )


def shown_pairs(record: ResultRecord, *, has_present_rules: bool) -> tuple[ShownPair, ...]:
    """The pairs of a record with who decided them. `has_present_rules`: as for `planning_page`."""
    arbiter = arbiter_words(record.arbiter) if record.arbiter else ""
    thresholds = shipped_network().thresholds if has_present_rules else None
    return tuple(
        ShownPair(pair=pair, decider=_decider(pair, arbiter=arbiter, thresholds=thresholds)) for pair in record.pairs
    )


def _decider(pair: TextPair, *, arbiter: str, thresholds: Callable[[str], Mapping[str, float]] | None) -> str:
    answers = ", ".join(pair.answers)
    if pair.by == "network":
        if pair.problem:
            return f"The network decided: its probability that both mean the same is {answers}. {pair.problem}"
        limit = thresholds(pair.kind).get(pair.verdict) if thresholds else None
        side = "or more" if pair.verdict == "same" else "or less"
        least = "" if limit is None else f", and {limit:g} {side} is enough for this verdict"
        return f"The network decided: its probability that both mean the same is {answers or 'not recorded'}{least}."
    if pair.verdict != "undecided":
        return f"The arbiter {arbiter} decided" + (f"; its answers: {answers}." if answers else ".")
    if arbiter:
        said = f"The network did not decide, and neither did the arbiter {arbiter}"
        return " ".join([said + (f"; its answers: {answers}." if answers else "."), pair.problem]).strip()
    if pair.answers or pair.problem:
        found = f": its probability that both mean the same is {answers}." if answers else "."
        return " ".join([f"The network did not decide{found}", pair.problem]).strip()
    why = ": it gets no text that is the whole request or names a file" if thresholds else ""
    return f"The network was not asked{why}."


def further_figures(
    *, suite: Suite, indicators: Mapping[str, float], explanations: Mapping[str, str]
) -> tuple[tuple[str, str, str], ...]:
    """Titles, values and reasons, if known, of the indicators that are not marks of a task, in the order of the suite's
    columns. An optional column without a value has a dash if it is known why."""

    def figure(column: Column) -> str:
        value = indicators.get(column.key)
        if value is None:
            return "\N{EN DASH}"
        is_binary = column.interval is IntervalMethod.WILSON or column.key == EXACT
        return ("yes" if value else "no") if is_binary else f"{value:.3f}"

    return tuple(
        (column.title or column.label, figure(column), explanations.get(column.key, ""))
        for column in suite.shown_columns
        if column.ordered
        and not column.good
        and (column.key in indicators or (column.is_optional and column.key in explanations))
    )


def defects(flags: Sequence[str], *, defined: Sequence[Defect]) -> tuple[Defect, ...]:
    """The defects of a task; those that this release does not define have no description."""
    known = {defect.name: defect for defect in defined}
    return tuple(known.get(flag) or Defect(name=flag, description="") for flag in flags)


def calls(
    plan: Mapping[str, Any], *, faults: Mapping[str, tuple[ShownFault, ...]] = MappingProxyType({})
) -> tuple[CallLine, ...]:
    """The steps of a `plan/1` as text, with their findings by the id of the step."""
    return tuple(
        CallLine(
            id=step["id"],
            tool=step["tool"],
            arguments=tuple((step.get("inputs") or {}).items()),
            outputs=tuple((step.get("outputs") or {}).items()),
            faults=faults.get(step["id"], ()),
        )
        for step in plan.get("steps") or ()
    )


def step_problems(*, record: ResultRecord, suite: LibrarySuite) -> dict[str | None, StepProblem]:
    """The steps named in the explanations of indicators with the worst value, by id, to be marked in the drawing."""
    plan: dict[str, Any] = record.plan if isinstance(record.plan, dict) else {}
    ids = [step["id"] for step in plan.get("steps") or ()]
    worst = {column.key: float(not column.higher_is_better) for column in suite.metrics}
    problems: dict[str | None, StepProblem] = {}
    for problem in suite.step_problems:
        if record.indicators.get(problem.indicator) == worst[problem.indicator]:
            numbers = map(int, _STEP.findall(record.explanations.get(problem.indicator, "")))
            problems |= {ids[number - 1]: problem for number in numbers if 0 < number <= len(ids)}
    return problems


def split_reasons(text: str, *, parts: Sequence[str]) -> tuple[str, ...]:
    """Split the judge's reasons at semicolons; each begins with a step or with a part of the goal."""
    begins = "|".join([r"step \d+ \(", *(re.escape(f"{part}:") for part in parts)])
    sentences = (sentence.strip() for sentence in re.split(rf"; (?={begins})", text))
    return tuple(sentence[:1].upper() + sentence[1:] for sentence in sentences if sentence)


MAX_DEPTH = 5
"""Maximum nesting of blocks; deeper values are shown as JSON."""
MAX_ROWS = 200
MAX_CELL = 400
MAX_COLUMNS = 8
SHORT = 120
"""Maximum length of a text that is shown as a fact rather than a block."""

TITLES = {
    "answer": "What the language model wrote",
    "beams": "Beams, the most probable first",
    "candidates": "Candidates, the best first",
    "completion": "What the language model wrote",
    "completions": "What the language model wrote",
    "lines": "Lines, and what each was mapped to",
    "problem": "Why there is no plan",
    "prompt": "Prompt",
    "subtasks": "Subtasks",
    "tolerated": "Tolerated when reading",
    "tool_scores": "Scores of tools",
    "unreadable": "Why it cannot be read",
}
"""Titles of keys that strategies share; titles of others are derived from the key."""
FIRST = ("id", "line", "tools", "names", "best", "score", "similarity", "log_probability", "description")
"""The first columns of a table, in this order, because records do not preserve the order of keys."""
_CHAINS = frozenset({"tools", "names"})
"""Keys of lists in the order of the plan."""


class NoteRow(NamedTuple):
    """One row of a table."""

    cells: tuple[str, ...]
    tone: str
    """`bad` for a failed mapping, else empty."""


class NoteBlock(NamedTuple):
    """One part of the notes."""

    kind: str
    """`facts`, `text`, `list`, `table`, `turns`, `scores` or `group`."""
    title: str
    text: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    items: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[NoteRow, ...] = ()
    children: tuple["NoteBlock", ...] = ()
    left_out: int = 0
    """Number of rows or items that are not shown."""


def note_blocks(notes: Mapping[str, Any]) -> tuple[NoteBlock, ...]:
    """The blocks of a record's `planner_notes`, facts first."""
    return tuple(_blocks(notes, depth=0))


def _blocks(notes: Mapping[str, Any], *, depth: int) -> Iterator[NoteBlock]:
    facts = tuple((_title(key), _scalar(value)) for key, value in notes.items() if _is_fact(value))
    if facts:
        yield NoteBlock(kind="facts", title="", facts=facts)
    for key, value in notes.items():
        if key == "observations" and isinstance(notes.get("completions"), list):
            continue
        if not _is_fact(value) and value not in ("", [], {}, None):
            observations = notes.get("observations") if key == "completions" else None
            yield _block(key=key, value=value, depth=depth, observations=observations)


def _block(*, key: str, value: Any, depth: int, observations: Any = None) -> NoteBlock:
    title = _title(key)
    if not isinstance(value, Mapping | list):
        return NoteBlock(kind="text", title=title, text=_scalar(value))
    if depth >= MAX_DEPTH:
        return NoteBlock(kind="text", title=title, text=json.dumps(value, indent=2, ensure_ascii=False))
    if isinstance(value, list):
        return _sequence(key=key, title=title, values=value, depth=depth, observations=observations)
    numbers = [isinstance(score, int | float) and not isinstance(score, bool) for score in value.values()]
    if len(numbers) > 3 and all(numbers):
        ordered = sorted(value.items(), key=lambda pair: (-pair[1], pair[0]))
        facts = tuple((name, _scalar(score)) for name, score in ordered[:MAX_ROWS])
        return NoteBlock(kind="scores", title=title, facts=facts, left_out=max(0, len(ordered) - MAX_ROWS))
    return NoteBlock(kind="group", title=title, children=tuple(_blocks(value, depth=depth + 1)))


def _sequence(*, key: str, title: str, values: list[Any], depth: int, observations: Any) -> NoteBlock:
    shown, left_out = values[:MAX_ROWS], max(0, len(values) - MAX_ROWS)
    if key == "completions" and all(isinstance(value, str) for value in shown):
        # Each completion with the observation that follows it, if any.
        following = observations if isinstance(observations, list) else []
        rows = tuple(
            NoteRow(cells=(completion, str(following[index]) if index < len(following) else ""), tone="")
            for index, completion in enumerate(shown)
        )
        return NoteBlock(kind="turns", title=title, rows=rows, left_out=left_out)
    if _is_table(shown):
        return _table(title=title, values=shown, left_out=left_out)
    if all(not isinstance(value, Mapping | list) for value in shown):
        return NoteBlock(kind="list", title=title, items=tuple(map(_scalar, shown)), left_out=left_out)
    children = tuple(
        _block(key=f"{key} {number}", value=value, depth=depth + 1) for number, value in enumerate(shown, start=1)
    )
    return NoteBlock(kind="group", title=title, children=children, left_out=left_out)


def _table(*, title: str, values: Sequence[Mapping[str, Any]], left_out: int) -> NoteBlock:
    unique = dict.fromkeys(key for value in values for key in value)
    keys = sorted(unique, key=lambda key: FIRST.index(key) if key in FIRST else len(FIRST))
    filled = [key for key in keys if any(value.get(key) not in (None, "", [], {}) for value in values)]
    rows = tuple(
        NoteRow(
            cells=tuple(_cell(key, value.get(key)) for key in filled),
            tone="bad" if value.get("mapped") is False else "",
        )
        for value in values
    )
    return NoteBlock(kind="table", title=title, columns=tuple(map(_title, filled)), rows=rows, left_out=left_out)


def _is_fact(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= SHORT and "\n" not in value
    return isinstance(value, bool | int | float)


def _is_table(values: Sequence[Any]) -> bool:
    if not values or not all(isinstance(value, Mapping) for value in values):
        return False
    keys = {key for value in values for key in value}
    return len(keys) <= MAX_COLUMNS and all(
        all(map(_is_flat, item if isinstance(item, list) else [item])) and len(_cell(key, item)) <= MAX_CELL
        for value in values
        for key, item in value.items()
    )


def _is_flat(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(not isinstance(item, Mapping | list) for item in value.values())
    return not isinstance(value, list)


def _cell(key: str, value: Any) -> str:
    if isinstance(value, list):
        join = " → " if key in _CHAINS else ", "
        return join.join(_cell("", item) for item in value)
    if isinstance(value, Mapping):
        return " ".join(_scalar(item) for item in value.values())
    return _scalar(value)


def _scalar(value: Any) -> str:
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _title(key: str) -> str:
    return TITLES.get(key) or in_words(key)
