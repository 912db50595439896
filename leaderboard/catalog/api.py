"""The API about suites."""

from django.db.models import Count
from rest_framework import generics, serializers

from leaderboard.catalog.models import Suite
from leaderboard.site.api.examples import DIGEST, EXAMPLE_SUITE, example
from leaderboard.site.api.selection import Selected
from leaderboard.site.api.shapes import ModelOutput


@example({
    "slug": EXAMPLE_SUITE, "version": "1", "digest": DIGEST, "title": "OpenAGI",
    "conditions": {"experts": True, "samples": True, "splits": ["public", "validation", "hidden"]},
    "description": "Requests on images and texts whose plans are executed.",
    "metrics": [{"key": "overall", "label": "Overall", "higher_is_better": True}], "tasks": 185,
})  # fmt: skip
class SuiteOutput(ModelOutput[Suite]):
    """A suite."""

    tasks = serializers.IntegerField(source="task_count")

    class Meta:
        model = Suite
        fields = ["slug", "version", "digest", "title", "description", "conditions", "metrics", "tasks"]


class SuitesView(Selected, generics.ListAPIView[Suite]):
    """The current suites."""

    queryset = Suite.objects.filter(current=True).annotate(task_count=Count("tasks"))
    serializer_class = SuiteOutput
    ordering = ("slug",)


class SuiteView(Selected, generics.RetrieveAPIView[Suite]):
    """The current version of one suite."""

    queryset = SuitesView.queryset
    serializer_class = SuiteOutput
    lookup_field = "slug"
