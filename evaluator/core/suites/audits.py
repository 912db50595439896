"""Published audits: how much a planner scores on a suite that tries to score without solving.

`planarena audit SUITE --publish` writes them, into the folder `audits` beside the module that registers the suite.
"""

from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from evaluator.core.suites.registry import folder_of

MOST_POINTS = 2.0
"""A suite is released only if no class of flaws earns more points over the best floor."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class AuditedFloor(_Record):
    """What is earned without planning."""

    name: str
    knows: str
    """`request`, or `tools` for planners that also know the tools of a right plan."""
    score: float
    """Mean of the suite's primary column over the tasks."""


class AuditedAttack(_Record):
    """One attack."""

    name: str
    description: str
    knows: str
    """As of floors."""
    score: float
    floor: str
    """Name of the best floor with the same knowledge."""
    points: float
    """100 times the difference to that floor; 100 after a breach."""
    splits: int = 1
    """Number of hidden splits over which score and points are means: several if the first had too many points."""
    breach: str = ""
    """What it reached outside of its planner, as a sentence; empty: nothing."""
    inherent: str = ""
    """Why its gain is no flaw that could be mended, as a sentence; empty: it would be one."""


class AuditedFlaw(_Record):
    """A class of flaws."""

    name: str
    title: str
    description: str
    attacks: tuple[AuditedAttack, ...]

    @property
    def best(self) -> AuditedAttack | None:
        """The attack of this class with the most points, among those whose gain would be a flaw if there are any; None
        if no attack applies to the suite."""
        return max(self.attacks, key=lambda attack: (not attack.inherent, attack.points, attack.score), default=None)

    @property
    def inherent(self) -> AuditedAttack | None:
        """The attack with the most points whose gain is no flaw that could be mended; None without any."""
        found = [attack for attack in self.attacks if attack.inherent]
        return max(found, key=lambda attack: attack.points, default=None)


class Audit(_Record):
    """The audit of one version of a suite."""

    version: Literal["audit/1"] = "audit/1"
    suite: str
    suite_version: str
    digest: str
    """Of the suite."""
    rules: str
    """Digest of the rules by which plans are judged and, where plans are executed, of the experts."""
    column: str
    """Key of the primary column."""
    split: str
    tasks: int
    samples: int
    """Data points per task where plans are executed."""
    gold: float
    """What gold plans score on these tasks; 0 where there are none."""
    floors: tuple[AuditedFloor, ...]
    flaws: tuple[AuditedFlaw, ...]

    @property
    def worst(self) -> AuditedAttack | None:
        """The attack with the most points whose gain would be a flaw; None without any attack."""
        found = [attack for flaw in self.flaws for attack in flaw.attacks if not attack.inherent]
        return max(found, key=lambda attack: attack.points, default=None)

    @property
    def passes(self) -> bool:
        """Whether the suite may be released."""
        return self.worst is None or self.worst.points <= MOST_POINTS


@cache
def audit_of(slug: str) -> Audit | None:
    """The published audit of a suite; None if there is none.

    Raises:
        LookupError: there is no such suite.
    """
    path = published_file(slug)
    return Audit.model_validate_json(path.read_bytes()) if path.is_file() else None


def published_file(slug: str) -> Path:
    """Where the audit of a suite is published.

    Raises:
        LookupError: there is no such suite.
    """
    return folder_of(slug) / "audits" / f"{slug}.json"
