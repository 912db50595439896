"""The API about quotas."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from leaderboard.accounts.api.permissions import LOGGED_IN
from leaderboard.accounts.signed_in import user_of
from leaderboard.accounts.teams import teams_of
from leaderboard.catalog.models import Suite
from leaderboard.quotas.services import quotas_of, quotas_of_teams
from leaderboard.site.api.examples import EXAMPLE_SUITE, example


@example({"team": "", "suite": EXAMPLE_SUITE, "limit": 50, "used": 3, "free_at": "2026-03-02T00:00:00Z"})
class QuotaOutput(serializers.Serializer[Any]):
    """What a user or team has used today."""

    team = serializers.CharField(read_only=True, help_text="Slug; empty: the user's own quota.")
    suite = serializers.CharField(read_only=True)
    limit = serializers.IntegerField(read_only=True, allow_null=True, help_text="Null: any number.")
    used = serializers.IntegerField(read_only=True)
    free_at = serializers.DateTimeField(read_only=True)


class QuotaView(APIView):
    """What the caller may still submit today, and for each of their teams (`team`): of all suites together (`suite` is
    empty), and of each."""

    permission_classes = LOGGED_IN

    @extend_schema(responses=QuotaOutput(many=True))
    def get(self, request: Request) -> Response:
        suites = list(Suite.objects.filter(current=True).order_by("slug").values_list("slug", flat=True))
        own = quotas_of(user=user_of(request), suites=suites)
        of_teams = quotas_of_teams(teams=list(teams_of(user_of(request))), suites=suites)
        return Response(QuotaOutput([*own, *of_teams], many=True).data)
