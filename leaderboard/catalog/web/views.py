"""The page of a suite."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from evaluator.core.suites.reference_rows import reference_digest
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Suite
from leaderboard.catalog.web import presenters
from leaderboard.platform.http.caching import tagged_page


@require_safe
def suite_page(request: HttpRequest, suite: str) -> HttpResponse:
    """What a suite measures, with its tasks, tools, data, metrics and datasheet. The same for every reader: of hidden
    splits it shows nothing, not even to operators."""
    found = get_object_or_404(Suite, slug=suite, current=True)
    board = presenters.open_board(suite=found, snapshot=latest_snapshot(suite=found))

    def make() -> HttpResponse:
        page = presenters.suite_page(suite=found, board=board, parameters=request.GET.dict())
        return render(request, "catalog/suite.html", {"suite": found, "board": board, "page": page})

    parts = [found.digest, found.title, found.description, found.metrics, found.scoring, found.task_facets]
    parts += [board and [board.pk, board.digest], reference_digest(suite)]
    return tagged_page(request=request, parts=parts, make=make)
