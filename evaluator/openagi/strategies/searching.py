"""One constrained search: the call that asks for names, and the names that came."""

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import (
    Answer,
    Completion,
    Failure,
    FailureKind,
    GenerateCall,
    LanguageModelError,
    Message,
)
from evaluator.openagi.strategies.constraint import NameConstraint

MAX_TOKENS = 512
"""More than any sequence of names takes, even where a token is a single character."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search for one sequence of names."""

    messages: tuple[Message, ...]
    constraint: NameConstraint
    beams: int

    def call(self) -> GenerateCall:
        """What the language model is asked."""
        return GenerateCall(
            messages=self.messages, max_tokens=MAX_TOKENS, constraint=self.constraint.automaton, beams=self.beams
        )

    def found(self, answer: Answer) -> "Found":
        """What it answered.

        Raises:
            LanguageModelError: nothing of it keeps to the constraint.
        """
        beams = answer.beams if isinstance(answer, Completion) else ()
        kept = [(beam.names, beam.log_probability) for beam in beams if self._allows(beam.names)]
        if not kept:
            written = answer.text if isinstance(answer, Completion) else "scores"
            message = f"The language model wrote {written[:200]!r}, which the constraint does not allow."
            raise LanguageModelError(Failure(kind=FailureKind.WRONG_ANSWER, message=message))
        return Found(search=self, beams=tuple(kept))

    def _allows(self, names: Sequence[str]) -> bool:
        written = tuple(names)
        steps = (self.constraint.following(written[:length]).names for length in range(len(written)))
        return all(name in allowed for name, allowed in zip(written, steps, strict=True)) and (
            self.constraint.following(written).may_end
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The sequences that a search found, the most probable first; at least one."""

    search: Search
    beams: tuple[tuple[tuple[str, ...], float], ...]
    """Names and log-probability of each."""

    @property
    def names(self) -> tuple[str, ...]:
        """The most probable sequence."""
        return self.beams[0][0]

    def to_json(self) -> dict[str, JsonValue]:
        """The search as the notes keep it."""
        return {
            "prompt": self.search.messages[-1].content,
            "beams": [{"names": list(names), "log_probability": round(log, 4)} for names, log in self.beams],
        }
