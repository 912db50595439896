"""The API of suites and seasons, and the conditions of evaluations and snapshots in the API."""

from typing import Any

from django.db.models import Count, Prefetch, QuerySet
from django.utils.functional import cached_property
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from evaluator.core.suites.audits import AuditedFlaw
from leaderboard.catalog.audits import published_audit
from leaderboard.catalog.models import Season, SeasonAnnouncement, SeasonData, Suite, Task
from leaderboard.catalog.sealed.choosing import published_bodies
from leaderboard.catalog.web.named import suite_named
from leaderboard.evaluations.visibility import not_shared, sees_gold
from leaderboard.evaluations.withheld import open_attributes
from leaderboard.platform.api.examples import DIGEST, ENVELOPE, EXAMPLE_SUITE, LATER, PLAN, WHEN, example
from leaderboard.platform.api.shapes import ModelOutput
from leaderboard.platform.api.views import ApiView, ListView, RetrieveView, Selected
from leaderboard.platform.encryption import UnreadableSecretError

CONDITIONS_EXAMPLE = {
    "profile": "lilliput",
    "profile_digest": DIGEST,
    "split": "public",
    "samples": 8,
    "data_digest": DIGEST,
    "season": None,
    "device_class": "",
}
CONDITION_FIELDS = list(CONDITIONS_EXAMPLE)
"""For `Meta.fields`."""


class ConditionsOutput(serializers.Serializer[Any]):
    """Mixin of a serializer whose model has `MeasuringConditions`."""

    season = serializers.SlugField(
        source="season_id", read_only=True, allow_null=True, help_text="The season of its hidden data; null: open data."
    )


class AuditedFlawOutput(serializers.Serializer[Any]):
    """The best attack of one class of flaws."""

    name = serializers.CharField(read_only=True)
    title = serializers.CharField(read_only=True)
    attacks = serializers.SerializerMethodField(help_text="Number of attacks that apply to the suite.")
    best = serializers.CharField(source="best.name", read_only=True, default="", help_text="Name of the best attack.")
    score = serializers.FloatField(source="best.score", read_only=True, default=None, allow_null=True)
    floor = serializers.CharField(source="best.floor", read_only=True, default="", help_text="Name of the best floor.")
    points = serializers.FloatField(
        source="best.points", read_only=True, default=None, allow_null=True,
        help_text="100 times the distance to the floor; 100 after a breach. Null: no attack applies.",
    )  # fmt: skip
    breach = serializers.CharField(source="best.breach", read_only=True, default="")
    inherent = serializers.CharField(
        source="best.inherent", read_only=True, default="", help_text="Why a gain is no flaw that could be mended."
    )

    def get_attacks(self, flaw: AuditedFlaw) -> int:
        """The number of attacks."""
        return len(flaw.attacks)


class AuditOutput(serializers.Serializer[Any]):
    """How much planners score that try to score without solving."""

    split = serializers.CharField(read_only=True)
    column = serializers.CharField(read_only=True, help_text="Key of the column.")
    tasks = serializers.IntegerField(read_only=True)
    gold = serializers.FloatField(read_only=True, help_text="Score of the gold plans on the same tasks.")
    flaws = AuditedFlawOutput(many=True, read_only=True)


@example({
    "slug": EXAMPLE_SUITE, "version": "1", "digest": DIGEST, "title": "OpenAGI",
    "conditions": {"experts": True, "samples": True, "splits": ["public", "validation", "hidden"]},
    "description": "Requests on images and texts whose plans are executed.",
    "metrics": [{"key": "overall", "label": "Overall", "higher_is_better": True}], "tasks": 185,
    "idle_tools": [],
    "audit": {
        "split": "hidden", "column": "overall", "tasks": 32, "gold": 0.91, "flaws": [{
            "name": "scoring-gaps", "title": "Gaps in the scores", "attacks": 9, "best": "2 guesses", "score": 0.31,
            "floor": "no-op", "points": 0.4, "breach": "", "inherent": "",
        }],
    },
})  # fmt: skip
class SuiteOutput(ModelOutput[Suite]):
    """A suite."""

    tasks = serializers.IntegerField(source="task_count")
    idle_tools = serializers.ListField(
        child=serializers.CharField(),
        help_text="Names of the offered tools that are relevant in no task; empty where that is not known.",
    )

    audit = serializers.SerializerMethodField(help_text="The audit of this version; null: none is published.")

    class Meta:
        model = Suite
        fields = [
            "slug", "version", "digest", "title", "description", "conditions", "metrics", "tasks", "idle_tools",
            "audit",
        ]  # fmt: skip

    @extend_schema_field(AuditOutput(allow_null=True))
    def get_audit(self, suite: Suite) -> dict[str, Any] | None:
        """The audit."""
        found = published_audit(suite)
        return None if found is None else AuditOutput(found).data


class SuitesView(Selected, ListView[Suite]):
    """The current suites."""

    queryset = Suite.objects.filter(current=True).annotate(task_count=Count("tasks"))
    serializer_class = SuiteOutput
    ordering = ("slug",)


class SuiteView(Selected, RetrieveView[Suite]):
    """The current version of one suite."""

    queryset = SuitesView.queryset
    serializer_class = SuiteOutput
    lookup_field = "slug"


@example({"suite": EXAMPLE_SUITE, "commitment": DIGEST, "seed": None, "sealed": 400, "sealed_digest": None})
class SeasonDataOutput(ModelOutput[SeasonData]):
    """A suite's hidden data in a season."""

    commitment = serializers.CharField(
        help_text="SHA-256 of season, suite, seed and, if there are any, the digest of sealed requests, each behind "
        "its length."
    )
    seed = serializers.SerializerMethodField(help_text="Null until the season is closed.")
    sealed = serializers.IntegerField(help_text="How many requests are sealed ones, which do not follow from the seed.")
    sealed_digest = serializers.SerializerMethodField(
        help_text="Digest of the sealed requests. Null until the season is closed, and where there are none.",
    )

    class Meta:
        model = SeasonData
        fields = ["suite", "commitment", "seed", "sealed", "sealed_digest"]

    def get_seed(self, data: SeasonData) -> str | None:
        """The seed, once it is public."""
        return data.seed or None

    def get_sealed_digest(self, data: SeasonData) -> str | None:
        """The digest, once the requests are public."""
        return (data.sealed_digest or None) if data.seed else None


@example({
    "name": "2026-a", "announced": WHEN, "opens": WHEN, "closes": LATER, "closed": LATER,
    "suites": [{"suite": EXAMPLE_SUITE, "commitment": DIGEST, "seed": DIGEST, "sealed": 400, "sealed_digest": DIGEST}],
    "announcements": [ENVELOPE],
})  # fmt: skip
class SeasonOutput(ModelOutput[Season]):
    """A season of hidden data."""

    closes = serializers.DateTimeField(
        allow_null=True, help_text="When the operator means to close it; null: not said. Nothing closes by itself."
    )
    closed = serializers.DateTimeField(allow_null=True, help_text="Null: it takes submissions from `opens` on.")
    suites = SeasonDataOutput(many=True)
    announcements = serializers.SerializerMethodField(
        help_text="The signed announcements, DSSE envelopes, the oldest first; each names every suite and commitment."
    )

    class Meta:
        model = Season
        fields = ["name", "announced", "opens", "closes", "closed", "suites", "announcements"]

    @extend_schema_field(serializers.ListField(child=serializers.DictField()))
    def get_announcements(self, season: Season) -> list[dict[str, Any]]:
        """The envelopes."""
        return [announcement.envelope for announcement in season.announcements.all()]


class SeasonsView(Selected, ListView[Season]):
    """The seasons of hidden data."""

    queryset = Season.objects.prefetch_related(
        Prefetch("suites", queryset=SeasonData.objects.order_by("suite")),
        Prefetch("announcements", queryset=SeasonAnnouncement.objects.order_by("number")),
    )
    serializer_class = SeasonOutput
    ordering = ("-opens", "name")


class SeasonView(Selected, RetrieveView[Season]):
    """One season with its commitments, and its seeds once it is closed."""

    queryset = SeasonsView.queryset
    serializer_class = SeasonOutput
    lookup_field = "name"
    lookup_url_kwarg = "season"


class SealedRequestOutput(serializers.Serializer[Any]):
    """A sealed request of a closed season."""

    text = serializers.CharField(read_only=True, help_text="With a slot such as `{image}` for the name of each input.")
    goal = serializers.CharField(read_only=True, help_text="Canonical JSON in the form of the suite.")
    credit = serializers.CharField(read_only=True, help_text="Who wrote it.")
    licence = serializers.CharField(read_only=True)


@example({"requests": [{
    "text": "Enlarge {image}, then say in German what it shows.",
    "goal": '{"answers":[{"goal":"image_captioning","language":"de"}],"inputs":{"image":{"flaws":["low_resolution"]}}}',
    "credit": "A. Writer", "licence": "CC0-1.0",
}]})  # fmt: skip
class SealedRequestsOutput(serializers.Serializer[Any]):
    """All sealed requests of a suite in a closed season, whose digest is part of the season's commitment."""

    requests = SealedRequestOutput(many=True, read_only=True)


class SealedRequestsView(ApiView):
    """The sealed requests of a suite in a season, once the season is closed. Until then nobody gets them here."""

    @extend_schema(responses=SealedRequestsOutput)
    def get(self, request: Request, season: str, suite: str) -> Response:  # noqa: ARG002 - the base class's
        data = SeasonData.objects.filter(season=season, suite=suite, season__closed__isnull=False, sealed__gt=0)
        if not data.exists():
            raise NotFound("There is no closed season of this name with sealed requests of this suite.")
        try:
            bodies = published_bodies(season=season, suite=suite)
        except UnreadableSecretError as error:
            raise NotFound("The sealed requests cannot be read at present: tell the operator of this site.") from error
        return Response(SealedRequestsOutput({"requests": [body.model_dump() for body in bodies]}).data)


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
        return suite_named(self.kwargs["slug"])
