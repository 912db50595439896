"""Addresses that there are not."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.views import APIView


@extend_schema(exclude=True)
class NowhereView(APIView):
    """Every address that there is not, so that pipelines read a problem document there too."""

    authentication_classes: list[Any] = []
    permission_classes: list[Any] = []

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002 - the base class's
        raise NotFound(f"Nothing found at {request.path}; the schema lists all addresses.")
