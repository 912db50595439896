"""Services of language models: bounded calls, as many at once as the service can take.

`apis/` has a module for each API, `parameters.py` what a model was found to accept. Failures that may be temporary are
retried: transient answers (`evaluator.network`), failed connections, and answers that break off, time out or are empty.
Everything else fails the call at once. The key is read from the environment for every request and never stored; a
secret header replaces it.
"""

import asyncio
import hashlib
import json
import logging
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import httpx

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import (
    Ability,
    Answer,
    Call,
    Completion,
    Failure,
    FailureKind,
    GenerateCall,
    Usage,
)
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.network.bounded_answers import (
    UNCOMPRESSED,
    AnswerTooLargeError,
    CompressedAnswerError,
    http_violation,
    read_answer_async,
)
from evaluator.network.guarded_connections import EgressRefusedError
from evaluator.network.secret_header import SecretHeader
from evaluator.network.ssrf_guard import async_egress_client
from evaluator.network.transient import Backoff
from evaluator.planners.language_models.chat.answers import (
    SHOWN,
    Refused,
    Retry,
    parsed,
    read_error,
    read_status,
    unavailable,
    with_tries,
)
from evaluator.planners.language_models.chat.apis import PLANNER_ENDPOINT, Api, ApiName, address_of, api_of
from evaluator.planners.language_models.chat.apis.base import NoAnswerError, Options, ServiceAnswer, WrongAnswerError
from evaluator.planners.language_models.chat.congestion import ConcurrencyLimit, Gate
from evaluator.planners.language_models.chat.events import events_in
from evaluator.planners.language_models.chat.parameters import MOST_ADAPTATIONS, KnownParameters, Parameters
from evaluator.replies.envelope import without_reasoning

logger = logging.getLogger(__name__)

KEY_VARIABLE = "PLANARENA_LLM_API_KEY"
MAX_RESPONSE_BYTES = 4 * 1024 * 1024
MAX_STREAM_BYTES = 16 * 1024 * 1024
"""The same for streamed answers, which take some 300 bytes for each token."""
_BACKOFF = Backoff(longest=20.0, jitter=True)
_BYTES_PER_TOKEN = 4
"""An estimate for English, where the endpoint reports no usage."""
_LOG_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSettings:
    """How an endpoint is called."""

    url: str
    """Base address, as in `https://host/v1`, or the address of calls; a query is kept."""
    model: str
    """Its name in requests; empty: an endpoint that speaks `planner/1`."""
    api: ApiName = "auto"
    """`auto`: Responses or Messages if the address ends with `/responses` or `/messages`, else Chat Completions."""
    streamed: bool = False
    """Whether answers are requested as streams of events."""
    reasons: bool | None = None
    """Whether the model reasons before it answers; None: found out. Its answers have more tokens by default."""
    most_tokens: int | None = None
    """Limit of an answer in tokens, including reasoning; None: the strategy's, of reasoning models at least 16,384."""
    reasoning_effort: str | None = None
    """Such as `low`, `medium` or `high`; None: the service's default."""
    reasoning_budget: int | None = None
    """Tokens of reasoning beside those of the answer, where the API has such a parameter."""
    seed: int | None = None
    """Sent with every call where the API has such a parameter; None: only at temperatures above 0, the call's."""
    allow_private: bool = False
    """Whether loopback and private addresses may be called."""
    highest: int = 64
    """Maximum number of concurrent calls."""
    tries: int = 6
    """Maximum number of tries per call."""
    try_seconds: float = 120.0
    """Limit of one try, from sending to the last byte."""
    total_seconds: float = 600.0
    """Limit of one call from its first try, including pauses. An endpoint that has failed all tries for this long gets
    only occasional probes, and other calls fail at once, so that a dead endpoint does not delay a run for days."""
    give_up_tries: int | None = None
    """The same after so many consecutive tries without an answer, regardless of time. 429 is an answer."""
    probe_seconds: float = 60.0
    """Minimum time between two probes."""

    @property
    def address(self) -> str:
        """The URL of calls."""
        return address_of(api=self.chosen_api, url=self.url)

    @property
    def chosen_api(self) -> Api:
        """How calls are written and answers read."""
        return api_of(name=self.api, url=self.url) if self.model else PLANNER_ENDPOINT

    @property
    def options(self) -> Options:
        """What all requests have."""
        return Options(
            streamed=self.streamed,
            reasoning_effort=self.reasoning_effort,
            reasoning_budget=self.reasoning_budget,
            seed=self.seed,
        )


class _Credentials(NamedTuple):
    headers: Mapping[str, str]
    without: Callable[[str], str]
    """Removes the secret from a text."""


class ChatModel:
    """A `ConcurrentLanguageModel` behind a service."""

    def __init__(
        self,
        settings: ChatSettings,
        *,
        name: str | None = None,
        key: Callable[[], str | None] = lambda: os.environ.get(KEY_VARIABLE),
        header: SecretHeader | None = None,
        backoff: Backoff = _BACKOFF,
        known: KnownParameters | None = None,
    ) -> None:
        """Args:
        settings: how the endpoint is called.
        name: name of the model in records and logs.
        key: returns the key, which is sent in the header of the API, or in `api-key` to addresses with `api-version`.
        header: replaces the key, and is removed from all answers.
        backoff: pauses between tries.
        known: what models accept, shared with other planners of the same settings and secret header; None: nothing.
        """
        self.settings = settings
        self._api = settings.chosen_api
        self.abilities: frozenset[Ability] = self._api.abilities
        self.name = name or (f"chat:{settings.url}#{settings.model}" if settings.model else f"endpoint:{settings.url}")
        self._address = httpx.URL(settings.address)
        self._api_version = dict(parse_qsl(urlsplit(settings.url).query)).get("api-version")
        # Accounts may differ in what they are allowed.
        account = None if header is None else hashlib.sha256(f"{header.name}:{header.value}".encode()).hexdigest()
        self._parameters = (known or KnownParameters()).of((settings, account), new=self._new_parameters)
        self._key = key
        self._header = header
        self._backoff = backoff
        self._gate = Gate(ConcurrencyLimit(highest=settings.highest), name=self.name)
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._silent_since: float | None = None
        """Start of the current sequence of failed tries."""
        self._unanswered = 0
        """Consecutive tries without an answer."""
        self._next_probe = 0.0
        self._estimated = 0
        self._logged = time.monotonic()

    def _new_parameters(self) -> Parameters:
        settings = self.settings
        return Parameters(most_tokens=settings.most_tokens, reasons=settings.reasons, budget=settings.reasoning_budget)

    def answer(self, calls: Sequence[Call]) -> list[Answer | Failure]:
        """See `LanguageModel.answer`; for code without an event loop."""

        async def answer_all() -> list[Answer | Failure]:
            try:
                return list(await asyncio.gather(*map(self.answer_one, calls)))
            finally:
                await self.close()

        return asyncio.run(answer_all())

    async def answer_one(self, call: Call) -> Answer | Failure:
        if not isinstance(call, GenerateCall) or call.constraint is not None or call.beams > 1:
            message = "A chat endpoint continues conversations; it neither scores texts nor keeps to a constraint."
            return Failure(kind=FailureKind.REFUSED, message=message)
        answer = await self._with_retries(call)
        self._gate.progress.answered += 1
        self._gate.progress.failed += isinstance(answer, Failure)
        if time.monotonic() - self._logged >= _LOG_SECONDS:
            self._logged = time.monotonic()
            logger.info("%s: %s", self.name, json.dumps(self.progress()))
        return answer

    def count_tokens(self, text: str) -> int:
        """An estimate from the length, since the endpoint's tokenizer is unknown."""
        return math.ceil(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN)

    def identity(self) -> Mapping[str, JsonValue]:
        """See `LanguageModel.identity`. Contains no key."""
        parts = urlsplit(self.settings.url)
        return {
            "kind": "chat" if self.settings.model else "endpoint",
            "name": self.name,
            "url": f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}",
            **({"model": self.settings.model} if self.settings.model else {}),
            "api": self._api.name,
            **self._declared(),
            **({"parameters": parameters} if (parameters := self._parameters.identity()) else {}),
            "token_counts": "estimated" if self._estimated else "reported by the endpoint",
        }

    def _declared(self) -> dict[str, JsonValue]:
        declared: dict[str, JsonValue] = {
            "api_version": self._api_version,
            "reasoning_effort": self.settings.reasoning_effort,
            "reasoning_budget": self.settings.reasoning_budget,
            "seed": self.settings.seed,
            "streamed": self.settings.streamed or None,
        }
        return {name: value for name, value in declared.items() if value is not None}

    def progress(self) -> Mapping[str, JsonValue]:
        """Counters, and the current and highest limit of concurrent calls."""
        seen, limit = self._gate.progress, self._gate.limit
        return {
            "answered": seen.answered,
            "failed": seen.failed,
            "retried": seen.retried,
            "running": seen.running,
            "waiting": seen.waiting,
            "limit": limit.limit,
            "highest_limit": limit.reached,
            "bound": limit.highest,
            "usage_estimated": self._estimated,
            "parameters": self._parameters.identity(),
        }

    async def close(self) -> None:
        """Close the connections and log the counters."""
        if self._client is not None:
            logger.info("%s: %s", self.name, json.dumps(self.progress()))
            client, self._client = self._client, None
            await client.aclose()

    async def _with_retries(self, call: GenerateCall) -> Answer | Failure:
        clock = asyncio.get_running_loop().time
        deadline: float | None = None
        problem = Retry("it had no place for another", too_much=False)
        for number in range(1, self.settings.tries + 1):
            try:
                async with self._gate.place(first=number > 1, until=deadline) as epoch:
                    if self._is_given_up(clock()):
                        return self._given_up(tries=number - 1)
                    if deadline is None:
                        deadline = clock() + self.settings.total_seconds
                    answer = await self._adapted(call, until=deadline)
                    self._report_to_gate(answer, epoch=epoch)
            except TimeoutError:
                return unavailable(problem, tries=number - 1)
            if not isinstance(answer, Retry):
                return with_tries(answer, tries=number)
            problem = answer
            if number < self.settings.tries:
                self._gate.progress.retried += 1
                left = deadline - clock()
                await asyncio.sleep(max(0.0, min(self._backoff.pause(number, asked=problem.after), left)))
        return unavailable(problem, tries=self.settings.tries)

    def _report_to_gate(self, answer: Answer | Failure | Retry, *, epoch: int) -> None:
        """Report the result to the gate while the call still holds its place."""
        if not isinstance(answer, Retry):
            self._silent_since = None
            self._unanswered = 0
            self._gate.succeeded()
            return
        self._silent_since = self._silent_since or asyncio.get_running_loop().time()
        self._unanswered = 0 if answer.is_alive else self._unanswered + 1
        if answer.too_much:
            self._gate.refused(epoch=epoch, why=str(answer), after=answer.after)

    def _is_given_up(self, now: float) -> bool:
        """Whether the endpoint counts as dead and this call is no probe."""
        if self._silent_since is None:
            return False
        if not self._failed_too_often() and now - self._silent_since < self.settings.total_seconds:
            return False
        if now >= self._next_probe:
            self._next_probe = now + self.settings.try_seconds + self.settings.probe_seconds
            return False
        return True

    def _failed_too_often(self) -> bool:
        most = self.settings.give_up_tries
        return most is not None and self._unanswered >= most

    def _given_up(self, *, tries: int) -> Failure:
        silent = f"for {self.settings.total_seconds:g} seconds or more"
        if self._failed_too_often():
            silent = f"in {self._unanswered} tries"
        message = f"The chat endpoint has answered no call {silent}; this one was not sent{' again' if tries else ''}."
        return Failure(kind=FailureKind.UNAVAILABLE, message=message, tries=max(1, tries))

    async def _adapted(self, call: GenerateCall, *, until: float) -> Answer | Failure | Retry:
        """One try, with further requests at once where the service refuses a parameter or reasoning used up the limit.

        Each request is a call that the service answers, so that none is a failed try.
        """
        payload = self._api.payload(call, model=self.settings.model, options=self.settings.options)
        spent = Usage()
        for number in range(MOST_ADAPTATIONS + 1):
            sent = self._parameters.fitted(payload)
            answer = await self._try(sent, until=until)
            if isinstance(answer, ServiceAnswer):
                usage = answer.usage or self._estimate(call, answer)
                is_reasoned, is_answered = _reasoning_in(answer)
                is_limited = is_reasoned and self._parameters.found_reasoning(sent, asked=call.max_tokens)
                if is_limited and answer.truncated and not is_answered and number < MOST_ADAPTATIONS:
                    spent += usage
                    continue
                return self._completion(answer, call=call, usage=spent + usage)
            if not isinstance(answer, Refused):
                return answer
            before = self._parameters.identity()
            if number == MOST_ADAPTATIONS or not self._parameters.adapt(sent, refusal=answer.refusal):
                return answer.failure
            if (adapted := self._parameters.identity()) != before:
                logger.info("%s: parameters: %s", self.name, json.dumps(adapted))
        raise AssertionError("unreachable")

    async def _try(self, payload: Mapping[str, Any], *, until: float) -> ServiceAnswer | Failure | Refused | Retry:
        content = json.dumps(payload).encode("utf-8", "replace")
        seconds = max(0.001, min(self.settings.try_seconds, until - asyncio.get_running_loop().time()))
        credentials = self._credentials()
        if credentials is None:
            why = f"{KEY_VARIABLE} holds characters that no header may have, such as a line break"
            return Failure(kind=FailureKind.REFUSED, message=f"The chat endpoint cannot be called: {why}.")
        try:
            async with asyncio.timeout(seconds):
                response, body, problem = await self._post(content, credentials=credentials)
        except TimeoutError:
            return Retry(f"it gave no complete answer within {seconds:.3g} seconds", too_much=True)
        except EgressRefusedError as error:
            return Failure(kind=FailureKind.REFUSED, message=f"The chat endpoint was not called: {error}")
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            return Retry(f"no connection: {error or type(error).__name__}", too_much=True)
        except httpx.TransportError as error:
            if (violation := http_violation(error)) is not None:
                return Failure(
                    kind=FailureKind.WRONG_ANSWER, message=f"The chat endpoint gave an answer that is {violation}."
                )
            return Retry(credentials.without(f"the connection broke: {error or type(error).__name__}"), too_much=False)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            why = credentials.without(f"{type(error).__name__}: {error}")
            return Failure(kind=FailureKind.REFUSED, message=f"The chat endpoint cannot be called: {why}.")
        # Before any truncation, which could leave half a key.
        text = credentials.without(body.decode("utf-8", "replace"))
        value = None if response.status_code == httpx.codes.OK else _redacted(parsed(text), credentials.without)
        refusal = read_status(response, text=text, value=value)
        if refusal is not None:
            return refusal
        if problem:
            message = credentials.without(f"The chat endpoint {problem}.")
            return Failure(kind=FailureKind.WRONG_ANSWER, message=message, received=text[:SHOWN])
        return self._read(text, response=response, without=credentials.without)

    def _credentials(self) -> _Credentials | None:
        """None if the key is invalid in a header: the HTTP library's error would quote it."""
        if self._header is not None:
            return _Credentials({**self._api.headers(""), **self._header.as_headers()}, self._header.taken_out_of)
        key = (self._key() or "").strip()
        if not (key.isascii() and key.isprintable()):
            return None
        headers = {"api-key": key} if key and self._api_version else self._api.headers(key)
        return _Credentials(headers, lambda text: text.replace(key, "[key]") if key else text)

    async def _post(self, content: bytes, *, credentials: _Credentials) -> tuple[httpx.Response, bytes, str]:
        """The response, its body as far as it was read, and why it was cut; empty: it is complete."""
        accepted = "text/event-stream, application/json" if self.settings.streamed else "application/json"
        most_bytes = MAX_STREAM_BYTES if self.settings.streamed else MAX_RESPONSE_BYTES
        headers = {"Content-Type": "application/json", "Accept": accepted, "User-Agent": "planarena"}
        headers |= UNCOMPRESSED
        headers |= credentials.headers
        # Built here because the client would parse the same address for every call.
        request = httpx.Request("POST", self._address, content=content, headers=headers)
        response = await self._connected().send(request, stream=True)
        try:
            return response, await read_answer_async(response, most_bytes=most_bytes), ""
        except AnswerTooLargeError as error:
            problem = f"answered more than {most_bytes // 1024} KiB, the most that is read"
            return response, error.beginning, problem
        except CompressedAnswerError as error:
            return response, b"", f"gave an answer that is {error}"
        finally:
            await response.aclose()

    def _read(
        self, text: str, *, response: httpx.Response, without: Callable[[str], str]
    ) -> ServiceAnswer | Failure | Refused | Retry:
        """The content of an answer with status 200; a stream of events also if none was requested.

        The secret is removed again where escapes are resolved and the pieces of a stream joined: an answer that echoes
        it would become part of plans and notes.
        """
        try:
            events = events_in(text)
            value = json.loads(text) if events is None else self._api.assembled(events)
            if value is None:
                raise NoAnswerError("is null")
            if not isinstance(value, dict):
                raise WrongAnswerError("is no JSON object")
            answer = self._api.read(_redacted(value, without))
        except NoAnswerError as error:
            why = without(str(error))
            if isinstance(error.error, dict):
                return read_error(_redacted(error.error, without), why=why, response=response)
            return Retry(f"its answer {why}", too_much=False, received=text[:SHOWN])
        except (ValueError, RecursionError) as error:
            problem = (
                str(error) if isinstance(error, WrongAnswerError) else f"is not JSON; it begins with {text[:60]!r}"
            )
            message = f"The chat endpoint's answer {problem}."
            return Failure(kind=FailureKind.WRONG_ANSWER, message=message, received=text[:SHOWN])
        if answer.withheld:
            message = "The chat endpoint's filter withheld the answer, or its model refused."
            return Failure(kind=FailureKind.REFUSED, message=message, received=text[:SHOWN])
        return answer

    def _estimate(self, call: GenerateCall, answer: ServiceAnswer) -> Usage:
        self._estimated += 1
        prompt = sum(self.count_tokens(message.content) for message in call.messages)
        written = [answer.text, *(f"{called.name}{called.arguments}" for called in answer.calls)]
        return Usage(prompt_tokens=prompt, completion_tokens=sum(map(self.count_tokens, written)))

    def _completion(self, answer: ServiceAnswer, *, call: GenerateCall, usage: Usage) -> Completion:
        # Also where the service accepts no stop sequences.
        ends = [end for stop in call.stop if stop and (end := answer.text.find(stop)) >= 0]
        text = answer.text[: min(ends)] if ends else answer.text
        return Completion(text=text, usage=usage, truncated=answer.truncated and not ends, calls=answer.calls)

    def _connected(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            # Connections belong to the event loop that opened them.
            self._loop = loop
            self._client = async_egress_client(
                allow_private=self.settings.allow_private,
                timeout=httpx.Timeout(None, connect=min(10.0, self.settings.try_seconds)),
                connections=self.settings.highest,
            )
        return self._client


def _redacted(value: Any, without: Callable[[str], str]) -> Any:
    """A JSON value without the secret in any text."""
    if isinstance(value, str):
        return without(value)
    if isinstance(value, list):
        return [_redacted(item, without) for item in value]
    if isinstance(value, dict):
        return {without(key): _redacted(item, without) for key, item in value.items()}
    return value


def _reasoning_in(answer: ServiceAnswer) -> tuple[bool, bool]:
    """Whether the model reasoned, and whether it answered. Some services leave reasoning in the text, in tags."""
    is_answered = bool(answer.text.strip() or answer.calls)
    if answer.is_reasoned or not answer.truncated:
        return answer.is_reasoned, is_answered
    try:
        text, notes = without_reasoning(answer.text)
    except PlanSyntaxError:
        return True, bool(answer.calls)
    return bool(notes), bool(text.strip() or answer.calls)
