"""Base classes of the API's views for users, which reject anything they do not know.

Unknown parameters and fields are answered with 400 and a suggestion. Workers' calls use other views, since their
contract allows newer workers to send more (`gpu_jobs.contract`).
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from django.db.models import Model
from drf_spectacular.utils import OpenApiParameter
from rest_framework import generics
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from leaderboard.platform.api.pagination import Pages
from leaderboard.platform.api.shapes import Input, unknown_names


class Selected:
    """Mixin of DRF's generic views: `?fields=id,state` selects fields of the rows."""

    def get_serializer(self, *args: Any, **kwargs: Any) -> Any:
        serializer = super().get_serializer(*args, **kwargs)  # type: ignore[misc]  # a mixin of generic views
        request = self.request  # type: ignore[attr-defined]  # a mixin of generic views
        chosen = request.query_params.get("fields")
        if chosen is None or request.method not in {"GET", "HEAD"}:
            return serializer
        fields = getattr(serializer, "child", serializer).fields
        names = {name.strip() for name in chosen.split(",")}
        if unknown := sorted(names - set(fields)):
            raise ValidationError({"fields": [f"{unknown[0]!r} is none of: {', '.join(fields)}."]})
        for name in set(fields) - names:
            fields.pop(name)
        return serializer


M = TypeVar("M", bound=Model)


_FIELDS = OpenApiParameter(
    "fields", str, description="Names of the fields that rows contain, separated by commas; all by default."
)


class NoBody(Input):
    """The body of a call that takes none."""


class ApiView(APIView):
    """Rejects parameters and bodies that the view does not declare. The schema lists the declared ones."""

    parameters: Sequence[OpenApiParameter] = ()
    """Parameters of GET requests."""
    bodies: Mapping[str, type[Input]] = MappingProxyType({})
    """By method. Other methods take no body."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check the parameters after authentication and permissions."""
        super().initial(request, *args, **kwargs)
        if request.method == "OPTIONS":
            return
        reads = request.method in SAFE_METHODS
        declared = self.parameters_of(request) if reads else ()
        known = [*(parameter.name for parameter in declared), str(api_settings.URL_FORMAT_OVERRIDE)]
        repeatable = {parameter.name for parameter in declared if parameter.many}
        problems = unknown_names(request.query_params, known=known, what="parameter")
        for name, values in request.query_params.lists():
            if name in known and name not in repeatable and len(values) > 1:
                problems[name] = ["Give this parameter once."]
        if problems:
            raise ValidationError(problems)
        if not reads and request.method not in self.bodies:
            NoBody.read(request)

    def parameters_of(self, request: Request) -> Iterable[OpenApiParameter]:  # noqa: ARG002 - for views that need it
        """The parameters that a GET request may have."""
        return self.query_parameters()

    def query_parameters(self) -> list[OpenApiParameter]:
        """The parameters of GET requests, for the schema."""
        selects = [_FIELDS] if isinstance(self, Selected) else []
        return [*self.parameters, *selects]

    def read(self, request: Request) -> dict[str, Any]:
        """The validated values of the body. Raises DRF's `ValidationError`, by field."""
        return self.bodies[str(request.method)].read(request)


class ListView(ApiView, generics.ListAPIView[M]):
    """A list in pages."""

    def parameters_of(self, request: Request) -> Iterable[OpenApiParameter]:
        yield from super().parameters_of(request)
        yield from (OpenApiParameter(name) for name in (Pages.cursor_query_param, Pages.page_size_query_param))


class RetrieveView(ApiView, generics.RetrieveAPIView[M]):
    """One row."""
