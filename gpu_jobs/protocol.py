"""What the API tells a worker: the lease of a shard."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Message(BaseModel):
    # The server may be newer and say more than this worker knows.
    model_config = ConfigDict(extra="ignore", frozen=True, use_attribute_docstrings=True)


class BundledPlanner(_Message):
    """A planner that comes with the evaluator."""

    kind: Literal["bundled"]
    name: str


class EndpointPlanner(_Message):
    """A planner behind HTTP."""

    kind: Literal["endpoint"]
    url: str
    timeout_seconds: float
    allow_private: bool = False
    """Whether loopback and private addresses may be called: in demo mode only."""


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
    planner: Annotated[BundledPlanner | EndpointPlanner, Field(discriminator="kind")]
    tasks: tuple[str, ...]
    """Keys of the tasks that have no result yet."""
