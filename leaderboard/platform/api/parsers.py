"""Parser of request bodies."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import IO, Any

from rest_framework import status
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import JSONParser
from rest_framework.utils.json import strict_constant

LARGEST_BODY = 16 * 1024 * 1024
_LONGEST_NAME = 100


class TooLargeError(APIException):
    """The body exceeds the limit."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


class BoundedJSONParser(JSONParser):
    """JSON of limited size without duplicate keys. DRF's own parser has no limit, and takes the last duplicate."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,  # noqa: ARG002 - the base class's
        parser_context: Mapping[str, Any] | None = None,  # noqa: ARG002 - the base class's
    ) -> Any:
        data = stream.read(LARGEST_BODY + 1)
        if len(data) > LARGEST_BODY:
            raise TooLargeError(f"The body is larger than {LARGEST_BODY} bytes.")
        try:
            return json.loads(data.decode("utf-8-sig"), parse_constant=strict_constant, object_pairs_hook=_object)
        except RecursionError as error:
            raise ParseError("JSON parse error: nested too deeply.") from error
        except ValueError as error:
            raise ParseError(f"JSON parse error: {error}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        duplicate = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f"the key {duplicate[:_LONGEST_NAME]!r} appears more than once in an object.")
    return members
