"""What the pages of this process show."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from leaderboard.evaluations.web.reports.records import ShownReport


@dataclass
class State:
    """Set once, before the first page."""

    reports: Mapping[str, ShownReport] = field(default_factory=dict)
    """By the part of addresses that names them."""
    front_end: Mapping[str, Path] = field(default_factory=dict)
    """The files of the built front end by name."""


STATE = State()
