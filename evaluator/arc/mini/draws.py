"""Tasks of arc-mini, drawn from a split and a number.

The demonstrations of a task determine its answer: every known rule that explains them gives the same test outputs. On
the hidden split rules are composed, and no rule of a family explains a task's demonstrations.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from evaluator.arc.grids import Demonstration, Grid, size_of
from evaluator.arc.mini.canvas import Dice
from evaluator.arc.mini.cells import COLOURS, colours_of
from evaluator.arc.mini.families import FAMILIES
from evaluator.arc.mini.hidden.changes import NAMES as CHANGES
from evaluator.arc.mini.hidden.changes import changes
from evaluator.arc.mini.hidden.composed import Composed, ComposedFamily, between
from evaluator.arc.mini.rules import Family, Rule
from evaluator.miniature.seeds import SeededSource, Split


def known_rules(demonstrations: Sequence[Demonstration]) -> Iterator[Rule]:
    """The rules of all families, without those ruled out by the demonstrations' colours and sizes."""
    read = _in_all(pair.input for pair in demonstrations)
    outputs = [pair.output for pair in demonstrations]
    sized = all(size_of(pair.input) == size_of(pair.output) for pair in demonstrations)
    for family in FAMILIES.values():
        if (sized or not family.keeps_size) and all(map(family.may_explain, demonstrations)):
            written = (
                _in_all(outputs) if family.writes_always else sorted(frozenset[int]().union(*map(colours_of, outputs)))
            )
            yield from family.rules(read=read, written=written)


def explaining(demonstrations: Sequence[Demonstration], *, composed: bool = False) -> Iterator[Rule]:
    """The known rules that give the output of every demonstration.

    Args:
        demonstrations: what a planner sees.
        composed: whether the compositions of the hidden split are known too.
    """
    for rule in known_rules(demonstrations):
        if all(rule.apply(pair.input) == pair.output for pair in demonstrations):
            yield rule
    if not composed:
        return
    colours = frozenset[int]().union(
        *(colours_of(grid) for pair in demonstrations for grid in (pair.input, pair.output))
    )
    for change in changes(colours=colours):
        for change_first in (False, True) if change.keeps_size else (False,):
            middle = between(change, demonstrations, change_first=change_first)
            for rule in explaining(middle) if middle else ():
                yield Composed(rule=rule, change=change, change_first=change_first)


def rivals(
    *, demonstrations: Sequence[Demonstration], tests: Sequence[Demonstration], composed: bool = False
) -> Iterator[Rule]:
    """The rules that explain the demonstrations and give another output for a test; none if the task is determined.

    A rule that does not apply to a test input is not a rival, because the planner sees that input.

    Args:
        demonstrations: what a planner sees.
        tests: the test inputs with their expected outputs.
        composed: see `explaining`.
    """
    for rule in explaining(demonstrations, composed=composed):
        outputs = [rule.apply(pair.input) for pair in tests]
        if None not in outputs and outputs != [pair.output for pair in tests]:
            yield rule


def is_determined(
    *, demonstrations: Sequence[Demonstration], tests: Sequence[Demonstration], composed: bool = False
) -> bool:
    """Whether the demonstrations determine the test outputs; see `rivals`.

    Args:
        demonstrations: what a planner sees.
        tests: the test inputs with their expected outputs.
        composed: whether the compositions of the hidden split are known; then no rule of a family may explain them.
    """
    if composed and next(explaining(demonstrations), None) is not None:
        return False
    return next(rivals(demonstrations=demonstrations, tests=tests, composed=composed), None) is None


def _in_all(grids: Iterable[Grid]) -> list[int]:
    return sorted(frozenset(COLOURS).intersection(*map(colours_of, grids)))


VERSION = "1"
"""Version of the generators; increase it whenever one draws another task for the same number."""
HIDDEN_VERSION = "1"
"""Version of the hidden split's compositions, on which the others do not depend. A change needs a new version of the
suite, too."""
EACH = 10
"""Tasks of each family."""
_SPLITS = tuple(Split)
_INPUTS = 200
"""Maximum number of inputs drawn for one pair; a quarter belongs to the split."""
_ATTEMPTS = 200
_CHANGES = 5
"""Kinds of changes of a hidden season."""
_FEWEST, _MOST = 3, 4
"""Range of the number of demonstrations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(SeededSource):
    """Random source of a split."""

    generators: ClassVar[str] = f"grids {VERSION}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A drawn task."""

    family: str
    number: int
    kind: str
    """Pattern within its family; a function of the number."""
    rule: Rule
    demonstrations: tuple[Demonstration, ...]
    tests: tuple[Demonstration, ...]

    @property
    def key(self) -> str:
        """Such as `crop/7`."""
        return f"{self.family}/{self.number}"

    @property
    def pairs(self) -> tuple[Demonstration, ...]:
        """Demonstrations and tests."""
        return self.demonstrations + self.tests


def split_of(grid: Grid) -> Split:
    """The only split that may contain this input, by two bits of its SHA-256."""
    text = "/".join("".join(map(str, row)) for row in grid)
    return _SPLITS[hashlib.sha256(text.encode()).digest()[0] % len(_SPLITS)]


def draw_tasks(source: Source, *, count: int = EACH, composed: bool = True) -> tuple[Drawn, ...]:
    """The tasks of each family. Keys and kinds are the same on each split; inputs within a family are distinct.

    Args:
        source: the split.
        count: number of tasks of each family.
        composed: whether the rules of the hidden split are composed, as since version 2 of the suite.
    """
    return _draw_tasks(source, count, composed)


@lru_cache(maxsize=8)
def _draw_tasks(source: Source, count: int, composed: bool) -> tuple[Drawn, ...]:
    # Positional: a cache tells a default from the same value as a keyword, and would draw twice.
    return tuple(
        task
        for family in FAMILIES
        for task in draw_family(family=family, source=source, count=count, composed=composed)
    )


def draw_family(*, family: str, source: Source, count: int, start: int = 0, composed: bool = True) -> Iterator[Drawn]:
    """The tasks of a family from number `start` on; their inputs are distinct. See `draw_tasks`."""
    seen: set[Grid] = set()
    for number in range(start, start + count):
        attempts = _attempts(
            family=family, source=source, number=number, composed=composed and source.split is Split.HIDDEN
        )
        task = next(task for task in attempts if seen.isdisjoint(pair.input for pair in task.pairs))
        seen.update(pair.input for pair in task.pairs)
        yield task


def _attempts(*, family: str, source: Source, number: int, composed: bool) -> Iterator[Drawn]:
    """Determined tasks of one number.

    Raises:
        RuntimeError: all attempts failed, which is a defect of the family.
    """
    rules = _composed_family(family, source=source) if composed else FAMILIES[family]
    for attempt in range(_ATTEMPTS):
        dice = Dice(source.stream(family, number, attempt))
        task = _drawn(rules, number=number, dice=dice, split=source.split, composed=composed)
        if task is not None:
            yield task
    raise RuntimeError(f"{family}/{number} could not be drawn in {_ATTEMPTS} attempts")


def _composed_family(name: str, *, source: Source) -> Family[Any]:
    """The rules of a family, composed with the changes that the season has."""
    dice = Dice(source.stream(f"changes {HIDDEN_VERSION}", 0))
    return ComposedFamily(FAMILIES[name], changes=dice.some_of(CHANGES, count=_CHANGES))


def _drawn(family: Family[Rule], *, number: int, dice: Dice, split: Split, composed: bool) -> Drawn | None:
    """One attempt; None if an input cannot be drawn, or four demonstrations do not determine the task."""
    kind = family.kinds[number % len(family.kinds)]
    rule = family.draw_rule(dice, kind)
    count, fewest = dice.between(1, 2), dice.between(_FEWEST, _MOST)
    pairs: list[Demonstration] = []
    while len(pairs) < count + _MOST:
        pair = _pair(family, rule=rule, dice=dice, split=split, others=pairs)
        if pair is None:
            return None
        pairs.append(pair)
        tests, train = tuple(pairs[:count]), tuple(pairs[count:])
        if len(train) >= fewest and is_determined(demonstrations=train, tests=tests, composed=composed):
            return Drawn(family=family.name, number=number, kind=kind, rule=rule, demonstrations=train, tests=tests)
    return None


def _pair(
    family: Family[Rule], *, rule: Rule, dice: Dice, split: Split, others: list[Demonstration]
) -> Demonstration | None:
    """An input of the split with its output; both differ from all other grids of the task."""
    known = {grid for pair in others for grid in (pair.input, pair.output)}
    for _ in range(_INPUTS):
        grid = family.draw_input(dice, rule)
        if grid is None or split_of(grid) is not split:
            continue
        output = rule.apply(grid)
        if output is not None and output != grid and known.isdisjoint({grid, output}):
            return Demonstration(input=grid, output=output)
    return None
