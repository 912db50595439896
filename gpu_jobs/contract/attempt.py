"""An attempt while it lives: phases, heartbeats, secrets, and how a worker gives it up."""

from enum import StrEnum
from typing import Annotated

from pydantic import PlainSerializer, SecretStr, StringConstraints, WithJsonSchema

from gpu_jobs.contract.message import Message

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
