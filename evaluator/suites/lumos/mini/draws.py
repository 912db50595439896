"""What the generator of a group returns, and where its random numbers come from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from evaluator.suites.lumos.gold_turns import GoldTurn
from evaluator.world.seeds import Split, generator

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")

VERSION = "1"
"""Of the generators; raise it whenever one draws another task for the same number."""
EACH = 60
"""Tasks of each group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A split of the generators."""

    split: Split
    hidden_seed: str | None = None

    def stream(self, purpose: str, index: int, attempt: int = 0) -> "np.random.Generator":
        """The random numbers for one purpose and number; each attempt has others."""
        name = f"turns {VERSION} {purpose}" + (f" {attempt}" if attempt else "")
        return generator(split=self.split, index=index, purpose=name, hidden_seed=self.hidden_seed)


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


def one_of(rng: "np.random.Generator", values: Sequence[T]) -> T:
    """One at random."""
    return values[int(rng.integers(len(values)))]


def some_of(rng: "np.random.Generator", values: Sequence[T], *, count: int) -> list[T]:
    """So many different ones, in random order."""
    return [values[int(place)] for place in rng.permutation(len(values))[:count]]
