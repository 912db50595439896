"""The API about quotas."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.catalog.models import Suite
from leaderboard.people.authentication import user_of
from leaderboard.people.teams import teams_of
from leaderboard.people.web.api import LoggedInView
from leaderboard.platform.api.examples import EXAMPLE_SUITE, example
from leaderboard.platform.api.shapes import Output
from leaderboard.quotas.services import quotas_of, quotas_of_teams


@example({"team": "", "suite": EXAMPLE_SUITE, "limit": 50, "used": 3, "free_at": "2026-03-02T00:00:00Z"})
class QuotaOutput(Output):
    """What a user or team has used today."""

    team = serializers.CharField(help_text="Slug; empty: the user's own quota.")
    suite = serializers.CharField()
    limit = serializers.IntegerField(allow_null=True, help_text="Null: any number.")
    used = serializers.IntegerField()
    free_at = serializers.DateTimeField()


class QuotaView(LoggedInView):
    """What the caller may still submit today, and for each of their teams (`team`): of all suites together (`suite` is
    empty), and of each."""

    @extend_schema(responses=QuotaOutput(many=True))
    def get(self, request: Request) -> Response:
        suites = list(Suite.objects.filter(current=True).order_by("slug").values_list("slug", flat=True))
        own = quotas_of(user=user_of(request), suites=suites)
        of_teams = quotas_of_teams(teams=list(teams_of(user_of(request))), suites=suites)
        return Response(QuotaOutput([*own, *of_teams], many=True).data)
