"""The page of a suite's seasons: their commitments and seeds, their boards side by side, and planners over them."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.boards import courses as drawing
from leaderboard.boards.courses import MOST_ROWS, SeasonBoard, courses, seasons_of
from leaderboard.boards.services import latest_snapshot
from leaderboard.boards.web.page_cache import tagged_page
from leaderboard.catalog.models import Suite

_FRAME = {
    "width": drawing.WIDTH,
    "height": drawing.HEIGHT,
    "left": drawing.LEFT,
    "right": drawing.WIDTH - drawing.RIGHT,
    "bottom": drawing.HEIGHT - drawing.BOTTOM,
}


@require_safe
def seasons(request: HttpRequest, suite: str) -> HttpResponse:
    """Every season of a suite, whether it has a board yet or not."""
    found = get_object_or_404(Suite, slug=suite, current=True)
    boards = seasons_of(suite)
    snapshot = latest_snapshot(suite=found)
    states = [_state(board) for board in boards]
    parts: list[object] = [found.digest, found.title, found.description, bool(snapshot)]
    parts += [
        [board.season.name, state, board.data and board.data.seed, board.snapshot and board.snapshot.digest]
        for board, state in zip(boards, states, strict=True)
    ]

    def make() -> HttpResponse:
        context: dict[str, Any] = {"suite": found, "snapshot": snapshot, "here": "seasons", "frame": _FRAME}
        context["seasons"] = list(zip(boards, states, strict=True))
        context["metric"] = found.ranking_column
        shown = [board for board in boards if board.snapshot is not None]
        every = courses(boards=[board.rows for board in shown], metric=found.ranking_column)
        names = [board.season.name for board in shown]
        context |= {"names": names, "courses": every[:MOST_ROWS], "left_out": max(0, len(every) - MOST_ROWS)}
        context["drawing"] = drawing.drawing(found=every, seasons=names)
        return render(request, "boards/seasons.html", context)

    return tagged_page(request=request, parts=parts, make=make)


def _state(board: SeasonBoard) -> str:
    if board.season.closed is not None:
        return "closed"
    return "open" if board.season.opens <= timezone.now() else "announced"
