"""Pages that anyone reads: the start page, boards, their snapshots, and how to write an endpoint."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from evaluator.suites.reference_rows import reference_digest
from leaderboard.boards.caching import not_modified, page_tag, with_tag
from leaderboard.boards.models import Snapshot
from leaderboard.boards.presenters import MOST_NARROW, Table, board_table, progress_rows
from leaderboard.boards.reference import HIDDEN, reported
from leaderboard.boards.services import Conditions, latest_snapshot, latest_snapshots, unranked
from leaderboard.catalog.models import Suite


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What this is, and every board with its first rows."""
    suites = list(Suite.objects.filter(current=True).order_by("slug"))
    snapshots = latest_snapshots(suites=suites)
    boards = [
        {"suite": suite, "snapshot": snapshot, "table": snapshot and _first_columns(suite=suite, snapshot=snapshot)}
        for suite in suites
        for snapshot in [snapshots.get(suite.pk)]
    ]
    return render(request, "boards/home.html", {"boards": boards})


@require_safe
def board(request: HttpRequest, suite: str) -> HttpResponse:
    """The newest board of a suite, with what is under way below it."""
    found = get_object_or_404(Suite, slug=suite, current=True)
    snapshot = latest_snapshot(suite=found, conditions=_conditions(request))
    waiting = progress_rows(unranked(suite=found))
    shown = [snapshot and snapshot.digest, snapshot and snapshot.number, waiting, reference_digest(suite)]
    tag = page_tag(request=request, parts=shown)
    if answer := not_modified(request=request, tag=tag):
        return answer
    context: dict[str, Any] = {"suite": found, "snapshot": snapshot, "waiting": waiting}
    if snapshot is not None:
        context["table"] = board_table(suite=found, snapshot=snapshot, sort=request.GET.get("sort", ""))
        context["permanent"] = _snapshot_address(snapshot, suite)
        # Not on the pages of snapshots: what those show never changes, and papers' figures belong to no snapshot.
        context["has_reported"] = bool(reference_digest(suite))
        context["reported"] = reported(suite=found, hidden=request.GET.get("reference") == HIDDEN)
    return with_tag(response=render(request, "boards/board.html", context), tag=tag)


@require_safe
def snapshot(request: HttpRequest, suite: str, number: int) -> HttpResponse:
    """One published state of a board, under an address that never changes what it shows."""
    # Numbers run through over the versions and conditions of a suite (see `services.publish`).
    snapshots = Snapshot.objects.select_related("suite").filter(suite__slug=suite)
    found = get_object_or_404(snapshots, number=number)
    tag = page_tag(request=request, parts=[found.digest, found.number])
    if answer := not_modified(request=request, tag=tag):
        return answer
    newest = latest_snapshot(suite=found.suite, conditions=Conditions(found.profile_digest, found.split, found.samples))
    context = {
        "suite": found.suite,
        "snapshot": found,
        "table": board_table(suite=found.suite, snapshot=found, sort=request.GET.get("sort", "")),
        "permanent": _snapshot_address(found, suite),
        "is_permanent": True,
        "superseded": newest is not None and newest.pk != found.pk,
    }
    return with_tag(response=render(request, "boards/board.html", context), tag=tag)


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """How to write an endpoint and how to submit it."""
    return render(request, "docs.html", {"site": request.build_absolute_uri("/").rstrip("/")})


def _first_columns(*, suite: Suite, snapshot: Snapshot) -> Table:
    return board_table(suite=suite, snapshot=snapshot, most_metrics=MOST_NARROW)


def _snapshot_address(snapshot: Snapshot, suite: str) -> str:
    return reverse("boards:snapshot", kwargs={"suite": suite, "number": snapshot.number})


def _conditions(request: HttpRequest) -> Conditions | None:
    """The board that the address names by `profile_digest`, `split` and `samples`; None for the usual one."""
    given = {name: request.GET[name] for name in Conditions._fields if name in request.GET}
    if not given:
        return None
    if len(given) < len(Conditions._fields) or not given["samples"].isdecimal():
        raise Http404("a board is named by profile_digest, split and samples together")
    return Conditions(given["profile_digest"], given["split"], int(given["samples"]))
