"""What a strategy is: a conversation with a language model that ends in a plan.

A strategy knows neither threads nor networks: it is a generator that yields the calls it wants answered together and
is sent their answers. So one driver (`driving.py`) can hold thousands of conversations with an endpoint, or answer all
calls that wait in one batch of a local model, and a test can answer by hand.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability, Answer, Call
from evaluator.core.planner import PlannerRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a strategy came to."""

    plan: object
    """In any form that `evaluator.replies.read` takes. What cannot be read is the planner's fault, so it is handed on
    as it is."""
    alternatives: tuple[object, ...] = ()
    """Up to four further plans, best first."""
    unreadable: str = ""
    """Why the strategy's own parser cannot read what was written, as part of a sentence; `plan` is then that text."""
    notes: Mapping[str, JsonValue] = field(default_factory=dict)
    """How the plan came about, for the task's page: raw texts, what they were mapped to, scores, what was searched."""


Conversation = Generator[Sequence[Call], Sequence[Answer], Draft]
"""Yields calls, is sent their answers in the same order. A call that failed is raised as `LanguageModelError` at the
`yield`, the first of several; one that nobody catches ends the task with the failure's kind."""


class Strategy(Protocol):
    """Turns requests into conversations. Stateless between requests."""

    @property
    def name(self) -> str:
        """Of the strategy, as in `STRATEGY:MODEL`. A property, so that a class variable will do."""
        ...

    @property
    def needs(self) -> frozenset[Ability]:
        """What its language model must be able to do; empty for one that needs none."""
        ...

    def converse(self, request: PlannerRequest) -> Conversation:
        """The conversation about one request."""
        ...


@runtime_checkable
class StrategyWithWeights(Strategy, Protocol):
    """A strategy with networks of its own, besides or instead of a language model."""

    def weights_digests(self) -> Mapping[str, str]:
        """SHA-256 of the weights of each network in hexadecimal, by its name
        (`evaluator.execution.experts.weights`)."""
        ...
