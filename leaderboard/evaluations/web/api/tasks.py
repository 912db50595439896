"""The API about the tasks of suites."""

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils.functional import cached_property
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.gold import not_shared, open_attributes, sees_gold
from leaderboard.platform.api.examples import PLAN, example
from leaderboard.platform.api.selection import Selected
from leaderboard.platform.api.shapes import ModelOutput
from leaderboard.platform.api.views import ListView


@example({
    "key": "14", "position": 14, "text": "Given a low-resolution image, how to return the regular image?",
    "structure": "linear", "metric": "vit", "attributes": {}, "gold": PLAN,
})  # fmt: skip
class TaskOutput(ModelOutput[Task]):
    """One request of a suite."""

    class Meta:
        model = Task
        fields = ["key", "position", "text", "structure", "metric", "attributes", "gold"]

    def to_representation(self, instance: Task) -> dict[str, Any]:
        shown = super().to_representation(instance)
        request = self.context.get("request")
        if sees_gold(reader=request.user if request else None, suite=instance.suite):
            return shown
        open_fields = {"gold": None, "attributes": open_attributes(instance.attributes, suite=instance.suite)}
        return {name: open_fields.get(name, value) for name, value in shown.items()}


class TasksView(Selected, ListView[Task]):
    """The tasks of a suite, in order. While the site evaluates a hidden split, what tells about gold plans is for staff
    only: `gold` is null, and `attributes` lacks what was derived from it."""

    serializer_class = TaskOutput
    ordering = ("position",)

    def get_queryset(self) -> QuerySet[Task]:
        return Task.objects.filter(suite=self._suite).select_related("suite")

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The tasks; kept by no cache where operators see more."""
        response = super().list(request, *args, **kwargs)
        not_shared(response, suite=self._suite)
        return response

    @cached_property
    def _suite(self) -> Suite:
        return get_object_or_404(Suite, slug=self.kwargs["slug"], current=True)
