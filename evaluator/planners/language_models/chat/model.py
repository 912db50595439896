"""Chat endpoints with OpenAI's protocol: bounded calls, as many at once as the endpoint can take.

Failures that may be temporary are retried: transient answers (`evaluator.network`), failed connections, and answers
that break off, time out or have no choice. Everything else fails the call at once. The key is read from the environment
for every request and never stored; a secret header replaces it.
"""

import asyncio
import json
import logging
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability, Answer, Call, Completion, Failure, FailureKind, GenerateCall, Usage
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
    NoChoiceError,
    PromptTooLongError,
    Retry,
    WrongAnswerError,
    read_contents,
    read_status,
    unavailable,
    with_tries,
)
from evaluator.planners.language_models.chat.congestion import ConcurrencyLimit, Gate

logger = logging.getLogger(__name__)

KEY_VARIABLE = "PLANARENA_LLM_API_KEY"
MAX_RESPONSE_BYTES = 4 * 1024 * 1024
_BACKOFF = Backoff(longest=20.0, jitter=True)
SHOWN = 2000
"""Characters of an answer in an error report."""
_BYTES_PER_TOKEN = 4
"""An estimate for English, where the endpoint reports no usage."""
_LOG_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSettings:
    """How an endpoint is called."""

    url: str
    """Base address, as in `https://host/v1`."""
    model: str
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
        base = self.url.rstrip("/")
        return base if base.endswith("/chat/completions") else f"{base}/chat/completions"


class _Credentials(NamedTuple):
    headers: Mapping[str, str]
    without: Callable[[str], str]
    """Removes the secret from a text."""


class ChatModel:
    """A `ConcurrentLanguageModel` behind an OpenAI-compatible endpoint."""

    abilities = frozenset({Ability.GENERATE})

    def __init__(
        self,
        settings: ChatSettings,
        *,
        name: str | None = None,
        key: Callable[[], str | None] = lambda: os.environ.get(KEY_VARIABLE),
        header: SecretHeader | None = None,
        backoff: Backoff = _BACKOFF,
    ) -> None:
        """Args:
        settings: how the endpoint is called.
        name: name of the model in records and logs.
        key: returns the key for `Authorization: Bearer KEY`.
        header: replaces the key, and is removed from all answers.
        backoff: pauses between tries.
        """
        self.name = name or f"chat:{settings.url}#{settings.model}"
        self.settings = settings
        self._address = httpx.URL(settings.address)
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
            "kind": "chat",
            "name": self.name,
            "url": f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}",
            "model": self.settings.model,
            "token_counts": "estimated" if self._estimated else "reported by the endpoint",
        }

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
        }

    async def close(self) -> None:
        """Close the connections and log the counters."""
        if self._client is not None:
            logger.info("%s: %s", self.name, json.dumps(self.progress()))
            client, self._client = self._client, None
            await client.aclose()

    async def _with_retries(self, call: GenerateCall) -> Answer | Failure:
        content = json.dumps(_payload(call, model=self.settings.model)).encode("utf-8", "replace")
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
                    answer = await self._try(content, call=call, until=deadline)
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

    async def _try(self, content: bytes, *, call: GenerateCall, until: float) -> Answer | Failure | Retry:
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
        # Truncated last: otherwise half a key could remain at the cut.
        shown = credentials.without(body.decode("utf-8", "replace"))[:SHOWN]
        refusal = read_status(response, shown=shown)
        if refusal is not None:
            return refusal
        if problem:
            message = credentials.without(f"The chat endpoint {problem}.")
            return Failure(kind=FailureKind.WRONG_ANSWER, message=message, received=shown)
        return self._read(body, call=call, shown=shown, without=credentials.without)

    def _credentials(self) -> _Credentials | None:
        """None if the key is invalid in a header: the HTTP library's error would quote it."""
        if self._header is not None:
            return _Credentials(self._header.as_headers(), self._header.taken_out_of)
        key = (self._key() or "").strip()
        if not (key.isascii() and key.isprintable()):
            return None
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return _Credentials(headers, lambda text: text.replace(key, "[key]") if key else text)

    async def _post(self, content: bytes, *, credentials: _Credentials) -> tuple[httpx.Response, bytes, str]:
        """The response, its body as far as it was read, and why it was cut; empty: it is complete."""
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "planarena"}
        headers |= UNCOMPRESSED
        headers |= credentials.headers
        # Built here because the client would parse the same address for every call.
        request = httpx.Request("POST", self._address, content=content, headers=headers)
        response = await self._connected().send(request, stream=True)
        try:
            return response, await read_answer_async(response, most_bytes=MAX_RESPONSE_BYTES), ""
        except AnswerTooLargeError as error:
            problem = f"answered more than {MAX_RESPONSE_BYTES // 1024} KiB, the most that is read"
            return response, error.beginning, problem
        except CompressedAnswerError as error:
            return response, b"", f"gave an answer that is {error}"
        finally:
            await response.aclose()

    def _read(
        self, body: bytes, *, call: GenerateCall, shown: str, without: Callable[[str], str]
    ) -> Answer | Failure | Retry:
        try:
            text, finish, usage = read_contents(json.loads(body))
        except PromptTooLongError:
            message = "The chat endpoint answered with an error: the prompt is too long for its model."
            return Failure(kind=FailureKind.PROMPT_TOO_LONG, message=message, received=shown)
        except NoChoiceError as error:
            return Retry(without(f"its answer {error}"), too_much=False, received=shown)
        except (ValueError, RecursionError) as error:
            problem = (
                str(error) if isinstance(error, WrongAnswerError) else f"is not JSON; it begins with {shown[:60]!r}"
            )
            message = f"The chat endpoint's answer {problem}."
            return Failure(kind=FailureKind.WRONG_ANSWER, message=message, received=shown)
        if finish == "content_filter":
            message = "The chat endpoint's filter withheld the answer."
            return Failure(kind=FailureKind.REFUSED, message=message, received=shown)
        if usage is None:
            self._estimated += 1
            prompt = sum(self.count_tokens(message.content) for message in call.messages)
            usage = Usage(prompt_tokens=prompt, completion_tokens=self.count_tokens(text))
        # An answer that echoes the secret would become part of plans and notes.
        return Completion(text=without(text), usage=usage, truncated=finish == "length")

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


def _payload(call: GenerateCall, *, model: str) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "model": model,
        "messages": [{"role": message.role, "content": message.content} for message in call.messages],
        "max_tokens": call.max_tokens,
        "temperature": call.temperature,
    }
    if call.temperature > 0:
        payload |= {"top_p": call.top_p, "seed": call.seed}
    if call.stop:
        payload["stop"] = list(call.stop)
    return payload
