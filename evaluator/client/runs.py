"""What `Client` sends and receives of runs of a site's workbench."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field

AGAIN = "again"
"""Kind of the event by which a stream says that the events so far are void: another worker starts the run again."""


class NewRun(BaseModel):
    """A request to run. Nobody is charged for it, and it is cancelled when nobody follows it."""

    text: str
    planner: str = ""
    """Name of a bundled planner, or number of a planner; empty: the first bundled one."""
    suite: str = ""
    """Empty: the suite of the workbench."""
    files: list[dict[str, str]] = Field(default_factory=list)
    """`name` and `content` in base64 of each."""
    marks: list[dict[str, Any]] = Field(default_factory=list)
    """`type` (point, box or stroke), `picture` and `at` of each."""
    keep: bool = False
    """Whether it runs although nobody follows it."""


class RunInfo(BaseModel):
    """State of a run."""

    id: str
    state: Literal["waiting", "running", "ended", "cancelled"]
    planner: str
    suite: str
    reason: str
    """Why it was cancelled, as a sentence; else empty."""
    page: str
    """Path of its page."""


def event_of(text: str) -> Mapping[str, Any]:
    """The event in the data of a message; an empty one if it is no event."""
    try:
        event = json.loads(text)
    except ValueError:
        event = None
    return event if isinstance(event, dict) and isinstance(event.get("kind"), str) else {}
