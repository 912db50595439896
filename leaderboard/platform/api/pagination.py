"""Cursor pagination of lists, which neither counts rows nor skips or repeats any while others are added."""

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DataError
from django.db.models import QuerySet
from rest_framework.exceptions import NotFound
from rest_framework.exceptions import ValidationError as FieldValidationError
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request


class Pages(CursorPagination):
    """`?page_size=100`, at most 500, and the URL of the `next` page in the response. The view's `ordering` names the
    sort keys, of which the first is a field or annotation of the rows."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500

    def get_ordering(self, request: Request, queryset: QuerySet[Any], view: Any) -> tuple[str, ...]:  # noqa: ARG002
        return tuple(view.ordering)

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """In OpenAPI 3.1; the base class generates 3.0."""
        address = {"type": ["string", "null"], "format": "uri", "description": "Null: there is no such page."}
        properties = {"next": address, "previous": address, "results": schema}
        return {"type": "object", "required": list(properties), "properties": properties}

    def paginate_queryset(
        self, queryset: QuerySet[Any] | Sequence[Any], request: Request, view: Any = None
    ) -> list[Any] | None:
        try:
            rows = super().paginate_queryset(queryset, request, view)
        except (NotFound, ValueError, ValidationError, DataError):
            # For invented cursors, the base class answers 404 or fails.
            text = "Take the cursor from `next` or `previous` of a response, or omit it for the first page."
            raise FieldValidationError({"cursor": [text]}) from None
        return rows
