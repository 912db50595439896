"""What a site serves for verification, as types. Everything in it may be forged: only signatures and digests count."""

import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from evaluator import canonical_json
from evaluator.signatures import Envelope, RowDigests, TaskEntry
from evaluator.signatures.statements import Digest

_Shape = TypeVar("_Shape", bound=BaseModel)
_Text = Annotated[str, Field(max_length=1000)]


class MalformedError(Exception):
    """An answer is not what it should be; the message is the end of a sentence."""


class _Served(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class KeyEntry(_Served):
    """One public key of a site."""

    id: _Text
    algorithm: Literal["ed25519"]
    public_key: _Text
    created: AwareDatetime
    retired: AwareDatetime | None = None
    introduction: Envelope | None = None


class KeysDocument(_Served):
    """`/.well-known/planarena-keys.json`"""

    format: Literal["planarena-keys/1"]
    keys: Annotated[list[KeyEntry], Field(max_length=1000)]


class ListedSnapshot(_Served):
    """One snapshot in the list of a suite."""

    number: int
    digest: Digest
    signature: Envelope | None


class SnapshotPage(_Served):
    """One page of that list, the newest snapshots first."""

    results: list[ListedSnapshot]
    next: str | None


class SeasonDataDocument(_Served):
    """A suite's hidden data in a season."""

    suite: _Text
    commitment: Digest
    seed: _Text | None


class SeasonDocument(_Served):
    """`/api/v1/seasons/<name>/`"""

    name: _Text
    announcements: Annotated[list[Envelope], Field(max_length=1000)]
    """The oldest first."""
    suites: Annotated[list[SeasonDataDocument], Field(max_length=1000)]


class SeasonPage(_Served):
    """One page of the list of seasons."""

    results: list[SeasonDocument]
    next: str | None


class BoardState(_Served):
    """The rows of a board, of which only the snapshot's number is read."""

    snapshot: int


class SnapshotProof(_Served):
    """A snapshot with what its statement binds."""

    format: Literal["planarena-snapshot-proof/1"]
    suite: _Text
    number: int
    digest: Digest
    content: dict[str, Any]
    signature: Envelope | None
    rows: list[RowDigests]
    salts: dict[str, _Text]


class EvaluationProof(_Served):
    """The results of an evaluation with what its statement binds."""

    format: Literal["planarena-evaluation-proof/1"]
    evaluation: _Text
    signature: Envelope | None
    tasks: list[TaskEntry]
    salt: _Text | None
    records: dict[str, Digest]


class Metric(_Served):
    """One metric of a row."""

    mean: FiniteFloat
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    tasks: int | None = None


class Cost(_Served):
    """What a task costs by declared prices."""

    usd: FiniteFloat
    prompt_price: FiniteFloat
    completion_price: FiniteFloat


class RowRuns(_Served):
    """The runs of a row."""

    evaluations: Annotated[tuple[_Text, ...], Field(max_length=10_000)] = ()
    """Those that it is the mean of; empty where it shows one."""


class Normalised(_Served):
    """The normalised score of a row, or why there is none."""

    mean: FiniteFloat | None = None
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    gold: _Text = ""
    """The anchors' evaluations."""
    no_op: _Text = ""


class Row(_Served):
    """The figures of a row."""

    rank: int | None
    rank_low: int | None
    rank_high: int | None
    rank_tests: int | None = None
    """Pairs that were tested; None in rows from before paired tests."""
    runs: RowRuns = RowRuns()
    normalised: Normalised | None = None
    evaluation: str
    metrics: dict[str, Metric | None]
    outcomes: dict[str, int]
    usage: dict[str, FiniteFloat] = {}
    cost: Cost | None = None


def parsed(data: bytes, *, shape: type[_Shape]) -> _Shape:
    """Read an answer.

    Raises:
        MalformedError: it is no JSON that can be hashed, or of another shape.
    """
    try:
        value = json.loads(data)
        # Not every value that Python reads has canonical JSON: NaN, infinities and half characters have none.
        canonical_json.dumps(value).encode()
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"is not JSON that can be verified ({type(error).__name__})") from None
    return shaped(value, shape=shape)


def shaped(value: object, *, shape: type[_Shape]) -> _Shape:
    """A value as what it should be.

    Raises:
        MalformedError: it is something else.
    """
    try:
        return shape.model_validate(value)
    except (ValidationError, RecursionError) as error:
        where = error.errors()[0]["loc"] if isinstance(error, ValidationError) else ()
        place = ".".join(str(part)[:40] for part in where[:6])
        raise MalformedError(f"has an unknown form{f' at {place!r}' if place else ''}") from None
