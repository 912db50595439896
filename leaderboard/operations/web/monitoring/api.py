"""`GET /api/v1/status/`: the public status of the site."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.operations.models import Part
from leaderboard.operations.monitoring.history import outages, part_histories
from leaderboard.operations.monitoring.status import checked_status, verdict
from leaderboard.platform.api.examples import LATER, WHEN, example
from leaderboard.platform.api.shapes import Output
from leaderboard.platform.api.views import ApiView
from leaderboard.platform.database import DatabaseDownError, database_now
from leaderboard.platform.health import Code
from leaderboard.platform.operators import is_operator
from leaderboard.platform.probes import DATABASE
from leaderboard.queue.workers.doctor_reports import latest


class StandingOutput(Output):
    """Evaluations in one state that is not final."""

    state = serializers.CharField()
    evaluations = serializers.IntegerField()
    longest_seconds = serializers.FloatField(help_text="How long the oldest of them has been in this state.")


class HealthFindingOutput(Output):
    """A problem of the site."""

    code = serializers.ChoiceField(choices=[code.value for code in Code])
    tone = serializers.ChoiceField(choices=["error", "warning"])
    sentence = serializers.CharField()


@example({
    "at": LATER, "code": "running", "sentence": "All systems operational. Workers are processing the queue.",
    "shards": 12, "leased": 4, "standing": [{"state": "running", "evaluations": 2, "longest_seconds": 95.0}],
    "workers": 4, "last_lease": LATER, "published": WHEN, "findings": [],
})  # fmt: skip
class StatusOutput(Output):
    """The status of the site."""

    at = serializers.DateTimeField()
    code = serializers.CharField(default="", help_text="`running`, `idle`, or the code of the first finding.")
    sentence = serializers.CharField(default="")
    shards = serializers.IntegerField(source="queue.shards", help_text="Shards that are not done.")
    leased = serializers.IntegerField(source="queue.leased", help_text="Shards that are leased by a worker.")
    standing = StandingOutput(many=True)
    workers = serializers.IntegerField(help_text="Workers of the site with a lease within the last ten minutes.")
    last_lease = serializers.DateTimeField(allow_null=True)
    published = serializers.DateTimeField(allow_null=True, help_text="When a board was last published.")
    findings = HealthFindingOutput(many=True, help_text="Problems, the worst first.")


class StatusView(ApiView):
    """The status of the site: what waits, for how long, and why. Without a database: 503 with the code
    `database_down`."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Respond without a database before authentication and throttling need it."""
        if DATABASE.result():
            raise DatabaseDownError
        super().initial(request, *args, **kwargs)

    @extend_schema(responses=StatusOutput)
    def get(self, request: Request) -> Response:  # noqa: ARG002 - the view's signature
        status = checked_status()
        summary = verdict(status)
        return Response({**StatusOutput(status).data, "code": summary.code, "sentence": summary.sentence})


class DayOutput(Output):
    """Minutes of a day, in UTC."""

    day = serializers.DateField()
    state = serializers.ChoiceField(choices=["up", "degraded", "down", "unknown"], help_text="The worst of the day.")
    up = serializers.IntegerField(source="minutes.up")
    degraded = serializers.IntegerField(source="minutes.degraded")
    down = serializers.IntegerField(source="minutes.down")
    unknown = serializers.IntegerField(source="minutes.unknown", help_text="Minutes without a check.")


class PartOutput(Output):
    """A part of the site over the last 90 days."""

    part = serializers.ChoiceField(choices=Part.values)
    label = serializers.CharField(source="part.label")  # type: ignore[assignment]  # hides Field.label, which is not set
    uptime = serializers.FloatField(
        source="total.uptime", allow_null=True, help_text="Share of the checked minutes in which it was not down."
    )
    unknown_minutes = serializers.IntegerField(source="total.unknown")
    days = DayOutput(many=True, help_text="The oldest first.")


class OutageOutput(Output):
    """Time in which checks found a problem."""

    part = serializers.ChoiceField(choices=Part.values)
    code = serializers.CharField(help_text="As in the findings of the status.")
    is_down = serializers.BooleanField(help_text="Whether the part was down; otherwise it was impaired.")
    affected = serializers.CharField(help_text="Volumes, tasks or suites; may be empty.")
    began = serializers.DateTimeField()
    ended = serializers.DateTimeField(allow_null=True)
    is_end_known = serializers.BooleanField(help_text="False: checks stopped then, and it may have lasted longer.")


@example({
    "parts": [{
        "part": "queue", "label": "Queue", "uptime": 0.9991, "unknown_minutes": 120,
        "days": [{"day": "2026-11-20", "state": "up", "up": 1440, "degraded": 0, "down": 0, "unknown": 0}],
    }],
    "outages": [{
        "part": "queue", "code": "queue_stopped", "is_down": True, "affected": "", "began": WHEN, "ended": LATER,
        "is_end_known": True,
    }],
})  # fmt: skip
class StatusHistoryOutput(Output):
    """The status of the last 90 days."""

    parts = PartOutput(many=True)
    outages = OutageOutput(many=True, help_text="The newest first, at most 100.")


class StatusHistoryView(ApiView):
    """The status of the last 90 days: checked minutes of each part by day, and outages. Minutes without a check are
    unknown, not up."""

    @extend_schema(responses=StatusHistoryOutput)
    def get(self, request: Request) -> Response:  # noqa: ARG002 - the view's signature
        return Response(StatusHistoryOutput({"parts": part_histories(now=database_now()), "outages": outages()}).data)


class ExaminedExpertOutput(Output):
    """One expert on a device. Values that were not measured are null."""

    tool = serializers.CharField()
    expert = serializers.CharField()
    batch_size = serializers.IntegerField()
    load_seconds = serializers.FloatField(allow_null=True, help_text="Null: it does not load, or was not examined.")
    run_seconds = serializers.FloatField(allow_null=True, help_text="Of a full batch.")
    weights_bytes = serializers.IntegerField(allow_null=True)
    peak_bytes = serializers.IntegerField(allow_null=True)
    repeatable = serializers.BooleanField(allow_null=True, help_text="Whether a repeated batch gives equal bytes.")
    position = serializers.BooleanField(allow_null=True, help_text="Whether the reversed batch does.")
    padding = serializers.BooleanField(allow_null=True, help_text="Whether an item alone does.")
    difference = serializers.FloatField(allow_null=True, help_text="Largest difference to a CPU, in [0, 1].")
    tolerance = serializers.FloatField(allow_null=True, help_text="The difference that the profile declares.")
    is_right = serializers.BooleanField(help_text="Whether all that was measured is as the profile declares.")
    problem = serializers.CharField(allow_blank=True, help_text="Why it could not be examined. Empty except for staff.")


class DeviceOutput(Output):
    """A device. Fields are empty if unknown."""

    kind = serializers.CharField()
    name = serializers.CharField()
    driver = serializers.CharField()
    cuda = serializers.CharField()


class DeviceReportOutput(Output):
    """The last report of `planarena doctor` about a class of devices."""

    device = DeviceOutput()
    profile = serializers.CharField()
    weights = serializers.CharField(help_text="`own`, or the size of random ones.")
    received = serializers.DateTimeField()
    memory_bytes = serializers.IntegerField(allow_null=True, help_text="Of the whole device.")
    experts = ExaminedExpertOutput(many=True)


@example({
    "reports": [{
        "device": {"kind": "cuda", "name": "NVIDIA H100", "driver": "570.86.15", "cuda": "12.8"}, "profile": "paper",
        "weights": "own", "received": LATER, "memory_bytes": 85_000_000_000,
        "experts": [{
            "tool": "Image Denoising", "expert": "paper/denoising", "batch_size": 8, "load_seconds": 2.1,
            "run_seconds": 0.4, "weights_bytes": 104_000_000, "peak_bytes": 1_200_000_000, "repeatable": True,
            "position": True, "padding": True, "difference": 0.0004, "tolerance": 0.02, "is_right": True, "problem": "",
        }],
    }],
})  # fmt: skip
class StatusDevicesOutput(Output):
    """The devices of the site's workers."""

    reports = DeviceReportOutput(many=True, help_text="The newest first, one for each class, profile and weights.")


class StatusDevicesView(ApiView):
    """What `planarena doctor` found on the devices of the site's workers: which experts load, repeat, depend on their
    position in a batch, and differ from a CPU."""

    @extend_schema(responses=StatusDevicesOutput)
    def get(self, request: Request) -> Response:
        reports = latest(with_problems=is_operator(request.user))
        return Response(StatusDevicesOutput({"reports": reports}).data)
