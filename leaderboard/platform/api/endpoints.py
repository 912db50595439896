"""Endpoints of the API itself: its schema, and 404 for unknown URLs.

Separate from `views.py`, which drf-spectacular loads with the schema class before its decorators work.
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
    """404 with a problem document for unknown URLs."""

    authentication_classes: list[Any] = []
    permission_classes: list[Any] = []

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002 - the base class's
        raise NotFound(f"Nothing found at {request.path}; the schema lists all addresses.")


_schemas: dict[str, Any] = {}


@extend_schema(exclude=True)
class SchemaView(ApiView, SpectacularAPIView):
    """The schema, cached per process and format, since it depends on the code alone."""

    def handle_exception(self, exc: Exception) -> Response:
        """Render problems in JSON instead of the schema's format."""
        self.request.accepted_renderer, self.request.accepted_media_type = JSONRenderer(), JSONRenderer.media_type
        return super().handle_exception(exc)

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        renderer = request.accepted_renderer
        if renderer.media_type not in _schemas:
            _schemas[renderer.media_type] = renderer.render(super().get(request, *args, **kwargs).data, None, {})  # type: ignore[no-untyped-call]  # the library has no annotation
        return HttpResponse(_schemas[renderer.media_type], content_type=renderer.media_type)
