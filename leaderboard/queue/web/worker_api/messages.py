"""Requests into messages of the contract, and messages into answers."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from django.http import HttpResponse
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from rest_framework import status
from rest_framework.exceptions import ValidationError as FieldValidationError

from gpu_jobs.contract import Message
from leaderboard.queue.web.worker_api import schema  # noqa: F401 - registers how messages are described

_MOST_PROBLEMS = 10
_NOT_AN_OBJECT = frozenset({"model_type", "model_attributes_type", "dict_type"})

M = TypeVar("M", bound=Message)


def validated(message: type[M], body: Any) -> M:
    """The body of a request as a message.

    Raises:
        FieldValidationError: it is none; names each field, as it is nested in the body, with what would be right.
    """
    try:
        return message.model_validate(body)
    except ValidationError as error:
        found: dict[str, list[str]] = {}
        for field, sentence in _problems(error):
            found.setdefault(field, []).append(sentence)
        raise FieldValidationError(found) from error


def answer(
    message: Message, *, code: int = status.HTTP_200_OK, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """A message as an answer."""
    return HttpResponse(message.model_dump_json(), status=code, headers=headers, content_type="application/json")


def _problems(error: ValidationError) -> Iterator[tuple[str, str]]:
    # Without the input, which may be a credential.
    for one in error.errors(include_url=False, include_context=False, include_input=False)[:_MOST_PROBLEMS]:
        yield ".".join(str(part) for part in one["loc"]) or "non_field_errors", _sentence(one)


def _sentence(problem: ErrorDetails) -> str:
    if problem["type"] == "missing":
        return "This field is required."
    if problem["type"] in _NOT_AN_OBJECT:
        return "A JSON object is expected here."
    return f"{problem['msg']}."
