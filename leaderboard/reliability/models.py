"""Requests for reliability profiles, and their figures."""

from django.conf import settings
from django.db import models

from leaderboard.evaluations.models import Evaluation


class ReliabilityProfile(models.Model):
    """How reliable a planner is on one suite, measured from an evaluation and its members (`Evaluation.member_of`)."""

    evaluation = models.OneToOneField(
        Evaluation, on_delete=models.CASCADE, primary_key=True, related_name="reliability"
    )
    """The first of the runs on unchanged requests."""
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    requested_at = models.DateTimeField()
    """Time of the last request; missing members of a profile with gaps can be requested again."""
    wanted = models.JSONField()
    """`[[perturbation, repetition], ...]`: its members, in the order of reports."""
    measured_at = models.DateTimeField(null=True)
    """When the figures were computed. Null: not since the last request."""
    figures = models.JSONField(null=True)
    """`evaluator.reliability.profile.Profile.to_json()`; null: never computed. Replaced when it is measured again."""
    gaps = models.JSONField(default=list)
    """`[{"perturbation", "repetition", "why"}, ...]`: members without figures, with a sentence each."""

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(measured_at=None) | models.Q(figures__isnull=False),
                name="a_measured_profile_has_figures",
            )
        ]
        indexes = [
            models.Index(fields=["requested_at"], condition=models.Q(measured_at=None), name="profiles_to_be_measured")
        ]

    def __str__(self) -> str:
        return f"reliability of {self.evaluation_id}"
