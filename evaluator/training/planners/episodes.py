"""Holding a strategy's conversations with the model that is trained, and remembering what it chose.

A plan is what comes out of the conversation; its probability is the product over the calls of it. So a plan of several
searches, such as a tree of `openagi/nonlinear`, is one action of the policy like any other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from evaluator.planners.language_models.protocol import (
    Answer,
    Call,
    Completion,
    Constraint,
    GenerateCall,
    LanguageModel,
    LanguageModelError,
)
from evaluator.planners.protocol import PlannerRequest
from evaluator.planners.strategies.protocol import Conversation, Strategy


@dataclass(frozen=True, slots=True)
class Choice:
    """A call, and the names that were drawn for it."""

    call: GenerateCall
    names: tuple[str, ...]

    @property
    def constraint(self) -> Constraint:
        """What the names keep to."""
        assert self.call.constraint is not None
        return self.call.constraint


@dataclass(slots=True)
class Episode:
    """One request, what was asked about it and drawn, and the plan that came of it."""

    task: str
    choices: list[Choice] = field(default_factory=list)
    plan: object = None
    is_over: bool = False
    """False where the model failed to answer: then there is no plan, and nothing to learn from it."""


def draw_episodes(
    *, model: LanguageModel, strategy: Strategy, requests: Sequence[PlannerRequest], seed: int
) -> list[Episode]:
    """An episode for each request, drawn from the constrained policy; calls are answered together, in rounds.

    Args:
        seed: of all that is drawn.

    Raises:
        ValueError: the strategy asks for anything but constrained completions.
    """
    episodes = [Episode(task=request.task.id) for request in requests]
    held = [_Held(episode=e, conversation=strategy.converse(r)) for e, r in zip(episodes, requests, strict=True)]
    for one in held:
        one.go_on(None)
    drawn = 0
    while any(one.calls for one in held):
        calls = [_drawing(call, seed=seed + drawn + at) for at, call in enumerate(c for one in held for c in one.calls)]
        drawn += len(calls)
        answers = iter(model.answer(calls))
        for one in [one for one in held if one.calls]:
            found = [next(answers) for _ in one.calls]
            one.go_on([answer for answer in found if isinstance(answer, Completion)])
    return episodes


def _drawing(call: GenerateCall, *, seed: int) -> GenerateCall:
    """The call as the policy answers it: one completion, drawn."""
    return replace(call, beams=1, temperature=1.0, top_p=1.0, seed=seed)


@dataclass(slots=True)
class _Held:
    """A conversation that is being held."""

    episode: Episode
    conversation: Conversation
    calls: tuple[GenerateCall, ...] = ()

    def go_on(self, answers: Sequence[Completion] | None) -> None:
        """Hand over the answers to the calls that wait; fewer than those mean that the model failed."""
        asked, self.calls = self.calls, ()
        if answers is not None and len(answers) < len(asked):
            self.conversation.close()
            return
        for call, answer in zip(asked, answers or (), strict=True):
            self.episode.choices.append(Choice(call=call, names=answer.beams[0].names))
        try:
            self.calls = _constrained(self._next(answers))
        except StopIteration as end:
            self.episode.plan, self.episode.is_over = end.value.plan, True
        except LanguageModelError:
            self.episode.choices.clear()

    def _next(self, answers: Sequence[Answer] | None) -> Sequence[Call]:
        return next(self.conversation) if answers is None else self.conversation.send(answers)


def _constrained(calls: Sequence[Call]) -> tuple[GenerateCall, ...]:
    found = tuple(call for call in calls if isinstance(call, GenerateCall) and call.constraint is not None)
    if len(found) < len(calls):
        raise ValueError("task feedback trains strategies that ask for constrained completions and nothing else")
    return found
