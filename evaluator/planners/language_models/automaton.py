"""`NameAutomaton`: a `Constraint` as data, so that a model server can be sent all of it at once. No torch here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from evaluator.core.language_model import Following

_SHARED_AUTOMATA = 256
_REMEMBERED = 65_536
"""Positions of an automaton whose followers are remembered; some hundred bytes each."""

Row = tuple[int | None, ...]
"""For each name, the state that it leads to; None where it cannot follow."""


@dataclass(frozen=True, kw_only=True)
class NameAutomaton:
    """A finite automaton over names, none of which is written twice.

    A completion is a path from state 0 of at most `longest` different names that ends in an accepting state. Only names
    that lead to such an end are allowed, so there are no dead ends, provided that no shortest path between two states
    needs a name twice. Automata with equal fields are equal.
    """

    names: tuple[str, ...]
    """In the order in which they are offered."""
    steps: tuple[Row, ...]
    """For each state, where its names lead."""
    accepting: tuple[bool, ...]
    """For each state, whether a completion may end there."""
    longest: int
    """Names of a completion, at most."""
    separator: str

    def following(self, written: tuple[str, ...]) -> Following:
        """See `Constraint.following`.

        Raises:
            ValueError: the automaton does not accept these names as a beginning.
        """
        return self._following(*self._position(written))

    def _position(self, written: Sequence[str]) -> tuple[int, int]:
        """The state behind these names, and the set of their indices as a bit mask."""
        state, used = 0, 0
        for position, name in enumerate(written):
            index = self._indices.get(name)
            after = None if index is None or used >> index & 1 else self.steps[state][index]
            if index is None or after is None:
                raise ValueError(f"{name!r} cannot follow {', '.join(written[:position]) or 'nothing'}")
            state, used = after, used | 1 << index
        return state, used

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names)}

    @cached_property
    def _following(self) -> Callable[[int, int], Following]:
        return lru_cache(maxsize=_REMEMBERED)(self._found)

    def _found(self, state: int, used: int) -> Following:
        left = self.longest - used.bit_count() - 1
        names = tuple(
            name
            for index, (name, after) in enumerate(zip(self.names, self.steps[state], strict=True))
            if after is not None
            and not used >> index & 1
            and self._accepts_within(left, state=after, used=used | 1 << index)
        )
        return Following(names=names, may_end=self.accepting[state])

    def _accepts_within(self, left: int, *, state: int, used: int) -> bool:
        """Whether an accepting state can be reached with at most `left` unused names. Breadth first; each state is
        visited once, by the first path to it."""
        seen = {state}
        paths = [(state, used)]
        for _ in range(left + 1):
            if any(self.accepting[here] for here, _ in paths):
                return True
            longer = []
            for here, path in paths:
                for index, after in enumerate(self.steps[here]):
                    if after is not None and after not in seen and not path >> index & 1:
                        seen.add(after)
                        longer.append((after, path | 1 << index))
            paths = longer
        return False


@lru_cache(maxsize=_SHARED_AUTOMATA)
def shared_automaton(automaton: NameAutomaton) -> NameAutomaton:
    """The one of all equal automata that is used, so that what one call found out serves the others."""
    return automaton
