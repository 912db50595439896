"""Strategies: conversations with a language model that result in a plan.

A strategy is a generator that yields calls and is sent their answers. It knows neither threads nor networks, so that
one driver (`driving.py`) can hold thousands of conversations with an endpoint, or answer all waiting calls in one batch
of a local model, and a test can supply answers.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar, runtime_checkable

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability, Answer, Call, LanguageModelError
from evaluator.core.planner import PlannerRequest, RanPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The result of a strategy."""

    plan: object
    """In any form that `evaluator.replies.read` accepts. An unreadable plan is the planner's fault and passed on
    unchanged."""
    alternatives: tuple[object, ...] = ()
    """Up to four further plans, best first."""
    unreadable: str = ""
    """Why the strategy's own parser cannot read the model's text, as part of a sentence; `plan` is then that text."""
    tolerated: tuple[str, ...] = ()
    """Deviations that the strategy's own parser accepted."""
    notes: Mapping[str, JsonValue] = field(default_factory=dict)
    """How the plan was produced, for the task's page: raw texts, their mappings, scores, searches."""


Conversation = Generator[Sequence[Call], Sequence[Answer], Draft]
"""Yields calls, and is sent their answers in the same order. If calls fail, the first failure is raised at the `yield`
as a `LanguageModelError`; uncaught, it ends the task with the failure's kind."""


_Result = TypeVar("_Result")


def in_role(
    part: Generator[Sequence[Call], Sequence[Answer], _Result], *, role: str
) -> Generator[Sequence[Call], Sequence[Answer], _Result]:
    """A part of a conversation whose calls the language model of a role answers. Returns the part's result."""
    try:
        calls = next(part)
        while True:
            try:
                answers = yield tuple(replace(call, role=role) for call in calls)
            except LanguageModelError as error:
                calls = part.throw(error)
            else:
                calls = part.send(answers)
    except StopIteration as end:
        result: _Result = end.value
        return result


class Strategy(Protocol):
    """Turns requests into conversations. Stateless between requests."""

    @property
    def name(self) -> str:
        """Its name in `STRATEGY:MODEL`. A property, so that a class variable can implement it."""
        ...

    @property
    def needs(self) -> frozenset[Ability]:
        """The abilities that its language model must have; empty if it needs no model."""
        ...

    def converse(self, request: PlannerRequest) -> Conversation:
        """The conversation about one request."""
        ...


@runtime_checkable
class RespondingStrategy(Strategy, Protocol):
    """A strategy that answers in sentences once its plan has run."""

    def respond(self, ran: RanPlan) -> Conversation:
        """The conversation whose draft's plan is the response, as a text."""
        ...


@runtime_checkable
class StrategyWithWeights(Strategy, Protocol):
    """A strategy with neural networks of its own, in addition to or instead of a language model."""

    def weights_digests(self) -> Mapping[str, str]:
        """SHA-256 of the weights of each network in hexadecimal, by its name
        (`evaluator.execution.experts.weights`)."""
        ...


@runtime_checkable
class SamplingStrategy(Strategy, Protocol):
    """A strategy that may ask for replies at a temperature above 0."""

    @property
    def samples(self) -> bool:
        """Whether it does with its options."""
        ...
