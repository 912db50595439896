"""API of users and planners: their profiles, and the results that the caller can see."""

from dataclasses import fields as fields_of

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.evaluations.visibility import visible_evaluations
from leaderboard.people.models import User
from leaderboard.people.profile import ProfileData, set_profile
from leaderboard.people.web.profiles import services
from leaderboard.planners.models import Planner
from leaderboard.planners.web.serializers import PlannerOutput
from leaderboard.platform.api.examples import EVALUATION_ID, EXAMPLE_SUITE, WHEN, example, example_of
from leaderboard.platform.api.shapes import Input, Output
from leaderboard.platform.api.views import ApiView, ListView, RetrieveView, Selected

_BOARD_RESULT = {
    "suite": EXAMPLE_SUITE, "planner": "my-planner", "evaluation": EVALUATION_ID, "rank": 2, "planners": 14,
    "metric": "Overall", "value": {"mean": 0.43, "low": 0.38, "high": 0.48, "tasks": 171},
}  # fmt: skip
_PROFILE = {
    "display_name": "Ada L.", "affiliation": "University of Somewhere", "link": "https://example.org/ada",
    "bio": "Plans with small models.",
}  # fmt: skip


class BoardResultOutput(Output):
    """A planner's row on the newest board of a suite."""

    suite = serializers.CharField(source="suite.slug")
    planner = serializers.CharField()
    evaluation = serializers.UUIDField()
    rank = serializers.IntegerField(allow_null=True)
    planners = serializers.IntegerField(help_text="Number of planners on the board.")
    metric = serializers.CharField(help_text="Label of the board's primary metric.")
    value = serializers.JSONField(
        allow_null=True, help_text='`{"mean", "low", "high", "tasks"}`; null without a value.'
    )


class ShownTeamOutput(Output):
    """A team on a profile."""

    slug = serializers.CharField()
    name = serializers.CharField()


@example({
    "username": "ada", **_PROFILE, "joined": WHEN, "evaluations": 3,
    "teams": [{"slug": "plan-lab", "name": "Plan Lab"}], "results": [_BOARD_RESULT],
})  # fmt: skip
class UserOutput(Output):
    """A user's profile, and their planners' rows on the boards."""

    username = serializers.CharField()
    display_name = serializers.CharField()
    affiliation = serializers.CharField()
    link = serializers.CharField()
    bio = serializers.CharField()
    joined = serializers.DateTimeField(source="date_joined")
    evaluations = serializers.IntegerField(help_text="Number that they submitted and the caller can see.")
    teams = ShownTeamOutput(many=True)
    results = BoardResultOutput(many=True)


@example(_PROFILE)
class ProfileInput(Input):
    """One's profile; omitted fields are unchanged."""

    display_name = serializers.CharField(required=False, allow_blank=True)
    affiliation = serializers.CharField(required=False, allow_blank=True)
    link = serializers.CharField(required=False, allow_blank=True, help_text="A full URL.")
    bio = serializers.CharField(required=False, allow_blank=True, help_text="Plain text.")


class UserView(ApiView):
    """A user."""

    bodies = {"PATCH": ProfileInput}

    @extend_schema(responses=UserOutput)
    def get(self, request: Request, username: str) -> Response:
        return _shown(request=request, username=username)

    @extend_schema(responses=UserOutput)
    def patch(self, request: Request, username: str) -> Response:
        """Change one's public profile."""
        if not request.user.is_authenticated:
            raise NotAuthenticated
        person = _active(username)
        if person.pk != request.user.pk:
            raise PermissionDenied("Users can change only their own profile.")
        current = {field.name: getattr(person, field.name) for field in fields_of(ProfileData)}
        set_profile(user=person, data=ProfileData(**{**current, **self.read(request)}))
        return _shown(request=request, username=username)


def _active(username: str) -> User:
    return get_object_or_404(services.people(username), is_active=True)


def _shown(*, request: Request, username: str) -> Response:
    person = _active(username)
    submitted = visible_evaluations(request.user).filter(submission__submitted_by=person)
    public = ("username", "display_name", "affiliation", "link", "bio", "date_joined")
    profile = {
        **{name: getattr(person, name) for name in public},
        "evaluations": submitted.count(),
        "teams": services.shown_teams_of(person, reader=request.user),
        "results": services.board_results(lambda row: row["owner"] == person.username),
    }
    return Response(UserOutput(profile).data)


@example({
    "id": 7, **example_of(PlannerOutput), "created": WHEN, "evaluations": 3,
})  # fmt: skip
class ListedPlannerOutput(PlannerOutput):
    """A planner with an evaluation that the caller can see. Its endpoint's URL is shown to its owner only."""

    id = serializers.IntegerField(read_only=True)
    created = serializers.DateTimeField(read_only=True)
    evaluations = serializers.IntegerField(read_only=True, help_text="Number that the caller can see.")

    class Meta(PlannerOutput.Meta):
        fields = ["id", *PlannerOutput.Meta.fields, "created", "evaluations"]
        read_only_fields = fields


@example({**example_of(ListedPlannerOutput), "results": [_BOARD_RESULT]})
class PlannerDetailOutput(ListedPlannerOutput):
    """A planner with its rows on the boards."""

    results = BoardResultOutput(many=True, read_only=True)

    class Meta(ListedPlannerOutput.Meta):
        fields = [*ListedPlannerOutput.Meta.fields, "results"]
        read_only_fields = fields


class PlannersView(Selected, ListView[Planner]):
    """The planners with an evaluation that the caller can see, and the caller's own, newest first."""

    serializer_class = ListedPlannerOutput
    parameters = [OpenApiParameter("owner", str, description="Username of their owner.")]
    ordering = ("-created", "-id")

    def get_queryset(self) -> QuerySet[Planner]:
        planners = (
            services.planners_seen_by(self.request.user).select_related("secret").prefetch_related("role_secrets")
        )
        owner = self.request.query_params.get("owner")
        return planners if owner is None else planners.filter(owner__in=services.people(owner))


class PlannerView(Selected, RetrieveView[Planner]):
    """One planner."""

    serializer_class = PlannerDetailOutput
    lookup_url_kwarg = "planner_id"

    def get_queryset(self) -> QuerySet[Planner]:
        return services.planners_seen_by(self.request.user)

    def get_object(self) -> Planner:
        planner = super().get_object()
        name = (planner.owner.username, planner.name)
        planner.results = services.board_results(lambda row: (row["owner"], row["planner"]) == name)  # type: ignore[attr-defined]  # for the serializer
        return planner
