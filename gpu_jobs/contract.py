"""Messages of the protocol between workers and the site, shared by both.

The site parses requests and renders responses with these models, the worker does the reverse, and the API's schema is
generated from them. `leaderboard.queue.web.worker_api` describes the calls.
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
    """Body of a request or response. Unknown fields are ignored: the other side may be newer."""

    model_config = ConfigDict(extra="ignore", frozen=True, use_attribute_docstrings=True)


class Problem(Message):
    """Why a call was refused."""

    code: str = ""
    """Code of the problem; empty if there is none."""
    missing: tuple[str, ...] = ()
    """Digests of artefacts, or keys of tasks, that the site does not have."""


WORK_LEFT_HEADER = "X-Work-Left"
"""Header of a 204 to a lease request for one evaluation: `1` while the evaluation has unfinished shards, including
those that other workers hold or that may only be leased later; else `0`."""


class BundledPlanner(Message):
    """A planner that is part of the evaluator."""

    kind: Literal["bundled"] = "bundled"
    name: str


class CalledPlanner(Message):
    """A planner behind HTTP, without a language model on the worker."""

    url: str
    timeout_seconds: float
    allow_private: bool = False
    """Whether loopback and private addresses may be called: in demo mode only."""
    has_header: bool = False
    """Whether requests need a secret header, which is a separate call of the attempt."""


class EndpointPlanner(CalledPlanner):
    """An endpoint that speaks planner/1."""

    kind: Literal["endpoint"] = "endpoint"


class A2APlanner(CalledPlanner):
    """An agent that speaks the Agent2Agent protocol."""

    kind: Literal["a2a"] = "a2a"
    url: str
    """Of the agent or its card."""


ChatApi = Literal["auto", "chat", "responses", "messages"]
"""APIs of language models: OpenAI's Chat Completions and Responses, Anthropic's Messages. `auto`: Responses or Messages
if the address ends with `/responses` or `/messages`, else Chat Completions."""


class ChatModel(Message):
    """A language model behind a chat API."""

    kind: Literal["chat"] = "chat"
    url: str
    """Base URL, as in `https://host/v1`."""
    model: str
    """Name of the model in requests."""
    timeout_seconds: float
    """Timeout of one try of a call."""
    api: ChatApi = "auto"
    reasoning_effort: str = ""
    """Sent with every call; empty: the service's default."""
    answer_tokens: int | None = None
    """Limit of an answer in tokens, including reasoning; null: the strategy's, more for models that reason."""
    streamed: bool = False
    """Whether answers are requested as streams of events."""
    allow_private: bool = False
    """As for `CalledPlanner`."""
    has_header: bool = False
    """As for `CalledPlanner`."""


class HubModel(Message):
    """A language model from a model hub."""

    kind: Literal["hub"] = "hub"
    model_id: str
    """`ORG/NAME`."""
    commit: str


class CheckpointModel(Message):
    """A language model that was uploaded as a zip."""

    kind: Literal["checkpoint"] = "checkpoint"
    digest: Digest
    """SHA-256 of the zip."""
    bytes: int
    """Size of the zip."""


class BundledModel(Message):
    """A language model that is part of the evaluator."""

    kind: Literal["bundled"] = "bundled"
    name: str


RoleModel = Annotated[
    ChatModel | EndpointPlanner | HubModel | CheckpointModel | BundledModel, Field(discriminator="kind")
]
"""The language model of a role. An endpoint gets its calls as messages."""


class StrategyPlanner(Message):
    """A strategy with a language model."""

    strategy: str
    """With its options, as in planners' names."""
    roles: dict[str, RoleModel] = Field(default_factory=dict)
    """Models of the strategy's roles that do not use the planner's."""


class ChatPlanner(StrategyPlanner, ChatModel):
    """A strategy with a language model behind a chat API."""


class HubPlanner(StrategyPlanner, HubModel):
    """A strategy with a language model from a model hub."""


class CheckpointPlanner(StrategyPlanner, CheckpointModel):
    """A strategy with a language model that was uploaded as a zip."""


class RolesPlanner(StrategyPlanner):
    """A strategy each of whose roles has a model of its own, so that no call needs another one."""

    kind: Literal["roles"] = "roles"


class GivenPlan(Message):
    """The plan of one task in a plans file."""

    plan: JsonValue
    alternatives: tuple[JsonValue, ...] = ()
    usage: dict[str, int] = Field(default_factory=dict)
    """Token counts that an imported run reports."""


class PlansPlanner(Message):
    """A plans file."""

    kind: Literal["plans"] = "plans"
    plans: dict[str, GivenPlan]
    """Plans by task of the lease; tasks without a plan are absent."""


class RecordedPlanner(Message):
    """The stored answers of another run, which are scored again."""

    kind: Literal["recorded"] = "recorded"
    records: dict[str, ResultRecord]
    """By task of the lease, without scores, samples and explanations."""


class AgentPlanner(Message):
    """An agent, which gets its turns from the site."""

    kind: Literal["agent"] = "agent"


LeasedPlanner = (
    BundledPlanner
    | EndpointPlanner
    | A2APlanner
    | ChatPlanner
    | HubPlanner
    | CheckpointPlanner
    | RolesPlanner
    | PlansPlanner
    | RecordedPlanner
    | AgentPlanner
)


class LeaseRequest(Message):
    """A worker's request for a shard."""

    worker: Annotated[str, StringConstraints(strip_whitespace=True, max_length=120, pattern=r"^[^\x00]+$")]
    """Its name, by which its launcher knows it."""
    suites: Annotated[tuple[Slug, ...], Field(max_length=100)] | None = None
    """Only tasks of these suites; null: of all suites that the session covers."""
    evaluation: UUID | None = None
    """Only tasks of this evaluation; null: of all evaluations that the session covers."""
    token: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{43,200}$"), Field(repr=False)]
    """The credential that the worker proposes for the attempt: at least 256 random bits in base64. A repeated request
    with the same token gets the same lease."""
    knows_roles: bool = False
    """Whether the worker gives a strategy's roles their own models (`StrategyPlanner.roles`). Others would run the
    planner's own model in their place, and get no planner with roles."""
    knows_endpoint_roles: bool = False
    """Whether the worker takes endpoints as models of roles, and planners without another model (`RolesPlanner`)."""
    knows_runs: bool = False
    """Whether the worker takes runs of the workbench (`RunLease`)."""
    knows_records: bool = False
    """Whether the worker scores stored answers (`RecordedPlanner`)."""
    knows_recorded_turns: bool = False
    """Whether it scores those of suites in turns, too."""


class Lease(Message):
    """A shard that a worker holds until it finishes, fails or loses it. Contains no secret except its token."""

    attempt: str
    token: Annotated[str, Field(repr=False)]
    """The attempt's credential."""
    expires_in: float
    """Seconds without a heartbeat after which the attempt is lost."""
    heartbeat_seconds: float
    """Interval of heartbeats."""
    evaluation: str
    suite: str
    suite_digest: str
    profile: str
    profile_digest: str
    split: str
    samples: int
    data_digest: str
    """Digest of the tasks' data, with the commitment on the hidden split (`evaluator.core.suites.hidden`)."""
    season: str = ""
    """Season of hidden data; empty for open data."""
    commitment: str = ""
    """The published commitment to the season's seed; empty for open data."""
    planner: Annotated[LeasedPlanner, Field(discriminator="kind")]
    perturbation: str = ""
    """Perturbation of the requests (`evaluator.reliability.perturbations`); empty: none."""
    repetition: Annotated[int, Field(ge=1)] = 1
    """Number of the run on these requests: seeded planners draw differently in each."""
    tasks: tuple[str, ...]
    """Keys of the tasks without a result."""
    needs_seed: bool = False
    """Whether the data are hidden. Their seed and sealed requests are a separate call of the attempt."""
    traceparent: Annotated[str, Field(max_length=100)] = ""
    """The lease's span in W3C Trace Context format, the parent of the worker's spans; empty if tracing is off."""


SESSION_HEADER = "X-Worker-Token"
"""Header of `finish` with the session that the next shard is leased with."""


class SessionRequest(Message):
    """A new session: its restrictions, within what the enrolment covers (null: none), and the worker's GPU."""

    suites: Annotated[tuple[Slug, ...], Field(max_length=100)] | None = None
    """Lease only tasks of these suites."""
    evaluation: UUID | None = None
    """Lease only tasks of this evaluation."""
    gpu_memory_bytes: Annotated[int, Field(gt=0, le=2**50)] | None = None
    """Memory of the GPU that loads the worker's models; null: unknown, or there is none."""


class Session(Message):
    """A new session."""

    token: Annotated[str, Field(repr=False)]
    """Sent only once; the site stores its hash."""
    expires_in: float
    """Seconds."""


SentSecret = Annotated[
    SecretStr,
    PlainSerializer(SecretStr.get_secret_value, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "password"}),
]
"""In plain text in JSON, and masked everywhere else."""


class Phase(StrEnum):
    """The phases of an attempt, in order. None is repeated.

    Each phase has a time limit on the site, so that a worker that loads a large model is not mistaken for a hanging
    one, and a hanging one is not kept alive by its heartbeat thread.
    """

    PREPARING = "preparing"
    """Loading the suite and other requirements."""
    FETCHING = "fetching"
    """Downloading the planner's model or checkpoint."""
    LOADING = "loading"
    """Loading that model into memory."""
    PLANNING = "planning"
    """Asking the planner."""
    EXECUTING = "executing"
    """Executing and scoring plans. Most results of executed plans arrive at the end of this phase."""

    def in_words(self) -> str:
        """The worker's activity, as part of a sentence."""
        return _WORDS[self]

    def before(self) -> "tuple[Phase, ...]":
        """The earlier phases."""
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
    """A heartbeat."""

    phase: Phase | None = None
    """The current phase; null: unchanged."""


class SentSealedRequest(Message):
    """A request of a season that does not follow from its seed (`evaluator.core.suites.sealed`)."""

    text: SentSecret
    goal: SentSecret


class Seed(Message):
    """The seed of an attempt's hidden data, and the requests that do not follow from it."""

    season: str
    seed: SentSecret
    sealed: tuple[SentSealedRequest, ...] = ()
    """All sealed requests of the season, which its commitment covers."""


class SecretHeader(Message):
    """A header that an endpoint requires, such as `Authorization`. The value is not in the message's `repr`."""

    name: str
    value: SentSecret


class GivenUp(StrEnum):
    """How a worker ends an unfinished attempt."""

    RELEASED = "released"
    """It was stopped. Does not count as a try, up to a limit."""
    REFUSED = "refused"
    """It cannot run this evaluation, because its profile differs. Does not count as a try."""
    FAILED = "failed"
    """An error occurred. Counts as a try."""


class FailRequest(Message):
    """Why a worker ends an attempt, or returns a run of the workbench."""

    how: GivenUp = GivenUp.FAILED
    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]


CHECKPOINT_PIECE_BYTES = 8 * 1024 * 1024
"""Largest piece of a checkpoint in one response."""


class DigestsRequest(Message):
    """Artefacts that a worker has."""

    digests: Annotated[tuple[Digest, ...], Field(max_length=5000)]


class DigestsMissing(Message):
    """The artefacts that the site does not have, in the order of the request."""

    missing: tuple[str, ...]
    takes_uploads: bool = False
    """Whether some of them may be uploaded directly to the site's bucket (`UploadsRequest`)."""


class Upload(Message):
    """An artefact to upload."""

    digest: Digest
    size: Annotated[int, Field(ge=0, le=2**40)]
    """Bytes."""
    media_type: Annotated[str, Field(max_length=60)]


class UploadsRequest(Message):
    """A request to upload artefacts directly."""

    uploads: Annotated[tuple[Upload, ...], Field(max_length=200)]


class OfferedUpload(Message):
    """A PUT request that uploads one artefact and no other bytes. It expires after some minutes."""

    digest: str
    url: Annotated[str, Field(repr=False)]
    """Presigned, and therefore secret."""
    headers: dict[str, str]
    """Headers of the request, verbatim."""


class UploadsOffered(Message):
    """How to upload artefacts directly. Those that are not offered go through the site."""

    offered: tuple[OfferedUpload, ...]


class BundleTaken(Message):
    """Result of a bundle."""

    kept: int
    """Number of stored artefacts."""
    refused: dict[str, str]
    """A sentence for each refused artefact, by digest."""


class CheckpointPosition(Message):
    """Start of a piece of a checkpoint."""

    start: Annotated[int, Field(ge=0, le=2**62)] = 0


MOST_LINES_PER_CALL = 200
LONGEST_LINE = 2000
"""Stored characters of a line."""
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
    """Consecutive lines of a worker's log."""

    first: Annotated[int, Field(ge=0, le=2**31 - 1 - MOST_LINES_PER_CALL)]
    """Number of the first of `lines`, from 0. Repeated lines change nothing."""
    lines: Annotated[tuple[LogLine, ...], Field(max_length=MOST_LINES_PER_CALL)]

    def after(self) -> "LogLines":
        """An empty sequence that follows these lines."""
        return LogLines(first=self.first + len(self.lines), lines=())


class LogTaken(Message):
    """State of the log on the site."""

    next: int
    """Number of the next expected line."""
    cut: bool
    """Whether further lines are dropped, because the log is too long."""


_NO_LINES = LogLines(first=0, lines=())


def _or_no_lines(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """No lines instead of malformed ones: the results in the same message must not be refused."""
    try:
        return validate(value)
    except ValidationError:
        return _NO_LINES


class ResultsRequest(Message):
    """Results of some tasks."""

    results: tuple[ResultRecord, ...]


class ResultsTaken(Message):
    """Response to `ResultsRequest`."""

    new: int
    """Number of results for tasks without an earlier one."""


class FinishRequest(Message):
    """The remainder of an attempt, and the request for the next lease."""

    results: tuple[ResultRecord, ...]
    """Results that were not sent before."""
    log: Annotated[LogLines, WrapValidator(_or_no_lines)] = _NO_LINES
    """Lines that were not sent before. A malformed log is ignored."""
    provenance: dict[str, JsonValue] = Field(default_factory=dict)
    """Provenance of the results."""
    next: LeaseRequest | None = None
    """Null: no further shard is requested."""


class FinishAnswer(Message):
    """Response to `FinishRequest`."""

    next: Lease | None
    """Null if none was requested, none is due, or the session may not lease."""


_TaskName = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]


class OpenTurn(Message):
    """A turn to answer."""

    key: Annotated[str, StringConstraints(min_length=1, max_length=400, pattern=r"^[^\x00]+$")]
    """Idempotency key of the turn."""
    task: _TaskName
    """The task's name in requests to planners."""
    request: Annotated[str, StringConstraints(min_length=2, max_length=4_000_000)]
    """The request of the turn as JSON (`planner/1`)."""


class TaskEnd(Message):
    """The end of a task."""

    task: _TaskName
    text: Annotated[str, StringConstraints(min_length=1, max_length=100_000)]
    """Message to the agent."""
    is_error: bool = False


class TurnRequest(Message):
    """Progress of an agent's turns. Idempotent."""

    turn: OpenTurn | None = None
    """The open turn."""
    ended: TaskEnd | None = None
    """A task that has ended."""


class TurnAnswer(Message):
    """State of the open turn."""

    response: str | None = None
    """The agent's answer as JSON; null: none yet."""
    seconds: Annotated[float, Field(ge=0)] = 0.0
    """Time since the agent got the turn, up to its answer."""
    is_away: bool = False
    """Whether the agent has not called for a while: return the tasks."""
    is_silent: bool = False
    """Whether the agent has not answered in time."""


RUNS_WAIT_HEADER = "X-Runs-Wait"
"""Header of a 204 to a lease request of an operator's worker: `1` if a run of the workbench waits. Runs give way to
evaluations, so that workers request them only then."""


LONGEST_WAIT_SECONDS = 20.0
"""How long the site holds a call of a worker that waits for a run of the workbench, at most."""


class RunsAnnounced(Message):
    """The answer to a worker that waited for a run of the workbench."""

    waits: bool
    """Whether a run waits."""
    suite: str = ""
    """The suite whose experts most runs need: the workbench's first choice. Empty: there is none."""
    profile: str = ""
    """Their profile."""


class RunFile(Message):
    """A file of a run, whose bytes are a separate call."""

    number: int
    name: str
    """Name in the request; its ending says how uploaded bytes are read."""
    type: str
    """Resource type."""
    media_type: str = ""
    """Media type of an artefact that an earlier run made; empty for an upload."""


class RunMark(Message):
    """What somebody marked in a picture of a run (`evaluator.core.marks`)."""

    type: str
    """`point`, `box` or `stroke`."""
    picture: str
    at: tuple[tuple[int, int], ...]
    """Columns and rows, in pixels of the picture as it was given."""


class RunLease(Message):
    """A run of the workbench that a worker holds until it has sent the last event or stops sending any."""

    run: str
    token: Annotated[str, Field(repr=False)]
    """The run's credential."""
    expires_in: float
    """Seconds without a call after which the run is lost."""
    heartbeat_seconds: float
    """Interval of calls."""
    suite: str
    """The suite that gives the tools."""
    profile: str
    request: str
    files: tuple[RunFile, ...] = ()
    marks: tuple[RunMark, ...] = ()
    history: tuple[dict[str, JsonValue], ...] = ()
    """Earlier requests of the dialogue with what was answered."""
    planner: Annotated[LeasedPlanner, Field(discriminator="kind")] | None = None
    """Null where the request has a plan."""
    plan: JsonValue = None
    """A plan to run instead of asking the planner."""


MOST_EVENTS_PER_CALL = 50


class RunEvents(Message):
    """Consecutive events of a run. Repeated ones change nothing; without any, the call is a heartbeat."""

    first: Annotated[int, Field(ge=0, le=10_000)] = 0
    """Number of the first of `events`, from 0."""
    events: Annotated[tuple[dict[str, JsonValue], ...], Field(max_length=MOST_EVENTS_PER_CALL)] = ()


_Name = Annotated[str, StringConstraints(min_length=1, max_length=120, pattern=r"^[^\x00-\x1f]+$")]
_Fact = Annotated[str, StringConstraints(max_length=1000, pattern=r"^[^\x00-\x1f]*$")]
_Bytes = Annotated[int, Field(ge=0, le=2**50)]
_Seconds = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
LONGEST_PROBLEM = 500
"""Characters of the sentence about an expert."""


class ExaminedExpert(Message):
    """What `planarena doctor` found about one expert. Values that were not measured are null."""

    tool: _Name
    expert: _Name
    batch_size: Annotated[int, Field(ge=1, le=2**20)]
    """On the device."""
    load_seconds: _Seconds | None = None
    """Null: it does not load, or was not examined."""
    run_seconds: _Seconds | None = None
    """Of a full batch."""
    weights_bytes: _Bytes | None = None
    peak_bytes: _Bytes | None = None
    repeatable: bool | None = None
    """Whether two runs of one batch give equal bytes."""
    position: bool | None = None
    """Whether the reversed batch gives equal bytes."""
    padding: bool | None = None
    """Whether an item gives equal bytes alone and in company."""
    difference: _Share | None = None
    """Largest difference to a CPU."""
    tolerance: _Share | None = None
    """What the profile declares."""
    is_right: bool
    """Whether everything that was measured is as the profile declares."""
    problem: Annotated[str, StringConstraints(max_length=LONGEST_PROBLEM, pattern=r"^[^\x00-\x1f]*$")] = ""
    """Why it could not be examined, or not completely."""


class DoctorReport(Message):
    """A report of `planarena doctor` about the device of an operator's worker."""

    worker: _Name
    profile: _Name
    weights: _Name
    """`own`, or the size of random ones."""
    device: Annotated[dict[_Name, _Fact | _Bytes], Field(min_length=1, max_length=40)]
    """The device class, with the bytes of memory as numbers."""
    driver: _Name | None = None
    experts: Annotated[tuple[ExaminedExpert, ...], Field(min_length=1, max_length=200)]


class DoctorReportTaken(Message):
    """Response to `DoctorReport`."""

    device: str
    """The device as pages name it."""
