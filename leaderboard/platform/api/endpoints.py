"""The API's own addresses: its schema, and every address that there is not.

Apart from `views.py`, which drf-spectacular loads with the schema's class before its own decorators work.
"""

from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.exceptions import NotFound
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from leaderboard.platform.api.views import ApiView


@extend_schema(exclude=True)
class NowhereView(APIView):
    """Every address that there is not, so that pipelines read a problem document there too."""

    authentication_classes: list[Any] = []
    permission_classes: list[Any] = []

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002 - the base class's
        raise NotFound(f"Nothing found at {request.path}; the schema lists all addresses.")


_made: dict[str, Any] = {}


@extend_schema(exclude=True)
class SchemaView(ApiView, SpectacularAPIView):
    """The schema, made once in each process and format: it follows from the code alone."""

    def handle_exception(self, exc: Exception) -> Response:
        """As every problem, in JSON and not in the schema's format."""
        self.request.accepted_renderer, self.request.accepted_media_type = JSONRenderer(), JSONRenderer.media_type
        return super().handle_exception(exc)

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        renderer = request.accepted_renderer
        if renderer.media_type not in _made:
            _made[renderer.media_type] = renderer.render(super().get(request, *args, **kwargs).data, None, {})  # type: ignore[no-untyped-call]  # the library has no annotation
        return HttpResponse(_made[renderer.media_type], content_type=renderer.media_type)
