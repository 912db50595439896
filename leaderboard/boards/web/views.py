"""Public pages: boards, snapshots, causes, and the guide to endpoints."""

import re
import time
from typing import Any, NamedTuple

from django.conf import settings
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from evaluator.core import canonical_json
from evaluator.core.suites.reference_rows import reference_digest
from evaluator.scoring.metrics.undecided import ranged
from leaderboard.boards.contents import AllVersion, BoardContent, all_content, all_version, content_of
from leaderboard.boards.models import Snapshot
from leaderboard.boards.selecting import HIDE, PAGE_SIZES, PER_PAGE, Selection, read_selection, tidied
from leaderboard.boards.services import (
    conditions_of,
    latest_snapshot,
    snapshots_of,
    unranked,
)
from leaderboard.boards.signing.services import signature_of
from leaderboard.boards.standing import own_published, unpublished, unpublished_rows
from leaderboard.boards.web.execution_agreement import agreement_figures
from leaderboard.boards.web.presenters import (
    answer_of,
    board_table,
    comparison_links,
    is_long,
    progress_rows,
    remarks_of,
)
from leaderboard.boards.web.reference import reported
from leaderboard.catalog.hidden_data import PARAMETERS, chosen_data
from leaderboard.catalog.library import judges_otherwise
from leaderboard.catalog.metric_words import words_of_metric
from leaderboard.catalog.models import Suite
from leaderboard.causes.counting import causes_of_rows, version_of_rows
from leaderboard.evaluations.models import Conditions
from leaderboard.evaluations.results.filters import written
from leaderboard.evaluations.results.results import arbiter_of
from leaderboard.help.documents.chapters import GROUPS
from leaderboard.platform.http.caching import render_late, tagged_page
from leaderboard.platform.lru_cache import Mark, SharedCache

MOST_WAITING = 20
SNAPSHOTS_PER_PAGE = 50
_MOST_STATES = 100
_BESIDE_THE_FORM = ("sort", "reference", *PARAMETERS, *Conditions._fields)
"""Parameters of the board page that have no control in its form."""


@require_safe
def board(request: HttpRequest, suite: str) -> HttpResponse:
    """The newest board of a suite, with evaluations in progress, and the standings of the reader's unpublished
    evaluations."""
    if (query := tidied(request.GET)) is not None:
        return HttpResponseRedirect(f"{request.path}{query}")
    selection = read_selection(request.GET)
    state = board_state(request=request, slug=suite, every=selection.every)
    is_judged_otherwise = state.snapshot is not None and _is_judged_otherwise(state.snapshot, suite=state.suite)

    def make() -> HttpResponse:
        context: dict[str, Any] = {"suite": state.suite, "suite_mark": state.texts, "unpublished": state.unpublished}
        context |= {"waiting": state.waiting[:MOST_WAITING], "waiting_mark": state.waiting_mark}
        context["more_waiting"] = len(state.waiting) > MOST_WAITING
        if state.snapshot is not None:
            suite, content = state.suite, content_of(state.snapshot)
            # Not on the pages of snapshots, which never change: reported figures are not part of a snapshot.
            context["agreement"] = agreement_figures(suite=suite, content=content, samples=state.snapshot.samples)
            if state.version is not None:
                content = all_content(suite=suite, snapshot=state.snapshot, version=state.version)
            context |= _table_context(
                request=request, suite=suite, snapshot=state.snapshot, content=content, selection=selection
            )
            context["comparisons"] = comparison_links(
                suite=suite, content=content_of(state.snapshot), own=state.own, unpublished=state.unpublished
            )
            context["is_judged_otherwise"] = is_judged_otherwise
            # Figures of papers follow the last ranked row once, not on every page.
            context["has_reported"] = bool(reference_digest(suite.slug)) and context["table"].page.number == 1
            is_hidden = selection.reference == HIDE or not context["has_reported"]
            table = context["table"]
            context["reported"] = reported(suite=suite, metrics=table.metrics, forest=table.forest, hidden=is_hidden)
        return render_late(request, "boards/board.html", context)

    return tagged_page(request=request, parts=[state.mark, is_judged_otherwise], make=make)


def _is_judged_otherwise(snapshot: Snapshot, *, suite: Suite) -> bool:
    return judges_otherwise(suite=suite, profile=snapshot.profile, rules=snapshot.profile_digest)


@require_safe
def snapshot(request: HttpRequest, suite: str, number: int) -> HttpResponse:
    """One published state of a board, at a permanent URL."""
    if (query := tidied(request.GET)) is not None:
        return HttpResponseRedirect(f"{request.path}{query}")
    found = find_snapshot(suite=suite, number=number)
    newest = latest_snapshot(suite=found.suite, conditions=conditions_of(found))
    superseded = newest is not None and newest.pk != found.pk
    is_judged_otherwise = _is_judged_otherwise(found, suite=found.suite)
    parts = [name_of(found), texts_of(found.suite), superseded, is_judged_otherwise]

    def make() -> HttpResponse:
        # A snapshot contains one row per planner, not all evaluations.
        selection = read_selection(request.GET)._replace(rows="")
        context = {"suite": found.suite, "suite_mark": texts_mark(found.suite), "is_permanent": True}
        context |= {"superseded": superseded, "is_judged_otherwise": is_judged_otherwise}
        context |= _table_context(
            request=request, suite=found.suite, snapshot=found, content=content_of(found), selection=selection
        )
        context["comparisons"] = comparison_links(suite=found.suite, content=content_of(found))
        return render_late(request, "boards/board.html", context)

    return tagged_page(request=request, parts=parts, make=make)


def find_snapshot(*, suite: str, number: int) -> Snapshot:
    """A snapshot by its permanent number, without its content.

    Raises:
        Http404: there is none.
    """
    # Numbers are shared by all versions and conditions of a suite (see `services.publish`).
    return get_object_or_404(snapshots_of(suite), number=number)


def _table_context(
    *, request: HttpRequest, suite: Suite, snapshot: Snapshot, content: BoardContent, selection: Selection
) -> dict[str, Any]:
    sorting = ((name, text) for name, texts in request.GET.lists() if name not in {"page", "sort"} for text in texts)
    permanent = reverse("boards:snapshot", kwargs={"suite": suite.slug, "number": snapshot.number})
    answer = answer_of(suite=suite, content=content)
    return {
        "snapshot": snapshot,
        "snapshot_mark": tuple(name_of(snapshot)),
        "signature": signature_of(snapshot),
        "address": request.build_absolute_uri(request.path),
        "permanent": permanent,
        "export": permanent.rstrip("/"),
        "kept_parameters": [(name, request.GET[name]) for name in _BESIDE_THE_FORM if name in request.GET],
        # For the links in headings, which sort by their column and go to the first page.
        "sorting": written([*sorting, ("sort", "")]),
        "selection": selection,
        "page_sizes": PAGE_SIZES,
        "usual_page_size": PER_PAGE,
        "answer": answer,
        "answer_is_long": is_long(answer),
        "remarks": remarks_of(suite=suite, content=content),
        "metrics": [words_of_metric(column) for column in suite.shown_columns],
        "arbiter": _arbiter(suite=suite, content=content),
        "has_network": "network" in suite.ranking_column.decided_by,
        "table": board_table(
            suite=suite,
            content=content,
            selection=selection,
            reader=request.user.username if request.user.is_authenticated else "",
        ),
    }


_arbiters: SharedCache[tuple[Mark, str], str] = SharedCache(maxsize=100)
"""By the rows of a board and the suite. The arbiter of a completed evaluation does not change."""


def _arbiter(*, suite: Suite, content: BoardContent) -> str:
    """The arbiter of undecided pairs on this board, which is part of its rules; empty if none was settled."""
    column = suite.ranking_column
    settled = (row for row in content.rows if "by_rules" in (ranged(metrics=row["metrics"], column=column) or {}))

    def read() -> str:
        row = next(settled, None)
        return "" if row is None else arbiter_of(row["evaluation"])

    return _arbiters.get_or_make((content.mark, suite.digest), read)


class BoardState(NamedTuple):
    """The state of a board for a reader. Shared by all anonymous requests: do not modify."""

    suite: Suite
    snapshot: Snapshot | None
    version: AllVersion | None
    """Version of all its evaluations, if the request is for all."""
    waiting: list[dict[str, Any]]
    """Unranked evaluations, one more than are shown, as JSON values."""
    waiting_mark: str
    """A digest of those that are shown."""
    unpublished: list[dict[str, Any]]
    """The standings of the reader's unpublished evaluations, as JSON values."""
    own: list[str]
    """Ids of the reader's published evaluations."""
    texts: str
    """A digest of the suite's title, description and rules."""
    mark: str
    """A digest of all other fields."""
    read: float
    """`time.monotonic()`"""


_states: SharedCache[tuple[object, ...], BoardState] = SharedCache(maxsize=_MOST_STATES)
"""For anonymous readers, who all see the same. A proxy caches whole pages as long, but each new query string is another
page."""


def board_state(*, request: HttpRequest, slug: str, every: bool) -> BoardState:
    """The state of a board for the reader, independent of the selected rows.

    Args:
        slug: of the suite.
        every: whether the request is for all evaluations.

    Raises:
        Http404: there is no such suite or board, or the chosen data have no board.
    """
    if request.user.is_authenticated or settings.KEEP_PAGES_SECONDS <= 0:
        return _read_state(request=request, slug=slug, every=every)
    key = slug, every, *map(request.GET.get, PARAMETERS), _conditions(request)
    state = _states.get(key)
    if state is None or time.monotonic() - state.read >= settings.KEEP_PAGES_SECONDS:
        state = _read_state(request=request, slug=slug, every=every)
        _states.put(key, state)
    return state


def name_of(snapshot: Snapshot | None) -> list[Any]:
    """The identity of a published state, as JSON values."""
    if snapshot is None:
        return []
    signature = signature_of(snapshot)
    return [snapshot.pk, snapshot.digest, snapshot.number, signature and signature.key_id]


def texts_of(suite: Suite) -> list[Any]:
    """The texts about a suite on boards, as JSON values."""
    return [suite.digest, suite.title, suite.description, suite.metrics]


def texts_mark(suite: Suite) -> str:
    """A digest of all information about a suite on boards."""
    return canonical_json.digest([*texts_of(suite), suite.slug, suite.scoring, suite.conditions, suite.panels])


def _read_state(*, request: HttpRequest, slug: str, every: bool) -> BoardState:
    read = time.monotonic()
    suite = get_object_or_404(Suite, slug=slug, current=True)
    if (data := chosen_data(request.GET)) is None:
        snapshot = latest_snapshot(suite=suite, conditions=_conditions(request))
    elif (snapshot := snapshots_of(suite.slug).filter(data).first()) is None:
        raise Http404("there is no board of these data")
    listed = unranked(suite=suite, reader=request.user)[: MOST_WAITING + 1]
    waiting = progress_rows(listed, reader=request.user)
    version = all_version(suite=suite, snapshot=snapshot) if snapshot and every else None
    conditions = conditions_of(snapshot) if snapshot else _conditions(request)
    hidden = unpublished(suite=suite, conditions=conditions, reader=request.user)
    rows = unpublished_rows(evaluations=hidden, snapshot=snapshot)
    own = own_published(suite=suite, conditions=conditions, reader=request.user) if conditions else []
    texts = texts_mark(suite)
    parts = [name_of(snapshot), texts, waiting, reference_digest(slug), version.parts if version else [], rows, own]
    return BoardState(
        suite=suite,
        snapshot=snapshot,
        version=version,
        waiting=waiting,
        waiting_mark=canonical_json.digest(waiting[:MOST_WAITING]),
        unpublished=rows,
        own=own,
        texts=texts,
        mark=canonical_json.digest(parts),
        read=read,
    )


def _conditions(request: HttpRequest) -> Conditions | None:
    """The conditions in the query string; None for the default board."""
    values = {name: request.GET[name] for name in Conditions._fields if name in request.GET}
    if not values:
        return None
    # Addresses from before device classes lack it.
    values.setdefault("device_class", "")
    if len(values) < len(Conditions._fields) or re.fullmatch(r"[0-9]{1,9}", values["samples"]) is None:
        raise Http404("a board is identified by profile_digest, split, samples and data_digest together")
    rules, data = values["profile_digest"], values["data_digest"]
    return Conditions(rules, values["split"], int(values["samples"]), data, values["device_class"])


@require_safe
def causes(request: HttpRequest, suite: str) -> HttpResponse:
    """The causes of the gap between planners and the gold score, side by side."""
    found = get_object_or_404(Suite, slug=suite, current=True)
    snapshot = latest_snapshot(suite=found)
    rows = () if snapshot is None else content_of(snapshot).rows
    parts: list[object] = [found.digest, found.title, found.description]
    if snapshot is not None:
        parts += [snapshot.pk, snapshot.digest, *version_of_rows(rows)]

    def make() -> HttpResponse:
        context = {"suite": found, "snapshot": snapshot, "here": "causes", "causes": causes_of_rows(rows)}
        return render(request, "boards/causes.html", context)

    return tagged_page(request=request, parts=parts, make=make)


@require_safe
def snapshots(request: HttpRequest, suite: str) -> HttpResponse:
    """Every published state of a suite's boards, newest first, of all versions and conditions."""
    found = get_object_or_404(Suite, slug=suite, current=True)
    page = Paginator(snapshots_of(suite), SNAPSHOTS_PER_PAGE).get_page(request.GET.get("page"))
    shown = [[snapshot.pk, signature_of(snapshot) is not None] for snapshot in page.object_list]
    parts = [found.digest, found.title, found.description, page.paginator.count, shown]
    newest = page.object_list[0] if shown else None
    context = {"suite": found, "page": page, "snapshot": newest, "here": "snapshots"}
    return tagged_page(request=request, parts=parts, make=lambda: render(request, "boards/snapshots.html", context))


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """How to write and submit an endpoint."""
    return render(request, "help/docs.html", {"site": request.build_absolute_uri("/").rstrip("/"), "groups": GROUPS})
