"""The arena's page: all planners on all suites, and the state of each suite."""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from leaderboard.boards.arena import CHANGES, Arena, Selection, arena_of, read_selection
from leaderboard.boards.arena_state import Progress, planners_of, progress_of, task_counts
from leaderboard.boards.contents import BoardContent, contents_of
from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import latest_snapshots
from leaderboard.boards.version_changes import KeptChange, changes_of
from leaderboard.boards.web.home_presenters import leading_lines, matrix_of, shown_of, state_parts, suite_line
from leaderboard.boards.web.views import name_of, texts_mark
from leaderboard.catalog.models import Suite, current_suites
from leaderboard.evaluations.models import TaskResult
from leaderboard.evaluations.web.watching import live_task, mark_of, public_results
from leaderboard.platform.http.caching import render_late, tagged_page
from leaderboard.platform.lru_cache import SharedCache


class HomeState(NamedTuple):
    """What the page shows, the same for all readers. Shared by all requests: do not modify."""

    suites: tuple[Suite, ...]
    snapshots: Mapping[int, Snapshot]
    """By the suite's primary key."""
    progress: Mapping[int, Progress]
    tasks: Mapping[int, int]
    executed: tuple[TaskResult, ...]
    """The newest executed tasks."""
    parts: list[Any]
    """Everything above as JSON values."""
    read: float
    """`time.monotonic()`"""


_states: SharedCache[str, HomeState] = SharedCache(maxsize=1)
_arenas: SharedCache[tuple[object, ...], Arena] = SharedCache(maxsize=2)
"""By the snapshots and the texts of the suites."""
_changes: SharedCache[tuple[float, Selection], Mapping[str, KeptChange]] = SharedCache(maxsize=50)
"""By the time at which the state was read."""


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The planners on all suites, with a line on the state of each suite."""
    state, selection = _state(), read_selection(request.GET)
    changes = _changes_of(state=state, selection=selection)
    parts = [*state.parts, [[evaluation, *change] for evaluation, change in sorted(changes.items())]]

    def make() -> HttpResponse:
        boards, arena = _boards(state), _arena(state)
        shown = shown_of(arena=arena, selection=selection)
        planners = planners_of([line.key for line in shown.page.object_list])
        lines = [
            suite_line(
                suite=suite,
                content=boards.get(suite.pk),
                tasks=state.tasks[suite.pk],
                progress=state.progress.get(suite.pk),
            )
            for suite in state.suites
        ]
        answers = leading_lines(lines)
        context = {
            "arena": arena,
            "selection": selection,
            "live_task": live_task(state.executed, again=reverse("evaluations:watch")),
            "matrix": matrix_of(arena=arena, selection=selection, shown=shown, planners=planners, changes=changes),
            "lines": lines,
            "answers": answers,
            "answered": {line.suite.pk for line in answers},
        }
        return render_late(request, "boards/home.html", context)

    return tagged_page(request=request, parts=parts, make=make)


def _boards(state: HomeState) -> dict[int, BoardContent]:
    """The newest boards by the suite's primary key."""
    contents = contents_of(state.snapshots.values())
    return {suite: contents[snapshot.pk] for suite, snapshot in state.snapshots.items()}


def _arena(state: HomeState) -> Arena:
    def make() -> Arena:
        boards = _boards(state)
        return arena_of((suite, boards[suite.pk]) for suite in state.suites if suite.pk in boards)

    key = tuple((texts_mark(suite), *name_of(state.snapshots.get(suite.pk))[:2]) for suite in state.suites)
    return _arenas.get_or_make(key, make)


def _changes_of(*, state: HomeState, selection: Selection) -> Mapping[str, KeptChange]:
    """What the latest versions of the planners on the selected page changed, by evaluation; empty in other views."""
    if selection.view != CHANGES:
        return {}

    def make() -> Mapping[str, KeptChange]:
        lines = shown_of(arena=_arena(state), selection=selection).page.object_list
        evaluations = [row["evaluation"] for line in lines for row in line.rows.values()]
        return changes_of(evaluations)

    return _changes.get_or_make((state.read, selection), make)


def _state() -> HomeState:
    state = _states.get("")
    if state is None or time.monotonic() - state.read >= settings.KEEP_PAGES_SECONDS:
        state = _read_state()
        _states.put("", state)
    return state


def _read_state() -> HomeState:
    read = time.monotonic()
    suites = tuple(current_suites())
    snapshots = latest_snapshots(suites=suites)
    progress, tasks = progress_of(suites), task_counts(suites)
    boards = [[texts_mark(suite), name_of(snapshots.get(suite.pk)), tasks[suite.pk]] for suite in suites]
    executed = tuple(public_results())
    parts = [boards, state_parts(progress), mark_of(executed)]
    return HomeState(suites, snapshots, progress, tasks, executed, parts, read)
