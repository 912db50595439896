"""Examples of requests and responses for the API schema. Each is defined beside its serializer.

A test checks every one against the shape that it is of.
"""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple, TypeVar

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
    "parameters": 8190735360, "open_weights": True,
    "cost": {"usd": 0.0000534, "prompt_price": 0.05, "completion_price": 0.2}, "declared": True,
}  # fmt: skip
ENVELOPE = {
    "payloadType": "application/vnd.planarena.snapshot.v1+json", "payload": "eyJ0eXBlIjoicGxhbmFyZW5hL3NuYXBzaG90In0=",
    "signatures": [{"keyid": DIGEST[:32], "sig": "MEUCIQ=="}],
}  # fmt: skip


class Described(NamedTuple):
    """What the schema says of a serializer besides its fields."""

    example: Any
    may_lack: Collection[str]
    """Fields that some callers do not get."""


_DESCRIBED: dict[str, Described] = {}


def example(value: Any, *, may_lack: Collection[str] = ()) -> Callable[[type[S]], type[S]]:
    """Decorates a serializer with its example, and the fields that some callers do not get."""

    def decorate(serializer: type[S]) -> type[S]:
        describe(serializer.__name__, example=value, may_lack=may_lack)
        return serializer

    return decorate


def describe(component: str, *, example: Any, may_lack: Collection[str] = ()) -> None:
    """Give a component of the schema that is no serializer its example."""
    _DESCRIBED[component] = Described(example, may_lack)


def example_of(serializer: type) -> Any:
    """The example of a serializer, for those that hold it."""
    return _DESCRIBED[serializer.__name__].example


def described(component: str) -> Described | None:
    """What is known of a component of the schema; None: nothing."""
    return _DESCRIBED.get(component.removeprefix("Patched"))


def described_names() -> frozenset[str]:
    """The serializers that have an example."""
    return frozenset(_DESCRIBED)
