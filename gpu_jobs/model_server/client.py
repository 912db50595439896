"""`RemoteModel`: the worker's side of a language model in a sandboxed process. No torch, no transformers."""

import logging
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability, Answer, Call, Constraint, Failure, FailureKind, GenerateCall
from evaluator.execution.experts.weights import WeightsError
from evaluator.planners.language_models import ModelError, ModelUnusableError
from evaluator.planners.language_models.automaton import NameAutomaton
from gpu_jobs.model_server import protocol as wire
from gpu_jobs.model_server.channel import (
    Channel,
    ChannelClosedError,
    ChannelError,
    ChannelTimeoutError,
    ServerEndedError,
    ServerLostError,
)
from gpu_jobs.model_server.checking import Followings, NonsenseError, checked_answers
from gpu_jobs.model_server.digests import model_digest_soon

logger = logging.getLogger(__name__)


class NoServerFreeError(ModelError):
    """No remote model server was free within the time limit."""


class RunningServer(Protocol):
    """The server of a model (`process.ServerProcess`, `remote.RemoteServer`)."""

    channel: Channel

    def close(self) -> None:
        """See `ServerProcess.close`."""
        ...

    def end_in_words(self) -> str:
        """See `ServerProcess.end_in_words`."""
        ...

    def output(self) -> str:
        """See `ServerProcess.output`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """Time limits of a model server in seconds. A server that exceeds them is killed.

    They are below the site's limits for workers without progress (`PLANARENA_LOAD_SECONDS`,
    `PLANARENA_PREPARE_SECONDS`, `PLANARENA_PLAN_SECONDS`), so that a hanging model is a fault of the planner and not a
    lost worker.
    """

    start: float = 60.0
    """To start the sandbox."""
    load: float = 800.0
    """To load the libraries and the model."""
    answer: float = 180.0
    """For a batch of calls, plus `call` for each of them."""
    call: float = 50.0


DEADLINES = Deadlines()


class RemoteModel:
    """A `LanguageModel` behind a model server.

    A server that dies, hangs or violates the protocol is killed, and every later call is a `Failure` with the reason.
    """

    abilities = frozenset({Ability.GENERATE, Ability.SCORE, Ability.CONSTRAIN})

    def __init__(
        self,
        server: RunningServer,
        *,
        folder: Path,
        inside: str,
        name: str,
        device: str,
        source: Mapping[str, JsonValue],
        threads: int | None = None,
        deadlines: Deadlines = DEADLINES,
        digest: Callable[[Path], "Future[str]"] = model_digest_soon,
    ) -> None:
        """Load a model in a started server.

        Args:
            server: the server.
            folder: of the model.
            inside: path of the folder in the sandbox.
            name: of the model.
            device: of torch.
            source: origin of the folder, for `identity`.
            threads: of torch on the CPU; None: torch's default.
            deadlines: time limits of the server.
            digest: computes the digest of the weights in the folder; for tests.

        Raises:
            ModelUnusableError: the model cannot be loaded, or the server has loaded another one.
            ModelError: this machine cannot load it now.
        """
        self.name = name
        self.round_trips = 0
        """Messages received from the server."""
        self._server = server
        self._deadlines = deadlines
        self._source = dict(source)
        self._broken: Failure | None = None
        self._end = weakref.finalize(self, server.close)
        self._identity = self._load(
            wire.Load(folder=inside, name=name, device=device, threads=threads, source=self._source),
            folder=folder,
            digest=digest(folder),
        )

    @property
    def is_broken(self) -> bool:
        """Whether its server is gone."""
        return self._broken is not None

    def close(self) -> None:
        """End the server. Later calls fail."""
        self._broken = self._broken or _failure("was closed")
        self._end()

    def answer(self, calls: Sequence[Call]) -> list[Answer | Failure]:
        """See `LanguageModel.answer`."""
        answers: list[Answer | Failure | None] = [_unsendable(call) for call in calls]
        sent = [at for at, answer in enumerate(answers) if answer is None]
        replies = self._answered([calls[at] for at in sent]) if sent else []
        for at, answer in zip(sent, replies, strict=True):
            answers[at] = answer
        return [answer for answer in answers if answer is not None]

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, without special ones; an estimate if the server does not answer."""
        estimate = len(text.encode(errors="replace")) // 4
        if self._broken is not None or not _is_text(text):
            return estimate
        allowed = self._deadlines.answer
        try:
            deadline = time.monotonic() + allowed
            self._send(wire.CountTokens(text=text), deadline=deadline)
            reply = self._receive(most=wire.MOST_SMALL_BYTES, deadline=deadline)
            if isinstance(reply, wire.TokenCount):
                return reply.tokens
            raise _unexpected(reply)
        except (ChannelError, NonsenseError) as error:
            self._give_up(error, allowed=allowed)
            return estimate
        except BaseException:
            # After an interruption, the pending answer would be taken for the answer to the next call.
            self.close()
            raise

    def identity(self) -> Mapping[str, JsonValue]:
        """See `LanguageModel.identity`. Only the digest of the weights is checked by the worker."""
        facts = self._identity
        return {
            "kind": "local",
            "name": self.name,
            **self._source,
            "weights_digest": facts.weights_digest,
            "precision": facts.precision,
            "architecture": facts.architecture,
            "template_digest": facts.template_digest,
            "device": facts.device,
            "batching": facts.batching,
        }

    def _load(self, request: wire.Load, *, folder: Path, digest: "Future[str]") -> wire.Identity:
        deadline = time.monotonic() + self._deadlines.load
        try:
            self._send(request, deadline=deadline)
            reply = self._receive(most=wire.MOST_SMALL_BYTES, deadline=deadline)
            if isinstance(reply, wire.Loaded):
                if reply.identity.weights_digest != self._known_digest(digest):
                    raise NonsenseError("it reports other weights than the model's")
                return reply.identity
            if not isinstance(reply, wire.Failed):
                raise _unexpected(reply)
        except (ChannelError, NonsenseError) as error:
            failure = self._give_up(error, allowed=self._deadlines.load)
            kind = ModelError if failure.kind is FailureKind.UNAVAILABLE else ModelUnusableError
            raise kind(f"{failure.message.rstrip('.')}, while loading.") from None
        except BaseException:
            self.close()
            raise
        self.close()
        raise (ModelUnusableError if reply.unusable else ModelError)(reply.message.replace(request.folder, str(folder)))

    def _known_digest(self, digest: "Future[str]") -> str:
        try:
            return digest.result()
        except WeightsError as error:
            self.close()
            raise ModelUnusableError(f"The model cannot be loaded: {error}.") from None
        except OSError as error:
            self.close()
            raise ModelError(f"The model's files cannot be read: {error}.") from None

    def _answered(self, calls: Sequence[Call]) -> list[Answer | Failure]:
        if self._broken is not None:
            return [self._broken] * len(calls)
        allowed = self._deadlines.answer + self._deadlines.call * len(calls)
        try:
            return self._exchange(calls, deadline=time.monotonic() + allowed)
        except (ChannelError, NonsenseError) as error:
            return [self._give_up(error, allowed=allowed)] * len(calls)
        except BaseException:
            self.close()
            raise

    def _exchange(self, calls: Sequence[Call], *, deadline: float) -> list[Answer | Failure]:
        book = _Constraints(calls)
        most = wire.most_answer_bytes(calls)
        ask = wire.Ask(calls=tuple(map(book.wire_call, calls)), constraints=book.wire_constraints())
        self._send(ask, deadline=deadline)
        while True:
            reply = self._receive(most=most, deadline=deadline)
            if isinstance(reply, wire.Follow):
                node = book.followings(reply.constraint).node(reply.written)
                self._send(wire.Following(node=node), deadline=deadline)
            elif isinstance(reply, wire.Answers):
                return checked_answers(reply, calls=calls, followings=[book.of(call) for call in calls])
            else:
                raise _unexpected(reply)

    def _send(self, message: wire.Load | wire.Ask | wire.Following | wire.CountTokens, *, deadline: float) -> None:
        self._server.channel.send(wire.encoded(message), deadline=deadline)

    def _receive(
        self, *, most: int, deadline: float
    ) -> wire.Hello | wire.Loaded | wire.Failed | wire.Follow | wire.Answers | wire.TokenCount:
        data = self._server.channel.receive(most=most, deadline=deadline)
        self.round_trips += 1
        try:
            reply = wire.RESPONSE.validate_json(data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            raise NonsenseError(f"a message that is none of the protocol's ({first['type']})") from None
        if isinstance(reply, wire.Ended):
            raise ServerEndedError(reply.why)
        return reply

    def _give_up(self, error: Exception, *, allowed: float) -> Failure:
        """Kill the server; later calls fail with this reason."""
        if isinstance(error, ChannelTimeoutError):
            kind, what = FailureKind.TIMEOUT, f"did not answer within {allowed:g} seconds and was stopped"
        elif isinstance(error, ChannelClosedError):
            kind, what = FailureKind.BROKEN, f"ended during a call: {self._server.end_in_words()}"
        elif isinstance(error, ServerEndedError):
            kind, what = FailureKind.BROKEN, f"ended during a call: {error}"
        elif isinstance(error, ServerLostError):
            kind, what = FailureKind.UNAVAILABLE, f"was lost with its server: {error}"
        else:
            kind, what = FailureKind.BROKEN, f"was stopped, since its process violated the protocol: {error}"
        self._broken = _failure(what, kind=kind)
        logger.warning("%s: %s Its last output: %s", self.name, self._broken.message, self._server.output() or "none")
        self._end()
        return self._broken


class _Constraints:
    """The numbered constraints of a batch; equal ones are sent once."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._numbers: dict[NameAutomaton | int, int] = {}
        self._constraints: list[Constraint] = []
        self._followings: list[Followings] = []
        for call in calls:
            if isinstance(call, GenerateCall) and call.constraint is not None:
                number = self._numbers.setdefault(_key(call.constraint), len(self._constraints))
                if number == len(self._constraints):
                    self._constraints.append(call.constraint)
                    self._followings.append(Followings(call.constraint))
                self._followings[number].expect(call)

    def of(self, call: Call) -> Followings | None:
        """The `Followings` of a call's constraint."""
        number = self._number(call)
        return None if number is None else self._followings[number]

    def followings(self, number: int) -> Followings:
        """The `Followings` of a number that the server sent.

        Raises:
            NonsenseError: it does not exist, or the server has the whole constraint.
        """
        if not 0 <= number < len(self._followings):
            raise NonsenseError("it asks about a constraint that does not exist")
        if isinstance(self._constraints[number], NameAutomaton):
            raise NonsenseError("it asks about a constraint that it already has")
        return self._followings[number]

    def wire_constraints(self) -> tuple[wire.WireConstraint, ...]:
        """All constraints as messages."""
        return tuple(map(_wire_constraint, self._constraints, self._followings))

    def wire_call(self, call: Call) -> wire.WireGenerate | wire.WireScore:
        """A call as a message."""
        messages = tuple(wire.WireMessage(role=message.role, content=message.content) for message in call.messages)
        if not isinstance(call, GenerateCall):
            return wire.WireScore(messages=messages, continuations=call.continuations)
        return wire.WireGenerate(
            messages=messages, max_tokens=call.max_tokens, temperature=call.temperature, top_p=call.top_p,
            seed=call.seed, stop=call.stop, constraint=self._number(call), beams=call.beams,
        )  # fmt: skip

    def _number(self, call: Call) -> int | None:
        if not isinstance(call, GenerateCall) or call.constraint is None:
            return None
        return self._numbers[_key(call.constraint)]


def _key(constraint: Constraint) -> NameAutomaton | int:
    """Equal automata have equal keys; other constraints are compared by identity."""
    return constraint if isinstance(constraint, NameAutomaton) else id(constraint)


def _wire_constraint(constraint: Constraint, followings: Followings) -> wire.WireTree | wire.WireAutomaton:
    if not isinstance(constraint, NameAutomaton):
        return wire.WireTree(separator=constraint.separator, root=followings.node(()))
    return wire.WireAutomaton(
        names=constraint.names, steps=constraint.steps, accepting=constraint.accepting, longest=constraint.longest,
        separator=constraint.separator,
    )  # fmt: skip


def _unsendable(call: Call) -> Failure | None:
    """A failure for texts with a lone surrogate, which no tokenizer reads, or None."""
    texts = [message.content for message in call.messages]
    texts += call.stop if isinstance(call, GenerateCall) else call.continuations
    if all(map(_is_text, texts)):
        return None
    return Failure(kind=FailureKind.REFUSED, message="The prompt contains half of a surrogate pair.")


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unexpected(
    reply: wire.Hello | wire.Loaded | wire.Failed | wire.Follow | wire.Answers | wire.TokenCount,
) -> NonsenseError:
    if isinstance(reply, wire.Failed):
        return NonsenseError(f"it failed as a whole ({reply.message})")
    return NonsenseError(f"{reply.type} out of turn")


def _failure(what: str, *, kind: FailureKind = FailureKind.BROKEN) -> Failure:
    return Failure(kind=kind, message=f"The language model {what[:1500]}.")
