"""Samples of what takes too long for every run. Runs take the same sample unless told otherwise.

`--deep` takes everything. Tests that are chosen by name, by `-k` or as `file.py::test`, are not left out either.
"""

import hashlib
import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

VARIABLE = "PLANARENA_SAMPLE"
USUAL = "35"
"""It has four of the five groups of tests that are marked `rotating`."""
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Which part of each group this run takes."""

    name: str
    """Any text. The same name takes the same parts."""
    deep: bool = False
    """Whether it takes everything."""
    named: bool = False
    """Whether somebody chose tests by name, and wants all of them."""

    def part(self, items: Sequence[_Item], *, of: int, group: str) -> list[_Item]:
        """Every `of`-th item, in order, from a place that depends on the sample; at least one. All of those that are
        chosen by name."""
        if self.deep or self.named:
            return list(items)
        first = self._number(group) % max(1, min(of, len(items)))
        return list(items[first::of])

    def has_turn(self, *, of: int, group: str) -> bool:
        """Whether it is the turn of a group that one sample in `of` has. Always in a deep sample, and by name."""
        return self.deep or self.named or self._number(group) % of == 0

    def one(self, items: Sequence[_Item], *, group: str) -> _Item:
        """One item, even of a deep sample."""
        return items[self._number(group) % len(items)]

    def one_of_each(
        self, items: Iterable[_Item], *, kind: Callable[[_Item], Hashable], name: Callable[[_Item], str], group: str
    ) -> list[_Item]:
        """One item of each kind. Which one does not depend on items of other kinds; `name` tells items apart."""
        kinds: dict[Hashable, list[_Item]] = {}
        everything = list(items)
        if self.deep:
            return everything
        for item in everything:
            kinds.setdefault(kind(item), []).append(item)
        return [min(several, key=lambda item: self._number(f"{group}\n{name(item)}")) for several in kinds.values()]

    def _number(self, group: str) -> int:
        return int.from_bytes(hashlib.sha256(f"{self.name}\n{group}".encode()).digest()[:8])


def sample_of_this_run() -> str:
    """The one that `PLANARENA_SAMPLE` names, else always the same: equal commits run equal tests."""
    return os.environ.get(VARIABLE) or USUAL
