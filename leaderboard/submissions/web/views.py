"""Pages: the submit form, test calls, and the list of a user's submissions."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evaluator.core.plans_file import MAX_BYTES
from evaluator.planners.plans_template import plans_template_of
from leaderboard.catalog.hidden_data import PlannerLimitError, planner_limits_in_words
from leaderboard.catalog.library import TryLaterError
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Submission
from leaderboard.people.authentication import user_of
from leaderboard.people.teams import teams_of
from leaderboard.planners import plans_files, secret_headers
from leaderboard.planners.checkpoints import ReceivedFile
from leaderboard.planners.data import NAME
from leaderboard.planners.kinds import KINDS
from leaderboard.planners.kinds.plans import PLANS_DIGEST
from leaderboard.planners.models import Planner
from leaderboard.planners.roles import asks_others
from leaderboard.platform.api.throttling import seconds_to_wait
from leaderboard.platform.fields import SeenBy
from leaderboard.platform.problems import FieldErrors
from leaderboard.queue.estimates import expected_of_new, queue_now
from leaderboard.queue.jobs import TooManyJobsError, find, request_of
from leaderboard.queue.models import Job
from leaderboard.quotas.services import (
    QuotaExceededError,
    quotas_of,
    quotas_of_teams,
)
from leaderboard.submissions import services
from leaderboard.submissions.actions import listed, submissions_of
from leaderboard.submissions.endpoint_tests import ENDPOINT_TEST, accept_test, trial_of
from leaderboard.submissions.pending import SUBMISSION, accept_submission, submission_of
from leaderboard.submissions.readiness import report
from leaderboard.submissions.services import submit_for_own_worker
from leaderboard.submissions.web import presenters
from leaderboard.submissions.web.forms import CHECKPOINT_FILES, SECRETS_OF_FORM, SubmitForm
from leaderboard.submissions.web.presenters import shown_trial
from leaderboard.submissions.web.strategy_fields import form_name

SUBMISSIONS_PER_PAGE = 25
_SAY_ELSEWHERE = {PLANS_DIGEST.name: "plans_file", "file": "checkpoint_file"}
"""Fields in errors of services, and their names in the form."""


@sensitive_post_parameters(*SECRETS_OF_FORM)
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def choose(request: HttpRequest) -> HttpResponse:
    """The list of kinds of planners. Also accepts the form of every kind, and redirects `?kind=` to the page of a
    kind."""
    kind = request.GET.get("kind", "")
    if request.method == "POST" and request.POST.get("kind", "") in KINDS:
        return _submitted(request, kind=request.POST["kind"])
    if request.method != "POST" and kind in KINDS:
        return redirect("planners:submit-kind", kind=kind)
    status = 400 if request.method == "POST" else 200
    return render(request, "submissions/choose.html", {"kinds": KINDS.values()}, status=status)


@require_safe
@login_required
def plans_template(request: HttpRequest, suite: str) -> HttpResponse:  # noqa: ARG001 - the view's signature
    """A plans file with an example of a plan for every task of a suite, to be replaced by real ones. 404 for suites
    that accept no plans files."""
    found = get_object_or_404(Suite, slug=suite, current=True)
    kinds = [kind for kind in KINDS.values() if PLANS_DIGEST in kind.fields]
    if found.runs_experts or all(kind.refusal(found) for kind in kinds):
        raise Http404
    name = f"{suite}-plans.jsonl"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(plans_template_of(suite), content_type="application/jsonl; charset=utf-8", headers=headers)


@sensitive_post_parameters(*SECRETS_OF_FORM)
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def submit(request: HttpRequest, kind: str) -> HttpResponse:
    """Submit a planner of a kind. Errors have status 400; 413 for a file that is too large, 429 for an exhausted quota,
    409 for a planner at its limit, and 503 if the site cannot evaluate at present."""
    if kind not in KINDS:
        raise Http404
    if request.method == "POST":
        return _submitted(request, kind=kind)
    return _page(request, form=_form(request, kind=kind))


def _submitted(request: HttpRequest, *, kind: str) -> HttpResponse:
    form = _form(request, kind=kind)
    too_large = _too_large(form)
    form.keep_checkpoints(user_of(request))
    form.offer_checkpoints(user_of(request))
    form.is_valid()
    if not too_large:
        _take_plans(request, form=form)
    status = 413 if too_large else 400
    if too_large == "plans_file":
        form.add_error("plans_file", f"The file is too large: at most {MAX_BYTES // 1024**2} MiB are read.")
    if form.errors:
        _show_the_rest(request, form=form)
    elif asks_others(form.planner_entered()):
        status, job = _accepted(request, form=form)
        if job is not None:
            return redirect("planners:pending", job_id=job.pk)
    else:
        status, submission = _entered(request, form=form)
        if submission is not None:
            return _to_evaluation(request, submission=submission)
    return _page(request, form=form, status=status)


def _to_evaluation(request: HttpRequest, *, submission: Submission) -> HttpResponse:
    first, *others = submission.evaluations.order_by("created").values_list("pk", flat=True)
    where = f"the first of {len(others) + 1} evaluations; all are under Submissions" if others else "the evaluation"
    messages.success(request, f"Submitted. This page follows {where}.")
    return redirect("evaluations:detail", evaluation_id=first)


def _accepted(request: HttpRequest, *, form: SubmitForm) -> tuple[int, Job | None]:
    """Accept the form as a job, or add the errors to it. Returns the status and the job."""
    try:
        job = accept_submission(
            user=user_of(request),
            data=form.data_entered(),
            own_worker=bool(form.cleaned_data["own_worker"]),
            form=QueryDict.urlencode(request.POST),
        )
    except FieldErrors as problems:
        form.show(_renamed(problems))
        return 400, None
    except TooManyJobsError as error:
        form.add_error(None, str(error))
        return error.status, None
    assert isinstance(job, Job), "only a key finds an earlier submission"
    return 302, job


@never_cache
@require_safe
@login_required
def pending(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """The user's submission while it is being checked: refreshes itself, then redirects to the evaluation or shows the
    form with errors. htmx polls it, and reloads the page when the check has ended."""
    job = find(owner=user_of(request), kind=SUBMISSION.name, job_id=job_id)
    if job is None:
        raise Http404
    if "HX-Request" in request.headers:
        return HttpResponse(status=204, headers={"HX-Refresh": "true"} if job.has_ended else {})
    if not job.has_ended:
        return render(request, "submissions/pending.html", {"job": job})
    if job.problem is None:
        submission = Submission.objects.filter(pk=submission_of(job)).first()
        if submission is None:
            raise Http404
        return _to_evaluation(request, submission=submission)
    return _form_with_problem(request, job=job, problem=job.problem)


def _form_with_problem(request: HttpRequest, *, job: Job, problem: Mapping[str, Any]) -> HttpResponse:
    posted = QueryDict(request_of(job)["form"]) if job.request else QueryDict()
    kind = posted.get("kind", "")
    if kind not in KINDS:
        # It came through the API, or was never started.
        return render(request, "submissions/pending.html", {"job": job}, status=problem["status"])
    form = SubmitForm(
        posted, None, kind=KINDS[kind], user=user_of(request), teams=list(teams_of(user_of(request)))
    )  # fmt: skip
    form.is_valid()
    if "errors" in problem:
        form.show(_renamed(FieldErrors(problem["errors"])))
    else:
        form.add_error(None, problem["detail"])
    return _page(request, form=form, status=problem["status"])


@sensitive_post_parameters(*SECRETS_OF_FORM)
@require_POST
@login_required
def check(request: HttpRequest) -> HttpResponse:
    """Validate the form while the user types, for htmx: messages by field and the expected start. Changes nothing.
    Rate limit: 429 with Retry-After."""
    if wait := seconds_to_wait(request, scope="checks"):
        return HttpResponse(status=429, headers={"Retry-After": str(wait)})
    form = _form(request, kind=_posted_kind(request))
    changed = request.headers.get("HX-Trigger-Name", "")
    content, problems = None, {}
    if (file := request.FILES.get("plans_file")) is not None:
        try:
            content = plans_files.read(file.read(MAX_BYTES + 1))
        except FieldErrors as error:
            problems = error.errors
    messages_of_fields = [
        shown._replace(errors=problems[shown.field], good="") if shown.field in problems else shown
        for shown in presenters.check(user=user_of(request), form=form, changed=changed, content=content)
    ]
    context = {"found": messages_of_fields, "expected": _expected(request, form=form)}
    return render(request, "submissions/check.html", context)


@sensitive_post_parameters(*SECRETS_OF_FORM)
@require_POST
@login_required
def test_call(request: HttpRequest) -> HttpResponse:
    """Start a test call of the entered endpoint, and show its state: as a fragment for htmx, else on the page with a
    link to the test."""
    form = _form(request, kind=_posted_kind(request))
    form.is_valid()
    status, tested = _tested(request, form=form)
    if "HX-Request" in request.headers:
        # With status 200, since htmx shows no other.
        return render(request, "submissions/endpoint_test.html", tested)
    # Errors in other fields are shown on submission.
    form.errors.clear()
    return _page(request, form=form, status=status, **tested)


def _tested(request: HttpRequest, *, form: SubmitForm) -> tuple[int, dict[str, Any]]:
    """Status, and the context of the page: the test, or errors."""
    if wait := seconds_to_wait(request, scope="endpoint-tests"):
        return 429, {"test_problems": [f"Too many tests in the last minute: try again in {wait} seconds."]}
    suites = form.cleaned_data.get("suites") or [""]
    try:
        job = accept_test(user=user_of(request), data=form.planner_entered(), suite=suites[0])
    except FieldErrors as error:
        return 400, {"test_problems": [text for texts in error.errors.values() for text in texts]}
    except TooManyJobsError as error:
        return error.status, {"test_problems": [str(error)]}
    return 202, _shown_test(job)


def _shown_test(job: Job) -> dict[str, Any]:
    if not job.has_ended:
        return {"test_under_way": job}
    if job.problem is not None:
        return {"test_problems": [job.problem["detail"]]}
    trial = trial_of(job)
    assert trial is not None, "a job that ended has a problem or a result"
    return {"trial": shown_trial(trial)}


@never_cache
@require_safe
@login_required
def endpoint_test(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """The user's test call: as a fragment for htmx, else as a page, which refreshes itself until the test has ended."""
    job = find(owner=user_of(request), kind=ENDPOINT_TEST.name, job_id=job_id)
    if job is None:
        raise Http404
    template = (
        "submissions/endpoint_test.html" if "HX-Request" in request.headers else "submissions/endpoint_test_page.html"
    )
    return render(request, template, _shown_test(job))


def _posted_kind(request: HttpRequest) -> str:
    """The kind in the form's hidden field.

    Raises:
        BadRequest: there is no such kind.
    """
    if (kind := request.POST.get("kind", "")) not in KINDS:
        raise BadRequest("unknown kind of planner")
    return kind


def _form(request: HttpRequest, *, kind: str) -> SubmitForm:
    teams = list(teams_of(user_of(request)))
    if request.method == "POST":
        return SubmitForm(request.POST, request.FILES, kind=KINDS[kind], user=user_of(request), teams=teams)
    return SubmitForm(kind=KINDS[kind], user=user_of(request), teams=teams, initial=_prefilled(request, kind=kind))


def _prefilled(request: HttpRequest, *, kind: str) -> dict[str, Any]:
    """Fields of the planner and its suites from the address, as links of the workbench have them. Addresses are logged,
    so secrets are never among them."""
    names = {field.name for field in KINDS[kind].fields if field.seen_by is not SeenBy.NOBODY} | {NAME.name}
    initial: dict[str, Any] = {name: request.GET[name] for name in names if name in request.GET}
    return {**initial, "suites": suites} if (suites := request.GET.getlist("suites")) else initial


def _too_large(form: SubmitForm) -> str:
    """Name of the form's field whose file is too large to be read; empty if none is."""
    plans = form.files.get("plans_file")
    if "plans_file" in form.fields and plans is not None and (plans.size or 0) > MAX_BYTES:
        return "plans_file"
    for name in CHECKPOINT_FILES.keys() & form.fields.keys():
        checkpoint = form.files.get(name)
        if isinstance(checkpoint, ReceivedFile) and checkpoint.too_large:
            return name
    return ""


def _take_plans(request: HttpRequest, *, form: SubmitForm) -> None:
    """Store a plans file even if other fields have errors, since browsers do not send files again."""
    file = request.FILES.get("plans_file")
    if file is None or "plans_file" not in form.fields:
        return
    try:
        content = plans_files.read(file.read())
    except FieldErrors as problems:
        form.show(problems)
    else:
        form.remember_plans(plans_files.keep(owner=user_of(request), content=content).digest)


def _show_the_rest(request: HttpRequest, *, form: SubmitForm) -> None:
    """Add the errors that services report, so that the user sees all errors at once."""
    problems = _renamed(FieldErrors(services.problems(user=user_of(request), data=form.data_entered()))).errors
    with_errors = set(form.errors)
    # A missing checkpoint follows from the error in its file.
    with_errors |= {digest for file, digest in CHECKPOINT_FILES.items() if file in with_errors}
    form.show(FieldErrors({field: texts for field, texts in problems.items() if form_name(field) not in with_errors}))


def _entered(request: HttpRequest, *, form: SubmitForm) -> tuple[int, Submission | None]:
    """Submit the form, or add the errors to it. Returns the status and the submission."""
    enter = submit_for_own_worker if form.cleaned_data["own_worker"] else services.submit
    try:
        return 302, enter(services.validate(user=user_of(request), data=form.data_entered()))
    except FieldErrors as problems:
        form.show(_renamed(problems))
        return 400, None
    except TryLaterError as error:
        report(error)
        form.add_error(None, error.for_people)
        return 503, None
    except (QuotaExceededError, PlannerLimitError) as error:
        form.add_error(None, str(error))
        return error.status, None


def _renamed(problems: FieldErrors) -> FieldErrors:
    return FieldErrors({_SAY_ELSEWHERE.get(field, field): texts for field, texts in problems.errors.items()})


def _page(request: HttpRequest, *, form: SubmitForm, status: int = 200, **more: Any) -> HttpResponse:
    suites = form.names_offered("suites")
    of_teams = quotas_of_teams(teams=form.teams, suites=suites) if form.teams else []
    suite_choices = presenters.suite_choices(form)
    context = {
        "form": form,
        "kind": form.kind,
        "heading": f"Submit {form.kind.noun[:1].lower()}{form.kind.noun[1:]}",
        "quotas": quotas_of(user=user_of(request), suites=suites),
        "team_quotas": [(team, [quota for quota in of_teams if quota.team == team.slug]) for team in form.teams],
        "planner_limits": planner_limits_in_words(),
        "queue": queue_now(),
        "expected": _expected(request, form=form),
        "kept_plans": _kept_plans(request, form=form),
        "suite_choices": suite_choices,
        "suites_of_files": [choice.suite for choice in suite_choices if not choice.suite.runs_experts],
        "strategies": presenters.strategies_offered(form),
        **more,
    }
    return render(request, "submissions/submit.html", context, status=status)


def _expected(request: HttpRequest, *, form: SubmitForm) -> str:
    """Expected start and end for the first chosen suite, in words; empty for self-hosted workers."""
    if form.is_bound:
        slugs, own, priority = form.data.getlist("suites"), form.data.get("own_worker"), form.data.get("priority", "")
    else:
        slugs, own, priority = form.fields["suites"].initial or [], False, "normal"
    suite = next((suite for suite in form.current_suites if suite.slug in slugs), None)
    if suite is None or own:
        return ""
    return expected_of_new(user=user_of(request), suite=suite, priority=priority).in_words()


def _kept_plans(request: HttpRequest, *, form: SubmitForm) -> str:
    """A sentence about the plans file that was stored with an earlier version of the form."""
    digest = form.data.get(PLANS_DIGEST.name, "") if form.is_bound else ""
    file = plans_files.find(owner=user_of(request), digest=digest) if digest else None
    if file is None:
        return ""
    plans = f"{file.count} plan{'' if file.count == 1 else 's'}"
    return f"Your file with {plans} is stored: you need not choose it again."


@require_POST
@login_required
def remove_header(request: HttpRequest, submission_id: UUID) -> HttpResponse:
    """Delete the secret header of the user's own planner."""
    planner = get_object_or_404(Planner, submissions=submission_id, owner=request.user)
    if secret_headers.take_away(planner=planner, by=user_of(request)):
        messages.success(request, f"The secret header of {planner.name} is removed.")
    return redirect("planners:submissions")


@require_safe
@login_required
def submissions(request: HttpRequest) -> HttpResponse:
    """The reader's own submissions and those of their teams, newest first."""
    own = submissions_of(user_of(request))
    page = Paginator(own, SUBMISSIONS_PER_PAGE).get_page(request.GET.get("page"))
    context = {"page": page, "rows": [listed(submission) for submission in page.object_list]}
    return render(request, "submissions/submissions.html", context)
