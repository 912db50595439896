"""`GET /api/v1/status/`: how the site is doing, for everybody."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.monitoring.status import checked_status, verdict
from leaderboard.site.api.examples import LATER, WHEN, example
from leaderboard.site.api.shapes import Output
from leaderboard.site.api.views import ApiView


class StandingOutput(Output):
    """Evaluations in one state that is not final."""

    state = serializers.CharField()
    evaluations = serializers.IntegerField()
    longest_seconds = serializers.FloatField(help_text="How long the oldest of them has been in it.")


@example({
    "at": LATER, "code": "running", "sentence": "All systems operational. Workers are processing the queue.",
    "shards": 12, "leased": 4, "standing": [{"state": "running", "evaluations": 2, "longest_seconds": 95.0}],
    "workers": 4, "last_lease": LATER, "published": WHEN,
})  # fmt: skip
class StatusOutput(Output):
    """How the site is doing."""

    at = serializers.DateTimeField()
    code = serializers.CharField(
        default="",
        help_text="`running`, `idle`, `no_workers`, `paused`, `messages_late`, `control_late`, `disk_full` or "
        "`store_unavailable`.",
    )
    sentence = serializers.CharField(default="")
    shards = serializers.IntegerField(source="queue.shards", help_text="Not done.")
    leased = serializers.IntegerField(source="queue.leased", help_text="Currently leased by a worker.")
    standing = StandingOutput(many=True)
    workers = serializers.IntegerField(help_text="Workers of the site that took tasks within the last ten minutes.")
    last_lease = serializers.DateTimeField(allow_null=True)
    published = serializers.DateTimeField(allow_null=True, help_text="When a board was last published.")


class StatusView(ApiView):
    """How the site is doing: what waits, for how long, and why."""

    @extend_schema(responses=StatusOutput)
    def get(self, request: Request) -> Response:  # noqa: ARG002 - the view's signature
        status = checked_status()
        found = verdict(status)
        return Response({**StatusOutput(status).data, "code": found.code, "sentence": found.sentence})
