"""The API for secret headers of planners."""

from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.exceptions import NotFound
from rest_framework.exceptions import ValidationError as FieldValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.people.scopes import Scope
from leaderboard.people.signed_in import user_of
from leaderboard.people.web.api.permissions import LOGGED_IN
from leaderboard.planners import secret_headers
from leaderboard.planners.models import Planner
from leaderboard.planners.web.serializers import HeaderInput, HeaderOutput
from leaderboard.platform.api.views import ApiView
from leaderboard.platform.field_errors import FieldErrors


class HeaderView(ApiView):
    """The secret header of a submission's planner, for its owner. It holds for all submissions of the planner, also for
    what runs already."""

    permission_classes = LOGGED_IN
    scope = Scope.SUBMIT
    bodies = {"PUT": HeaderInput}

    @extend_schema(responses={200: HeaderOutput})
    def put(self, request: Request, submission_id: UUID) -> Response:
        """Replace it."""
        planner = self._planner(request, submission_id)
        entered = self.read(request)
        try:
            secret_headers.replace(planner=planner, **entered, by=user_of(request))
        except FieldErrors as error:
            named = {field.removeprefix("header_"): texts for field, texts in error.errors.items()}
            raise FieldValidationError(named) from error
        kept = secret_headers.kept_header(Planner.objects.get(pk=planner.pk))
        assert kept is not None
        return Response(HeaderOutput({"name": kept.name, "ends_in": kept.ending}).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, submission_id: UUID) -> Response:
        """Forget it."""
        if not secret_headers.take_away(planner=self._planner(request, submission_id), by=user_of(request)):
            raise NotFound("No secret header is kept for this planner.")
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _planner(self, request: Request, submission_id: UUID) -> Planner:
        return get_object_or_404(Planner, submissions=submission_id, owner=request.user)
