"""Pages about workers: the log of an evaluation, for its owner and staff."""

from uuid import UUID

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.visibility import visible_evaluations
from leaderboard.evaluations.web.progress import MOVING
from leaderboard.queue.web.presenters import shown_attempt
from leaderboard.queue.workers import logs

ATTEMPTS_PER_PAGE = 20
_STOP_POLLING = 286
"""htmx's own status: take the answer and ask no more."""


@require_safe
@never_cache
def log(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """The whole log, attempt by attempt."""
    evaluation = _readable(request=request, evaluation_id=evaluation_id)
    page = Paginator(logs.attempts_of(evaluation), ATTEMPTS_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "evaluation": evaluation,
        "suite": evaluation.suite,
        "planner": evaluation.submission.planner,
        "is_moving": evaluation.state in MOVING,
        "page": page,
        "attempts": [shown_attempt(attempt) for attempt in page.object_list],
    }
    return render(request, "queue/log.html", context)


@require_safe
@never_cache
def log_tail(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """The last lines, for the evaluation's page, which asks for them while the evaluation runs."""
    evaluation = _readable(request=request, evaluation_id=evaluation_id)
    status = 200 if evaluation.state in MOVING else _STOP_POLLING
    return render(request, "queue/lines.html", {"lines": logs.tail(evaluation)}, status=status)


def _readable(*, request: HttpRequest, evaluation_id: UUID) -> Evaluation:
    related = visible_evaluations(request.user).select_related("suite", "submission__planner")
    evaluation = get_object_or_404(related, pk=evaluation_id)
    if not logs.may_read(user=request.user, evaluation=evaluation):
        raise Http404("Page not found.")
    return evaluation
