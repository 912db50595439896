"""What an arbiter is, and what it says of a pair of texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from evaluator.core.canonical_json import JsonValue

Outcome = Literal["same", "different", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What an arbiter sees of a pair."""

    kind: str
    wanted: str
    given: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What an arbiter says of a pair."""

    verdict: Outcome
    answers: tuple[str, ...] = ()
    """Its votes, or its score."""
    problem: str = ""
    """Why it is undecided, as a sentence."""
    is_final: bool = True
    """Whether asking again gives the same; False after failures, which are not kept."""


class ArbiterError(ValueError):
    """An arbiter is named wrongly; the message says what would be right."""


class Arbiter(Protocol):
    """Settles pairs of texts that the rules leave undecided."""

    def identity(self) -> Mapping[str, JsonValue]:
        """Everything that its verdicts depend on; no address, no path and no key."""
        ...

    def settle(self, questions: Sequence[Question]) -> Sequence[Settled]:
        """A verdict on each question, in order. Failures are verdicts, never exceptions."""
        ...
