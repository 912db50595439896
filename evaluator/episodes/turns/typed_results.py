"""Results as episodes hold them whose tools take inputs of declared types: artefacts with a resource type."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from evaluator.core.records import ArtefactReference
from evaluator.core.tools.types import ResourceType

MOST_NAMED = 20
"""Names that one sentence lists."""


@dataclass(frozen=True, slots=True)
class TypedValue:
    """A value of a declared type, as a reference to its artefact."""

    kind: ResourceType
    artefact: ArtefactReference

    def __str__(self) -> str:
        """As an episode holds it."""
        return f"{self.kind} {self.artefact.digest} {self.artefact.media_type}"

    @classmethod
    def read(cls, text: str) -> Self:
        """The inverse of `str`."""
        kind, digest, media_type = text.split(" ", 2)
        return cls(ResourceType(kind), ArtefactReference(digest=digest, media_type=media_type))


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedTask:
    """What an episode of a task with typed results starts with, and which answers end it."""

    given: Mapping[str, TypedValue]
    """The request's inputs by name, without the `$`."""
    wanted: tuple[ResourceType, ...]
    """The type of each answer; empty: any answers."""

    def held(self) -> dict[str, str]:
        """The inputs under the names that actions may use: with the `$`, and without it."""
        return {key: str(value) for name, value in self.given.items() for key in (f"${name}", name)}

    def names_in(self, answer: str) -> tuple[str, ...]:
        """The results that an answer names, separated by commas."""
        return tuple(part for one in answer.split(",") if (part := one.strip().strip("[]'\"").strip()))

    def last(self, *, made: Sequence[str], taken: frozenset[str]) -> tuple[str, ...]:
        """The results that are the answers of a planner that stops: the last one; of several answers, those results
        that no action took.

        Args:
            made: names of the results, the latest last.
            taken: names of those that actions took.
        """
        if len(self.wanted) == 1:
            return tuple(made[-1:])
        return tuple(name for name in made if name not in taken)

    def problem(self, *, names: Sequence[str], values: Mapping[str, str]) -> str:
        """Why these results are no answers, as a sentence; empty if they are."""
        if self.wanted and len(names) != len(self.wanted):
            expected = f"{len(self.wanted)} result{'s' if len(self.wanted) > 1 else ''} ({', '.join(self.wanted)})"
            return f"The answer is {expected}; this names {', '.join(names[:MOST_NAMED]) or 'none'}."
        for name in names:
            if name not in values:
                return f"The answer must name a result, and {_short(name)} is none; {known_names(values)}."
        for name, wanted in zip(names, self.wanted, strict=False):
            kind = TypedValue.read(values[name]).kind
            if kind is not wanted:
                return f"The answer {name} is {kind}; this request expects {wanted}."
        return ""


def known_names(values: Mapping[str, str]) -> str:
    """The names that there are, for an error."""
    # An input is under two names: the one without `$` is left out.
    names = [name for name in values if f"${name}" not in values]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"there are: {', '.join(names[:MOST_NAMED]) or 'none'}{more}"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
