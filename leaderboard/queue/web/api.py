"""The users' API of workers: worker tokens, and the log of an evaluation."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.evaluations.models import Attempt
from leaderboard.evaluations.visibility import visible_runs
from leaderboard.people.authentication import LOGGED_IN, user_of
from leaderboard.people.web.api import LoggedInView
from leaderboard.platform.api.examples import ATTEMPT_ID, LATER, ROW_ID, WHEN, example
from leaderboard.platform.api.pagination import Pages
from leaderboard.platform.api.shapes import Input, Output
from leaderboard.platform.api.views import ListView
from leaderboard.queue.web.presenters import shown_attempt
from leaderboard.queue.workers import logs
from leaderboard.queue.workers.tokens import create_worker_token, revoke_worker_token, worker_tokens_of


@example({"name": "desktop"})
class WorkerTokenInput(Input):
    """A worker token to create."""

    name = serializers.CharField(max_length=80, help_text="Its use, such as the name of a machine.")


@example({"id": ROW_ID, "name": "desktop", "created": WHEN, "last_used": None})
class WorkerTokenOutput(Output):
    """A worker token. Its text is shown once, when it is created."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    created = serializers.DateTimeField()
    last_used = serializers.DateTimeField(allow_null=True)


@example({"id": ROW_ID, "name": "desktop", "token": "paw_" + "x" * 40})
class NewWorkerTokenOutput(Output):
    """A new worker token."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    token = serializers.CharField()


class WorkerTokensView(LoggedInView):
    """Tokens of the user's self-hosted workers, which lease only the user's evaluations submitted with `own_worker`."""

    throttle_scope = "tokens"
    bodies = {"POST": WorkerTokenInput}

    @extend_schema(responses=WorkerTokenOutput(many=True))
    def get(self, request: Request) -> Response:
        return Response(WorkerTokenOutput(worker_tokens_of(user_of(request)), many=True).data)

    @extend_schema(responses={201: NewWorkerTokenOutput})
    def post(self, request: Request) -> Response:
        token = create_worker_token(owner=user_of(request), **self.read(request))
        return Response(NewWorkerTokenOutput(token).data, status=status.HTTP_201_CREATED)


class WorkerTokenView(LoggedInView):
    """One of the user's worker tokens."""

    @extend_schema(responses={204: None})
    def delete(self, request: Request, token_id: UUID) -> Response:
        """Revoke it. Its leased shards can be leased again."""
        if not revoke_worker_token(owner=user_of(request), token_id=token_id):
            raise NotFound("You have no such worker token.")
        return Response(status=status.HTTP_204_NO_CONTENT)


class LineOutput(Output):
    """One line of a log."""

    at = serializers.DateTimeField()
    level = serializers.CharField()
    text = serializers.CharField()


@example({
    "id": ATTEMPT_ID, "shard": 0, "number": 1, "worker": "worker-1", "state": "completed", "reason": "",
    "leased_at": WHEN, "ended_at": LATER, "cut": False,
    "lines": [{"at": WHEN, "level": "INFO", "text": "asking the planner for 8 plans"}],
})  # fmt: skip
class AttemptOutput(Output):
    """One attempt at a shard, with its worker's log."""

    id = serializers.UUIDField()
    shard = serializers.IntegerField()
    number = serializers.IntegerField()
    worker = serializers.CharField()
    state = serializers.CharField()
    reason = serializers.CharField()
    leased_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    cut = serializers.BooleanField(help_text="Whether the log was truncated.")
    lines = LineOutput(many=True)

    def to_representation(self, instance: Attempt) -> dict[str, Any]:
        return super().to_representation(shown_attempt(instance))


class LogPages(Pages):
    """Few attempts a page: each may have a log of `PLANARENA_MAX_LOG_CHARACTERS`."""

    page_size = 20
    max_page_size = 20


class LogView(ListView[Attempt]):
    """The workers' logs, newest attempt first, at most 20 attempts a page. For the evaluation's owner and staff."""

    pagination_class = LogPages
    serializer_class = AttemptOutput
    ordering = ("-leased_at", "-id")
    permission_classes = LOGGED_IN

    def get_queryset(self) -> QuerySet[Attempt]:
        if getattr(self, "swagger_fake_view", False):
            return Attempt.objects.none()
        related = visible_runs(self.request.user).select_related("submission")
        evaluation = get_object_or_404(related, pk=self.kwargs["evaluation_id"])
        if not logs.may_read(user=self.request.user, evaluation=evaluation):
            raise PermissionDenied("Only the owner of an evaluation and staff may read its log.")
        return logs.attempts_of(evaluation)
