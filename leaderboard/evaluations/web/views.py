"""Pages of evaluations and their tasks, and what their owners do there."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from leaderboard.boards.contents import content_of
from leaderboard.boards.models import Snapshot
from leaderboard.catalog.hidden_data import PlannerLimitError, when_public
from leaderboard.catalog.library import TryLaterError
from leaderboard.evaluations import states
from leaderboard.evaluations.gold import (
    RELATED,
    check_tasks,
    not_shared,
    withheld_from,
    withholds_tasks,
)
from leaderboard.evaluations.models import Evaluation, TaskResult, Visibility
from leaderboard.evaluations.results.figures import badge_of
from leaderboard.evaluations.results.task_rows import PENDING, tasks_of
from leaderboard.evaluations.results.task_scores import with_results_version
from leaderboard.evaluations.states import never_ran
from leaderboard.evaluations.visibility import (
    NotPossibleError,
    Reader,
    may_act,
    may_see,
    reader_in_team,
    remember_reader,
    visible_evaluations,
    visible_runs,
)
from leaderboard.evaluations.web.compare.services import best_of_rows, can_be_compared
from leaderboard.evaluations.web.others import others_on, query_of, walk
from leaderboard.evaluations.web.presenters import evaluation_page, for_readers_of, visibility_panel, with_siblings
from leaderboard.evaluations.web.presenters import progress as progress_of
from leaderboard.evaluations.web.sharing.views import sharing_of
from leaderboard.evaluations.web.tasks.task_presenters import task_page
from leaderboard.people.authentication import user_of
from leaderboard.people.models import User
from leaderboard.platform.compiled_queries import CompiledQuery
from leaderboard.platform.http.caching import shareable
from leaderboard.platform.operators import is_operator
from leaderboard.platform.problems import FieldErrors
from leaderboard.queue import verification
from leaderboard.queue.place import with_open_shards
from leaderboard.queue.web.presenters import verification_panel
from leaderboard.queue.workers.logs import may_read, tail
from leaderboard.quotas.services import QuotaExceededError
from leaderboard.reliability.web.presenters import reliability_panel
from leaderboard.submissions import actions, services
from leaderboard.submissions.actions import VERIFY, OwnerAction, allowed_actions
from leaderboard.submissions.readiness import report
from leaderboard.submissions.releasing import set_visibility
from leaderboard.submissions.web.forms import ChangeVisibilityForm


@require_safe
def detail(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """One evaluation: progress, scores, failures, tasks."""
    evaluation = _evaluation(request=request, evaluation_id=evaluation_id, has_results=True)
    acts = may_act(user=request.user, submission=evaluation.submission)
    before = evaluation.submission.rerun_of
    sharing = sharing_of(request=request, evaluation=evaluation)
    context = {
        **_names(evaluation),
        "page": evaluation_page(evaluation=evaluation, parameters=request.GET.dict()),
        "tasks_withheld": when_public(evaluation) if withholds_tasks(reader=None, of=evaluation) else "",
        "kept_query": query_of(suite=evaluation.suite, parameters=request.GET.dict()),
        "is_owner": request.user.pk == evaluation.submission.planner.owner_id,
        "actions": (
            *(allowed_actions(evaluation) if acts else ()),
            *_verifying(request=request, evaluation=evaluation),
        ),
        "reruns": _reruns(evaluation=evaluation, reader=request.user),
        "rerun_of": before if before and may_see(reader=request.user, submission=before.submission) else None,
        "visibility": visibility_panel(evaluation=evaluation, reader=request.user),
        "verification": verification_panel(evaluation),
        "sharing": sharing,
        "reliability": reliability_panel(evaluation, acts=acts),
        "offered": _offered(evaluation=evaluation, snapshot=sharing.snapshot),
        "log": tuple(tail(evaluation)) if may_read(user=request.user, evaluation=evaluation) else None,
    }
    response = for_readers_of(evaluation.submission, response=render(request, "evaluations/detail.html", context))
    is_settled = evaluation.state in states.FINAL and evaluation.submission.visibility == Visibility.PUBLIC
    return shareable(response) if is_settled else response


@require_safe
def progress(request: HttpRequest, evaluation_id: UUID) -> JsonResponse:
    """Where an evaluation stands now, for pages that cannot have its events (`states.py` documents the object)."""
    response = JsonResponse(progress_of(_evaluation(request=request, evaluation_id=evaluation_id)))
    response["Cache-Control"] = "no-store"
    return response


@require_safe
def task(request: HttpRequest, evaluation_id: UUID, key: str) -> HttpResponse:
    """One task of an evaluation: plan, problems, samples."""
    evaluation = _evaluation(request=request, evaluation_id=evaluation_id)
    found = get_object_or_404(tasks_of(evaluation).select_related("suite"), key=key)
    check_tasks(reader=request.user, of=evaluation)
    result = TaskResult.objects.filter(evaluation=evaluation, task=found).first()
    withheld = withheld_from(reader=request.user, evaluation=evaluation)
    score = result.score if result else None
    context = {
        **_names(evaluation),
        "task": found,
        "result": result,
        "outcome": result.outcome if result else PENDING,
        "badge": badge_of(outcome=result.outcome, plan_summary=result.plan_summary) if result else PENDING,
        "was_left_out": result is not None and never_ran(outcome=result.outcome, reason=result.reason),
        "reason_text": result.reason_text if result and not withheld.plan else "",
        "score": score,
        "is_undecided": bool(result and result.indicators.get(evaluation.suite.ranking_column.undecided)),
        "others": others_on(evaluation=evaluation, task=found, score=score, reader=request.user),
        "walk": walk(evaluation=evaluation, key=found.key, parameters=request.GET.dict()),
        "page": task_page(
            task=found,
            result=result,
            split=evaluation.split,
            withheld=withheld,
            samples=request.GET.get("samples"),
        ),
    }
    response = for_readers_of(evaluation.submission, response=render(request, "evaluations/task.html", context))
    not_shared(response, suite=evaluation.suite, split=evaluation.split)
    return response


def _action(*, do: Callable[..., Any], said: str, staff_may: bool = False) -> Callable[..., HttpResponse]:
    """A view that does something to an evaluation for who may act on it, and says that it did."""

    @require_POST
    @login_required
    def act(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
        evaluation = _actable(request=request, evaluation_id=evaluation_id, staff_may=staff_may)
        try:
            do(evaluation, by=request.user)
        except NotPossibleError as error:
            messages.error(request, str(error))
        else:
            messages.success(request, said)
        return redirect("evaluations:detail", evaluation_id=evaluation.pk)

    return act


resume = _action(do=services.resume, said="The tasks were resumed.")
accept = _action(do=services.accept, said="The faults were accepted.")
cancel = _action(do=services.cancel, said="The evaluation is cancelled.")
verify = _action(
    do=lambda evaluation, by: verification.order(user=by, evaluation=evaluation),
    said="Verification has started.",
    staff_may=True,
)


@require_POST
@login_required
def rerun(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """Submit the planner of an evaluation that has ended once more, and show the new evaluation."""
    evaluation = _actable(request=request, evaluation_id=evaluation_id)
    try:
        submission = actions.rerun(evaluation, by=user_of(request))
    except (NotPossibleError, QuotaExceededError, PlannerLimitError) as error:
        messages.error(request, str(error))
    except FieldErrors as problems:
        messages.error(request, " ".join(text for texts in problems.errors.values() for text in texts))
    except TryLaterError as error:
        report(error)
        messages.error(request, error.for_people)
    else:
        messages.success(request, "Submitted again. This page follows the new evaluation.")
        evaluation = submission.evaluations.get()
    return redirect("evaluations:detail", evaluation_id=evaluation.pk)


@require_POST
@login_required
def visibility(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """Say who sees an evaluation and what was submitted with it."""
    evaluation = _actable(request=request, evaluation_id=evaluation_id)
    form = ChangeVisibilityForm(request.POST)
    problems: Mapping[str, Iterable[object]] = form.errors
    try:
        if form.is_valid() and set_visibility(evaluation.submission, **form.visibility_entered(), by=user_of(request)):
            messages.success(request, "Visibility changed.")
    except NotPossibleError as error:
        messages.error(request, str(error))
    except FieldErrors as error:
        problems = error.errors
    for texts in problems.values():
        messages.error(request, f"Nothing was changed. {' '.join(map(str, texts))}")
    return redirect("evaluations:detail", evaluation_id=evaluation.pk)


def _verifying(*, request: HttpRequest, evaluation: Evaluation) -> tuple[OwnerAction, ...]:
    """The action of asking for a verification, if this reader may."""
    concerned = is_operator(request.user) or may_act(user=request.user, submission=evaluation.submission)
    if not concerned or not hasattr(evaluation, "own_worker_run"):
        return ()
    return () if verification.why_not(user=user_of(request), evaluation=evaluation) else (VERIFY,)


def _evaluation(*, request: HttpRequest, evaluation_id: UUID, has_results: bool = False) -> Evaluation:
    """The evaluation, if the reader sees it; to others there is none.

    Args:
        has_results: whether it is read `with_results_version`, `with_siblings` and `with_open_shards`.
    """
    reader = request.user
    if reader.pk is None or is_operator(reader):
        found = _readable(reader=reader, evaluation=evaluation_id, has_results=has_results).first()
    else:
        found = _READABLE[has_results].first(reader=reader.pk, evaluation=evaluation_id)
    if found is None:
        raise Http404("There is no such evaluation.")
    remember_reader(reader=reader, submission=found.submission, in_team=found.in_team)  # type: ignore[attr-defined]  # annotated above
    return found


def _readable(*, reader: Reader, evaluation: UUID, has_results: bool) -> QuerySet[Evaluation]:
    found = visible_runs(reader).select_related(
        *RELATED,
        "submission__planner__owner",
        "submission__submitted_by",
        "submission__team",
        "submission__rerun_of__submission",
        "own_worker_run",
        "reliability",
    )
    if has_results:
        found = with_open_shards(with_siblings(with_results_version(found)))
    return found.annotate(in_team=reader_in_team(reader)).filter(pk=evaluation)


def _by_user(*, has_results: bool) -> CompiledQuery[Evaluation]:
    """What `_readable` finds for a user who is no operator."""
    return CompiledQuery(
        lambda reader, evaluation: _readable(reader=User(pk=reader), evaluation=evaluation, has_results=has_results),
        as_written=True,
        reader=int,
        evaluation=UUID,
    )


_READABLE = {has_results: _by_user(has_results=has_results) for has_results in (False, True)}


def _offered(*, evaluation: Evaluation, snapshot: Snapshot | None) -> list[Mapping[str, Any]]:
    """Rows of its board to compare it with."""
    if snapshot is None or not can_be_compared(evaluation):
        return []
    return best_of_rows(rows=content_of(snapshot).rows, evaluation=evaluation)


def _reruns(*, evaluation: Evaluation, reader: Reader) -> QuerySet[Evaluation]:
    if evaluation.state not in states.FINAL:
        return Evaluation.objects.none()
    return visible_evaluations(reader).filter(submission__rerun_of=evaluation).order_by("created")


def _actable(*, request: HttpRequest, evaluation_id: UUID, staff_may: bool = False) -> Evaluation:
    evaluation = _evaluation(request=request, evaluation_id=evaluation_id)
    if not may_act(user=request.user, submission=evaluation.submission) and not (
        staff_may and is_operator(request.user)
    ):
        raise PermissionDenied
    return evaluation


def _names(evaluation: Evaluation) -> dict[str, Any]:
    return {"evaluation": evaluation, "suite": evaluation.suite, "planner": evaluation.submission.planner}
