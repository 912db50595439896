"""Pages that anyone reads: the start page, boards, their snapshots and plots, and how to write an endpoint."""

import re
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from evaluator import canonical_json
from evaluator.metrics.undecided import ranged
from evaluator.suites.reference_rows import reference_digest
from leaderboard.boards.contents import BoardContent, all_content, all_version, content_of, contents_of
from leaderboard.boards.models import Snapshot
from leaderboard.boards.pages.execution_agreement import agreement_on, agreement_shown
from leaderboard.boards.pages.page_cache import tagged_page
from leaderboard.boards.pages.presenters import MOST_NARROW, board_table, first_rows, progress_rows
from leaderboard.boards.pages.reference import reported
from leaderboard.boards.selecting import HIDE, PAGE_SIZES, PER_PAGE, Selection, read_selection, tidied
from leaderboard.boards.services import (
    NOT_SHOWN,
    conditions_of,
    latest_snapshot,
    latest_snapshots,
    newest_of_seasons,
    unranked,
)
from leaderboard.boards.signing.services import signature_of
from leaderboard.boards.standing import unpublished, unpublished_rows
from leaderboard.catalog.models import Suite, current_suites
from leaderboard.docs_pages.chapters import GROUPS
from leaderboard.evaluations.board_of import Conditions
from leaderboard.results.provenance import arbiter_of

FIRST_ROWS = 5
"""Of each board, on the start page."""
MOST_WAITING = 20
_BESIDE_THE_FORM = ("sort", "reference", "season", *Conditions._fields)


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What this is, and every board with its first rows."""
    suites = current_suites()
    snapshots = latest_snapshots(suites=suites)
    parts = [[s.digest, s.title, s.description, _name(snapshots.get(s.pk))] for s in suites]

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
    found = get_object_or_404(Suite, slug=suite, current=True)
    snapshot = _newest(request=request, suite=found)
    selection = read_selection(request.GET)
    waiting = progress_rows(unranked(suite=found, reader=request.user)[: MOST_WAITING + 1])
    version = all_version(suite=found, snapshot=snapshot) if snapshot and selection.every else None
    board_conditions = conditions_of(snapshot) if snapshot else _conditions(request)
    own = unpublished(suite=found, conditions=board_conditions, reader=request.user)
    unseen = unpublished_rows(evaluations=own, snapshot=snapshot)
    shown = [_name(snapshot), _texts(found), waiting, reference_digest(suite), version.parts if version else [], unseen]

    def make() -> HttpResponse:
        context: dict[str, Any] = {"suite": found, "waiting": waiting[:MOST_WAITING]}
        context["waiting_mark"] = canonical_json.digest(context["waiting"])
        context["unpublished"] = unseen
        context["more_waiting"] = len(waiting) > MOST_WAITING
        if snapshot is not None:
            content = content_of(snapshot)
            if version is not None:
                content = all_content(suite=found, snapshot=snapshot, version=version)
            context |= _table_context(
                request=request, suite=found, snapshot=snapshot, content=content, selection=selection
            )
            # Not on the pages of snapshots: what those show never changes, and papers' figures belong to no snapshot.
            context["agreement"] = agreement_shown(
                agreement_on(suite=found, rows=content_of(snapshot).rows, samples=snapshot.samples)
            )
            context["has_reported"] = bool(reference_digest(suite))
            context["reported"] = reported(
                suite=found, metrics=context["table"].metrics, hidden=selection.reference == HIDE
            )
        return render(request, "boards/board.html", context)

    return tagged_page(request=request, parts=shown, make=make)


@require_safe
def snapshot(request: HttpRequest, suite: str, number: int) -> HttpResponse:
    """One published state of a board, under an address that never changes what it shows."""
    if (query := tidied(request.GET)) is not None:
        return HttpResponseRedirect(f"{request.path}{query}")
    found = find_snapshot(suite=suite, number=number)
    newest = latest_snapshot(suite=found.suite, conditions=conditions_of(found))
    superseded = newest is not None and newest.pk != found.pk
    parts = [_name(found), _texts(found.suite), superseded]

    def make() -> HttpResponse:
        # A snapshot has one row for each planner, and no other evaluations.
        selection = read_selection(request.GET)._replace(rows="")
        context = {"suite": found.suite, "is_permanent": True, "superseded": superseded}
        context |= _table_context(
            request=request, suite=found.suite, snapshot=found, content=content_of(found), selection=selection
        )
        return render(request, "boards/board.html", context)

    return tagged_page(request=request, parts=parts, make=make)


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """How to write an endpoint and how to submit it."""
    return render(request, "docs.html", {"site": request.build_absolute_uri("/").rstrip("/"), "groups": GROUPS})


def find_snapshot(*, suite: str, number: int) -> Snapshot:
    """A snapshot by its permanent number, without its content.

    Raises:
        Http404: there is none.
    """
    # Numbers run through over the versions and conditions of a suite (see `services.publish`).
    snapshots = Snapshot.objects.select_related("suite", "signature").defer(*NOT_SHOWN).filter(suite__slug=suite)
    return get_object_or_404(snapshots, number=number)


def _table_context(
    *, request: HttpRequest, suite: Suite, snapshot: Snapshot, content: BoardContent, selection: Selection
) -> dict[str, Any]:
    permanent = reverse("boards:snapshot", kwargs={"suite": suite.slug, "number": snapshot.number})
    return {
        "snapshot": snapshot,
        "signature": signature_of(snapshot),
        "address": request.build_absolute_uri(request.path),
        "permanent": permanent,
        "export": permanent.rstrip("/"),
        # Parameters without a control in the form.
        "kept_parameters": [(name, request.GET[name]) for name in _BESIDE_THE_FORM if name in request.GET],
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


def _arbiter(*, suite: Suite, content: BoardContent) -> str:
    """Who settled undecided pairs on this board, which is part of its rules; empty if nothing was settled."""
    column = suite.ranking_column
    settled = (row for row in content.rows if "by_rules" in (ranged(metrics=row["metrics"], column=column) or {}))
    row = next(settled, None)
    return "" if row is None else arbiter_of(row["evaluation"])


def _name(snapshot: Snapshot | None) -> list[Any]:
    if snapshot is None:
        return []
    signature = signature_of(snapshot)
    return [snapshot.pk, snapshot.digest, snapshot.number, signature and signature.key_id]


def _texts(suite: Suite) -> list[Any]:
    return [suite.digest, suite.title, suite.description, suite.metrics]


def _newest(*, request: HttpRequest, suite: Suite) -> Snapshot | None:
    """The newest snapshot of the board that the address names by its season or its conditions; else of the usual one.

    Raises:
        Http404: the season has no board.
    """
    if name := request.GET.get("season"):
        return get_object_or_404(newest_of_seasons(suite.slug), season=name)
    return latest_snapshot(suite=suite, conditions=_conditions(request))


def _conditions(request: HttpRequest) -> Conditions | None:
    """The board that the address names by its conditions; None for the usual one."""
    given = {name: request.GET[name] for name in Conditions._fields if name in request.GET}
    if not given:
        return None
    # Boards from before digests of data were kept have none.
    given.setdefault("data_digest", "")
    if len(given) < len(Conditions._fields) or re.fullmatch(r"[0-9]{1,9}", given["samples"]) is None:
        raise Http404("a board is named by profile_digest, split, samples and data_digest together")
    return Conditions(given["profile_digest"], given["split"], int(given["samples"]), given["data_digest"])
