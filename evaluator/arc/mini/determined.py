"""Whether demonstrations leave one answer: every known rule that explains them gives the same outputs for the tests."""

from collections.abc import Iterable, Iterator, Sequence

from evaluator.arc.demonstrations import Demonstration
from evaluator.arc.grids import Grid, size_of
from evaluator.arc.mini.cells import COLOURS, colours_of
from evaluator.arc.mini.families import FAMILIES
from evaluator.arc.mini.rules import Rule


def known_rules(demonstrations: Sequence[Demonstration]) -> Iterator[Rule]:
    """The rules of all families but those that cannot explain the demonstrations: because of a colour that does not
    occur in all of them, or because a size changes."""
    read = _in_all(pair.input for pair in demonstrations)
    outputs = [pair.output for pair in demonstrations]
    sized = all(size_of(pair.input) == size_of(pair.output) for pair in demonstrations)
    for family in FAMILIES.values():
        if sized or not family.keeps_size:
            written = _in_all(outputs) if family.writes_always else _in_any(outputs)
            yield from family.rules(read=read, written=written)


def explaining(demonstrations: Sequence[Demonstration]) -> Iterator[Rule]:
    """The known rules that give the output of every demonstration."""
    for rule in known_rules(demonstrations):
        if all(rule.apply(pair.input) == pair.output for pair in demonstrations):
            yield rule


def rivals(*, demonstrations: Sequence[Demonstration], tests: Sequence[Demonstration]) -> Iterator[Rule]:
    """The rules that explain the demonstrations and give another output for a test; none if the task is determined.

    A rule that says nothing about a test is no rival: whoever sees the test can tell.

    Args:
        demonstrations: what a planner sees.
        tests: the test inputs with their right outputs.
    """
    for rule in explaining(demonstrations):
        given = [rule.apply(pair.input) for pair in tests]
        if None not in given and given != [pair.output for pair in tests]:
            yield rule


def is_determined(*, demonstrations: Sequence[Demonstration], tests: Sequence[Demonstration]) -> bool:
    """Whether there is no rival."""
    return next(rivals(demonstrations=demonstrations, tests=tests), None) is None


def _in_all(grids: Iterable[Grid]) -> list[int]:
    return sorted(frozenset(COLOURS).intersection(*map(colours_of, grids)))


def _in_any(grids: Iterable[Grid]) -> list[int]:
    return sorted(frozenset[int]().union(*map(colours_of, grids)))
