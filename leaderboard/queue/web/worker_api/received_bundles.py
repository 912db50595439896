"""Bundles of artefacts as workers send them, checked."""

from collections.abc import Callable, Sequence

from django.conf import settings
from rest_framework.exceptions import ValidationError as FieldValidationError
from rest_framework.request import Request

from evaluator.core.values import Artefact, MediaType
from evaluator.execution.engine.store import digest_of
from gpu_jobs import bundles
from leaderboard.platform.api.parsers import TooLargeError


def received_artefacts(
    request: Request, *, refused: Callable[[Artefact], str] = lambda _: ""
) -> tuple[list[Artefact], dict[str, str]]:
    """The valid artefacts of a body, and why each of the others is refused, by digest.

    Args:
        request: with the body.
        refused: why a valid artefact is refused all the same, as a sentence; empty if it is not.

    Raises:
        FieldValidationError: the body is no bundle.
        TooLargeError: it is too large.
    """
    good: list[Artefact] = []
    problems: dict[str, str] = {}
    for frame in _frames(request):
        problem = _problem_of(frame)
        if not problem:
            artefact = Artefact(data=frame.data, media_type=MediaType(frame.media_type))
            problem = refused(artefact)
        if problem:
            problems[frame.digest] = problem
        else:
            good.append(artefact)
    return good, problems


def _frames(request: Request) -> Sequence[bundles.Frame]:
    """The artefacts of a body.

    Raises:
        FieldValidationError: the body is no bundle.
        TooLargeError: it is too large.
    """
    if request.META.get("CONTENT_TYPE") != bundles.CONTENT_TYPE:
        raise FieldValidationError({"bundle": [f"Content-Type must be {bundles.CONTENT_TYPE}."]})
    data = request._request.read(bundles.MOST_BYTES + 1)
    if len(data) > bundles.MOST_BYTES:
        raise TooLargeError(f"A bundle has at most {bundles.MOST_BYTES} bytes.")
    try:
        return bundles.unpack(data)
    except bundles.BundleError as error:
        raise FieldValidationError({"bundle": [f"{error}."]}) from error


def _problem_of(frame: bundles.Frame) -> str:
    """Why an artefact is refused, as a sentence; empty if it is valid."""
    if frame.media_type not in list(MediaType):
        return f"The media type must be one of: {', '.join(MediaType)}."
    if len(frame.data) > settings.MAX_OBJECT_BYTES:
        return f"An artefact has at most {settings.MAX_OBJECT_BYTES} bytes."
    if (actual := digest_of(frame.data)) != frame.digest:
        return f"The bytes have the SHA-256 {actual}."
    return ""
