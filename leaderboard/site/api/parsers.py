"""How bodies are read."""

import io
from collections.abc import Mapping
from typing import IO, Any

from rest_framework import status
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import JSONParser

LARGEST_BODY = 16 * 1024 * 1024


class TooLargeError(APIException):
    """The body is larger than what is read."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


class BoundedJSONParser(JSONParser):
    """JSON of a bounded size. DRF's own parser reads whatever comes."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        data = stream.read(LARGEST_BODY + 1)
        if len(data) > LARGEST_BODY:
            raise TooLargeError(f"The body is larger than {LARGEST_BODY} bytes.")
        try:
            return super().parse(io.BytesIO(data), media_type, parser_context)
        except RecursionError as error:
            raise ParseError("JSON parse error: nested too deeply.") from error
