"""The address of the schema."""

from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request

_made: dict[str, Any] = {}


@extend_schema(exclude=True)
class SchemaView(SpectacularAPIView):
    """The schema, made once in each process and format: it follows from the code alone."""

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        renderer = request.accepted_renderer
        if renderer.media_type not in _made:
            _made[renderer.media_type] = renderer.render(super().get(request, *args, **kwargs).data, None, {})  # type: ignore[no-untyped-call]  # the library has no annotation
        return HttpResponse(_made[renderer.media_type], content_type=renderer.media_type)
