"""The page of a board's plots."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from leaderboard.boards import groups
from leaderboard.boards import plots as drawing
from leaderboard.boards.contents import AllVersion, all_content, all_version, content_of
from leaderboard.boards.models import Snapshot
from leaderboard.boards.pages.caching import not_modified, page_tag, with_tag
from leaderboard.boards.pages.page_cache import made_once, shareable
from leaderboard.boards.plots import against_cost, over_time
from leaderboard.boards.services import conditions_of, latest_snapshot
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import primary_metric


@require_safe
def plots(request: HttpRequest, suite: str) -> HttpResponse:
    """Score over time, score against cost, and the best planners by groups of tasks."""
    found = get_object_or_404(Suite, slug=suite, current=True)
    snapshot = latest_snapshot(suite=found)
    version = None if snapshot is None else all_version(suite=found, conditions=conditions_of(snapshot))
    shown = [found.digest, found.title, found.description]
    if snapshot is not None and version is not None:
        shown += [snapshot.pk, snapshot.digest, version.count, str(version.newest), version.members]
    tag = page_tag(request=request, parts=shown)
    if answer := not_modified(request=request, tag=tag):
        return answer

    def make() -> HttpResponse:
        context: dict[str, Any] = {"suite": found, "snapshot": snapshot, "here": "plots"}
        if snapshot is not None and version is not None:
            context |= _drawn(suite=found, snapshot=snapshot, version=version)
        return render(request, "boards/plots.html", context)

    return shareable(with_tag(response=made_once(tag=tag, make=make), tag=tag))


def _drawn(*, suite: Suite, snapshot: Snapshot, version: AllVersion) -> dict[str, Any]:
    metric = primary_metric(suite)
    best = content_of(snapshot)
    conditions = conditions_of(snapshot)
    every = all_content(suite=suite, conditions=conditions, version=version, coverage=best.coverage)
    costs = [against_cost(rows=best.rows, metric=metric, cost=cost) for cost in ("cost", "seconds", "tokens")]
    return {
        "metric": metric,
        "plots": [plot for plot in (over_time(rows=every.rows, metric=metric), *costs) if plot is not None],
        "cost_is_unknown": not any(costs),
        "groups": groups.best_by_group(suite=suite, snapshot=snapshot, content=best),
        "frame": {
            "width": drawing.WIDTH,
            "height": drawing.HEIGHT,
            "left": drawing.LEFT,
            "right": drawing.WIDTH - drawing.RIGHT,
            "top": drawing.TOP,
            "bottom": drawing.HEIGHT - drawing.BOTTOM,
            "middle": (drawing.LEFT + drawing.WIDTH - drawing.RIGHT) // 2,
        },
        "group_frame": {
            "width": groups.WIDTH,
            "left": groups.LEFT,
            "right": groups.WIDTH - groups.RIGHT,
            "top": groups.TOP,
        },
    }
