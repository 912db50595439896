"""`GET /api/v1/status/`: how the site is doing, for everybody."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.operations.monitoring.status import checked_status, verdict
from leaderboard.platform.api.examples import LATER, WHEN, example
from leaderboard.platform.api.shapes import Output
from leaderboard.platform.api.views import ApiView
from leaderboard.platform.database import DatabaseDownError
from leaderboard.platform.health import Code
from leaderboard.platform.probes import DATABASE


class StandingOutput(Output):
    """Evaluations in one state that is not final."""

    state = serializers.CharField()
    evaluations = serializers.IntegerField()
    longest_seconds = serializers.FloatField(help_text="How long the oldest of them has been in it.")


class HealthFindingOutput(Output):
    """Something that is wrong."""

    code = serializers.ChoiceField(choices=[code.value for code in Code])
    tone = serializers.ChoiceField(choices=["error", "warning"])
    sentence = serializers.CharField()


@example({
    "at": LATER, "code": "running", "sentence": "All systems operational. Workers are processing the queue.",
    "shards": 12, "leased": 4, "standing": [{"state": "running", "evaluations": 2, "longest_seconds": 95.0}],
    "workers": 4, "last_lease": LATER, "published": WHEN, "findings": [],
})  # fmt: skip
class StatusOutput(Output):
    """How the site is doing."""

    at = serializers.DateTimeField()
    code = serializers.CharField(
        default="",
        help_text="`running`, `idle`, or the code of the first finding.",
    )
    sentence = serializers.CharField(default="")
    shards = serializers.IntegerField(source="queue.shards", help_text="Not done.")
    leased = serializers.IntegerField(source="queue.leased", help_text="Currently leased by a worker.")
    standing = StandingOutput(many=True)
    workers = serializers.IntegerField(help_text="Workers of the site that took tasks within the last ten minutes.")
    last_lease = serializers.DateTimeField(allow_null=True)
    published = serializers.DateTimeField(allow_null=True, help_text="When a board was last published.")
    findings = HealthFindingOutput(many=True, help_text="What is wrong, the worst first.")


class StatusView(ApiView):
    """How the site is doing: what waits, for how long, and why. While the database does not answer: 503 with the code
    `database_down`."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse before who asks, and how often, is looked up in the database."""
        if DATABASE.result():
            raise DatabaseDownError
        super().initial(request, *args, **kwargs)

    @extend_schema(responses=StatusOutput)
    def get(self, request: Request) -> Response:  # noqa: ARG002 - the view's signature
        status = checked_status()
        found = verdict(status)
        return Response({**StatusOutput(status).data, "code": found.code, "sentence": found.sentence})
