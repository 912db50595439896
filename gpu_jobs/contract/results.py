"""Results, and the call that ends an attempt."""

from typing import Annotated, Any

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import ResultRecord
from gpu_jobs.contract.lease import Lease, LeaseRequest
from gpu_jobs.contract.log import LogLines
from gpu_jobs.contract.message import Message

_NO_LINES = LogLines(first=0, lines=())


def _or_no_lines(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """A malformed log is no reason to refuse the results that come with it."""
    try:
        return validate(value)
    except ValidationError:
        return _NO_LINES


class ResultsRequest(Message):
    """Results of some tasks."""

    results: tuple[ResultRecord, ...]


class ResultsTaken(Message):
    """What became of them."""

    new: int
    """How many are of tasks that had no result."""


class FinishRequest(Message):
    """All that is left to say of an attempt, and the request for the next lease."""

    results: tuple[ResultRecord, ...]
    """Those that were not sent before."""
    log: Annotated[LogLines, WrapValidator(_or_no_lines)] = _NO_LINES
    """Lines that were not sent before. A malformed log is left out."""
    provenance: dict[str, JsonValue] = Field(default_factory=dict)
    """What the results were made with."""
    next: LeaseRequest | None = None
    """Null: no further shard is wanted."""


class FinishAnswer(Message):
    """The answer to `FinishRequest`."""

    next: Lease | None
    """Null if none was asked for, none is due, or the session leases no more."""
