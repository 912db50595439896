"""The worker's protocol: the messages between a worker and the site, which both import from here.

The site validates requests and builds answers with these models, the worker builds requests and reads answers, and the
API's schema of these calls follows from them. `leaderboard.queue.web.worker_api` describes the calls themselves.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    SecretStr,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)

from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import ResultRecord

Slug = Annotated[str, StringConstraints(pattern=r"^[-a-zA-Z0-9_]+$")]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 in lower-case hexadecimal digits."""


class Message(BaseModel):
    """A body of a request or of an answer. Unknown fields are ignored: the other side may be newer."""

    model_config = ConfigDict(extra="ignore", frozen=True, use_attribute_docstrings=True)


class Problem(Message):
    """Why a call was refused."""

    code: str = ""
    """The site's short name of the problem; empty if it gave none."""
    missing: tuple[str, ...] = ()
    """Digests of artefacts, or keys of tasks, that the site lacks."""


WORK_LEFT_HEADER = "X-Work-Left"
"""Header of the answer 204 to a lease request for one evaluation: `1` while shards of the evaluation are not done, also
those that other workers hold or that may only be leased later; `0` if none is left."""


class BundledPlanner(Message):
    """A planner that comes with the evaluator."""

    kind: Literal["bundled"] = "bundled"
    name: str


class EndpointPlanner(Message):
    """A planner behind HTTP."""

    kind: Literal["endpoint"] = "endpoint"
    url: str
    timeout_seconds: float
    allow_private: bool = False
    """Whether loopback and private addresses may be called: in demo mode only."""
    has_header: bool = False
    """Whether requests need a secret header, which the worker fetches by a call of the attempt."""


class ChatPlanner(Message):
    """A strategy with a language model behind OpenAI's chat API."""

    kind: Literal["chat"] = "chat"
    url: str
    """Its base, as in `https://host/v1`."""
    model: str
    """As requests name it."""
    strategy: str
    timeout_seconds: float
    """For one try of one call."""
    allow_private: bool = False
    """As for `EndpointPlanner`."""
    has_header: bool = False
    """As for `EndpointPlanner`."""


class HubPlanner(Message):
    """A strategy with a language model of a model hub."""

    kind: Literal["hub"] = "hub"
    model_id: str
    """`ORG/NAME`."""
    commit: str
    strategy: str


class CheckpointPlanner(Message):
    """A strategy with a language model whose zip the site gives to this attempt."""

    kind: Literal["checkpoint"] = "checkpoint"
    digest: Digest
    """SHA-256 of the zip."""
    bytes: int
    """Of the zip."""
    strategy: str


class GivenPlan(Message):
    """What a plans file says of one task."""

    plan: JsonValue
    alternatives: tuple[JsonValue, ...] = ()


class PlansPlanner(Message):
    """Plans that were written down beforehand."""

    kind: Literal["plans"] = "plans"
    plans: dict[str, GivenPlan]
    """Of the lease's tasks; those that are missing have none."""


class AgentPlanner(Message):
    """An agent, which takes its turns from the site."""

    kind: Literal["agent"] = "agent"


LeasedPlanner = (
    BundledPlanner | EndpointPlanner | ChatPlanner | HubPlanner | CheckpointPlanner | PlansPlanner | AgentPlanner
)


class LeaseRequest(Message):
    """Which shard a worker asks for."""

    worker: Annotated[str, StringConstraints(strip_whitespace=True, max_length=120, pattern=r"^[^\x00]+$")]
    """Its name, by which its launcher knows it."""
    suites: Annotated[tuple[Slug, ...], Field(max_length=100)] | None = None
    """Only tasks of these suites; null: of all that the session covers."""
    evaluation: UUID | None = None
    """Only tasks of this evaluation; null: of all that the session covers."""
    token: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{43,200}$"), Field(repr=False)]
    """The credential that the worker proposes for the attempt: at least 256 random bits in base64. Asked again with the
    same one, the site answers with the lease that it gave for it."""


class Lease(Message):
    """A shard that a worker holds until it finishes, fails or loses it. It contains no secret but its own token."""

    attempt: str
    token: Annotated[str, Field(repr=False)]
    """The attempt's credential."""
    expires_in: float
    """Seconds without a heartbeat after which the attempt is lost."""
    heartbeat_seconds: float
    """How often to send heartbeats."""
    evaluation: str
    suite: str
    suite_digest: str
    profile: str
    profile_digest: str
    split: str
    samples: int
    data_digest: str
    """Of the data that the tasks run on, with the commitment on the hidden split (`evaluator.core.suites.hidden`)."""
    season: str = ""
    """Name of the season whose hidden data these are; empty for open data."""
    commitment: str = ""
    """The published commitment to the season's seed; empty for open data."""
    planner: Annotated[LeasedPlanner, Field(discriminator="kind")]
    perturbation: str = ""
    """How the requests are changed (`evaluator.reliability.perturbations`); empty: not at all."""
    repetition: Annotated[int, Field(ge=1)] = 1
    """Which run on these requests it is: planners that draw from seeds draw differently in each."""
    tasks: tuple[str, ...]
    """Keys of the tasks that have no result yet."""
    needs_seed: bool = False
    """Whether the data are hidden. The worker fetches their seed by a call of the attempt."""
    traceparent: Annotated[str, Field(max_length=100)] = ""
    """The span of the lease, as W3C Trace Context writes it, for the worker's spans; empty: the site records none."""


SESSION_HEADER = "X-Worker-Token"
"""Header of `finish` with the session that the next shard is leased with."""


class SessionRequest(Message):
    """The bounds of a new session, within what the enrolment covers; null: no bound."""

    suites: Annotated[tuple[Slug, ...], Field(max_length=100)] | None = None
    """Lease only tasks of these suites."""
    evaluation: UUID | None = None
    """Lease only tasks of this evaluation."""


class Session(Message):
    """A session that was just opened."""

    token: Annotated[str, Field(repr=False)]
    """Sent this once; the site keeps only its hash."""
    expires_in: float
    """Seconds."""


SentSecret = Annotated[
    SecretStr,
    PlainSerializer(SecretStr.get_secret_value, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "password"}),
]
"""Readable in JSON, and in nothing else that prints it."""


class Phase(StrEnum):
    """The phases of an attempt, in the order in which they follow each other. None of them comes twice.

    The site gives each phase a bounded time, so that a worker that loads a large model is not taken for one that hangs,
    and one that hangs is not kept alive by its heartbeat thread.
    """

    PREPARING = "preparing"
    """Loading the suite and what else the worker needs before the planner."""
    FETCHING = "fetching"
    """Downloading the planner's model or checkpoint."""
    LOADING = "loading"
    """Loading that model into memory."""
    PLANNING = "planning"
    """Asking the planner."""
    EXECUTING = "executing"
    """Executing and scoring plans. Where plans are executed, most results come at the end of this phase."""

    def in_words(self) -> str:
        """What the worker does, as part of a sentence."""
        return _WORDS[self]

    def before(self) -> "tuple[Phase, ...]":
        """The phases that come before this one."""
        order = tuple(Phase)
        return order[: order.index(self)]


_WORDS = {
    Phase.PREPARING: "preparing its tasks",
    Phase.FETCHING: "downloading the planner's model",
    Phase.LOADING: "loading the planner's model",
    Phase.PLANNING: "asking the planner",
    Phase.EXECUTING: "executing plans",
}


class Heartbeat(Message):
    """A sign of life."""

    phase: Phase | None = None
    """What the worker is doing; null: no news."""


class Seed(Message):
    """The seed of the hidden data that an attempt runs on."""

    season: str
    seed: SentSecret


class SecretHeader(Message):
    """What an endpoint asks for, such as `Authorization`. The value is in no `repr` of this message."""

    name: str
    value: SentSecret


class GivenUp(StrEnum):
    """How a worker ends an attempt without having finished it."""

    RELEASED = "released"
    """It was told to stop. Does not count as a try, within reason."""
    REFUSED = "refused"
    """It cannot work on this evaluation, because its profile differs. Does not count as a try."""
    FAILED = "failed"
    """It ran into an error. Counts as a try."""


class FailRequest(Message):
    """Why a worker ends an attempt."""

    how: GivenUp = GivenUp.FAILED
    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]


CHECKPOINT_PIECE_BYTES = 8 * 1024 * 1024
"""Of one answer with a piece of a checkpoint, at most."""


class DigestsRequest(Message):
    """Artefacts that a worker has."""

    digests: Annotated[tuple[Digest, ...], Field(max_length=5000)]


class DigestsMissing(Message):
    """Those of them that the site does not have, in the order of the request."""

    missing: tuple[str, ...]
    takes_uploads: bool = False
    """Whether some of them may go directly to the bucket that the site keeps them in (`UploadsRequest`)."""


class Upload(Message):
    """An artefact that a worker is about to send."""

    digest: Digest
    size: Annotated[int, Field(ge=0, le=2**40)]
    """Bytes."""
    media_type: Annotated[str, Field(max_length=60)]


class UploadsRequest(Message):
    """Artefacts that a worker would upload directly."""

    uploads: Annotated[tuple[Upload, ...], Field(max_length=200)]


class OfferedUpload(Message):
    """A PUT request that uploads one artefact, and no other bytes. It expires after some minutes."""

    digest: str
    url: Annotated[str, Field(repr=False)]
    """Presigned: anyone who has it may send the artefact, so it is a secret."""
    headers: dict[str, str]
    """Of the request, as they are."""


class UploadsOffered(Message):
    """How to upload artefacts. Those that are not among them go through the site, as without uploads."""

    offered: tuple[OfferedUpload, ...]


class BundleTaken(Message):
    """What became of a bundle."""

    kept: int
    """How many of its artefacts the site has now."""
    refused: dict[str, str]
    """A sentence for each of the others, by its digest."""


class CheckpointPosition(Message):
    """Where a piece of a checkpoint begins."""

    start: Annotated[int, Field(ge=0, le=2**62)] = 0


MOST_LINES_PER_CALL = 200
LONGEST_LINE = 2000
"""Characters of a line that are kept."""
LONGEST_LEVEL = 20
_LATEST = 32_503_680_000
"""The year 3000."""


class LogLine(Message):
    """One line of a worker's log."""

    at: Annotated[float, Field(ge=0, le=_LATEST)]
    """Seconds since 1970."""
    level: Annotated[str, Field(max_length=LONGEST_LEVEL)]
    text: str


class LogLines(Message):
    """Lines of a worker's log that follow each other."""

    first: Annotated[int, Field(ge=0, le=2**31 - 1 - MOST_LINES_PER_CALL)]
    """Number of the first of `lines`, counted from 0. Lines that the site has change nothing."""
    lines: Annotated[tuple[LogLine, ...], Field(max_length=MOST_LINES_PER_CALL)]

    def after(self) -> "LogLines":
        """No lines, behind these."""
        return LogLines(first=self.first + len(self.lines), lines=())


class LogTaken(Message):
    """How far the site has the log."""

    next: int
    """Number of the line that it expects next."""
    cut: bool
    """Whether it keeps no more lines, because there are too many."""


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


_TaskName = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]


class OpenTurn(Message):
    """A turn that waits for an answer."""

    key: Annotated[str, StringConstraints(min_length=1, max_length=400, pattern=r"^[^\x00]+$")]
    """Of the turn: opened again with the same key, it is the same turn."""
    task: _TaskName
    """As planners are asked for it."""
    request: Annotated[str, StringConstraints(min_length=2, max_length=4_000_000)]
    """The request of the turn as JSON (`planner/1`)."""


class TaskEnd(Message):
    """A task that is over."""

    task: _TaskName
    text: Annotated[str, StringConstraints(min_length=1, max_length=100_000)]
    """What its agent is told."""
    is_error: bool = False


class TurnRequest(Message):
    """What a worker tells of its agent's turns. Every call may be sent again."""

    turn: OpenTurn | None = None
    """The turn that waits."""
    ended: TaskEnd | None = None
    """A task that is over."""


class TurnAnswer(Message):
    """What there is of the turn that waits."""

    response: str | None = None
    """The agent's answer as JSON; null: none yet."""
    seconds: Annotated[float, Field(ge=0)] = 0.0
    """For which the agent has had the turn, or had it when it answered."""
    is_away: bool = False
    """Whether the agent has not called for a while: give the tasks back."""
    is_silent: bool = False
    """Whether the agent has kept the turn for so long that it has given no answer."""
