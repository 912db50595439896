"""Types of the API's documents about boards, and their reader. `evaluator.core.signatures.documents` has the types of
documents that exist for verification only."""

from typing import Annotated, Any, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from evaluator.core import canonical_json
from evaluator.core.signatures.documents import Served
from evaluator.core.signatures.envelope import Envelope
from evaluator.core.signatures.statements import Digest
from evaluator.scoring.board_table import is_anchor
from evaluator.scoring.uncertainty import DETERMINISTIC

_Shape = TypeVar("_Shape", bound=BaseModel)
_Text = Annotated[str, Field(max_length=1000)]


class MalformedError(Exception):
    """An answer is not what it should be; the message is the end of a sentence."""


class _Part(BaseModel):
    """The fields of a larger object that are read."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class ListedSnapshot(Served):
    """One snapshot in the list of a suite."""

    number: int
    digest: Digest
    signature: Envelope | None


class Page(Served):
    """One page of a list."""

    next: str | None
    previous: str | None


class SnapshotPage(Page):
    """One page of the list of snapshots, the newest first."""

    results: list[ListedSnapshot]


class RowsPage(Served):
    """A page of `/api/v1/boards/<suite>/rows/`."""

    snapshot: int
    coverage: dict[str, int]
    total: int
    matching: int
    next: str | None
    previous: str | None
    rows: list[Any]


class Metric(_Part):
    """One metric of a row."""

    mean: FiniteFloat
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    tasks: int | None = None


class Cost(_Part):
    """What a task costs by declared prices."""

    usd: FiniteFloat
    prompt_price: FiniteFloat
    completion_price: FiniteFloat
    cached_price: FiniteFloat | None = None


class Readable(_Part):
    """The share of a row's replies that could be read."""

    mean: Annotated[FiniteFloat, Field(ge=0, le=1)]
    tasks: Annotated[int, Field(ge=1, le=10**9)]

    @property
    def unreadable(self) -> int:
        """Number of the others."""
        return round(self.tasks * (1 - self.mean))


class RowRuns(_Part):
    """The runs of a row."""

    evaluations: Annotated[tuple[_Text, ...], Field(max_length=10_000)] = ()
    """Those that it is the mean of; empty where it shows one."""


class RowAsked(_Part):
    """How often the planner of a row was asked for the same requests."""

    verdict: _Text = ""

    @property
    def is_deterministic(self) -> bool:
        """Whether it was declared to answer alike, and no further run says otherwise."""
        return self.verdict in DETERMINISTIC


class Normalised(_Part):
    """The normalised score of a row, or why there is none."""

    mean: FiniteFloat | None = None
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    gold: _Text = ""
    """The anchors' evaluations."""
    no_op: _Text = ""


class Row(_Part):
    """The figures of a row."""

    rank: int | None
    rank_low: int | None
    rank_high: int | None
    rank_tests: int
    """Pairs that were tested."""
    runs: RowRuns = RowRuns()
    asked: RowAsked | None = None
    """None in rows from before planners were asked again."""
    uncertainty: dict[str, Any] | None = None
    normalised: Normalised | None = None
    evaluation: str
    planner: str
    owner: str
    kind: str
    strategy: str = ""
    finished: AwareDatetime
    samples: int
    metrics: dict[str, Metric | None]
    outcomes: dict[str, int]
    usage: dict[str, FiniteFloat] = {}
    cost: Cost | None = None
    readable: Readable | None = None

    @property
    def is_anchor(self) -> bool:
        """Whether it is a reference line without a rank."""
        return is_anchor(kind=self.kind, strategy=self.strategy)


def parsed(data: bytes, *, shape: type[_Shape]) -> _Shape:
    """Read an answer.

    Raises:
        MalformedError: it is no JSON that every reader understands alike, or of another shape. What is `Served` must be
            written exactly as the shape writes it, so that nothing in it goes unread.
    """
    try:
        value = canonical_json.loads(data)
    except ValueError as error:
        raise MalformedError(f"cannot be verified: it {error}") from None
    return shaped(value, shape=shape)


def shaped(value: object, *, shape: type[_Shape]) -> _Shape:
    """A JSON value as what it should be.

    Raises:
        MalformedError: it is something else.
    """
    text = canonical_json.dumps(value)
    try:
        found = shape.model_validate_json(text, strict=True)
    except (ValidationError, RecursionError) as error:
        where = error.errors()[0]["loc"] if isinstance(error, ValidationError) else ()
        place = ".".join(str(part)[:40] for part in where[:6])
        raise MalformedError(f"has an unknown form{f' at {place!r}' if place else ''}") from None
    if issubclass(shape, Served) and canonical_json.dumps(found.model_dump(mode="json")) != text:
        raise MalformedError("is not in the form in which it is written")
    return found
