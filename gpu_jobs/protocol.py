"""What the API tells a worker: the lease of a shard."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from evaluator.canonical_json import JsonValue


class _Message(BaseModel):
    # The server may be newer and say more than this worker knows.
    model_config = ConfigDict(extra="ignore", frozen=True, use_attribute_docstrings=True)


class BundledPlanner(_Message):
    """A planner that comes with the evaluator."""

    kind: Literal["bundled"]
    name: str


class SecretHeader(_Message):
    """What an endpoint asks for, such as `Authorization`. The value is in no `repr` of this message."""

    name: str
    value: SecretStr


class EndpointPlanner(_Message):
    """A planner behind HTTP."""

    kind: Literal["endpoint"]
    url: str
    timeout_seconds: float
    allow_private: bool = False
    """Whether loopback and private addresses may be called: in demo mode only."""
    has_header: bool = False
    """Whether requests need a secret header. The worker fetches it by a call of the attempt (`attempt_secrets.py`)."""
    header: SecretHeader | None = None
    """That header, in the worker's memory only. In no lease as the site sends it."""


class ChatPlanner(_Message):
    """A strategy with a language model behind OpenAI's chat API."""

    kind: Literal["chat"]
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
    header: SecretHeader | None = None
    """As for `EndpointPlanner`."""


class GivenPlan(_Message):
    """What a plans file says of one task."""

    plan: JsonValue
    alternatives: tuple[JsonValue, ...] = ()


class PlansPlanner(_Message):
    """Plans that were written down beforehand."""

    kind: Literal["plans"]
    plans: dict[str, GivenPlan]
    """Of the lease's tasks; those that are missing have none."""


class HubPlanner(_Message):
    """A strategy with a language model of a model hub."""

    kind: Literal["hub"]
    model_id: str
    """`ORG/NAME`."""
    commit: str
    strategy: str


class CheckpointPlanner(_Message):
    """A strategy with a language model whose zip the site gives to this attempt."""

    kind: Literal["checkpoint"]
    digest: str = Field(pattern="^[0-9a-f]{64}$")
    """SHA-256 of the zip."""
    bytes: int
    """Of the zip."""
    strategy: str


class Lease(_Message):
    """A shard that this worker holds until it completes, fails or loses it."""

    attempt: str
    token: str
    """Good for this attempt only."""
    expires_in: float
    """Seconds without a heartbeat after which the attempt is lost."""
    heartbeat_seconds: float
    evaluation: str
    suite: str
    suite_digest: str
    profile: str
    profile_digest: str
    split: str
    samples: int
    planner: Annotated[
        BundledPlanner | EndpointPlanner | ChatPlanner | HubPlanner | CheckpointPlanner | PlansPlanner,
        Field(discriminator="kind"),
    ]
    tasks: tuple[str, ...]
    """Keys of the tasks that have no result yet."""
    needs_seed: bool = False
    """Whether the data are hidden. The worker fetches their seed by a call of the attempt (`attempt_secrets.py`)."""
    hidden_seed: SecretStr | None = None
    """That seed, in the worker's memory only. In no lease as the site sends it."""
    finish: bool = False
    """Whether the site takes the end of this attempt and the wish for the next lease in one call."""


class Wish(_Message):
    """What a worker wants to lease."""

    worker: str
    """How it is called."""
    suites: tuple[str, ...] | None = None
    """Only tasks of these."""
    evaluation: str | None = None
    """Only tasks of this one."""
    token: str
    """The token that it proposes for the attempt: asked again with the same one, the site answers the same."""
    phases: bool = True
    """Whether its heartbeats say which phase it is in (`phases.py`)."""


WORK_LEFT_HEADER = "X-Work-Left"
"""On the answer 204 to a lease request for one evaluation: `1` while shards of the evaluation are not done, also those
that other workers hold or that may only be leased later; `0` if none is left. Older sites do not send it."""


class ObjectsMissing(_Message):
    """Why results were not taken."""

    missing: tuple[str, ...]
    """Digests of artefacts that they name and the site does not have."""
