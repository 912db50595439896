"""What the generator of a group returns, and where its random numbers come from."""

from dataclasses import dataclass
from typing import ClassVar

from evaluator.lumos.tasks import GoldTurn
from evaluator.miniature.seeds import SeededSource

VERSION = "1"
"""Of the generators; raise it whenever one draws another task for the same number."""
EACH = 60
"""Tasks of each group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(SeededSource):
    """A split of the generators."""

    generators: ClassVar[str] = f"turns {VERSION}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A task as it is drawn."""

    text: str
    answer: str
    """The right one; for databases the gold query, for the shop the goal as JSON."""
    gold: tuple[GoldTurn, ...]
    kind: str
    """Which pattern of its group it follows; a function of its number, so that splits have as many of each."""
    scope: str = ""
    """What the tools act on."""
    pictures: tuple[str, ...] = ()
    """References of the pictures that the request gives."""
