"""Parsing requests into messages of the contract, rendering messages as responses, and their OpenAPI schema."""

from collections.abc import Mapping
from typing import Any, TypeVar

from django.http import HttpResponse
from drf_spectacular.drainage import set_override
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.plumbing import ResolvedComponent
from pydantic import ValidationError
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
    "WorkerSessionRequest": {"suites": [EXAMPLE_SUITE], "evaluation": None, "gpu_memory_bytes": 85_024_112_640},
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
    "WorkerRunLease": {
        "run": EVALUATION_ID, "token": "q" * 43, "expires_in": 30.0, "heartbeat_seconds": 5.0, "suite": EXAMPLE_SUITE,
        "profile": "lilliput", "request": "What is in a.png?",
        "files": [{"number": 0, "name": "a.png", "type": "image", "media_type": ""}],
        "marks": [{"type": "point", "picture": "a.png", "at": [[12, 30]]}], "history": [],
        "planner": {"kind": "bundled", "name": "gold"}, "plan": None,
    },
    "WorkerRunsAnnounced": {"waits": True, "suite": EXAMPLE_SUITE, "profile": "lilliput"},
    "WorkerRunEvents": {"first": 2, "events": [{"kind": "asked", "planner": "my-planner", "tools": 24}]},
    "WorkerDoctorReport": {
        "worker": "gpu-7", "profile": "paper", "weights": "own",
        "device": {"kind": "cuda", "card": "NVIDIA H100", "cuda": "12.8", "total_bytes": 85_000_000_000},
        "driver": "570.86.15",
        "experts": [{
            "tool": "Image Denoising", "expert": "paper/denoising", "batch_size": 8, "load_seconds": 2.1,
            "run_seconds": 0.4, "weights_bytes": 104_000_000, "peak_bytes": 1_200_000_000, "repeatable": True,
            "position": True, "padding": True, "difference": 0.0004, "tolerance": 0.02, "is_right": True, "problem": "",
        }],
    },
    "WorkerDoctorReportTaken": {"device": "NVIDIA H100, driver 570.86.15, CUDA 12.8"},
    "WorkerFailRequest": {"how": "failed", "reason": "RuntimeError: out of memory"},
}  # fmt: skip

for _component, _example in _EXAMPLES.items():
    describe(_component, example=_example)


_PREFIX = "Worker"
"""Prefix of component names: planner, result and problem have other meanings in the rest of the API."""


class MessageExtension(OpenApiSerializerExtension):
    """Describes a message and its parts as OpenAPI components."""

    target_class = "gpu_jobs.contract.Message"
    match_subclasses = True
    # Before the framework's extension for pydantic, which has no prefix.
    priority = 1

    def get_name(self, auto_schema: Any, direction: Any) -> str:  # noqa: ARG002 - the base class's signature
        # A nested message is already registered under this name, with the same description.
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
        plain: dict[str, Any] = _plain(schema)
        return plain


def _plain(part: Any) -> Any:
    """A schema without titles, which repeat the names."""
    if isinstance(part, dict):
        return {key: _plain(value) for key, value in part.items() if not (key == "title" and isinstance(value, str))}
    return [_plain(value) for value in part] if isinstance(part, list) else part


_MOST_PROBLEMS = 10
_NOT_AN_OBJECT = frozenset({"model_type", "model_attributes_type", "dict_type"})

M = TypeVar("M", bound=Message)


def validated(message: type[M], body: Any) -> M:
    """The body of a request as a message.

    Raises:
        FieldValidationError: it is invalid; has the path of each field with a sentence.
    """
    try:
        return message.model_validate(body)
    except ValidationError as error:
        problems: dict[str, list[str]] = {}
        # Without the input, which may be a credential.
        details = error.errors(include_url=False, include_context=False, include_input=False)
        for detail in details[:_MOST_PROBLEMS]:
            field = ".".join(str(part) for part in detail["loc"]) or "non_field_errors"
            if detail["type"] == "missing":
                sentence = "This field is required."
            elif detail["type"] in _NOT_AN_OBJECT:
                sentence = "A JSON object is expected here."
            else:
                sentence = f"{detail['msg']}."
            problems.setdefault(field, []).append(sentence)
        raise FieldValidationError(problems) from error


def answer(
    message: Message, *, code: int = status.HTTP_200_OK, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """A message as a response."""
    return HttpResponse(message.model_dump_json(), status=code, headers=headers, content_type="application/json")
