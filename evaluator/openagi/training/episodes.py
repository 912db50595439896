"""Holding a strategy's conversations with the model that is trained, and remembering what it chose.

A plan is what comes out of the conversation; its probability is the product over the calls of it. So a plan of several
searches, such as a tree of `openagi/nonlinear`, is one action of the policy like any other.

When a planner is tested, each call is a beam search and its most probable beam is taken. `Sampling.BEAMS` draws from
the same searches; `Sampling.TOKENS` knows no beams.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from evaluator.core.language_model import (
    Answer,
    Call,
    Completion,
    Constraint,
    GenerateCall,
    LanguageModel,
    LanguageModelError,
)
from evaluator.core.planner import PlannerRequest
from evaluator.core.strategy import Conversation, Strategy


class Sampling(StrEnum):
    """What a plan is drawn from."""

    TOKENS = "tokens"
    """Token by token from the constrained policy: every plan that the constraint allows may be drawn."""
    BEAMS = "beams"
    """Among the beams of the search that answers the call in a test, in proportion to their probabilities."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A call, and the names that were drawn for it."""

    call: GenerateCall
    names: tuple[str, ...]
    beams: tuple[tuple[str, ...], ...] = ()
    """What they were drawn among; empty: drawn token by token."""

    @property
    def candidates(self) -> tuple[tuple[str, ...], ...]:
        """The completions whose probabilities decide on that of the names."""
        return self.beams or (self.names,)

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

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for episodes with the same task and choices, which have the same probability."""
        return (self.task, *((choice.names, choice.beams) for choice in self.choices))


def draw_episodes(
    *,
    model: LanguageModel,
    strategy: Strategy,
    requests: Sequence[PlannerRequest],
    seed: int,
    sampling: Sampling = Sampling.TOKENS,
) -> list[Episode]:
    """An episode for each request, drawn from the constrained policy; calls are answered together, in rounds.

    Args:
        seed: of all that is drawn.
        sampling: what the completions are drawn from.

    Raises:
        ValueError: the strategy asks for anything but constrained completions.
    """
    episodes = [Episode(task=request.task.id) for request in requests]
    held = [_Held(episode=e, conversation=strategy.converse(r)) for e, r in zip(episodes, requests, strict=True)]
    for one in held:
        one.go_on(None)
    drawn = 0
    draw = _draw_tokens if sampling is Sampling.TOKENS else _draw_beams
    while any(one.calls for one in held):
        asked = [(one.episode.task, call) for one in held for call in one.calls]
        answers = iter(draw(model=model, calls=asked, seed=seed + drawn))
        drawn += len(asked)
        for one in [one for one in held if one.calls]:
            found = [next(answers) for _ in one.calls]
            one.go_on([drawn_one for drawn_one in found if drawn_one is not None])
    return episodes


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What was drawn for a call: a completion of one beam, and what it was drawn among."""

    completion: Completion
    beams: tuple[tuple[str, ...], ...] = ()


def _draw_tokens(*, model: LanguageModel, calls: Sequence[tuple[str, GenerateCall]], seed: int) -> list[_Drawn | None]:
    asked = [replace(call, beams=1, temperature=1.0, top_p=1.0, seed=seed + at) for at, (_, call) in enumerate(calls)]
    return [_Drawn(answer) if isinstance(answer, Completion) else None for answer in model.answer(asked)]


def _draw_beams(*, model: LanguageModel, calls: Sequence[tuple[str, GenerateCall]], seed: int) -> list[_Drawn | None]:
    """Equal calls about one task are searched once: a search draws nothing."""
    keys = [(task, call.messages) for task, call in calls]
    searches = dict(zip(keys, (call for _, call in calls), strict=True))
    found = dict(zip(searches, model.answer(list(searches.values())), strict=True))
    return [_drawn_beam(answer=found[key], seed=seed + at) for at, key in enumerate(keys)]


def _drawn_beam(*, answer: object, seed: int) -> _Drawn | None:
    if not isinstance(answer, Completion):
        return None
    logs = np.array([beam.log_probability for beam in answer.beams])
    shares = np.exp(logs - logs.max())
    beam = answer.beams[int(np.random.default_rng(seed).choice(len(logs), p=shares / shares.sum()))]
    completion = replace(answer, text=beam.text, beams=(beam,))
    return _Drawn(completion, beams=tuple(beam.names for beam in answer.beams))


@dataclass(slots=True)
class _Held:
    """A conversation that is being held."""

    episode: Episode
    conversation: Conversation
    calls: tuple[GenerateCall, ...] = ()

    def go_on(self, drawn: Sequence[_Drawn] | None) -> None:
        """Hand over the answers to the calls that wait; fewer than those mean that the model failed."""
        asked, self.calls = self.calls, ()
        if drawn is not None and len(drawn) < len(asked):
            self.conversation.close()
            return
        for call, one in zip(asked, drawn or (), strict=True):
            self.episode.choices.append(Choice(call=call, names=one.completion.beams[0].names, beams=one.beams))
        try:
            self.calls = _constrained(self._next(None if drawn is None else [one.completion for one in drawn]))
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
