"""The tasks of an evaluation with their results, and their filters, search and sort orders.

Facets of all suites are declared here; others come from the suite and from the marks of its results. No database:
`stored_rows.py` reads.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from evaluator.core.suites import facets as declared
from evaluator.core.suites.base import Column
from evaluator.core.suites.base import Task as LibraryTask
from evaluator.core.suites.registry import suite_of
from evaluator.core.transcripts import EpisodeSummary
from evaluator.scoring.causes.sentences import mistake_key
from evaluator.scoring.causes.taxonomy import Finding
from evaluator.scoring.task_comparison import PENDING
from leaderboard.evaluations.causes import WHY, main_finding, place_of_cause, why, words_of_cause
from leaderboard.evaluations.results.figures import OUTCOMES, Mark, badge_of, good_marks, marks, never_ran
from leaderboard.evaluations.results.filters import Facet, Filter, Index, Sort, chosen_of, in_words, sort_by, written
from leaderboard.evaluations.results.filters import index as index_rows
from leaderboard.evaluations.results.filters import select as select_rows
from leaderboard.evaluations.withheld import Withheld

FAULTS = frozenset({"planner_fault", "infra_fault"})
YES_NO = {True: "yes", False: "no"}
FIRST, INDICATORS = "first", "indicators"
"""Sections of the form; all other facets are in the section that can be collapsed."""


class TaskRow(NamedTuple):
    """One task of an evaluation with its result."""

    key: str
    position: int
    text: str
    structure: str
    metric: str
    outcome: str = PENDING
    """The result's outcome, or `pending` without a result."""
    reason: str = ""
    reason_text: str = ""
    score: float | None = None
    samples: tuple[float, ...] = ()
    """The score of each sample that a plan was executed on."""
    seconds: float | None = None
    plan_summary: str = ""
    plan_is_withheld: bool = False
    """Whether the plan's summary is empty because readers may not see the plan."""
    tools: tuple[str, ...] = ()
    """Tools of the plan without duplicates."""
    ended: datetime | None = None
    main: Finding | None = None
    """Its main cause, without withheld parts; None at the gold score, and if it is not known."""
    why: tuple[str, ...] = ()
    """Causes of a score below the gold score (`causes.py`); only `NOT_FOUND` if they are not known."""
    marks: tuple[Mark, ...] = ()
    """Its indicators as counted by the board: the worst ones for a planner's fault."""
    facets: Mapping[str, tuple[str, ...]] = {}
    """Values by the names of the suite's facets; facets without a value are absent."""
    attributes: Mapping[str, tuple[str, ...]] = {}
    """The same before `grouped`."""
    indicators: Mapping[str, float] = {}
    """The indicator that the board ranks by, if it ranks by one."""
    pk: int = 0
    episodes: EpisodeSummary | None = None
    """Its episodes, for suites in turns; None if unknown or withheld."""

    @property
    def cause(self) -> str:
        """Key of its mistake, the value of the filter `cause`; empty without a known cause."""
        return mistake_key(self.main) if self.main is not None else ""

    @property
    def was_left_out(self) -> bool:
        """Whether it could have run but did not."""
        return never_ran(outcome=self.outcome, reason=self.reason)

    @property
    def badge(self) -> str:
        """The badge of the outcome. It does not reveal whether a withheld plan is empty."""
        if self.plan_is_withheld:
            return self.outcome
        return badge_of(outcome=self.outcome, plan_summary=self.plan_summary)


class Tasks(NamedTuple):
    """The rows of an evaluation, indexed for `select`."""

    index: Index[TaskRow]  # type: ignore[assignment]  # hides tuple.index, which nothing calls
    texts: tuple[str, ...]
    """Searchable text of each row."""

    @property
    def rows(self) -> tuple[TaskRow, ...]:
        """All rows, in the suite's order."""
        return self.index.rows


class Selection(NamedTuple):
    """The selected rows, and the filters to show."""

    rows: tuple[TaskRow, ...]
    filters: tuple[Filter, ...]
    search: str
    is_filtered: bool


def words_of(facet: declared.Facet) -> Callable[[str], str]:
    """The function that gives the labels of a facet's values."""
    if facet.verbatim or facet is declared.MODALITY or facet.name == declared.MODALITY.name:
        return str
    if facet.unit:
        return lambda value: f"{value} {facet.unit}{'' if value == '1' else 's'}"
    return lambda value: facet.words.get(value) or in_words(value)


def place_of(facet: declared.Facet) -> Callable[[str], int] | None:
    """The sort key of a facet's values; None if the suite declares no order."""
    if facet.unit:
        return lambda value: int(value) if value.isdecimal() else 0
    if facet.order:
        return lambda value: facet.order.index(value) if value in facet.order else len(facet.order)
    return None


def raw_values(*, facet: declared.Facet, attributes: Mapping[str, Any]) -> tuple[str, ...]:
    """The values of a task, from its attributes."""
    value = attributes.get(facet.attribute or facet.name)
    if isinstance(value, bool):
        return (YES_NO[value],)
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),) if value else ()


def grouped(*, facet: declared.Facet, values: Iterable[str]) -> tuple[str, ...]:
    """Values, with the facet's `several` in place of lists."""
    if not facet.several:
        return tuple(values)
    return tuple(dict.fromkeys(facet.several if "," in value else value for value in values))


def values_of(name: str) -> Callable[[TaskRow], tuple[str, ...]]:
    """The function that gives a row's values of a suite's facet."""
    return lambda row: row.facets.get(name, ())


def task_facet(facet: declared.Facet) -> Facet[TaskRow]:
    """A suite's facet as a filter of its tasks."""
    sort_key = place_of(facet) if facet.unit else None
    return Facet(facet.name, facet.label, values_of(facet.name), words_of(facet), sort_key=sort_key)


def _field(name: str) -> Callable[[TaskRow], tuple[str, ...]]:
    def values(row: TaskRow) -> tuple[str, ...]:
        value = getattr(row, name)
        return (value,) if value else ()

    return values


def _mark_facet(*, name: str, label: str, words: Mapping[str, str]) -> Facet[TaskRow]:
    def values(row: TaskRow) -> tuple[str, ...]:
        return tuple(mark.shown for mark in row.marks if mark.name == name)

    def as_words(value: str) -> str:
        return f"{value}: {words[value]}" if value in words else value

    return Facet(name, label, values, as_words, sort_key=str, section=INDICATORS)


def stops_of(row: TaskRow) -> tuple[str, ...]:
    """The reasons why its episodes ended, without duplicates."""
    ends = () if row.episodes is None else row.episodes.ends
    return tuple(dict.fromkeys(end.stop.value for end in ends))


def problems_of(row: TaskRow) -> tuple[str, ...]:
    """The problems of its actions, without duplicates."""
    problems = () if row.episodes is None else row.episodes.problems
    return tuple(dict.fromkeys(count.problem for count in problems))


def tool_problems_of(row: TaskRow) -> tuple[str, ...]:
    """The problems of its actions by tool."""
    problems = () if row.episodes is None else row.episodes.problems
    return tuple(tool_problem(tool=count.tool, problem=count.problem) for count in problems)


def tool_problem(*, tool: str, problem: str) -> str:
    """The value of the filter `tool_problem`: `Calculator: bad arguments`, or the problem alone if the action named no
    tool of the suite."""
    words = problem.replace("_", " ")
    return f"{tool}: {words}" if tool else in_words(problem)


_OUTCOME: Facet[TaskRow] = Facet(
    "outcome", "Outcome", _field("outcome"), lambda value: OUTCOMES.get(value, value), section=FIRST
)
_REASON: Facet[TaskRow] = Facet("reason", "Reason", _field("reason"), section=FIRST)
_METRIC: Facet[TaskRow] = Facet("metric", "Metric", _field("metric"), str)
_TOOL: Facet[TaskRow] = Facet("tool", "Step used", lambda row: row.tools, str, sort_key=str)
_CAUSE: Facet[TaskRow] = Facet(
    "cause", "Mistake", _field("cause"), lambda _: f"one of “{WHY}”", section=FIRST, is_offered=False
)
_WHY: Facet[TaskRow] = Facet("why", WHY, lambda row: row.why, words_of_cause, sort_key=place_of_cause)
_STOP: Facet[TaskRow] = Facet("stop", "Why the episode ended", stops_of)
_PROBLEM: Facet[TaskRow] = Facet("problem", "Action error", problems_of)
_TOOL_PROBLEM: Facet[TaskRow] = Facet("tool_problem", "Action error", tool_problems_of, str, is_offered=False)
_EPISODE = _STOP, _PROBLEM, _TOOL_PROBLEM
SORTS: Mapping[str, Callable[[TaskRow], float | str | None]] = {
    "task": lambda row: row.position,
    "outcome": lambda row: row.outcome,
    "score": lambda row: row.score,
    "marks": lambda row: good_marks(row.marks),
    "seconds": lambda row: row.seconds,
}


def facets_of(*, suite: declared.Facets, rows: Iterable[TaskRow]) -> tuple[Facet[TaskRow], ...]:
    """The filters of rows: the facets of all suites, those of this suite, and the indicators of these rows."""
    words: dict[str, dict[str, str]] = {}
    labels: dict[str, str] = {}
    for row in rows:
        for mark in row.marks:
            labels[mark.name] = mark.label
            words.setdefault(mark.name, {})[mark.shown] = mark.words
    marks = (_mark_facet(name=name, label=labels[name], words=words[name]) for name in words)
    taken = {facet.name for facet in suite.filters}
    episode = [facet for facet in _EPISODE if facet.name not in taken]
    return _OUTCOME, *marks, _REASON, _WHY, _METRIC, *map(task_facet, suite.filters), *episode, _TOOL, _CAUSE


def index(*, rows: Sequence[TaskRow], suite: declared.Facets) -> Tasks:
    """Index the tasks of an evaluation for `select`."""
    searched = [facet.name for facet in suite.filters if facet.is_searched]
    return Tasks(
        index=index_rows(rows=rows, facets=facets_of(suite=suite, rows=rows)),
        texts=tuple(_searched_text(row=row, facets=searched) for row in rows),
    )


def _searched_text(*, row: TaskRow, facets: Sequence[str]) -> str:
    values = [value for name in facets for value in row.facets.get(name, ())]
    return " ".join([row.text, row.plan_summary, row.reason_text, *values]).casefold()


def select(*, tasks: Tasks, parameters: Mapping[str, str]) -> Selection:
    """Apply the filters of a query string. Empty and unknown parameters are ignored."""
    chosen = chosen_of(parameters=parameters, facets=tasks.index.facets)
    search = parameters.get("q", "").strip()
    within = _searched(tasks=tasks, search=search) if search else None
    selection = select_rows(indexed=tasks.index, chosen=chosen, within=within)
    return Selection(
        rows=tuple(sort_tasks(rows=selection.rows, sort=parameters.get("sort", ""))),
        filters=selection.filters,
        search=search,
        is_filtered=bool(chosen or search),
    )


def kept_query(*, parameters: Mapping[str, str], suite: declared.Facets, marks: Iterable[str]) -> str:
    """The part of a query string that selects and sorts tasks.

    Args:
        marks: the names of the suite's indicators.
    """
    common = [facet.name for facet in (_OUTCOME, _REASON, _WHY, _METRIC)]
    names = [*common, *(facet.name for facet in suite.filters), _TOOL.name, _CAUSE.name, *marks, "q", "sort"]
    names += [facet.name for facet in _EPISODE if facet.name not in names]
    return written((name, parameters[name]) for name in names if parameters.get(name))


def sort_tasks(*, rows: Iterable[TaskRow], sort: str) -> list[TaskRow]:
    """Sort rows by a key of `SORTS`, descending with the prefix `-`; ties in the suite's order, missing values last."""
    key, descending = read_sort(sort)
    ordered = sorted(rows, key=lambda row: row.position)
    return sort_by(rows=ordered, key=SORTS.get(key, SORTS["task"]), descending=descending)


def read_sort(text: str) -> Sort:
    """Parse a sort order; an empty key means the suite's order."""
    return Sort.read(text, known=SORTS, default="")


def _searched(*, tasks: Tasks, search: str) -> int:
    """The rows that contain every word of the search in the request, the plan, the reason or a searched facet; `#12`
    finds the task with the key 12."""
    if search.startswith("#"):
        return tasks.index.at([place for place, row in enumerate(tasks.rows) if row.key == search[1:]])
    words = search.casefold().split()
    return tasks.index.at([place for place, text in enumerate(tasks.texts) if all(word in text for word in words)])


NOTHING_GIVEN = "words only"
_ARROW = " → "
_CUT = "…"


class Result(NamedTuple):
    """The columns of `TaskResult` that a row needs."""

    outcome: str
    reason: str
    reason_text: str
    score: float | None
    sample_scores: Sequence[float]
    indicators: Mapping[str, float]
    episodes: Mapping[str, Any]
    causes: Sequence[Mapping[str, Any]] | None
    seconds: float
    plan_summary: str
    updated: datetime | None


def tools_of(plan_summary: str) -> tuple[str, ...]:
    """The tools of a plan's summary without duplicates, and without a truncated last name."""
    names = [name for name in plan_summary.split(_ARROW) if name and not name.endswith(_CUT)]
    return tuple(dict.fromkeys(names))


def modality_of(task: LibraryTask) -> str:
    """The types of a request's resources and of its answer, if there is a single one: `image, text → text`."""
    given = ", ".join(sorted({str(kind) for kind in task.resources.values()})) or NOTHING_GIVEN
    return given if task.expects is None else f"{given}{_ARROW}{task.expects}"


def modalities(*, slug: str, digest: str) -> dict[str, str]:
    """The modality of each task of a suite; empty if this release does not have this version of the suite."""
    try:
        suite = suite_of(slug)
    except LookupError:
        return {}
    return {task.key: modality_of(task) for task in suite.tasks} if suite.digest == digest else {}


def with_facts(
    row: TaskRow, *, attributes: Mapping[str, Any], modality: str, facets: Sequence[declared.Facet]
) -> TaskRow:
    """A row with its values of facets.

    Args:
        row: of a task.
        attributes: of the task.
        modality: of the task (`modality_of`); empty if unknown.
        facets: of its suite.
    """
    facts = {**attributes, "structure": row.structure, "modality": modality}
    raw = [(facet, values) for facet in facets if (values := raw_values(facet=facet, attributes=facts))]
    return row._replace(
        attributes={facet.name: values for facet, values in raw},
        facets={facet.name: grouped(facet=facet, values=values) for facet, values in raw},
    )


def with_result(
    task: TaskRow, *, result: Result | None, columns: Sequence[Column], ranking: Column, withheld: Withheld
) -> TaskRow:
    """The row of a task with its result, if any.

    Args:
        task: the row without a result.
        result: of the task.
        columns: whose values are marks of a task.
        ranking: the column that the board ranks by.
        withheld: parts that readers may not see.
    """
    if result is None:
        return task
    episodes = EpisodeSummary.model_validate(result.episodes) if result.episodes else None
    labels = {} if episodes is None else {name: tuple(values) for name, values in episodes.labels.items()}
    return task._replace(
        facets={**labels, **task.facets},
        outcome=result.outcome,
        reason=result.reason,
        reason_text=result.reason_text,
        score=result.score,
        samples=tuple(result.sample_scores),
        seconds=result.seconds,
        plan_summary=result.plan_summary,
        tools=tools_of(result.plan_summary),
        ended=result.updated,
        main=main_finding(
            stored=result.causes,
            outcome=result.outcome,
            reason=result.reason,
            reason_text=result.reason_text,
            withheld=withheld,
        ),
        episodes=episodes,
        why=why(stored=result.causes, outcome=result.outcome),
        marks=marks(columns, outcome=result.outcome, indicators=result.indicators),
        indicators={ranking.key: result.indicators[ranking.key]} if ranking.key in result.indicators else {},
    )
