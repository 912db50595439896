"""Pages that anyone reads: the start page, boards, their snapshots and plots, and how to write an endpoint."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from evaluator.core.suites.reference_rows import reference_digest
from evaluator.scoring.metrics.undecided import ranged
from leaderboard.boards.contents import BoardContent, all_content, content_of, contents_of
from leaderboard.boards.models import Snapshot
from leaderboard.boards.selecting import HIDE, PAGE_SIZES, PER_PAGE, Selection, read_selection, tidied
from leaderboard.boards.services import NOT_SHOWN, conditions_of, latest_snapshot, latest_snapshots
from leaderboard.boards.signing.services import signature_of
from leaderboard.boards.web.execution_agreement import agreement_shown_on
from leaderboard.boards.web.page_cache import tagged_page
from leaderboard.boards.web.presenters import MOST_NARROW, board_table, first_rows
from leaderboard.boards.web.reference import reported
from leaderboard.boards.web.shown import MOST_WAITING, Shown, name_of, shown_to, texts_mark, texts_of
from leaderboard.catalog.models import Suite, current_suites
from leaderboard.evaluations.board_of import Conditions
from leaderboard.evaluations.results.filters import written
from leaderboard.evaluations.results.provenance import arbiter_of
from leaderboard.help.documents.chapters import GROUPS
from leaderboard.platform.http.late_parts import render_late
from leaderboard.platform.lru_cache import Mark, SharedCache

FIRST_ROWS = 5
"""Of each board, on the start page."""
_BESIDE_THE_FORM = ("sort", "reference", "season", *Conditions._fields)


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What this is, and every board with its first rows."""
    suites = current_suites()
    snapshots = latest_snapshots(suites=suites)
    parts = [[s.digest, s.title, s.description, name_of(snapshots.get(s.pk))] for s in suites]

    def make() -> HttpResponse:
        contents = contents_of(snapshots.values())
        boards = [
            {
                "suite": suite,
                "snapshot": snapshot,
                "table": snapshot
                and first_rows(suite=suite, content=contents[snapshot.pk], rows=FIRST_ROWS, metrics=MOST_NARROW),
            }
            for suite in suites
            for snapshot in [snapshots.get(suite.pk)]
        ]
        return render(request, "boards/home.html", {"boards": boards})

    return tagged_page(request=request, parts=parts, make=make)


@require_safe
def board(request: HttpRequest, suite: str) -> HttpResponse:
    """The newest board of a suite, with evaluations that are under way, and the places of the reader's own that are not
    public."""
    if (query := tidied(request.GET)) is not None:
        return HttpResponseRedirect(f"{request.path}{query}")
    selection = read_selection(request.GET)
    shown = shown_to(request=request, slug=suite, every=selection.every)

    def make() -> HttpResponse:
        context: dict[str, Any] = {"suite": shown.suite, "suite_mark": shown.texts, "unpublished": shown.unpublished}
        context |= {"waiting": shown.waiting[:MOST_WAITING], "waiting_mark": shown.waiting_mark}
        context["more_waiting"] = len(shown.waiting) > MOST_WAITING
        if shown.snapshot is not None:
            context |= _newest_context(request=request, shown=shown, snapshot=shown.snapshot, selection=selection)
        return render_late(request, "boards/board.html", context)

    return tagged_page(request=request, parts=[shown.mark], make=make, read=shown.read)


@require_safe
def snapshot(request: HttpRequest, suite: str, number: int) -> HttpResponse:
    """One published state of a board, under an address that never changes what it shows."""
    if (query := tidied(request.GET)) is not None:
        return HttpResponseRedirect(f"{request.path}{query}")
    found = find_snapshot(suite=suite, number=number)
    newest = latest_snapshot(suite=found.suite, conditions=conditions_of(found))
    superseded = newest is not None and newest.pk != found.pk
    parts = [name_of(found), texts_of(found.suite), superseded]

    def make() -> HttpResponse:
        # A snapshot has one row for each planner, and no other evaluations.
        selection = read_selection(request.GET)._replace(rows="")
        context = {"suite": found.suite, "suite_mark": texts_mark(found.suite), "is_permanent": True}
        context["superseded"] = superseded
        context |= _table_context(
            request=request, suite=found.suite, snapshot=found, content=content_of(found), selection=selection
        )
        return render_late(request, "boards/board.html", context)

    return tagged_page(request=request, parts=parts, make=make)


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """How to write an endpoint and how to submit it."""
    return render(request, "help/docs.html", {"site": request.build_absolute_uri("/").rstrip("/"), "groups": GROUPS})


def find_snapshot(*, suite: str, number: int) -> Snapshot:
    """A snapshot by its permanent number, without its content.

    Raises:
        Http404: there is none.
    """
    # Numbers run through over the versions and conditions of a suite (see `services.publish`).
    snapshots = Snapshot.objects.select_related("suite", "signature").defer(*NOT_SHOWN).filter(suite__slug=suite)
    return get_object_or_404(snapshots, number=number)


def _newest_context(*, request: HttpRequest, shown: Shown, snapshot: Snapshot, selection: Selection) -> dict[str, Any]:
    """What is shown of a board that is not empty."""
    suite, ranked = shown.suite, content_of(snapshot)
    content = ranked
    if shown.version is not None:
        content = all_content(suite=suite, snapshot=snapshot, version=shown.version)
    context = _table_context(request=request, suite=suite, snapshot=snapshot, content=content, selection=selection)
    # Not on the pages of snapshots: what those show never changes, and papers' figures belong to no snapshot.
    context["agreement"] = agreement_shown_on(suite=suite, content=ranked, samples=snapshot.samples)
    context["has_reported"] = bool(reference_digest(suite.slug))
    context["reported"] = reported(suite=suite, metrics=context["table"].metrics, hidden=selection.reference == HIDE)
    return context


def _table_context(
    *, request: HttpRequest, suite: Suite, snapshot: Snapshot, content: BoardContent, selection: Selection
) -> dict[str, Any]:
    permanent = reverse("boards:snapshot", kwargs={"suite": suite.slug, "number": snapshot.number})
    return {
        "snapshot": snapshot,
        "snapshot_mark": tuple(name_of(snapshot)),
        "signature": signature_of(snapshot),
        "address": request.build_absolute_uri(request.path),
        "permanent": permanent,
        "export": permanent.rstrip("/"),
        # Parameters without a control in the form.
        "kept_parameters": [(name, request.GET[name]) for name in _BESIDE_THE_FORM if name in request.GET],
        # Of the links in headings, each of which sorts by its column and leads to the first page.
        "sorting": _sorting(request.GET),
        "selection": selection,
        "page_sizes": PAGE_SIZES,
        "usual_page_size": PER_PAGE,
        "arbiter": _arbiter(suite=suite, content=content),
        "table": board_table(
            suite=suite,
            content=content,
            selection=selection,
            reader=request.user.username if request.user.is_authenticated else "",
        ),
    }


def _sorting(parameters: QueryDict) -> str:
    """The query string with an empty parameter `sort` at its end, and without the number of the page."""
    kept = ((name, text) for name, texts in parameters.lists() if name not in {"page", "sort"} for text in texts)
    return written([*kept, ("sort", "")])


_arbiters: SharedCache[tuple[Mark, str], str] = SharedCache(maxsize=100)
"""By the rows of a board and the suite: what completed evaluations were made with does not change."""


def _arbiter(*, suite: Suite, content: BoardContent) -> str:
    """Who settled undecided pairs on this board, which is part of its rules; empty if nothing was settled."""
    column = suite.ranking_column
    settled = (row for row in content.rows if "by_rules" in (ranged(metrics=row["metrics"], column=column) or {}))

    def read() -> str:
        row = next(settled, None)
        return "" if row is None else arbiter_of(row["evaluation"])

    return _arbiters.get_or_make((content.mark, suite.digest), read)
