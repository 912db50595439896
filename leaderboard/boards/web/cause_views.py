"""The page that compares the causes of a board's planners."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from leaderboard.boards.contents import content_of
from leaderboard.boards.services import latest_snapshot
from leaderboard.boards.web.page_cache import tagged_page
from leaderboard.catalog.models import Suite
from leaderboard.causes.boards.counting import causes_of_rows, version_of_rows


@require_safe
def causes(request: HttpRequest, suite: str) -> HttpResponse:
    """Why the planners of a board are below the gold score, side by side."""
    found = get_object_or_404(Suite, slug=suite, current=True)
    snapshot = latest_snapshot(suite=found)
    rows = () if snapshot is None else content_of(snapshot).rows
    shown: list[object] = [found.digest, found.title, found.description]
    if snapshot is not None:
        shown += [snapshot.pk, snapshot.digest, *version_of_rows(rows)]

    def make() -> HttpResponse:
        context = {"suite": found, "snapshot": snapshot, "here": "causes", "causes": causes_of_rows(rows)}
        return render(request, "boards/causes.html", context)

    return tagged_page(request=request, parts=shown, make=make)
