"""The client of a planner endpoint: one stateless JSON POST per turn, bounded in time, size and tries."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, TypeVar, cast

import httpx
from pydantic import ValidationError

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import (
    MAX_RESPONSE_BYTES,
    PlannerError,
    PlannerReply,
    PlannerRequest,
    PlannerResponse,
    Ran,
    RanPlan,
    RespondRequest,
    ResponseToUser,
    ignored_options,
)
from evaluator.core.records import PlannerCall, Reason
from evaluator.core.storable import unkeepable
from evaluator.core.turns import Formulation, TurnReply, TurnRequest, TurnResponse
from evaluator.network.bounded_answers import (
    AnswerLateError,
    AnswerTooLargeError,
    CompressedAnswerError,
    http_violation,
    read_answer,
)
from evaluator.network.guarded_connections import EgressRefusedError, call_deadline
from evaluator.network.secret_header import HIDDEN, SecretHeader
from evaluator.network.ssrf_guard import egress_client
from evaluator.network.transient import (
    Backoff,
    ErrorKind,
    TransientError,
    asked_to_wait,
    error_in,
    is_html,
    is_transient,
    kind_of_error,
    retried,
    sentence_in,
)

MAX_TRIES = 4
CONNECT_SECONDS = 5.0
BACKOFF = Backoff(longest=2.0, longest_asked=60.0)
_JSON = {"Content-Type": "application/json", "Accept": "application/json"}
_SHOWN = 2000
"""Characters of an invalid answer in an error report."""


Protocol = Literal["planner/1", "a2a"]


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """How an endpoint is called."""

    url: str
    timeout_seconds: float = 30.0
    """Limit of one turn, from sending the request to the last byte of the answer."""
    allow_private: bool = False
    """Whether loopback and private addresses may be called: in demo mode only."""
    header: SecretHeader | None = None
    """Sent with each request, and removed from the endpoint's answers."""
    tries: int = MAX_TRIES
    protocol: Protocol = "planner/1"
    """What the address speaks: `a2a` is an agent of the Agent2Agent protocol (`evaluator.planners.a2a`)."""


_Response = TypeVar("_Response", PlannerResponse, TurnResponse, ResponseToUser)

Watcher = Callable[[int, bytes], None]
"""Receives the status and the body of each answer, before the body is read."""


class _PageError(TransientError):
    """The answer is an HTML page with status 200: a gateway's, unless all tries get one."""

    def __init__(self, message: str, *, asked: float | None, page: str) -> None:
        super().__init__(message, asked=asked)
        self.page = page


class EndpointPlanner:
    """A planner behind HTTP, of whole plans or turns. Invalid answers are planner faults; being unreachable is not."""

    formulation = Formulation.INTEGRATED
    is_outside = True
    """See `RespondingPlanner`."""

    def __init__(
        self,
        settings: EndpointSettings,
        *,
        name: str = "endpoint",
        sleep: Callable[[float], None] = time.sleep,
        watch: Watcher | None = None,
    ) -> None:
        self.name = name
        self._settings = settings
        self._sleep = sleep
        self._watch = watch
        seconds = settings.timeout_seconds
        timeout = httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))
        self._client = egress_client(allow_private=settings.allow_private, timeout=timeout)

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """Request one plan, with retries of temporary failures."""
        header = self._settings.header
        if header is None:
            return self._plan(request)
        try:
            reply = self._plan(request)
            values = cast(list[JsonValue], [reply.plan, *reply.alternatives])
            plan, *alternatives = (header.taken_out_of_json(value) for value in values)
            return replace(reply, plan=plan, alternatives=tuple(alternatives))
        except PlannerError as error:
            # Drops the cause, whose message may quote the request.
            raise _error_without(header, error=error) from None

    def responds_to(self, reply: PlannerReply) -> bool:
        """See `RespondingPlanner`: whether the endpoint said so with the plan. A2A has no such request."""
        return reply.responds and self._settings.protocol == "planner/1"

    def respond(self, ran: RanPlan) -> PlannerReply | PlannerError:
        """See `RespondingPlanner`; retried as a plan is."""
        header = self._settings.header
        request = RespondRequest(**dict(ran.request), ran=Ran(calls=list(ran.calls), results=dict(ran.results)))
        try:
            body, value, call = self._answer(request, kind=ResponseToUser)
            said, call, _ = _as(
                ResponseToUser, value=value if header is None else header.taken_out_of_json(value), body=body, call=call
            )
        except PlannerError as error:
            return error if header is None else _error_without(header, error=error)
        return PlannerReply(plan=said.response, call=call)

    def turn(self, request: TurnRequest) -> TurnReply:
        """Request one turn, with retries of temporary failures under the same key."""
        header = self._settings.header
        try:
            body, value, call = self._answer(request, kind=TurnResponse)
            response, call, _ = _as(
                TurnResponse, value=value if header is None else header.taken_out_of_json(value), body=body, call=call
            )
        except PlannerError as error:
            if header is None:
                raise
            raise _error_without(header, error=error) from None
        return TurnReply(response=response, call=call)

    def _plan(self, request: PlannerRequest) -> PlannerReply:
        body, value, call = self._answer(request, kind=PlannerResponse)
        response, call, ignored = _as(PlannerResponse, value=value, body=body, call=call)
        call = call.model_copy(update={"confidence": response.confidence})
        alternatives = tuple(response.alternatives)
        return PlannerReply(
            plan=response.answer(), call=call, alternatives=alternatives, tolerated=ignored, responds=response.responds
        )

    def _answer(self, request: PlannerRequest, *, kind: type[_Response]) -> tuple[bytes, JsonValue, PlannerCall]:
        """The body of the answer, its JSON without fields unknown to the protocol, and the call."""
        started = time.monotonic()

        def once(number: int) -> tuple[bytes, JsonValue, PlannerCall]:
            body = self._turn(request=request, started=started, tries=number)
            call = _call(started=started, tries=number)
            return body, _json(body=body, call=call, kind=kind), call

        most = self._settings.tries
        try:
            return retried(once, backoff=BACKOFF, tries=most, sleep=self._sleep)
        except TransientError as problem:
            call = _call(started=started, tries=most)
            if isinstance(problem, _PageError):
                raise _not_json(problem.page, call=call) from problem
            tries = f"in {most} tries; the last" if most > 1 else "in the one try that was made"
            message = f"The endpoint was unavailable {tries}: {problem}."
            raise PlannerError(reason=Reason.ENDPOINT_UNAVAILABLE, message=message, call=call) from problem

    def close(self) -> None:
        self._client.close()

    def _turn(self, *, request: PlannerRequest, started: float, tries: int) -> bytes:
        """The answer to one try of a request: the JSON of a response of planner/1."""
        return self._called(
            "POST", self._settings.url, content=request.model_dump_json(), fault=Fault(started=started, tries=tries),
            deadline=time.monotonic() + self._settings.timeout_seconds,
        )  # fmt: skip

    def _called(
        self,
        method: str,
        url: str,
        *,
        fault: "Fault",
        deadline: float,
        content: str | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> bytes:
        """The body of a guarded call with status 200."""
        secret = self._settings.header.as_headers() if self._settings.header else {}
        try:
            with (
                call_deadline(deadline),
                self._client.stream(method, url, content=content, headers={**_JSON, **headers, **secret}) as response,
            ):
                body = self._body(response=response, fault=fault, until=deadline)
                self._check_status(response=response, body=body, fault=fault)
                return body
        except EgressRefusedError as error:
            raise fault(Reason.ADDRESS_REFUSED, f"The endpoint was not called: {error}") from error
        except (httpx.ReadTimeout, httpx.WriteTimeout, AnswerLateError):
            raise self._late(fault) from None
        except httpx.TransportError as error:
            if (violation := http_violation(error)) is not None:
                raise fault(Reason.INVALID_RESPONSE, f"The endpoint's answer is {violation}.") from error
            raise TransientError(str(error) or type(error).__name__) from error

    def _late(self, fault: "Fault") -> PlannerError:
        message = f"The endpoint gave no complete answer within {self._settings.timeout_seconds:g} seconds."
        return fault(Reason.PLANNER_TIMEOUT, message)

    def _body(self, *, response: httpx.Response, fault: "Fault", until: float) -> bytes:
        status = response.status_code
        try:
            return self._seen(status=status, body=read_answer(response, most_bytes=MAX_RESPONSE_BYTES, until=until))
        except AnswerTooLargeError as error:
            body = self._seen(status=status, body=error.beginning)
            # A status other than 200, or a gateway's page, is more informative.
            self._check_status(response=response, body=body, fault=fault)
            message = f"The endpoint answered more than {MAX_RESPONSE_BYTES // 1024} KiB, the most that is read."
            raise fault(Reason.RESPONSE_TOO_LARGE, message, body) from None
        except CompressedAnswerError as error:
            self._seen(status=status, body=b"")
            self._check_status(response=response, body=b"", fault=fault)
            raise fault(Reason.INVALID_RESPONSE, f"The endpoint's answer is {error}.") from None

    def _check_status(self, *, response: httpx.Response, body: bytes, fault: "Fault") -> None:
        header = self._settings.header
        said = sentence_in(body, without=header.taken_out_of if header else str)
        _check_status(response=response, body=body, said=f": {said}" if said else "", fault=fault)

    def _seen(self, *, status: int, body: bytes) -> bytes:
        """The body without secrets, of which the watcher is notified."""
        header = self._settings.header
        # Before any truncation, which could split a secret.
        for secret in header.secrets() if header else ():
            body = body.replace(secret.encode(), HIDDEN.encode())
        if self._watch is not None:
            self._watch(status, body)
        return body


@dataclass(frozen=True, slots=True)
class Fault:
    """Makes the error of an invalid answer to one try of a call."""

    started: float
    tries: int

    def __call__(self, reason: Reason, message: str, body: bytes = b"") -> PlannerError:
        received = body[:_SHOWN].decode("utf-8", errors="replace") if body else None
        call = _call(started=self.started, tries=self.tries)
        return PlannerError(reason=reason, message=message, received=received, call=call)


def _error_without(header: SecretHeader, *, error: PlannerError) -> PlannerError:
    received = None if error.received is None else header.taken_out_of(error.received)
    return PlannerError(
        reason=error.reason, message=header.taken_out_of(str(error)), received=received, call=error.call
    )


def _call(*, started: float, tries: int) -> PlannerCall:
    return PlannerCall(seconds=round(time.monotonic() - started, 6), tries=tries)


def _check_status(*, response: httpx.Response, body: bytes, said: str, fault: Fault) -> None:
    """Raise the error of an answer; `said` are the endpoint's words after a colon, or empty."""
    status = response.status_code
    if status != httpx.codes.OK and kind_of_error(status, body=_shown(body)) is ErrorKind.OVER_QUOTA:
        message = f"An account of the endpoint is over its quota; it answered HTTP {status}{said}."
        raise fault(Reason.ENDPOINT_UNAVAILABLE, message, body)
    if is_transient(status):
        raise TransientError(f"it answered HTTP {status}{said}", asked=asked_to_wait(response.headers))
    is_redirect = 300 <= status < 400
    if is_html(body) and not is_redirect:
        message = (
            f"it answered HTTP {status} with an HTML page, as gateways do; a planner answers 200 with a JSON object"
        )
        asked = asked_to_wait(response.headers)
        if status == httpx.codes.OK:
            raise _PageError(message, asked=asked, page=_shown(body))
        raise TransientError(message, asked=asked)
    if status == httpx.codes.OK:
        return
    if is_redirect:
        message = (
            f"The endpoint answered HTTP {status}, a redirect; redirects are not followed: submit the final address."
        )
    elif status == httpx.codes.REQUEST_ENTITY_TOO_LARGE:
        raise fault(Reason.PROMPT_TOO_LONG, "The endpoint answered HTTP 413: the request is too long for it.", body)
    else:
        message = f"The endpoint answered HTTP {status}{said}; a planner answers 200 with a JSON object."
    raise fault(Reason.REFUSED_BY_ENDPOINT, message, body)


def _json(*, body: bytes, call: PlannerCall, kind: type[_Response]) -> JsonValue:
    """The answer as JSON, an object without unknown fields, which may contain anything."""
    shown = _shown(body)
    try:
        value: JsonValue = json.loads(body)
    except (ValueError, RecursionError):
        raise _not_json(shown, call=call) from None
    if (error := error_in(value)) is not None and not kind.is_answered_in(value):
        raise TransientError(f"it answered HTTP 200 with an error instead of an answer: {error.rstrip('.')}")
    if isinstance(value, dict):
        value = {name: part for name, part in value.items() if name in kind.model_fields}
        options = {name: part for name, part in value.items() if name in kind.OPTIONS}
        # Options that cannot be stored are ignored, like other invalid values.
        value |= {name: False for name, part in options.items() if unkeepable(part) is not None}
    if (problem := unkeepable(value)) is not None:
        raise PlannerError(
            reason=Reason.INVALID_RESPONSE, message=f"The endpoint's answer {problem}.", received=shown, call=call
        )
    return value


def _not_json(shown: str, *, call: PlannerCall) -> PlannerError:
    start = " ".join(shown[:60].split())
    message = f"The endpoint's answer is not JSON; it begins with {start!r}."
    return PlannerError(reason=Reason.INVALID_RESPONSE, message=message, received=shown, call=call)


def _as(
    kind: type[_Response], *, value: JsonValue, body: bytes, call: PlannerCall
) -> tuple[_Response, PlannerCall, tuple[str, ...]]:
    """The answer as a response of a kind, the call with its reported tokens, and the ignored options."""
    try:
        response = kind.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][:1]) or "the answer"
        message = f"The endpoint's answer is not a planner/1 response: {where}: {first['msg']}."
        raise PlannerError(reason=Reason.INVALID_RESPONSE, message=message, received=_shown(body), call=call) from None
    usage = response.usage or {}
    tokens = {name: usage.get(name) for name in ("prompt_tokens", "completion_tokens")}
    tokens |= {name: usage.get(name) or None for name in ("cached_tokens", "reasoning_tokens")}
    return response, call.model_copy(update=tokens), ignored_options(value=value, response=response)


def _shown(body: bytes) -> str:
    return body[:_SHOWN].decode("utf-8", errors="replace")
