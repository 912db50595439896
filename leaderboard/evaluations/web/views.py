"""Pages of evaluations and their tasks, and their owners' actions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from evaluator.scoring.task_comparison import PENDING
from leaderboard.boards.contents import content_of
from leaderboard.boards.ranking import margins_in_words
from leaderboard.catalog.hidden_data import PlannerLimitError, when_public
from leaderboard.catalog.library import TryLaterError, judges_otherwise
from leaderboard.evaluations import states
from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult, Visibility
from leaderboard.evaluations.results.figures import badge_of, never_ran
from leaderboard.evaluations.results.stored_rows import tasks_of
from leaderboard.evaluations.results.task_scores import with_results_version
from leaderboard.evaluations.visibility import (
    RELATED,
    NotPossibleError,
    Reader,
    check_tasks,
    may_act,
    may_see,
    not_shared,
    reader_in_team,
    remember_reader,
    visible_evaluations,
    visible_runs,
    withheld_from,
    withholds_tasks,
)
from leaderboard.evaluations.web.compare.services import best_of_rows, can_be_compared
from leaderboard.evaluations.web.gathering import evaluation_page
from leaderboard.evaluations.web.gathering import progress as progress_of
from leaderboard.evaluations.web.others import others_on, walk
from leaderboard.evaluations.web.sharing.views import sharing_of
from leaderboard.evaluations.web.tasks.stored_tasks import stored_task_page
from leaderboard.evaluations.web.visibility_panel import for_readers_of, visibility_panel, with_siblings
from leaderboard.evaluations.web.walk import query_of
from leaderboard.people.authentication import user_of
from leaderboard.people.models import User
from leaderboard.platform.compiled_queries import CompiledQuery
from leaderboard.platform.http.caching import shareable
from leaderboard.platform.operators import is_operator
from leaderboard.platform.problems import FieldErrors
from leaderboard.queue import verification
from leaderboard.queue.place import with_open_shards
from leaderboard.queue.web.presenters import runs_of_task, runs_panel, verification_panel
from leaderboard.queue.workers.logs import may_read, tail
from leaderboard.quotas.services import QuotaExceededError
from leaderboard.reliability.web.presenters import reliability_panel
from leaderboard.submissions import actions, services
from leaderboard.submissions.actions import REGRADE, VERIFY, allowed_actions
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
    offered_actions = tuple(allowed_actions(evaluation)) if acts else ()
    may_verify = (acts or is_operator(request.user)) and hasattr(evaluation, "own_worker_run")
    if may_verify and not verification.why_not(user=user_of(request), evaluation=evaluation):
        offered_actions += (VERIFY,)
    has_plans = evaluation.is_submitted and not evaluation.suite.in_turns
    if has_plans and evaluation.state == EvaluationState.COMPLETED and is_operator(request.user):
        offered_actions += (REGRADE,)
    reruns = Evaluation.objects.none()
    if evaluation.state in states.FINAL:
        again = visible_evaluations(request.user).filter(submission__rerun_of=evaluation)
        reruns = again.select_related("submission").order_by("created")
    offered: Sequence[Mapping[str, Any]] = ()
    board = content_of(sharing.snapshot).rows if sharing.snapshot is not None else ()
    if board and can_be_compared(evaluation):
        offered = best_of_rows(rows=board, evaluation=evaluation)
    is_judged_otherwise = evaluation.state == EvaluationState.COMPLETED and _is_judged_otherwise(evaluation)
    context = {
        **_names(evaluation),
        "page": evaluation_page(
            evaluation=evaluation, parameters=request.GET.dict(), board=board if sharing.place else ()
        ),
        "tasks_withheld": when_public(evaluation) if withholds_tasks(reader=None, of=evaluation) else "",
        "kept_query": query_of(suite=evaluation.suite, parameters=request.GET.dict()),
        "is_owner": request.user.pk == evaluation.submission.planner.owner_id,
        "actions": offered_actions,
        "reruns": reruns,
        "rerun_of": before if before and may_see(reader=request.user, submission=before.submission) else None,
        "visibility": visibility_panel(evaluation=evaluation, reader=request.user),
        "verification": verification_panel(evaluation),
        "sharing": sharing,
        "runs": runs_panel(evaluation),
        "margins": margins_in_words(
            rows=board,
            evaluation=str(evaluation.pk),
            column=evaluation.suite.ranking_column,
            has_present_judge=not is_judged_otherwise,
        ),
        "reliability": reliability_panel(evaluation, acts=acts),
        "offered": offered,
        "is_judged_otherwise": is_judged_otherwise,
        "log": tuple(tail(evaluation)) if may_read(user=request.user, evaluation=evaluation) else None,
    }
    response = for_readers_of(evaluation.submission, response=render(request, "evaluations/detail.html", context))
    is_settled = evaluation.state in states.FINAL and evaluation.submission.visibility == Visibility.PUBLIC
    return shareable(response) if is_settled else response


@require_safe
def progress(request: HttpRequest, evaluation_id: UUID) -> JsonResponse:
    """The current state of an evaluation, for pages without events (`states.py` documents the object)."""
    response = JsonResponse(progress_of(_evaluation(request=request, evaluation_id=evaluation_id)))
    response["Cache-Control"] = "no-store"
    return response


@require_safe
def task(request: HttpRequest, evaluation_id: UUID, key: str) -> HttpResponse:
    """One task of an evaluation: plan, problems, samples."""
    evaluation = _evaluation(request=request, evaluation_id=evaluation_id)
    task = get_object_or_404(tasks_of(evaluation).select_related("suite"), key=key)
    check_tasks(reader=request.user, of=evaluation)
    result = TaskResult.objects.filter(evaluation=evaluation, task=task).first()
    withheld = withheld_from(reader=request.user, evaluation=evaluation)
    score = result.score if result else None
    context = {
        **_names(evaluation),
        "task": task,
        "result": result,
        "outcome": result.outcome if result else PENDING,
        "badge": badge_of(outcome=result.outcome, plan_summary=result.plan_summary) if result else PENDING,
        "was_left_out": result is not None and never_ran(outcome=result.outcome, reason=result.reason),
        "reason_text": result.reason_text if result and not withheld.plan else "",
        "score": score,
        "is_undecided": bool(result and result.indicators.get(evaluation.suite.ranking_column.undecided)),
        "others": others_on(evaluation=evaluation, task=task, score=score, reader=request.user),
        "runs": runs_of_task(evaluation=evaluation, task=task, shows_plans=not withheld.plan),
        "walk": walk(evaluation=evaluation, key=task.key, parameters=request.GET.dict()),
        "page": stored_task_page(
            task=task,
            result=result,
            split=evaluation.split,
            withheld=withheld,
            samples=request.GET.get("samples"),
            has_present_rules=not _is_judged_otherwise(evaluation),
        ),
    }
    response = for_readers_of(evaluation.submission, response=render(request, "evaluations/task.html", context))
    not_shared(response, suite=evaluation.suite, split=evaluation.split)
    return response


def _action(*, do: Callable[..., Any], message: str, staff_may: bool = False) -> Callable[..., HttpResponse]:
    """A view that performs an action on an evaluation if the user may, and shows a message."""

    @require_POST
    @login_required
    def act(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
        evaluation = _actable(request=request, evaluation_id=evaluation_id, staff_may=staff_may)
        try:
            do(evaluation, by=request.user)
        except NotPossibleError as error:
            messages.error(request, str(error))
        else:
            messages.success(request, message)
        return redirect("evaluations:detail", evaluation_id=evaluation.pk)

    return act


resume = _action(do=services.resume, message="The tasks were resumed.")
accept = _action(do=services.accept, message="The faults were accepted.")
cancel = _action(do=services.cancel, message="The evaluation is cancelled.")
verify = _action(
    do=lambda evaluation, by: verification.order(user=by, evaluation=evaluation),
    message="Verification has started.",
    staff_may=True,
)


@require_POST
@login_required
def rerun(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """Submit the planner of an ended evaluation again, and show the new evaluation."""
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
    """Change the visibility of the evaluation's submission."""
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


def _evaluation(*, request: HttpRequest, evaluation_id: UUID, has_results: bool = False) -> Evaluation:
    """The evaluation; 404 unless the reader sees it.

    Args:
        has_results: whether to read it `with_results_version`, `with_siblings` and `with_open_shards`.
    """
    reader = request.user
    if reader.pk is None or is_operator(reader):
        evaluation = _readable(reader=reader, evaluation=evaluation_id, has_results=has_results).first()
    else:
        evaluation = _READABLE[has_results].first(reader=reader.pk, evaluation=evaluation_id)
    if evaluation is None:
        raise Http404("There is no such evaluation.")
    in_team = evaluation.in_team  # type: ignore[attr-defined]  # annotated
    remember_reader(reader=reader, submission=evaluation.submission, in_team=in_team)
    return evaluation


def _readable(*, reader: Reader, evaluation: UUID, has_results: bool) -> QuerySet[Evaluation]:
    runs = visible_runs(reader).select_related(
        *RELATED,
        "submission__planner__owner",
        "submission__submitted_by",
        "submission__team",
        "submission__rerun_of__submission",
        "own_worker_run",
        "reliability",
    )
    if has_results:
        runs = with_open_shards(with_siblings(with_results_version(runs)))
    return runs.annotate(in_team=reader_in_team(reader)).filter(pk=evaluation)


def _by_user(*, has_results: bool) -> CompiledQuery[Evaluation]:
    """`_readable` for a user who is not an operator."""
    return CompiledQuery(
        lambda reader, evaluation: _readable(reader=User(pk=reader), evaluation=evaluation, has_results=has_results),
        as_written=True,
        reader=int,
        evaluation=UUID,
    )


_READABLE = {has_results: _by_user(has_results=has_results) for has_results in (False, True)}


def _actable(*, request: HttpRequest, evaluation_id: UUID, staff_may: bool = False) -> Evaluation:
    evaluation = _evaluation(request=request, evaluation_id=evaluation_id)
    if not may_act(user=request.user, submission=evaluation.submission) and not (
        staff_may and is_operator(request.user)
    ):
        raise PermissionDenied
    return evaluation


def _is_judged_otherwise(evaluation: Evaluation) -> bool:
    rules = evaluation.profile_digest
    return judges_otherwise(suite=evaluation.suite, profile=evaluation.profile, rules=rules)


def _names(evaluation: Evaluation) -> dict[str, Any]:
    return {"evaluation": evaluation, "suite": evaluation.suite, "planner": evaluation.submission.planner}
