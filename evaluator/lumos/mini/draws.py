"""Drawn tasks of the groups, and the random source."""

from dataclasses import dataclass
from typing import ClassVar

from evaluator.lumos.tasks import GoldTurn
from evaluator.miniature.seeds import SeededSource

VERSION = "1"
"""Version of the generators; increase it whenever one draws another task for the same number."""
HIDDEN_VERSION = "1"
"""Version of the grammar of the hidden split, on which the others do not depend. A change needs a new version of the
suite, too."""
EACH = 60
"""Tasks of each group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(SeededSource):
    """Random source of a split."""

    generators: ClassVar[str] = f"turns {VERSION}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A drawn task."""

    text: str
    answer: str
    """The expected answer; for databases the gold query, for the shop the goal as JSON."""
    gold: tuple[GoldTurn, ...]
    kind: str
    """Pattern within its group; a function of the number, so that all splits have the same distribution."""
    scope: str = ""
    """The object of the tools."""
    pictures: tuple[str, ...] = ()
    """References to the pictures of the request."""
