"""How lists are cut into pages: by a cursor, so that no row is counted, missed or shown twice while others come in."""

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
    """`?page_size=100`, and the address of the `next` page in the answer; at most 500 rows a page.

    A view names in `ordering` what its rows are sorted by: the first is a field or annotation that rows have.
    """

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500

    def get_ordering(self, request: Request, queryset: QuerySet[Any], view: Any) -> tuple[str, ...]:  # noqa: ARG002
        return tuple(view.ordering)

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """As JSON Schema has it: the base class describes OpenAPI 3.0."""
        address = {"type": ["string", "null"], "format": "uri", "description": "Null: there is no such page."}
        properties = {"next": address, "previous": address, "results": schema}
        return {"type": "object", "required": list(properties), "properties": properties}

    def paginate_queryset(
        self, queryset: QuerySet[Any] | Sequence[Any], request: Request, view: Any = None
    ) -> list[Any] | None:
        try:
            rows = super().paginate_queryset(queryset, request, view)
        except (NotFound, ValueError, ValidationError, DataError):
            # Whoever makes up a cursor learns what one is; the base class answers 404 or breaks.
            text = "Take the cursor from `next` or `previous` of an answer, or leave it out for the first page."
            raise FieldValidationError({"cursor": [text]}) from None
        return rows
