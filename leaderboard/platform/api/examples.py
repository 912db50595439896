"""Examples of requests, responses and problems for the API schema. The example of a serializer is defined beside it.

A test validates every example against its schema.
"""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple, TypeVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse

EXAMPLE_SUITE = "openagi"
S = TypeVar("S")

SUBMISSION_ID = "0d6f2c1e-5b7a-4c39-9a51-6f0c8c6b2f10"
EVALUATION_ID = "5e8c0a52-1d3f-47e6-b6a4-2f9b7f3c9d21"
ATTEMPT_ID = "9b1d4f70-83c2-4f0e-8f57-0a6c1e2d3b44"
ROW_ID = "3f2a9c84-60be-4d1b-9c77-51e8d0b7a6f5"
DIGEST = "9b27625e462a" + "0" * 52
WHEN, LATER = "2026-03-01T12:00:00Z", "2026-03-01T12:09:30Z"
SUMMARY = {
    "metrics": {"overall": {"mean": 0.43, "low": 0.38, "high": 0.48, "tasks": 171}},
    "outcomes": {"scored": 165, "planner_fault": 6, "not_run": 14},
    "reading": {"replies": 171, "unreadable": 4, "tolerated": {"envelope: fence": 102, "dialect: hermes": 3}},
}  # fmt: skip
PLAN = {
    "steps": [{"id": "s1", "tool": "Image Denoising", "inputs": {"image": "$image"}, "outputs": {"image": "s1.image"}}],
    "answers": ["s1.image"],
}  # fmt: skip
ROW = {
    "rank": 1, "rank_low": 1, "rank_high": 2, "rank_tests": 190, "planner": "my-planner", "kind": "endpoint",
    "owner": "ada", "evaluation": EVALUATION_ID, "finished": "2026-03-01T12:09:30+00:00", "samples": 8,
    "metrics": SUMMARY["metrics"], "outcomes": SUMMARY["outcomes"],
    "runs": {"policy": "latest", "count": 3, "sd": 0.01, "low": 0.42, "high": 0.44, "identical": False},
    "usage": {"seconds": 1.4, "prompt_tokens": 812.0, "completion_tokens": 64.0}, "model_name": "Qwen3-8B",
    "readable": {"mean": 0.977, "low": 0.941, "high": 0.991, "tasks": 171},
    "parameters": 8190735360, "open_weights": True,
    "cost": {"usd": 0.0000534, "prompt_price": 0.05, "completion_price": 0.2}, "declared": True,
}  # fmt: skip
ENVELOPE = {
    "payloadType": "application/vnd.planarena.snapshot.v1+json", "payload": "eyJ0eXBlIjoicGxhbmFyZW5hL3NuYXBzaG90In0=",
    "signatures": [{"keyid": DIGEST[:32], "sig": "MEUCIQ=="}],
}  # fmt: skip


class Described(NamedTuple):
    """Additions to the schema of a serializer."""

    example: Any
    may_lack: Collection[str]
    """Fields that some callers do not get."""


_DESCRIBED: dict[str, Described] = {}


def example(value: Any, *, may_lack: Collection[str] = ()) -> Callable[[type[S]], type[S]]:
    """Decorator that sets a serializer's example, and the fields that some callers do not get."""

    def decorate(serializer: type[S]) -> type[S]:
        describe(serializer.__name__, example=value, may_lack=may_lack)
        return serializer

    return decorate


def describe(component: str, *, example: Any, may_lack: Collection[str] = ()) -> None:
    """Set the example of a component of the schema that is not a serializer."""
    _DESCRIBED[component] = Described(example, may_lack)


def example_of(serializer: type) -> Any:
    """The example of a serializer, for serializers that contain it."""
    return _DESCRIBED[serializer.__name__].example


def described(component: str) -> Described | None:
    """The additions to a component of the schema, or None."""
    return _DESCRIBED.get(component.removeprefix("Patched"))


CONFLICT = OpenApiResponse(OpenApiTypes.OBJECT, description="The evaluation's current state does not allow this.")
NO_QUOTA = OpenApiResponse(OpenApiTypes.OBJECT, description="Today's quota is used up; see `Retry-After`.")
NOT_READY = OpenApiResponse(OpenApiTypes.OBJECT, description="The site currently cannot evaluate.")
REUSED = OpenApiResponse(OpenApiTypes.OBJECT, description="The `Idempotency-Key` was used for another request.")
TOO_MANY_JOBS = OpenApiResponse(
    OpenApiTypes.OBJECT, description="Too many calls, or too many unfinished calls of the caller; see `Retry-After`."
)


PROBLEM_CONTENT_TYPE = "application/problem+json"

BY_PARAMETER: dict[str, Any] = {
    "evaluation_id": EVALUATION_ID,
    "submission_id": SUBMISSION_ID,
    "task_key": "14",
    "username": "bea",
    "webhook_id": ROW_ID,
}

PROBLEMS: dict[int, tuple[str, str, str]] = {
    400: ("invalid", "Bad Request", "planner.name: Give the planner a name."),
    401: ("not_authenticated", "Unauthorized", "Authentication credentials were not provided."),
    403: ("scope_missing", "Forbidden", "This needs a token with the scope 'submit'; yours has: read."),
    404: ("not_found", "Not Found", "Not found, or not visible to you."),
    409: ("not_possible", "Conflict", "The evaluation is 'completed': this is not possible any more."),
    413: ("too_large", "Request Entity Too Large", "The body is larger than 16777216 bytes."),
    415: ("unsupported_media_type", "Unsupported Media Type", 'Unsupported media type "text/plain" in request.'),
    422: ("idempotency_key_reused", "Unprocessable Entity", "The Idempotency-Key came before with another request."),
    429: ("throttled", "Too Many Requests", "Request was throttled. Expected available in 12 seconds."),
    503: ("not_ready", "Service Unavailable", "The site cannot evaluate at present."),
}
"""`code`, `title` and `detail` by status."""
