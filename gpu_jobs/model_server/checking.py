"""Checks the answers of a model server, which are untrusted, against its calls. No torch."""

from collections.abc import Iterator, Sequence

from evaluator.core.language_model import (
    Answer,
    Beam,
    Call,
    Completion,
    Constraint,
    Failure,
    Following,
    GenerateCall,
    ScoreCall,
    Scores,
    Usage,
)
from gpu_jobs.model_server import protocol as wire

_EXPANSIONS_PER_STEP = 16
"""Requests of a search about sequences of names per beam and token; a grammar needs about one."""


class NonsenseError(Exception):
    """An invalid answer of a server; the message is part of a sentence."""


class Followings:
    """Answers an untrusted server's requests about one constraint, up to a limit."""

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = constraint
        self._known: dict[tuple[str, ...], Following] = {}
        self._left = 1

    def expect(self, call: GenerateCall) -> None:
        """Raise the limit by the requests that a call with this constraint may need."""
        self._left += _EXPANSIONS_PER_STEP * (1 + max(1, call.beams) * max(1, call.max_tokens))

    def node(self, written: tuple[str, ...]) -> wire.Node:
        """What may follow these names, and one name further.

        Raises:
            NonsenseError: the constraint does not allow these names, or the limit is reached.
        """
        self._left -= 1
        if self._left < 0:
            raise NonsenseError("it asks about a constraint too often")
        try:
            if not self.leads_to(written):
                raise NonsenseError("it asks about names that its constraint does not allow")
            own = self._after(written)
            children = tuple(_allowed(self._after((*written, name))) for name in own.names)
        except NonsenseError:
            raise
        except Exception as error:  # noqa: BLE001 - a constraint is code of a strategy
            nothing = wire.Allowed(names=(), may_end=False)
            problem = f"{type(error).__name__}: {error}"[:1000]
            return wire.Node(own=nothing, children=(), problem=problem)
        return wire.Node(own=_allowed(own), children=children)

    def leads_to(self, names: tuple[str, ...]) -> bool:
        """Whether the constraint allows this sequence of names."""
        return all(name in self._after(names[:at]).names for at, name in enumerate(names))

    def may_end(self, names: tuple[str, ...]) -> bool:
        """Whether a completion may end with these names."""
        return self._after(names).may_end

    def _after(self, written: tuple[str, ...]) -> Following:
        if written not in self._known:
            self._known[written] = self._constraint.following(written)
        return self._known[written]


def _allowed(following: Following) -> wire.Allowed:
    return wire.Allowed(names=following.names, may_end=following.may_end)


def checked_answers(
    answers: wire.Answers, *, calls: Sequence[Call], followings: Sequence[Followings | None]
) -> list[Answer | Failure]:
    """The server's answers to these calls.

    Args:
        answers: with checked types and ranges.
        calls: the calls.
        followings: of each call's constraint.

    Raises:
        NonsenseError: an answer does not match its call.
    """
    if len(answers.answers) != len(calls):
        raise NonsenseError(f"{len(answers.answers)} answers to {len(calls)} calls")
    return [
        _checked(answer, call=call, followings=constraint)
        for answer, call, constraint in zip(answers.answers, calls, followings, strict=True)
    ]


def _checked(
    answer: wire.WireCompletion | wire.WireScores | wire.WireFailure, *, call: Call, followings: Followings | None
) -> Answer | Failure:
    if isinstance(answer, wire.WireFailure):
        return Failure(kind=answer.kind, message=answer.message)
    usage = Usage(prompt_tokens=answer.usage.prompt_tokens, completion_tokens=answer.usage.completion_tokens)
    if isinstance(answer, wire.WireScores) and isinstance(call, ScoreCall):
        if len(answer.log_probabilities) != len(call.continuations):
            raise NonsenseError(f"{len(answer.log_probabilities)} scores of {len(call.continuations)} continuations")
        return Scores(log_probabilities=answer.log_probabilities, usage=usage)
    if isinstance(answer, wire.WireCompletion) and isinstance(call, GenerateCall):
        if usage.completion_tokens > call.max_tokens * call.beams:
            raise NonsenseError(f"{usage.completion_tokens} tokens; at most {call.max_tokens} were requested")
        beams = tuple(_beams(answer, call=call, followings=followings))
        if beams and answer.text != beams[0].text:
            raise NonsenseError("a text that is not that of its most probable beam")
        return Completion(text=answer.text, usage=usage, truncated=answer.truncated, beams=beams)
    raise NonsenseError(f"{answer.type} in answer to another kind of call")


def _beams(answer: wire.WireCompletion, *, call: GenerateCall, followings: Followings | None) -> Iterator[Beam]:
    if call.constraint is None or followings is None:
        if answer.beams:
            raise NonsenseError("beams of a call without constraint")
        return
    if not 1 <= len(answer.beams) <= call.beams:
        raise NonsenseError(f"{len(answer.beams)} beams; {call.beams} were requested")
    last = 0.0
    for beam in answer.beams:
        if not followings.leads_to(beam.names) or not (answer.truncated or followings.may_end(beam.names)):
            raise NonsenseError("names that the constraint does not allow")
        if beam.log_probability > last:
            raise NonsenseError("beams that are not in the order of their probability")
        last = beam.log_probability
        yield Beam(
            text=call.constraint.separator.join(beam.names), log_probability=beam.log_probability, names=beam.names
        )
