"""Submissions, evaluations, shards and attempts in the admin. Actions go through the services, one by one."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME, ActionForm
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse

from leaderboard.catalog.library import TryLaterError
from leaderboard.evaluations.models import Attempt, Evaluation, Shard, Submission
from leaderboard.evaluations.visibility import NotPossibleError
from leaderboard.people.models import User
from leaderboard.platform.problems import FieldErrors
from leaderboard.platform.web.admin import ReadOnlyAdmin, ReadOnlyInline, short_text, short_time, site
from leaderboard.queue import verification
from leaderboard.queue.operating import prioritise, requeue
from leaderboard.submissions import services
from leaderboard.submissions.actions import rerun
from leaderboard.submissions.regrading import regrade
from leaderboard.submissions.releasing import LONGEST_REASON, hide, show_again

CONFIRMED = "confirmed"
_MOST_DIGITS = 5
REFUSALS = (NotPossibleError, FieldErrors, TryLaterError, ValueError)
"""Errors of services whose message is a sentence; nothing was changed."""


class ChoosePriorityForm(ActionForm):
    """The value of the action `Set priority`, beside the list of actions."""

    # A text that the action parses, since for an invalid form Django only says "No action selected".
    priority = forms.CharField(required=False, label="Priority:", widget=forms.NumberInput)


class EvaluationInline(ReadOnlyInline):
    """The evaluations of a submission, with the runs that verify and profile them."""

    model = Evaluation
    fields = ("suite", "state", "reason_text", "tasks_total", "finished")
    show_change_link = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Evaluation]:  # noqa: ARG002 - Django's signature
        return Evaluation.runs.all()


@admin.register(Submission, site=site)
class SubmissionAdmin(ReadOnlyAdmin):
    """Submissions; search by id, planner, user or team."""

    list_display = (
        "short_id", "planner", "submitted_by", "team", "visibility", "embargo_until", "rerun_of_id", "created",
    )  # fmt: skip
    list_filter = ("visibility",)
    list_select_related = ("planner", "submitted_by", "team")
    search_fields = ("=id", "planner__name", "submitted_by__username", "team__slug")
    ordering = ("-created",)
    inlines = (EvaluationInline,)


class ShardInline(ReadOnlyInline):
    """The shards of an evaluation, with the states of their attempts."""

    model = Shard
    fields = ("number", "state", "tries", "available_at", "tasks", "all_attempts")
    readonly_fields = fields
    show_change_link = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Shard]:
        return super().get_queryset(request).prefetch_related("attempts").order_by("number")

    @admin.display(description="tasks")
    def tasks(self, shard: Shard) -> int:
        return len(shard.task_keys)

    @admin.display(description="attempts")
    def all_attempts(self, shard: Shard) -> str:
        attempts = sorted(shard.attempts.all(), key=lambda attempt: attempt.number)
        return "; ".join(f"{attempt.number}: {attempt.state} ({attempt.worker})" for attempt in attempts) or "none"


@admin.register(Evaluation, site=site)
class EvaluationAdmin(ReadOnlyAdmin):
    """Evaluations; search by id, planner or owner."""

    list_display = (
        "short_id", "planner", "owner", "suite", "state", "visibility", "hidden", "priority", "why", "made", "ended",
    )  # fmt: skip
    list_filter = (
        "state", "suite", "submission__visibility", ("hidden_at", admin.EmptyFieldListFilter),
        ("submission__submitted_by", admin.RelatedOnlyFieldListFilter),
    )  # fmt: skip
    list_select_related = ("suite", "submission__planner", "submission__submitted_by")
    search_fields = ("=id", "submission__planner__name", "submission__submitted_by__username")
    ordering = ("-created",)
    inlines = (ShardInline,)
    action_form = ChoosePriorityForm
    actions = (
        "cancel",
        "resume",
        "accept",
        "rerun",
        "regrade",
        "verify",
        "requeue",
        "set_priority",
        "hide",
        "show_again",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Evaluation]:
        return Evaluation.runs.order_by(*self.get_ordering(request))

    @admin.display(description="reason", ordering="reason_text")
    def why(self, evaluation: Evaluation) -> str:
        return short_text(evaluation.reason_text)

    @admin.display(description="created (UTC)", ordering="created")
    def made(self, evaluation: Evaluation) -> str:
        return short_time(evaluation.created)

    @admin.display(description="finished (UTC)", ordering="finished")
    def ended(self, evaluation: Evaluation) -> str:
        return short_time(evaluation.finished)

    @admin.display(ordering="submission__planner__name")
    def planner(self, evaluation: Evaluation) -> str:
        return evaluation.submission.planner.name

    @admin.display(ordering="submission__submitted_by__username")
    def owner(self, evaluation: Evaluation) -> str:
        return evaluation.submission.submitted_by.username

    @admin.display(ordering="submission__visibility")
    def visibility(self, evaluation: Evaluation) -> str:
        return evaluation.submission.visibility

    @admin.display(ordering="hidden_at", empty_value="no")
    def hidden(self, evaluation: Evaluation) -> str:
        return short_time(evaluation.hidden_at)

    @admin.action(description="Cancel ...")
    def cancel(self, request: HttpRequest, chosen: QuerySet[Evaluation]) -> TemplateResponse | None:
        return self._act(request=request, chosen=chosen, name="cancel", do=services.cancel, said="cancelled")

    @admin.action(description="Resume the tasks with infrastructure faults ...")
    def resume(self, request: HttpRequest, chosen: QuerySet[Evaluation]) -> TemplateResponse | None:
        return self._act(request=request, chosen=chosen, name="resume", do=services.resume, said="resumed")

    @admin.action(description="Accept infrastructure faults as the planner's ...")
    def accept(self, request: HttpRequest, chosen: QuerySet[Evaluation]) -> TemplateResponse | None:
        return self._act(request=request, chosen=chosen, name="accept", do=services.accept, said="accepted")

    @admin.action(description="Re-run for the owner, without quota charge ...")
    def rerun(self, request: HttpRequest, chosen: QuerySet[Evaluation]) -> TemplateResponse | None:
        return self._act(request=request, chosen=chosen, name="rerun", do=_rerun_for_owner, said="submitted again")

    @admin.action(description="Regrade under today's rules ...")
    def regrade(self, request: HttpRequest, chosen: QuerySet[Evaluation]) -> TemplateResponse | None:
        return self._act(request=request, chosen=chosen, name="regrade", do=regrade, said="its plans are scored again")

    @admin.action(description="Requeue ...")
    def requeue(self, request: HttpRequest, chosen: QuerySet[Evaluation]) -> TemplateResponse | None:
        return self._act(request=request, chosen=chosen, name="requeue", do=requeue, said="queued again")

    @admin.action(description="Verify a sample of the tasks ...")
    def verify(self, request: HttpRequest, chosen: QuerySet[Evaluation]) -> TemplateResponse | None:
        return self._act(request=request, chosen=chosen, name="verify", do=_verify, said="a sample is run again")

    @admin.action(description="Hide from the boards, with a reason ...")
    def hide(self, request: HttpRequest, chosen: QuerySet[Evaluation]) -> TemplateResponse | None:
        reason = request.POST.get("reason", "")
        do = partial(hide, reason=reason)
        return self._act(request=request, chosen=chosen, name="hide", do=do, said="hidden", asks_reason=True)

    @admin.action(description="Unhide ...")
    def show_again(self, request: HttpRequest, chosen: QuerySet[Evaluation]) -> TemplateResponse | None:
        return self._act(request=request, chosen=chosen, name="show_again", do=show_again, said="shown again")

    @admin.action(description="Set priority to the number beside")
    def set_priority(self, request: HttpRequest, chosen: QuerySet[Evaluation]) -> None:
        """Higher priorities go first among equally due evaluations."""
        text = request.POST.get("priority", "").strip()
        if not (digits := text.removeprefix("-")).isdecimal() or len(digits) > _MOST_DIGITS:
            messages.error(request, f"Enter a whole number of at most {_MOST_DIGITS} digits in the field Priority.")
            return

        def set_it(evaluation: Evaluation, *, by: User) -> None:
            prioritise(evaluation, priority=int(text), by=by)

        _each(request=request, chosen=chosen, do=set_it, said=f"has the priority {int(text)}")

    def _act(
        self,
        *,
        request: HttpRequest,
        chosen: QuerySet[Evaluation],
        name: str,
        do: Callable[..., Any],
        said: str,
        asks_reason: bool = False,
    ) -> TemplateResponse | None:
        """Ask for confirmation, and for a reason if `asks_reason`, then do it."""
        if CONFIRMED in request.POST:
            _each(request=request, chosen=chosen, do=do, said=said)
            return None
        context = {
            **self.admin_site.each_context(request),
            "title": "Are you sure?",
            "opts": self.model._meta,
            "evaluations": chosen.select_related("suite", "submission__planner", "submission__submitted_by"),
            "what": str(self.get_action(name)[2]).removesuffix(" ..."),  # type: ignore[index]  # a chosen action exists
            "action": name,
            "checkbox": ACTION_CHECKBOX_NAME,
            "confirmed": CONFIRMED,
            "asks_reason": asks_reason,
            "longest_reason": LONGEST_REASON,
        }
        return TemplateResponse(request, "admin/confirm_action.html", context)


def _verify(evaluation: Evaluation, *, by: User) -> None:
    verification.order(user=by, evaluation=evaluation)


def _rerun_for_owner(evaluation: Evaluation, *, by: User) -> None:
    rerun(evaluation, by=by, for_owner=True)


def _each(*, request: HttpRequest, chosen: QuerySet[Evaluation], do: Callable[..., Any], said: str) -> None:
    """Apply the action to each evaluation, with a message for each."""
    for evaluation in chosen.select_related("suite", "submission__planner"):
        name = f"{evaluation.in_words()} ({evaluation.pk})"
        try:
            do(evaluation, by=request.user)
        except REFUSALS as error:
            messages.error(request, f"{name}: nothing was changed. {error}")
        else:
            messages.success(request, f"{name}: {said}.")


class AttemptInline(ReadOnlyInline):
    """The tries at a shard."""

    model = Attempt
    related = ("shard",)
    fields = ("number", "state", "worker", "leased_at", "expires_at", "ended_at", "reason")
    ordering = ("number",)
    show_change_link = True


@admin.register(Shard, site=site)
class ShardAdmin(ReadOnlyAdmin):
    """Shards; search by the id of an evaluation."""

    list_display = ("evaluation_id", "number", "state", "tries", "attempt_count", "available_at")
    list_filter = ("state",)
    search_fields = ("=evaluation__id",)
    ordering = ("-pk",)
    inlines = (AttemptInline,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Shard]:
        rows: QuerySet[Shard] = super().get_queryset(request)
        return rows.annotate(attempt_count=Count("attempts"))

    @admin.display(description="attempts", ordering="attempt_count")
    def attempt_count(self, shard: Any) -> int:
        return int(shard.attempt_count)


@admin.register(Attempt, site=site)
class AttemptAdmin(ReadOnlyAdmin):
    """Attempts; search by the name of a worker, or by an id."""

    exclude = ("token_hash",)
    list_display = ("short_id", "shard", "number", "state", "worker", "leased_at", "ended_at", "reason")
    list_filter = ("state",)
    list_select_related = ("shard",)
    search_fields = ("=id", "worker", "=shard__evaluation__id")
    ordering = ("-leased_at",)
