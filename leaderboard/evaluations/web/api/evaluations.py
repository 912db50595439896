"""The API about evaluations."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter

from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.reading import NEWEST_FIRST, evaluations_for
from leaderboard.evaluations.results.listing import filter_evaluations
from leaderboard.evaluations.submitted import submitted
from leaderboard.evaluations.visibility import visible_evaluations
from leaderboard.evaluations.web.serializers import EvaluationOutput
from leaderboard.platform.api.selection import Selected
from leaderboard.platform.api.views import ListView, RetrieveView


class EvaluationsView(Selected, ListView[Evaluation]):
    """All evaluations that the caller sees, newest first. Verifications are listed with what they verify."""

    serializer_class = EvaluationOutput
    parameters = [
        OpenApiParameter("suite", str, description="Slug of a suite."),
        OpenApiParameter("state", str, enum=EvaluationState.values),
        OpenApiParameter("planner", int, description="Id of a planner."),
        OpenApiParameter("id", str, description="How the id of the evaluation or of its submission begins."),
        OpenApiParameter("mine", bool, description="Only the caller's own and their teams'."),
    ]
    ordering = NEWEST_FIRST

    def get_queryset(self) -> QuerySet[Evaluation]:
        found = visible_evaluations(self.request.user).filter(submitted()).only("pk", "created")
        found = filter_evaluations(found, parameters=self.request.query_params, reader=self.request.user)
        return found.order_by(*NEWEST_FIRST)

    def paginate_queryset(self, queryset: QuerySet[Any, Any] | Sequence[Any]) -> list[Any]:
        """Everything else is read of the page's rows only: joined to all rows that filters and order look at, it would
        take tens of times as long where few of many rows are wanted (`mine`)."""
        page = super().paginate_queryset(queryset) or []
        whole = {one.pk: one for one in evaluations_for(self.request.user).filter(pk__in=[row.pk for row in page])}
        return [whole[row.pk] for row in page if row.pk in whole]


class EvaluationView(Selected, RetrieveView[Evaluation]):
    """One evaluation."""

    serializer_class = EvaluationOutput
    lookup_url_kwarg = "evaluation_id"

    def get_queryset(self) -> QuerySet[Evaluation]:
        return evaluations_for(self.request.user)
