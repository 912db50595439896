"""Sessions: what an enrolment token opens, and what shards are leased with."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from gpu_jobs.contract.message import Message, Slug

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
