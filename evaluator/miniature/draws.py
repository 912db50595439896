"""Where generated suites take their random numbers from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar

from evaluator.miniature.seeds import Split, generator

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeededSource:
    """A split of some generators; each suite has a subclass that names its own."""

    generators: ClassVar[str]
    """Name and version of the generators; other ones share no random numbers with them."""

    split: Split
    hidden_seed: str | None = None

    def stream(self, purpose: str, index: int, attempt: int = 0) -> "np.random.Generator":
        """The random numbers for one purpose and number; each attempt has others."""
        name = f"{self.generators} {purpose}" + (f" {attempt}" if attempt else "")
        return generator(split=self.split, index=index, purpose=name, hidden_seed=self.hidden_seed)


def one_of(rng: "np.random.Generator", values: Sequence[T]) -> T:
    """One at random."""
    return values[int(rng.integers(len(values)))]


def some_of(rng: "np.random.Generator", values: Sequence[T], *, count: int) -> list[T]:
    """So many different ones, in random order."""
    return [values[int(place)] for place in rng.permutation(len(values))[:count]]
