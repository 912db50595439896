"""`NameAutomaton`: a `Constraint` as data, so that one message sends it to a model server. Imports no torch."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from evaluator.core.language_model import Following

_SHARED_AUTOMATA = 256
_CACHED = 65_536
"""Cached positions of an automaton, of some hundred bytes each."""

Row = tuple[int | None, ...]
"""The next state for each name; None if the name cannot follow."""


@dataclass(frozen=True, kw_only=True)
class NameAutomaton:
    """A finite automaton over names without repetition.

    A completion is a path of at most `longest` different names from state 0 to an accepting state. Only names on such a
    path are allowed, so there are no dead ends, provided that no shortest path between two states needs a name twice.
    """

    names: tuple[str, ...]
    """In the order of `Following.names`."""
    steps: tuple[Row, ...]
    """The transitions of each state."""
    accepting: tuple[bool, ...]
    """For each state, whether a completion may end there."""
    longest: int
    """Maximum number of names in a completion."""
    separator: str

    def following(self, written: tuple[str, ...]) -> Following:
        """See `Constraint.following`.

        Raises:
            ValueError: the automaton does not accept these names as a beginning.
        """
        state, used = 0, 0  # the indices of used names, as a bit mask
        for position, name in enumerate(written):
            index = self._indices.get(name)
            after = None if index is None or used >> index & 1 else self.steps[state][index]
            if index is None or after is None:
                raise ValueError(f"{name!r} cannot follow {', '.join(written[:position]) or 'nothing'}")
            state, used = after, used | 1 << index
        return self._following(state, used)

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names)}

    @cached_property
    def _following(self) -> Callable[[int, int], Following]:
        return lru_cache(maxsize=_CACHED)(self._followers)

    def _followers(self, state: int, used: int) -> Following:
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
        """Whether at most `left` unused names lead to an accepting state. Breadth-first search over states."""
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
    """Interns equal automata, so that calls share their caches."""
    return automaton
