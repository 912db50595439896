"""The page of one task across planners. Everything is in its address, so that it can be cited."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from leaderboard.boards.contents import content_of
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.gold import check_tasks, not_shared
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.visibility import Reader
from leaderboard.evaluations.web.compare.services import NotComparableError, best_of_board, read_evaluations, read_ids
from leaderboard.evaluations.web.side_by_side.presenters import side_by_side
from leaderboard.evaluations.web.visibility_presenters import for_readers_of

MOST = 4
"""Most planners beside each other."""
USUAL = 3
"""The first rows of the board, if the address names no evaluations."""


@require_safe
def task_across(request: HttpRequest, suite: str, key: str) -> HttpResponse:
    """One task across the evaluations that the address names, or the best ones of the board."""
    try:
        evaluations = _evaluations(request.GET.getlist("e"), suite=suite, reader=request.user)
    except NotComparableError as error:
        return render(request, "evaluations/compare/refused.html", {"problems": error.problems}, status=400)
    first = evaluations[0]
    task = get_object_or_404(Task.objects.select_related("suite"), suite=first.suite_id, key=key)
    for one in evaluations:
        check_tasks(reader=request.user, of=one)
    page = side_by_side(task=task, evaluations=evaluations, reader=request.user, sample=request.GET.get("sample"))
    offered = [row for row in best_of_board(first) if row["evaluation"] not in {str(one.pk) for one in evaluations}]
    context = {"suite": first.suite, "task": task, "page": page, "offered": offered, "most": MOST}
    response = render(request, "evaluations/side_by_side.html", context)
    for one in evaluations:
        for_readers_of(one.submission, response=response)
        not_shared(response, suite=one.suite, split=one.split)
    return response


def _evaluations(texts: list[str], *, suite: str, reader: Reader) -> list[Evaluation]:
    """The named evaluations, or the first rows of the suite's board.

    Raises:
        Http404: none is named, and the board has no rows, or they are of another suite.
        NotComparableError: they cannot be shown beside each other.
    """
    ids = read_ids([text for text in texts if text]) or _best(suite)
    if not ids:
        raise Http404("nothing was published on this board yet")
    if len(ids) > MOST:
        raise NotComparableError([f"These are {len(ids)} evaluations; at most {MOST} can be beside each other."])
    found = read_evaluations(ids, reader=reader)
    if found[0].suite.slug != suite:
        raise Http404("these evaluations are of another suite")
    return found


def _best(slug: str) -> list[UUID]:
    suite = get_object_or_404(Suite, slug=slug, current=True)
    snapshot = latest_snapshot(suite=suite)
    rows = () if snapshot is None else content_of(snapshot).rows
    return [UUID(row["evaluation"]) for row in rows[:USUAL]]
