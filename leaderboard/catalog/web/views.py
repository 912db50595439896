"""The page of a suite: tasks, tools, metrics, datasheet, and inputs of a few tasks from a published evaluation."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from evaluator.core.records import SampleResult
from evaluator.core.suites.audits import MOST_POINTS, Audit
from evaluator.core.suites.base import Suite as LibrarySuite
from evaluator.core.suites.base import Task as LibraryTask
from evaluator.core.suites.metadata import Metadata, MetadataError, datasheet, metadata_of
from evaluator.core.suites.reference_rows import reference_digest, reference_tables
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.types import Tool
from leaderboard.boards.contents import content_of
from leaderboard.boards.eligible import published
from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.audits import published_audit
from leaderboard.catalog.metric_words import MetricWords, words_of_metric
from leaderboard.catalog.models import Suite
from leaderboard.catalog.web.task_list import Heading, SuiteTask, TaskSelection, difficulties, heading, select_tasks
from leaderboard.evaluations.models import TaskResult
from leaderboard.evaluations.results.filters import Filter
from leaderboard.evaluations.results.objects import read_record, server_store
from leaderboard.evaluations.results.stored_rows import facts_of
from leaderboard.evaluations.visibility import sees_gold
from leaderboard.evaluations.web.tasks.artefacts_shown import Reading, Shown
from leaderboard.evaluations.web.tasks.marks_shown import given_marks
from leaderboard.evaluations.web.tasks.stored_tasks import stored_reading
from leaderboard.help.documents.chapters import fragment
from leaderboard.platform.http.caching import tagged_page
from leaderboard.platform.lru_cache import SharedCache

MOST_TASKS = 6
SAMPLES = 3
"""Of each task."""
MOST_TEXT = 1200


class Preview(NamedTuple):
    """A task with its inputs."""

    key: str
    text: str
    inputs: tuple[Shown, ...]
    """Inputs of some samples."""
    values: str
    """Inputs given by value, as JSON; empty if there are none or `inputs` has them."""


def examples(library: LibrarySuite) -> tuple[LibraryTask, ...]:
    """A few tasks with different types of inputs, in the suite's order, filled up with others."""
    kinds: dict[str, LibraryTask] = {}
    for task in library.tasks:
        kinds.setdefault(" ".join(sorted(map(str, task.resources.values()))), task)
    chosen = list(kinds.values())[:MOST_TASKS]
    if len(chosen) < MOST_TASKS // 2:
        others = (task for task in library.tasks if all(task.key != other.key for other in chosen))
        chosen += [task for task, _ in zip(others, range(MOST_TASKS // 2 - len(chosen)), strict=False)]
    return tuple(chosen)


def previews(*, tasks: Sequence[LibraryTask], evaluation: str, split: str) -> tuple[Preview, ...]:
    """These tasks with inputs from the records of an evaluation; tasks without any are omitted.

    Args:
        tasks: of the suite.
        evaluation: id of a published evaluation; empty: none.
        split: of the evaluation, whose data are public.
    """
    samples = _samples(keys=[task.key for task in tasks], evaluation=evaluation, split=split) if evaluation else {}
    reading = stored_reading(split=split)
    shown = (_preview(task=task, samples=samples.get(task.key, ()), reading=reading) for task in tasks)
    return tuple(preview for preview in shown if preview.inputs or preview.values)


def _samples(*, keys: Sequence[str], evaluation: str, split: str) -> Mapping[str, Sequence[SampleResult]]:
    results = TaskResult.objects.filter(evaluation__in=published().filter(pk=evaluation), task__key__in=keys)
    store = server_store(split=split)
    found = {}
    for key, digest in results.exclude(record_digest="").values_list("task__key", "record_digest"):
        record = read_record(digest=digest, store=store)
        found[key] = [] if record is None else sorted(record.samples, key=lambda sample: sample.index)[:SAMPLES]
    return found


def _preview(*, task: LibraryTask, samples: Sequence[SampleResult], reading: Reading) -> Preview:
    values = _as_text(task.values_given)
    return Preview(task.key, task.text, tuple(_inputs(task=task, samples=samples, reading=reading)), values)


def _inputs(*, task: LibraryTask, samples: Sequence[SampleResult], reading: Reading) -> Iterator[Shown]:
    marks = given_marks(task.values_given)
    for sample in samples:
        for name, reference in sample.inputs.items():
            alt = f"{name} of task {task.key}, sample {sample.index + 1}"
            shown = reading.show(name=name, reference=reference, alt=alt)
            yield reading.with_marks(shown, file=name, reference=reference, marks=marks)


def _as_text(values: Mapping[str, Any]) -> str:
    if not values:
        return ""
    text = json.dumps(dict(values), ensure_ascii=False, indent=1)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]} …"


TASKS_PER_PAGE = 25
_SHEETS = 40


class ShownTool(NamedTuple):
    """A tool with its signature."""

    name: str
    domain: str
    signature: str
    description: str
    is_idle: bool
    """Whether no task needs it."""


class SuitePage(NamedTuple):
    """The content of the page."""

    selection: TaskSelection
    page: "Page[SuiteTask]"
    headings: tuple[Heading, Heading]
    total: int
    """Number of tasks."""
    has_difficulty: bool
    tools: tuple[ShownTool, ...]
    metrics: tuple[MetricWords, ...]
    previews: tuple[Preview, ...]
    metadata: Metadata | None
    datasheet: str
    """HTML of our own Markdown; empty if there is none."""
    shown_in: Mapping[str, Any] | None
    """The row of the board whose evaluation the tasks link to."""
    has_reported: bool
    audit: Audit | None
    """How much is scored without solving, on this version of the suite."""

    @property
    def first_filters(self) -> list[Filter]:
        """The filters that are never folded."""
        return [choice for choice in self.selection.filters if choice.section]

    @property
    def further_filters(self) -> list[Filter]:
        return [choice for choice in self.selection.filters if not choice.section]

    @property
    def further_are_set(self) -> bool:
        return any(choice.is_set for choice in self.further_filters)


def open_board(*, suite: Suite, snapshot: Snapshot | None) -> Snapshot | None:
    """The board; None for a hidden split, of which the page shows nothing."""
    if snapshot is None or not sees_gold(reader=None, suite=suite, split=snapshot.split):
        return None
    return snapshot


def gathered_page(*, suite: Suite, board: Snapshot | None, parameters: Mapping[str, str]) -> SuitePage:
    """Gather the page.

    Args:
        suite: the current version.
        board: see `open_board`.
        parameters: the query string.
    """
    library = _library(suite)
    rows = facts_of(suite, shows_gold=sees_gold(reader=None, suite=suite))
    levels = difficulties(suite=suite, snapshot=board) if board else {}
    selection = select_tasks(suite=suite, rows=rows, difficulties=levels, parameters=parameters)
    sort = parameters.get("sort", "")
    shown_in = next(iter(content_of(board).rows), None) if board else None
    return SuitePage(
        selection=selection,
        page=Paginator(selection.rows, TASKS_PER_PAGE).get_page(parameters.get("page")),
        headings=(
            heading(key="task", label="Task", sort=sort),
            heading(key="difficulty", label="Solved by", sort=sort),
        ),
        total=len(rows),
        has_difficulty=any(difficulty.planners for difficulty in levels.values()),
        tools=tools_of(library) if library else (),
        metrics=tuple(map(words_of_metric, suite.shown_columns)),
        previews=_previews(library=library, board=board, shown_in=shown_in) if library else (),
        metadata=_metadata(suite.slug),
        datasheet=_datasheet(library) if library else "",
        shown_in=shown_in,
        has_reported=bool(reference_tables(suite.slug)),
        audit=published_audit(suite),
    )


def tools_of(library: LibrarySuite) -> tuple[ShownTool, ...]:
    """The tools of a suite, in the order of its catalogue."""
    idle = frozenset(library.idle_tools)
    return tuple(
        ShownTool(tool.name, tool.domain, signature_of(tool), tool.description, tool.name in idle)
        for tool in library.catalogue.tools.values()
    )


def signature_of(tool: Tool) -> str:
    """Inputs and outputs with their types, such as `(image: image) → text: text`."""
    inputs = ", ".join(f"{name}: {kind}" for name, kind in tool.inputs.items())
    outputs = ", ".join(f"{name}: {kind}" for name, kind in tool.outputs.items())
    return f"({inputs}) → {outputs or 'nothing'}"


def _previews(
    *, library: LibrarySuite, board: Snapshot | None, shown_in: Mapping[str, Any] | None
) -> tuple[Preview, ...]:
    evaluation = str(shown_in["evaluation"]) if shown_in and library.conditions.experts else ""
    return previews(tasks=examples(library), evaluation=evaluation, split=board.split if board else "")


def _library(suite: Suite) -> LibrarySuite | None:
    """The suite of this release; None if its files are missing or its digest differs."""
    try:
        found = suite_of(suite.slug)
    except LookupError:
        return None
    return found if found.digest == suite.digest else None


def _metadata(slug: str) -> Metadata | None:
    try:
        return metadata_of(slug)
    except LookupError:
        return None


_sheets: SharedCache[str, str] = SharedCache(maxsize=_SHEETS)


def _datasheet(library: LibrarySuite) -> str:
    def make() -> str:
        try:
            return fragment(datasheet(library), lowered=1)
        except MetadataError:
            return ""

    return _sheets.get_or_make(library.digest, make)


@require_safe
def suite_page(request: HttpRequest, suite: str) -> HttpResponse:
    """The page of a suite, the same for every reader: it shows nothing of hidden splits, not even to operators."""
    found = get_object_or_404(Suite, slug=suite, current=True)
    board = open_board(suite=found, snapshot=latest_snapshot(suite=found))

    def make() -> HttpResponse:
        page = gathered_page(suite=found, board=board, parameters=request.GET.dict())
        return render(
            request, "catalog/suite.html", {"suite": found, "board": board, "page": page, "most_points": MOST_POINTS}
        )

    parts = [found.digest, found.title, found.description, found.metrics, found.scoring, found.task_facets]
    audit = published_audit(found)
    parts += [board and [board.pk, board.digest], reference_digest(suite), audit and audit.model_dump(mode="json")]
    return tagged_page(request=request, parts=parts, make=make)
