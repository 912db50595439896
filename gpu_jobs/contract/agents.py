"""Turns of agents: a worker opens them by calls of its attempt, and asks until the agent has answered."""

from typing import Annotated

from pydantic import Field, StringConstraints

from gpu_jobs.contract.message import Message

_Task = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]


class OpenTurn(Message):
    """A turn that waits for an answer."""

    key: Annotated[str, StringConstraints(min_length=1, max_length=400, pattern=r"^[^\x00]+$")]
    """Of the turn: opened again with the same key, it is the same turn."""
    task: _Task
    """As planners are asked for it."""
    request: Annotated[str, StringConstraints(min_length=2, max_length=4_000_000)]
    """The request of the turn as JSON (`planner/1`)."""


class TaskEnd(Message):
    """A task that is over."""

    task: _Task
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
