"""Base classes of rules and of families of rules."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from typing import ClassVar, Generic, TypeVar

from evaluator.arc.grids import Demonstration, Grid
from evaluator.arc.mini.canvas import Dice

_BODY = "    "


class Rule(ABC):
    """A transformation of grids, implemented twice: as a function here, and as a program over the helpers. The
    implementations are independent, so that each checks the other."""

    __slots__ = ()

    @abstractmethod
    def apply(self, grid: Grid) -> Grid | None:
        """The output; None where the rule does not apply, for example because a colour does not occur."""

    @abstractmethod
    def program(self) -> str:
        """The gold program: restricted Python, `transform_grid(grid)` on letters. Correct on inputs of the family."""

    def steps(self) -> str:
        """The program as calls of helpers, such as `R1 = tight_fit(INPUT)`; empty if it has no such form."""
        return ""


R = TypeVar("R", bound=Rule)


class Family(ABC, Generic[R]):
    """Rules of one concept, and the inputs that show them."""

    name: ClassVar[str]
    words: ClassVar[str]
    """Description of its rules, as a phrase."""
    kinds: ClassVar[tuple[str, ...]]
    """Patterns of rules. Task n has kind n modulo their number, so that all splits have the same distribution."""

    keeps_size: ClassVar[bool] = True
    """Whether every output has the size of its input."""

    writes_always: ClassVar[bool] = True
    """Whether each output has every colour that its rule writes, unless it equals the input."""

    @abstractmethod
    def draw_rule(self, dice: Dice, kind: str) -> R:
        """Draw a rule of a kind."""

    @abstractmethod
    def draw_input(self, dice: Dice, rule: R) -> Grid | None:
        """Draw an input for a rule; None if the attempt failed."""

    def may_explain(self, pair: Demonstration) -> bool:  # noqa: ARG002
        """A necessary condition, cheaper than trying each rule, for some rule to give the output."""
        return True

    @abstractmethod
    def rules(self, *, read: Collection[int], written: Collection[int]) -> Iterator[R]:
        """All rules of the family, of every kind, with these colours.

        Args:
            read: colours that rules may look for. A rule does not apply to grids without its colour.
            written: colours that rules may write.
        """


def program_of(*lines: str) -> str:
    """The program with these lines as its body."""
    return "\n".join(["def transform_grid(grid):", *(_BODY + line for line in lines)])
