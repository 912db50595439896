"""The API about workers, for people: the log of an evaluation."""

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from rest_framework import generics, serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import IsAuthenticated

from leaderboard.evaluations.models import Attempt, Evaluation
from leaderboard.workers import logs
from leaderboard.workers.presenters import shown_attempt


class LineOutput(serializers.Serializer[Any]):
    """One line of a log."""

    at = serializers.DateTimeField(read_only=True)
    level = serializers.CharField(read_only=True)
    text = serializers.CharField(read_only=True)


class AttemptOutput(serializers.Serializer[Any]):
    """One try at a shard, with what its worker said."""

    id = serializers.UUIDField(read_only=True)
    shard = serializers.IntegerField(read_only=True)
    number = serializers.IntegerField(read_only=True)
    worker = serializers.CharField(read_only=True)
    state = serializers.CharField(read_only=True)
    reason = serializers.CharField(read_only=True)
    leased_at = serializers.DateTimeField(read_only=True)
    ended_at = serializers.DateTimeField(read_only=True, allow_null=True)
    cut = serializers.BooleanField(read_only=True, help_text="Whether there were more lines than are kept.")
    lines = LineOutput(many=True, read_only=True)

    def to_representation(self, instance: Attempt) -> dict[str, Any]:
        return super().to_representation(shown_attempt(instance))


class LogView(generics.ListAPIView[Attempt]):
    """What the workers said, attempt by attempt, the newest first. For the evaluation's owner and staff."""

    serializer_class = AttemptOutput
    permission_classes = [IsAuthenticated]

    def get_queryset(self) -> QuerySet[Attempt]:
        if getattr(self, "swagger_fake_view", False):
            return Attempt.objects.none()
        related = Evaluation.objects.select_related("submission")
        evaluation = get_object_or_404(related, pk=self.kwargs["evaluation_id"])
        if not logs.may_read(user=self.request.user, evaluation=evaluation):
            raise PermissionDenied("Only the owner of an evaluation and staff may read its log.")
        return logs.attempts_of(evaluation)
