"""A rule of a family before or after a change of the whole grid."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.arc.grids import Demonstration, Grid
from evaluator.arc.mini.canvas import Dice
from evaluator.arc.mini.hidden.changes import Change, draw_change
from evaluator.arc.mini.rules import Family, Rule, program_of

_CHANGE_FIRST = 30
"""Percentage of tasks whose change comes first, of changes that every grid is a result of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed(Rule):
    """Both in turn; neither alone leaves the grid as it is."""

    rule: Rule
    change: Change
    change_first: bool = False

    def apply(self, grid: Grid) -> Grid | None:
        middle = self.change.apply(grid) if self.change_first else self.rule.apply(grid)
        if middle is None or middle == grid:
            return None
        output = self.rule.apply(middle) if self.change_first else self.change.apply(middle)
        return None if output == middle else output

    def program(self) -> str:
        inner = self.rule.program().replace("def transform_grid(grid):", "def changed(grid):", 1)
        applied = ("grid = changed(grid)",)
        lines = (*self.change.lines(), *applied) if self.change_first else (*applied, *self.change.lines())
        return f"{inner}\n\n{program_of(*lines, 'return grid')}"


class ComposedFamily(Family[Composed]):
    """The rules of a family, composed with changes. Their names and kinds are those of the family."""

    def __init__(self, family: Family[Any], *, changes: Sequence[str]) -> None:
        """Args:
        family: a family of the other splits.
        changes: names of the changes that tasks have.
        """
        self.name, self.words, self.kinds = family.name, family.words, family.kinds  # type: ignore[misc]
        self._family, self._changes = family, changes

    def draw_rule(self, dice: Dice, kind: str) -> Composed:
        change = draw_change(dice, dice.one_of(self._changes))
        first = change.keeps_size and dice.chance(_CHANGE_FIRST)
        return Composed(rule=self._family.draw_rule(dice, kind), change=change, change_first=first)

    def draw_input(self, dice: Dice, rule: Composed) -> Grid | None:
        grid = self._family.draw_input(dice, rule.rule)
        return rule.change.undo(grid) if grid is not None and rule.change_first else grid

    def rules(self, *, read: Collection[int], written: Collection[int]) -> Iterator[Composed]:
        raise NotImplementedError("composed rules are found by undoing changes: see `between`")


def between(
    change: Change, demonstrations: Sequence[Demonstration], *, change_first: bool
) -> list[Demonstration] | None:
    """What remains for a rule to explain once a change is undone, or made first; None if it leaves nothing."""
    pairs = []
    for pair in demonstrations:
        middle = change.apply(pair.input) if change_first else change.undo(pair.output)
        if middle is None or middle == (pair.input if change_first else pair.output):
            return None
        pairs.append(
            Demonstration(input=middle, output=pair.output)
            if change_first
            else Demonstration(input=pair.input, output=middle)
        )
    return pairs
