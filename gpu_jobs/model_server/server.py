"""The model server: loads one model, and answers the worker's calls. It has no secrets and needs no network.

It shares its process with a submitted model and tokenizer; the worker trusts none of its answers (`checking`).
"""

import faulthandler
import math
import os
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from evaluator.core.language_model import (
    Answer,
    Call,
    Completion,
    Constraint,
    Failure,
    FailureKind,
    GenerateCall,
    LanguageModel,
    Message,
    ScoreCall,
)
from evaluator.core.language_model import Following as Followers
from evaluator.planners.language_models.automaton import NameAutomaton, shared_automaton
from gpu_jobs.model_server import protocol as wire
from gpu_jobs.model_server.channel import Channel, ChannelClosedError

_LONGEST_SENTENCE = 2000
PROMPT_SECONDS = 20.0
"""Time limit of template and tokenizer for one prompt, which takes milliseconds."""


class ConstraintFailedError(Exception):
    """The worker's constraint has failed; the message is its error."""


def serve(channel: Channel, *, confined_by: Sequence[str] = ()) -> None:
    """Load a model, and answer calls until the worker closes the channel."""
    channel.send(wire.encoded(wire.Hello(confined_by=tuple(confined_by))))
    try:
        request = _received(channel)
        if not isinstance(request, wire.Load):
            raise TypeError(f"{request.type} before load")
        model, reply = _loaded(request)
        channel.send(wire.encoded(reply))
        while model is not None:
            channel.send(wire.encoded(_reply(_received(channel), model=model, channel=channel)))
    except ChannelClosedError:
        return


def _received(channel: Channel) -> wire.Load | wire.Ask | wire.Following | wire.CountTokens:
    return wire.REQUEST.validate_json(channel.receive(most=wire.MOST_REQUEST_BYTES))


def _loaded(request: wire.Load) -> tuple[LanguageModel | None, wire.Loaded | wire.Failed]:
    from evaluator.planners.language_models import ModelError, ModelUnusableError

    try:
        model = _opened(request)
        facts = {name: model.identity()[name] for name in wire.Identity.model_fields}
        return model, wire.Loaded(identity=wire.Identity.model_validate(facts))
    except ModelError as error:
        unusable = isinstance(error, ModelUnusableError)
        return None, wire.Failed(unusable=unusable, message=str(error)[:_LONGEST_SENTENCE])
    except BaseException as error:  # noqa: BLE001 - a panic of native code is not an `Exception`
        return None, _failed(error, doing="cannot be loaded")


def _opened(request: wire.Load) -> LanguageModel:
    import torch

    from evaluator.planners.language_models import ModelUnusableError
    from evaluator.planners.language_models.local.model import LocalModel
    from evaluator.sandbox.admission.rules import ModelRefusedError

    if request.threads is not None:
        torch.set_num_threads(request.threads)
    try:
        model = LocalModel.from_folder(
            Path(request.folder), name=request.name, device=request.device, source=request.source
        )
    except ModelRefusedError as error:
        raise ModelUnusableError(str(error)) from None
    model.network.guard = ends_when_late
    return model


@contextmanager
def ends_when_late() -> Iterator[None]:
    """A context that ends this process after `PROMPT_SECONDS`: native code cannot be interrupted."""
    faulthandler.dump_traceback_later(PROMPT_SECONDS, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _reply(
    request: wire.Load | wire.Ask | wire.Following | wire.CountTokens, *, model: LanguageModel, channel: Channel
) -> wire.Answers | wire.TokenCount | wire.Failed:
    try:
        if isinstance(request, wire.Ask):
            constraints = [
                _constraint(constraint, number=number, channel=channel)
                for number, constraint in enumerate(request.constraints)
            ]
            calls = [_call(call, constraints=constraints) for call in request.calls]
            return wire.Answers(answers=tuple(_answer(answer) for answer in model.answer(calls)))
        if isinstance(request, wire.CountTokens):
            return wire.TokenCount(tokens=model.count_tokens(request.text))
        raise TypeError(f"{request.type} out of turn")
    except ChannelClosedError:
        raise
    except BaseException as error:  # noqa: BLE001 - as in `_loaded`
        return _failed(error, doing="failed")


def _failed(error: BaseException, *, doing: str) -> wire.Failed:
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return wire.Failed(unusable=True, message=f"The language model {doing}: {what}"[:_LONGEST_SENTENCE])


class RemoteConstraint:
    """A `Constraint` in the worker, requested over the channel."""

    def __init__(self, tree: wire.WireTree, *, number: int, channel: Channel) -> None:
        self.separator = tree.separator
        self._number = number
        self._channel = channel
        self._known: dict[tuple[str, ...], Followers] = {}
        self._problem: str | None = None
        self._add((), node=tree.root)

    def following(self, written: tuple[str, ...]) -> Followers:
        """See `Constraint.following`. One request covers all alternatives to the last name."""
        if written not in self._known and self._problem is None:
            before = written[:-1]
            self._channel.send(wire.encoded(wire.Follow(constraint=self._number, written=before)))
            reply = _received(self._channel)
            if not isinstance(reply, wire.Following):
                raise TypeError(f"{reply.type} instead of following")
            self._add(before, node=reply.node)
        if self._problem is not None:
            raise ConstraintFailedError(self._problem)
        return self._known[written]

    def _add(self, written: tuple[str, ...], *, node: wire.Node) -> None:
        self._problem = node.problem
        self._known[written] = _followers(node.own)
        for name, child in zip(node.own.names, node.children, strict=True):
            self._known[(*written, name)] = _followers(child)


def _followers(allowed: wire.Allowed) -> Followers:
    return Followers(names=allowed.names, may_end=allowed.may_end)


def _constraint(message: wire.WireTree | wire.WireAutomaton, *, number: int, channel: Channel) -> Constraint:
    if isinstance(message, wire.WireTree):
        return RemoteConstraint(message, number=number, channel=channel)
    # Shared, since batches often have the same constraints.
    return shared_automaton(
        NameAutomaton(
            names=message.names, steps=message.steps, accepting=message.accepting, longest=message.longest,
            separator=message.separator,
        )
    )  # fmt: skip


def _call(call: wire.WireGenerate | wire.WireScore, *, constraints: Sequence[Constraint]) -> Call:
    messages = tuple(Message(role=message.role, content=message.content) for message in call.messages)
    if isinstance(call, wire.WireScore):
        return ScoreCall(messages=messages, continuations=call.continuations)
    constraint = None if call.constraint is None else constraints[call.constraint]
    return GenerateCall(
        messages=messages, max_tokens=call.max_tokens, temperature=call.temperature, top_p=call.top_p,
        seed=call.seed, stop=call.stop, constraint=constraint, beams=call.beams,
    )  # fmt: skip


def _answer(answer: Answer | Failure) -> wire.WireCompletion | wire.WireScores | wire.WireFailure:
    if isinstance(answer, Failure):
        return wire.WireFailure.model_validate({"kind": answer.kind, "message": answer.message[:_LONGEST_SENTENCE]})
    usage = wire.WireUsage(prompt_tokens=answer.usage.prompt_tokens, completion_tokens=answer.usage.completion_tokens)
    if isinstance(answer, Completion):
        values = [beam.log_probability for beam in answer.beams]
    else:
        values = list(answer.log_probabilities)
    if not all(map(math.isfinite, values)):
        message = "The language model gave probabilities that are not numbers."
        return wire.WireFailure(kind=FailureKind.BROKEN, message=message)
    if isinstance(answer, Completion):
        beams = tuple(wire.WireBeam(log_probability=beam.log_probability, names=beam.names) for beam in answer.beams)
        return wire.WireCompletion(text=answer.text, usage=usage, truncated=answer.truncated, beams=beams)
    return wire.WireScores(log_probabilities=answer.log_probabilities, usage=usage)


def main(arguments: Sequence[str]) -> int:
    """Confine this process, and serve on standard input, which is one end of a socket pair."""
    from gpu_jobs.model_server.isolation.confinement import Confinement, confine

    connection = channel_socket()
    # Both would search for a writable folder, and there is none.
    tempfile.tempdir = os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path.cwd())
    holding = confine(Confinement.model_validate_json(arguments[0]), channel=connection.fileno())
    serve(Channel(connection), confined_by=holding)
    return 0


def channel_socket() -> socket.socket:
    """The channel on a new descriptor, since libraries may use standard input and output."""
    connection = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    return connection
