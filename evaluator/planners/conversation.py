"""A strategy's conversation with a language model about one request, from its first call to the reply or error."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from evaluator.core import canonical_json
from evaluator.core.language_model import (
    Answer,
    Call,
    Completion,
    Failure,
    FailureKind,
    GenerateCall,
    LanguageModelError,
    Usage,
)
from evaluator.core.planner import MAX_ALTERNATIVES, PlannerError, PlannerReply, PlannerRequest
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.core.records import PlannerCall, Reason
from evaluator.core.storable import kept_notes, unkeepable
from evaluator.core.strategy import Conversation, Draft, Strategy
from evaluator.core.transcripts import MAIN, RoleUsage, sum_by_role
from evaluator.replies.envelope import trimmed, without_reasoning

MAX_TURNS = 1000
"""Turns of one conversation. A conversation that exceeds them is treated as endless, a defect of the strategy."""
MAX_PLAN_BYTES = 1024 * 1024
_REASONS: Mapping[FailureKind, Reason] = {
    FailureKind.UNAVAILABLE: Reason.ENDPOINT_UNAVAILABLE,
    FailureKind.WRONG_ANSWER: Reason.INVALID_RESPONSE,
    FailureKind.REFUSED: Reason.REFUSED_BY_ENDPOINT,
    FailureKind.PROMPT_TOO_LONG: Reason.PROMPT_TOO_LONG,
    FailureKind.BROKEN: Reason.MODEL_UNUSABLE,
    FailureKind.TIMEOUT: Reason.PLANNER_TIMEOUT,
}

End = PlannerReply | PlannerError


class StrategyConversation:
    """Runs a strategy's conversation step by step. Never raises: a strategy's exceptions end its own task only.

    `start` and `resume` return the end, or None while `calls` wait for answers.
    """

    def __init__(self, *, strategy: Strategy, request: PlannerRequest, run: int = 0) -> None:
        """Args:
        strategy: the strategy.
        request: the request that it answers.
        run: varies the seeds of draws; 0 leaves them unchanged.
        """
        self.calls: tuple[Call, ...] = ()
        """Calls that wait for answers."""
        self._run = run
        self._strategy = strategy
        self._request = request
        self._conversation: Conversation | None = None
        self._usage: Usage | None = None
        self._roles: dict[str, RoleUsage] = {}
        self._seconds = 0.0
        self._turns = 0
        self._tries = 1
        self._tolerated: list[str] = []

    def start(self) -> End | None:
        def first() -> Sequence[Call]:
            self._conversation = self._strategy.converse(self._request)
            return next(self._conversation)

        return self._turn(first)

    def resume(self, answers: Sequence[Answer | Failure], *, seconds: float) -> End | None:
        """Pass the answers, in the order of `calls`, to the strategy; the first failure is raised in it.

        Args:
            seconds: duration of the answers; this conversation's share of that of a batch.
        """
        self._seconds += seconds
        for answer in answers:
            if isinstance(answer, Failure):
                self._tries = max(self._tries, answer.tries)
            else:
                self._usage = (self._usage or Usage()) + answer.usage
        share = seconds / max(1, len(answers))
        # After a failure there may be fewer answers than calls.
        for call, answer in zip(self.calls, answers, strict=False):
            self._roles = sum_by_role((self._roles, {call.role or MAIN: _usage_of(answer, seconds=share)}))
        return self._turn(lambda: self._next(answers))

    def defect(self, error: BaseException) -> PlannerError:
        """End the conversation because of an unexpected exception."""
        message = f"The planner {self._strategy.name} failed: {type(error).__name__}: {error}."
        return self._failed(reason=Reason.INTERNAL_ERROR, message=message)

    def _next(self, answers: Sequence[Answer | Failure]) -> Sequence[Call]:
        assert self._conversation is not None
        good: list[Answer] = []
        for answer in answers:
            if isinstance(answer, Failure):
                return self._conversation.throw(LanguageModelError(answer))
            good.append(self._without_thought(answer) if isinstance(answer, Completion) else answer)
        return self._conversation.send(good)

    def _without_thought(self, completion: Completion) -> Completion:
        """A completion without reasoning and end marks; empty if it was cut off in the reasoning."""
        text, notes = trimmed(completion.text)
        try:
            text, removed = without_reasoning(text)
        except PlanSyntaxError as error:
            self._tolerated.append(f"envelope: {error.message}")
            return replace(completion, text="", truncated=True)
        if not notes and not removed:
            return completion
        self._tolerated += [*notes, *removed]
        return replace(completion, text=text.lstrip("\n"))

    def _turn(self, step: Callable[[], Sequence[Call]]) -> End | None:
        started = time.monotonic()
        try:
            self.calls = tuple(call.in_run(self._run) if isinstance(call, GenerateCall) else call for call in step())
        except StopIteration as end:
            self._seconds += time.monotonic() - started
            return self._reply(end.value)
        except LanguageModelError as error:
            self._seconds += time.monotonic() - started
            failure = error.failure
            return self._failed(reason=_REASONS[failure.kind], message=failure.message, received=failure.received)
        except Exception as error:  # noqa: BLE001 - one bad task stops no other
            return self.defect(error)
        self._seconds += time.monotonic() - started
        self._turns += 1
        if self._turns > MAX_TURNS:
            return self.defect(RuntimeError(f"it asked its language model more than {MAX_TURNS} times"))
        return None

    def _reply(self, draft: object) -> End:
        if not isinstance(draft, Draft):
            return self.defect(TypeError(f"a conversation ends with a Draft, not with {type(draft).__name__}"))
        if (problem := unkeepable(draft.plan)) is not None:
            return self._failed(reason=Reason.INVALID_RESPONSE, message=f"The planner's answer {problem}.")
        try:
            size = len(canonical_json.dumps(draft.plan).encode("utf-8"))
        except (TypeError, ValueError) as error:
            return self.defect(error)
        if size > MAX_PLAN_BYTES:
            message = f"The plan takes {size} bytes as JSON; at most {MAX_PLAN_BYTES} are read."
            return self._failed(reason=Reason.RESPONSE_TOO_LARGE, message=message)
        try:
            notes = kept_notes(draft.notes)
        except Exception as error:  # noqa: BLE001 - notes are not worth a task
            notes = {"left_out": f"The notes cannot be kept: {type(error).__name__}"}
        return PlannerReply(
            plan=draft.plan,
            call=self._call(),
            alternatives=tuple(plan for plan in draft.alternatives if unkeepable(plan) is None)[:MAX_ALTERNATIVES],
            notes=notes,
            unreadable=draft.unreadable,
            tolerated=tuple(dict.fromkeys((*self._tolerated, *draft.tolerated))),
        )

    def _failed(self, *, reason: Reason, message: str, received: str | None = None) -> PlannerError:
        if self._conversation is not None:
            with suppress(Exception):
                self._conversation.close()
        return PlannerError(reason=reason, message=message, received=received, call=self._call())

    def _call(self) -> PlannerCall:
        usage = self._usage
        return PlannerCall(
            seconds=round(self._seconds, 6),
            tries=self._tries,
            prompt_tokens=None if usage is None else usage.prompt_tokens,
            completion_tokens=None if usage is None else usage.completion_tokens,
            cached_tokens=(usage and usage.cached_tokens) or None,
            reasoning_tokens=(usage and usage.reasoning_tokens) or None,
            # Without roles it would only repeat the totals.
            roles=self._roles if self._roles.keys() - {MAIN} else {},
        )


def _usage_of(answer: Answer | Failure, *, seconds: float) -> RoleUsage:
    usage = None if isinstance(answer, Failure) else answer.usage
    return RoleUsage(
        calls=1,
        seconds=round(seconds, 6),
        prompt_tokens=None if usage is None else usage.prompt_tokens,
        completion_tokens=None if usage is None else usage.completion_tokens,
    )
