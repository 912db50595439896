"""The few calls of vLLM's OpenAI-compatible API that a language model needs, each bounded and checked.

That server runs a submitted model, so its answers are untrusted: uncompressed, with one deadline for
connection, headers and body, and every number is checked against what was asked.
"""

import asyncio
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from evaluator.core.language_model import FailureKind, Message, Usage, is_about_length
from evaluator.network.bounded_answers import (
    UNCOMPRESSED,
    AnswerTooLargeError,
    CompressedAnswerError,
    read_answer_async,
)
from evaluator.network.event_loop import LoopThread
from evaluator.planners.language_models.spelling import Tokens

MODEL = "planarena"
"""What the server calls its model (`--served-model-name`)."""
_SMALL_BYTES = 64 * 1024
_BYTES_OF_A_TOKEN = 512
"""In the answer: an id of a text, or a token of a prompt with its log-probability."""
_LARGEST_BYTES = 64 * 1024 * 1024
_MOST_SCORED_TOKENS = 50_000
"""In one request."""
_LARGEST_ID = 2**31
_SHOWN = 300
_LEAST, _ROUNDING = -1e9, 1e-3
_CONNECTIONS = 32


class VllmError(Exception):
    """A call failed; the message is part of a sentence."""

    def __init__(self, message: str, *, kind: FailureKind) -> None:
        super().__init__(message)
        self.kind = kind
        """Whose fault that is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A free completion."""

    text: str
    usage: Usage
    truncated: bool


class VllmApi:
    """One server. May be used by several threads."""

    def __init__(self, url: str, *, seconds: float, transport: httpx.AsyncBaseTransport | None = None) -> None:
        """Args:
        url: as in `http://10.0.0.7:7070`.
        seconds: that one call may take, from the connection to the last byte.
        transport: of the HTTP client; tests may give one.
        """
        self.url = url.rstrip("/")
        self._seconds = seconds
        self._until = math.inf
        self._loop = LoopThread(name="vllm")
        self._client = httpx.AsyncClient(
            timeout=None,  # noqa: S113 - one deadline for all of a call, below
            follow_redirects=False,
            trust_env=False,
            transport=transport,
            limits=httpx.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS),
        )

    def close(self) -> None:
        """Close the connections."""
        self._loop.submit(self._client.aclose()).result()
        self._loop.close()

    def limit(self, seconds: float) -> None:
        """Give all calls from now on, together, so many seconds."""
        self._until = time.monotonic() + seconds

    def longest_context(self) -> int:
        """Tokens that the model reads at most, its completion included.

        Raises:
            VllmError: the server is not there, or serves something else.
        """
        found = self._asked("GET", "/v1/models", most_bytes=_SMALL_BYTES)
        for model in _listed(found, "data"):
            if isinstance(model, Mapping) and model.get("id") == MODEL:
                return _count(model, "max_model_len")
        raise _nonsense(f"it serves no model {MODEL!r}")

    def tokens(self, text: str, *, special: bool = False) -> Tokens:
        """The tokens of a text.

        Args:
            text: of any length.
            special: with those that the tokenizer puts around a text.
        """
        payload = {"prompt": text, "add_special_tokens": special}
        # A token is at least a byte, but for a few marks; each is a number with a comma.
        return self._tokenised(payload, most=len(text.encode("utf-8", "replace")) + 64)

    def prompt(self, messages: Sequence[Message]) -> Tokens:
        """The tokens of a conversation, by the model's chat template, up to where its answer begins.

        Raises:
            VllmError: the template refuses the conversation, among others.
        """
        continues = bool(messages) and messages[-1].role == "assistant"
        rows = [{"role": message.role, "content": message.content} for message in messages]
        payload = {"messages": rows, "add_generation_prompt": not continues, "continue_final_message": continues}
        length = sum(len(message.content.encode("utf-8", "replace")) for message in messages)
        # A template may add as much again: what is longer fits into no context.
        return self._tokenised(payload, most=2 * length + 65_536)

    def text(self, tokens: Tokens) -> str:
        """What tokens say, special ones included."""
        found = self._posted("/detokenize", {"tokens": list(tokens)}, most_bytes=_SMALL_BYTES)
        return _text(found, "prompt")

    def completion(
        self, prompt: Tokens, *, max_tokens: int, temperature: float, top_p: float, seed: int,
        stop: Sequence[str], ends: Tokens,
    ) -> Text:  # fmt: skip
        """A free continuation.

        Args:
            prompt: its tokens.
            max_tokens: that it may have.
            temperature: 0 for the most probable one.
            top_p: of nucleus sampling.
            seed: of what is drawn.
            stop: texts before which it ends.
            ends: tokens that end it.
        """
        payload = {
            "prompt": list(prompt), "max_tokens": max_tokens, "temperature": temperature, "top_p": top_p, "seed": seed,
            "stop": list(stop), "stop_token_ids": list(ends), "n": 1, "stream": False,
        }  # fmt: skip
        most = _SMALL_BYTES + _BYTES_OF_A_TOKEN * max_tokens
        found = self._posted("/v1/completions", payload, most_bytes=min(most, _LARGEST_BYTES))
        (choice,) = _choices(found, count=1)
        usage = found.get("usage")
        used = _count(usage if isinstance(usage, Mapping) else {}, "completion_tokens")
        if used > max_tokens:
            raise _nonsense(f"{used} tokens; at most {max_tokens} were asked for")
        return Text(
            text=_text(choice, "text"),
            usage=Usage(prompt_tokens=len(prompt), completion_tokens=used),
            truncated=choice.get("finish_reason") == "length",
        )

    def log_probabilities(self, rows: Sequence[tuple[Tokens, Tokens]]) -> list[tuple[float, ...]]:
        """How probable given continuations are.

        Args:
            rows: prompts, none empty, and the tokens that continue each.

        Returns:
            For each row the log-probability of each of its continuation's tokens after all before it, over the whole
            vocabulary.
        """
        found: list[tuple[float, ...]] = []
        for batch in _batches(rows):
            found += self._scored(batch)
        return found

    def _scored(self, rows: Sequence[tuple[Tokens, Tokens]]) -> list[tuple[float, ...]]:
        whole = [[*prompt, *tail] for prompt, tail in rows]
        # 0: of the prompt's own tokens only. One token must be asked for, and is not read.
        payload = {"prompt": whole, "max_tokens": 1, "temperature": 0.0, "prompt_logprobs": 0, "stream": False}
        most = _SMALL_BYTES * (1 + len(rows)) + _BYTES_OF_A_TOKEN * sum(map(len, whole))
        found = self._posted("/v1/completions", payload, most_bytes=min(most, _LARGEST_BYTES))
        choices = _choices(found, count=len(rows))
        return [_of_tail(choice, tokens=tokens, tail=len(tail)) for choice, tokens, (_, tail)
                in zip(choices, whole, rows, strict=True)]  # fmt: skip

    def _tokenised(self, payload: Mapping[str, Any], *, most: int) -> Tokens:
        found = self._posted("/tokenize", payload, most_bytes=min(_SMALL_BYTES + 16 * most, _LARGEST_BYTES))
        tokens = _listed(found, "tokens")
        if len(tokens) > most or not all(type(token) is int and 0 <= token < _LARGEST_ID for token in tokens):
            raise _nonsense("its tokens are no list of ids that such a text can have")
        return tuple(tokens)

    def _posted(self, path: str, payload: Mapping[str, Any], *, most_bytes: int) -> Mapping[str, Any]:
        return self._asked("POST", path, payload={"model": MODEL, **payload}, most_bytes=most_bytes)

    def _asked(
        self, method: str, path: str, *, most_bytes: int, payload: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        status, body = self._loop.submit(self._answer(method, path, payload=payload, most_bytes=most_bytes)).result()
        if status != httpx.codes.OK:
            shown = " ".join(body[:_SHOWN].decode("utf-8", "replace").split())
            # The server lives, so it is not the platform that is missing.
            kind = FailureKind.REFUSED if 400 <= status < 500 else FailureKind.BROKEN
            if kind is FailureKind.REFUSED and is_about_length(shown):
                kind = FailureKind.PROMPT_TOO_LONG
            raise VllmError(f"answered HTTP {status} to {path}: {shown}", kind=kind)
        try:
            found = json.loads(body, parse_constant=_no_number)
        except (ValueError, RecursionError):
            raise _nonsense(f"its answer to {path} is not JSON") from None
        if not isinstance(found, dict):
            raise _nonsense(f"its answer to {path} is no JSON object")
        return found

    async def _answer(
        self, method: str, path: str, *, payload: Mapping[str, Any] | None, most_bytes: int
    ) -> tuple[int, bytes]:
        content = None if payload is None else json.dumps(payload).encode()
        seconds = max(0.0, min(self._seconds, self._until - time.monotonic()))
        headers = {**UNCOMPRESSED, "Accept": "application/json", "Content-Type": "application/json"}
        try:
            async with (
                asyncio.timeout(seconds),
                self._client.stream(method, self.url + path, content=content, headers=headers) as response,
            ):
                return response.status_code, await read_answer_async(response, most_bytes=most_bytes)
        except TimeoutError:
            message = f"did not answer {path} within {seconds:.3g} seconds"
            raise VllmError(message, kind=FailureKind.TIMEOUT) from None
        except AnswerTooLargeError:
            raise _nonsense(f"its answer to {path} has more than {most_bytes} bytes") from None
        except CompressedAnswerError as error:
            raise _nonsense(f"its answer to {path} is {error}") from None
        except httpx.RemoteProtocolError as error:
            # What is no HTTP, or the end of the connection within an answer.
            raise VllmError(f"broke off: {error}", kind=FailureKind.UNAVAILABLE) from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            why = str(error) or type(error).__name__
            raise VllmError(f"cannot be reached: {why}", kind=FailureKind.UNAVAILABLE) from None


def _batches(rows: Sequence[tuple[Tokens, Tokens]]) -> list[list[tuple[Tokens, Tokens]]]:
    batches: list[list[tuple[Tokens, Tokens]]] = []
    size = _MOST_SCORED_TOKENS
    for row in rows:
        length = len(row[0]) + len(row[1])
        if size + length > _MOST_SCORED_TOKENS:
            batches.append([])
            size = 0
        batches[-1].append(row)
        size += length
    return batches


def _of_tail(choice: Mapping[str, Any], *, tokens: Sequence[int], tail: int) -> tuple[float, ...]:
    found = _listed(choice, "prompt_logprobs")
    if len(found) != len(tokens):
        raise _nonsense(f"log-probabilities of {len(found)} tokens; {len(tokens)} were asked about")
    start = len(tokens) - tail
    return tuple(_log_probability(found[at], token=tokens[at]) for at in range(start, len(tokens)))


def _log_probability(entry: object, *, token: int) -> float:
    one = entry.get(str(token)) if isinstance(entry, Mapping) else None
    value: Any = one.get("logprob") if isinstance(one, Mapping) else None
    # Compared and not converted: JSON's whole numbers have any length.
    if type(value) not in {int, float} or not _LEAST <= value <= _ROUNDING:
        raise _nonsense("a log-probability is missing, or no number that is at most 0")
    return min(0.0, float(value))


def _choices(found: Mapping[str, Any], *, count: int) -> list[Mapping[str, Any]]:
    """The choices in the order of the prompts."""
    choices = {}
    for choice in _listed(found, "choices"):
        if isinstance(choice, Mapping) and type(choice.get("index")) is int:
            choices[choice["index"]] = choice
    if sorted(choices) != list(range(count)) or len(_listed(found, "choices")) != count:
        raise _nonsense(f"its choices are not one for each of {count} prompts")
    return [choices[index] for index in range(count)]


def _listed(found: Mapping[str, Any], key: str) -> list[Any]:
    value = found.get(key)
    if not isinstance(value, list):
        raise _nonsense(f"its answer has no list {key!r}")
    return value


def _text(found: Mapping[str, Any], key: str) -> str:
    value = found.get(key)
    if not isinstance(value, str):
        raise _nonsense(f"its answer has no text {key!r}")
    return value


def _count(found: Mapping[str, Any], key: str) -> int:
    value = found.get(key)
    if type(value) is not int or not 0 <= value < _LARGEST_ID:
        raise _nonsense(f"its answer has no count {key!r}")
    return value


def _no_number(text: str) -> float:
    raise ValueError(text)


def _nonsense(what: str) -> VllmError:
    return VllmError(f"does not keep to its API: {what}", kind=FailureKind.BROKEN)
