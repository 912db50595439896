"""Suites in turns whose answer is several candidates, best first, instead of one result."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evaluator.core.canonical_json import JsonValue


@dataclass(frozen=True, slots=True)
class Candidate:
    """A whole plan in a suite's own form, as the action that tries it."""

    tool: str
    arguments: str
    """Taken as they are: nothing in them refers to a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """What an answer may contain."""

    most: int
    """Candidates of an answer. Further ones are left out."""
    tries: int
    """Calls of `tools` in an episode, at most."""
    tools: frozenset[str]
    """Those that try a candidate, each with one input, whose text is taken as it is."""
    is_one: Callable[[str], bool]
    """Whether the value of a result is a candidate."""
    read: Callable[[JsonValue], Candidate]
    """Reads a whole plan in the suite's own form.

    Raises:
        PlanSyntaxError: it has none of the suite's forms.
    """

    def named_in(self, text: str, *, values: Mapping[str, str]) -> str:
        """The answer that names results, as `R3, R1`.

        Raises:
            ValueError: it names a result that is not there or is no candidate; the message is a sentence.
        """
        there = [name for name, value in values.items() if self.is_one(value)]
        names = [name.strip() for name in text.split(",")]
        wrong = next((name for name in names if name not in there), None)
        if wrong is not None:
            listed = ", ".join(there) or "none yet"
            raise ValueError(
                f"The answer names up to {self.most} candidates, best first, and {wrong[:100]!r} is none; "
                f"there are: {listed}."
            )
        return self.answer([values[name] for name in dict.fromkeys(names)])

    def newest(self, values: Mapping[str, str]) -> str | None:
        """The answer of a planner that names none: the latest first; None if there are none."""
        found = [value for value in reversed(list(values.values())) if self.is_one(value)]
        return self.answer(found) if found else None

    def answer(self, found: list[str]) -> str:
        """The values of candidates as the text of an answer: a JSON list."""
        return json.dumps(found[: self.most])
