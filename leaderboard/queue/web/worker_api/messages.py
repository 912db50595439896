"""Requests into messages of the contract, and messages into answers."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from django.http import HttpResponse
from drf_spectacular.drainage import set_override
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.plumbing import ResolvedComponent
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from rest_framework import status
from rest_framework.exceptions import ValidationError as FieldValidationError

from gpu_jobs.contract import Message
from leaderboard.catalog.hidden_data import FACTS, SEED_EXAMPLE
from leaderboard.platform.api.examples import ATTEMPT_ID, DIGEST, EVALUATION_ID, EXAMPLE_SUITE, PLAN, describe

_LEASE_REQUEST = {"worker": "gpu-7", "suites": [EXAMPLE_SUITE], "evaluation": None, "token": "q" * 43}
_LEASE = {
    "attempt": ATTEMPT_ID, "token": "q" * 43, "expires_in": 60.0, "heartbeat_seconds": 10.0,
    "evaluation": EVALUATION_ID, "suite": EXAMPLE_SUITE, "suite_digest": DIGEST, "profile": "lilliput",
    "profile_digest": DIGEST, "split": "public", "samples": 8, "data_digest": DIGEST, **dict.fromkeys(FACTS, ""),
    "perturbation": "", "repetition": 1, "planner": {"kind": "bundled", "name": "gold"},
    "tasks": ["14", "15"], "needs_seed": False,
}  # fmt: skip
_RECORD_OF_WORKER = {
    "version": "result/1", "suite": EXAMPLE_SUITE, "task": "14", "request": "What is in the noisy picture?",
    "metric": "vit", "outcome": "scored", "score": 0.71, "plan": PLAN,
}  # fmt: skip
_LOG = {"first": 0, "lines": [{"at": 1772366400.0, "level": "INFO", "text": "task 14: scored 0.7100"}]}
_EXAMPLES: dict[str, Any] = {
    "WorkerSessionRequest": {"suites": [EXAMPLE_SUITE], "evaluation": None},
    "WorkerSession": {"token": "pas_" + "q" * 43, "expires_in": 3600.0},
    "WorkerLeaseRequest": _LEASE_REQUEST,
    "WorkerLease": _LEASE,
    "WorkerHeartbeat": {"phase": "planning"},
    "WorkerSeed": SEED_EXAMPLE,
    "WorkerSecretHeader": {"name": "Authorization", "value": "(the value)"},
    "WorkerDigestsRequest": {"digests": [DIGEST]},
    "WorkerDigestsMissing": {"missing": [DIGEST], "takes_uploads": True},
    "WorkerUploadsRequest": {"uploads": [{"digest": DIGEST, "size": 48_213, "media_type": "image/png"}]},
    "WorkerUploadsOffered": {
        "offered": [
            {
                "digest": DIGEST, "url": "https://s3.example.org/arena/site/public/objects/(the signed rest)",
                "headers": {"Content-Type": "image/png", "Content-Length": "48213", "x-amz-checksum-sha256": "(it)"},
            }
        ]
    },
    "WorkerBundleTaken": {"kept": 1, "refused": {DIGEST: "An artefact has at most 67108864 bytes."}},
    "WorkerResultsRequest": {"results": [_RECORD_OF_WORKER]},
    "WorkerResultsTaken": {"new": 1},
    "WorkerLogLines": _LOG,
    "WorkerLogTaken": {"next": 1, "cut": False},
    "WorkerFinishRequest": {
        "results": [_RECORD_OF_WORKER], "log": _LOG, "provenance": {"device": "cpu"}, "next": _LEASE_REQUEST,
    },
    "WorkerFinishAnswer": {"next": _LEASE},
    "WorkerTurnRequest": {
        "turn": {"key": f"{EVALUATION_ID}/14/0/1/joint", "task": "14", "request": "{}"}, "ended": None,
    },
    "WorkerTurnAnswer": {"response": '{"answer": "R1"}', "seconds": 4.2, "is_away": False, "is_silent": False},
    "WorkerFailRequest": {"how": "failed", "reason": "RuntimeError: out of memory"},
}  # fmt: skip

for _component, _example in _EXAMPLES.items():
    describe(_component, example=_example)


_PREFIX = "Worker"
"""Of the components' names: a planner, a result and a problem are something else in the rest of the API."""


class MessageExtension(OpenApiSerializerExtension):
    """Describes a message as a component, and what it is made of as others."""

    target_class = "gpu_jobs.contract.Message"
    match_subclasses = True
    # Before the framework's own one for pydantic, which knows no prefix.
    priority = 1

    def get_name(self, auto_schema: Any, direction: Any) -> str:  # noqa: ARG002 - the base class's signature
        # A message within another one has been registered by its name alone; both are described alike.
        set_override(self.target, "suppress_collision_warning", True)
        return f"{_PREFIX}{self.target.__name__}"

    def map_serializer(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        mode = "validation" if direction == "request" else "serialization"
        schema: dict[str, Any] = self.target.model_json_schema(
            mode=mode, ref_template=f"#/components/schemas/{_PREFIX}{{model}}"
        )
        for name, part in schema.pop("$defs", {}).items():
            full_name = f"{_PREFIX}{name}"
            component = ResolvedComponent(
                name=full_name, type=ResolvedComponent.SCHEMA, object=full_name, schema=_plain(part)
            )
            auto_schema.registry.register_on_missing(component)
        described: dict[str, Any] = _plain(schema)
        return described


def _plain(part: Any) -> Any:
    """The schema without titles, which repeat the names."""
    if isinstance(part, dict):
        return {key: _plain(value) for key, value in part.items() if not (key == "title" and isinstance(value, str))}
    return [_plain(value) for value in part] if isinstance(part, list) else part


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
