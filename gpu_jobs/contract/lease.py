"""The lease of a shard: the request for one, and all that a worker needs to run it, except secrets."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from evaluator.core.canonical_json import JsonValue
from gpu_jobs.contract.message import Digest, Message, Slug

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
