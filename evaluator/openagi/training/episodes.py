"""Runs a strategy's conversations with the model in training, and records the model's choices.

A plan is the result of a conversation, and its probability is the product over the calls. So a plan of several
searches, such as a tree of `openagi/nonlinear`, is one action of the policy.

In a test, each call is a beam search whose most probable beam is used. `Sampling.BEAMS` draws from the same searches;
`Sampling.TOKENS` does not use beams.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from evaluator.core.language_model import (
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
    """The distribution of drawn plans."""

    TOKENS = "tokens"
    """Token by token from the constrained policy: every allowed plan may be drawn."""
    BEAMS = "beams"
    """From the beams of the search that a test makes, in proportion to their probabilities."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A call and its drawn names."""

    call: GenerateCall
    names: tuple[str, ...]
    beams: tuple[tuple[str, ...], ...] = ()
    """The beams that the names were drawn from; empty if they were drawn token by token."""

    @property
    def candidates(self) -> tuple[tuple[str, ...], ...]:
        """The completions that the probability of the names depends on."""
        return self.beams or (self.names,)

    @property
    def constraint(self) -> Constraint:
        """The constraint on the names."""
        assert self.call.constraint is not None
        return self.call.constraint


@dataclass(slots=True)
class Episode:
    """A request with the drawn choices and the resulting plan."""

    task: str
    choices: list[Choice] = field(default_factory=list)
    plan: object = None
    is_over: bool = False
    """False if the model failed to answer, so that there is no plan and nothing to learn."""

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for episodes with equal task and choices, which have the same probability."""
        return (self.task, *((choice.names, choice.beams) for choice in self.choices))


def draw_episodes(
    *,
    model: LanguageModel,
    strategy: Strategy,
    requests: Sequence[PlannerRequest],
    seed: int,
    sampling: Sampling = Sampling.TOKENS,
) -> list[Episode]:
    """An episode for each request, drawn from the constrained policy. Calls are answered in rounds.

    Raises:
        ValueError: the strategy makes other calls than constrained completions.
    """
    episodes = [Episode(task=request.task.id) for request in requests]
    talks = [_Talk(episode=e, conversation=strategy.converse(r)) for e, r in zip(episodes, requests, strict=True)]
    for talk in talks:
        talk.go_on(None)
    count = 0
    draw = _draw_tokens if sampling is Sampling.TOKENS else _draw_beams
    while any(talk.calls for talk in talks):
        calls = [(talk.episode.task, call) for talk in talks for call in talk.calls]
        answers = iter(draw(model=model, calls=calls, seed=seed + count))
        count += len(calls)
        for talk in [talk for talk in talks if talk.calls]:
            drawn = [next(answers) for _ in talk.calls]
            talk.go_on([answer for answer in drawn if answer is not None])
    return episodes


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A drawn completion of one beam, and the beams that it was drawn from."""

    completion: Completion
    beams: tuple[tuple[str, ...], ...] = ()


def _draw_tokens(*, model: LanguageModel, calls: Sequence[tuple[str, GenerateCall]], seed: int) -> list[_Drawn | None]:
    asked = [replace(call, beams=1, temperature=1.0, top_p=1.0, seed=seed + at) for at, (_, call) in enumerate(calls)]
    return [_Drawn(answer) if isinstance(answer, Completion) else None for answer in model.answer(asked)]


def _draw_beams(*, model: LanguageModel, calls: Sequence[tuple[str, GenerateCall]], seed: int) -> list[_Drawn | None]:
    """Equal calls about a task share a search, which is deterministic."""
    keys = [(task, call.messages) for task, call in calls]
    searches = dict(zip(keys, (call for _, call in calls), strict=True))
    answers = dict(zip(searches, model.answer(list(searches.values())), strict=True))
    return [_drawn_beam(answer=answers[key], seed=seed + at) for at, key in enumerate(keys)]


def _drawn_beam(*, answer: object, seed: int) -> _Drawn | None:
    if not isinstance(answer, Completion):
        return None
    logs = np.array([beam.log_probability for beam in answer.beams])
    shares = np.exp(logs - logs.max())
    beam = answer.beams[int(np.random.default_rng(seed).choice(len(logs), p=shares / shares.sum()))]
    completion = replace(answer, text=beam.text, beams=(beam,))
    return _Drawn(completion, beams=tuple(beam.names for beam in answer.beams))


@dataclass(slots=True)
class _Talk:
    """A running conversation."""

    episode: Episode
    conversation: Conversation
    calls: tuple[GenerateCall, ...] = ()

    def go_on(self, drawn: Sequence[_Drawn] | None) -> None:
        """Answer the pending calls. Fewer answers than calls mean that the model failed."""
        calls, self.calls = self.calls, ()
        if drawn is not None and len(drawn) < len(calls):
            self.conversation.close()
            return
        for call, one in zip(calls, drawn or (), strict=True):
            self.episode.choices.append(Choice(call=call, names=one.completion.beams[0].names, beams=one.beams))
        try:
            self.calls = _constrained(
                next(self.conversation) if drawn is None else self.conversation.send([one.completion for one in drawn])
            )
        except StopIteration as end:
            self.episode.plan, self.episode.is_over = end.value.plan, True
        except LanguageModelError:
            self.episode.choices.clear()


def _constrained(calls: Sequence[Call]) -> tuple[GenerateCall, ...]:
    constrained = tuple(call for call in calls if isinstance(call, GenerateCall) and call.constraint is not None)
    if len(constrained) < len(calls):
        raise ValueError("task feedback trains strategies that ask for constrained completions and nothing else")
    return constrained
