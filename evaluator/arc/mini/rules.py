"""What a rule and a family of rules are."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from typing import ClassVar, Generic, TypeVar

from evaluator.arc.grids import Grid
from evaluator.arc.mini.canvas import Dice

_BODY = "    "


class Rule(ABC):
    """A transformation of grids, twice: as a function here, and as a program over the helpers. Neither uses the other,
    so that each checks the other."""

    __slots__ = ()

    @abstractmethod
    def apply(self, grid: Grid) -> Grid | None:
        """The output; None where the rule says nothing, such as for a colour that does not occur."""

    @abstractmethod
    def program(self) -> str:
        """The gold program: restricted Python, `transform_grid(grid)` on letters. Right on inputs of the family."""

    def steps(self) -> str:
        """The same as calls of helpers, such as `R1 = tight_fit(INPUT)`; empty where there is no such form."""
        return ""


R = TypeVar("R", bound=Rule)


class Family(ABC, Generic[R]):
    """Rules of one concept, and the inputs that show them."""

    name: ClassVar[str]
    words: ClassVar[str]
    """What its rules do, as a phrase."""
    kinds: ClassVar[tuple[str, ...]]
    """Patterns of rules. Task number n is of kind n modulo their number, so that splits have as many of each."""

    keeps_size: ClassVar[bool] = True
    """Whether all its outputs are as large as their inputs."""

    writes_always: ClassVar[bool] = True
    """Whether each output has every colour that its rule writes, unless it equals the input."""

    @abstractmethod
    def draw_rule(self, dice: Dice, kind: str) -> R:
        """A rule of a kind."""

    @abstractmethod
    def draw_input(self, dice: Dice, rule: R) -> Grid | None:
        """An input that shows a rule; None if this one came out badly."""

    @abstractmethod
    def rules(self, *, read: Collection[int], written: Collection[int]) -> Iterator[R]:
        """All rules of the family, of every kind, that look for these colours and write those.

        Args:
            read: colours that rules may look for. They say nothing about grids without them.
            written: colours that rules may write.
        """


def program_of(*lines: str) -> str:
    """The program with these lines as its body."""
    return "\n".join(["def transform_grid(grid):", *(_BODY + line for line in lines)])
