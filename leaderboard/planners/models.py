"""Planners: what is evaluated."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Lower


class PlannerKind(models.TextChoices):
    """How a planner is asked for a plan."""

    BUNDLED = "bundled", "Bundled with PlanArena"
    ENDPOINT = "endpoint", "HTTP endpoint (planner/1)"


class Planner(models.Model):
    """A system that answers requests with plans, entered by one owner under one name."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="planners")
    name = models.CharField(max_length=80)
    description = models.TextField(blank=True)
    kind = models.CharField(max_length=20, choices=PlannerKind)
    bundled_name = models.CharField(max_length=100, blank=True)
    """For `bundled`: a name such as `gold` or `controlllm/adaptive` (`evaluator.planners.offline` has them all)."""
    endpoint_url = models.URLField(max_length=500, blank=True)
    """For `endpoint`: where one JSON POST per turn goes. Shown to the owner only."""
    timeout_seconds = models.PositiveIntegerField(default=30)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("owner", Lower("name"), name="one_planner_per_owner_and_name"),
            models.CheckConstraint(
                condition=models.Q(kind=PlannerKind.BUNDLED, endpoint_url="") & ~models.Q(bundled_name="")
                | models.Q(kind=PlannerKind.ENDPOINT, bundled_name="") & ~models.Q(endpoint_url=""),
                name="a_planner_has_what_its_kind_needs",
            ),
        ]

    def __str__(self) -> str:
        return self.name
