"""The API about how long evaluations wait and run."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.catalog.models import Suite
from leaderboard.evaluations.reading import evaluations_for
from leaderboard.evaluations.results.filters import Parameter, one_of, read
from leaderboard.evaluations.results.listing import suite_slugs
from leaderboard.people.signed_in import user_of
from leaderboard.people.web.api.views import LoggedInView
from leaderboard.platform.api.examples import example
from leaderboard.platform.api.shapes import Output
from leaderboard.platform.api.views import ApiView
from leaderboard.queue.estimates import Expectation, expected, expected_of_new
from leaderboard.submissions.fields import PRIORITIES

_NEW_WAIT = (
    Parameter("suite", one_of(suite_slugs), is_required=True),
    Parameter("priority", one_of(PRIORITIES), default="normal"),
)


@example({
    "known": True, "begins_in_minutes": [2.1, 4.8], "ends_in_minutes": [9.5, 21.7], "measured_shards": 40,
    "in_words": "Begins in 2 to 5 minutes, ends in 9 to 22 minutes",
})  # fmt: skip
class WaitOutput(Output):
    """How long an evaluation will probably take to begin and to end, from what workers did in the last hour."""

    known = serializers.BooleanField(help_text="False: too little ran in the last hour to tell.")
    begins_in_minutes = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text="`[low, high]`."
    )
    ends_in_minutes = serializers.ListField(child=serializers.FloatField(), allow_null=True, help_text="`[low, high]`.")
    measured_shards = serializers.IntegerField()
    in_words = serializers.CharField()


class WaitView(ApiView):
    """How long an evaluation will probably wait and run. `known` is false too once it has ended, while it waits for its
    owner, and where its owner's own worker runs it."""

    @extend_schema(responses=WaitOutput)
    def get(self, request: Request, evaluation_id: UUID) -> Response:
        evaluation = get_object_or_404(evaluations_for(request.user), pk=evaluation_id)
        return Response(WaitOutput(_wait_json(expected(evaluation))).data)


class NewWaitView(LoggedInView):
    """How long an evaluation would probably wait and run if the caller submitted it now."""

    parameters = [
        OpenApiParameter("suite", str, required=True, description="Slug of a suite."),
        OpenApiParameter("priority", str, enum=list(PRIORITIES)),
    ]

    @extend_schema(
        responses=WaitOutput,
    )
    def get(self, request: Request) -> Response:
        asked = read(parameters=request.query_params, declared=_NEW_WAIT).checked()
        slug, priority = asked["suite"], asked["priority"]
        suite = get_object_or_404(Suite, slug=slug, current=True)
        return Response(
            WaitOutput(_wait_json(expected_of_new(user=user_of(request), suite=suite, priority=priority))).data
        )


def _wait_json(found: Expectation | None) -> dict[str, Any]:
    begins = None if found is None else found.begins
    ends = None if found is None else found.ends
    return {
        "known": begins is not None,
        "begins_in_minutes": None if begins is None else [round(minutes, 1) for minutes in begins],
        "ends_in_minutes": None if ends is None else [round(minutes, 1) for minutes in ends],
        "measured_shards": found.shards if found else 0,
        "in_words": found.in_words() if found else "",
    }
