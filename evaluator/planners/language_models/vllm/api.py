"""The calls of vLLM's OpenAI-compatible API that a language model needs, each bounded and checked.

The server runs a submitted model, so its answers are untrusted: they must be uncompressed, each call has one deadline,
and every number is checked against the request.
"""

import asyncio
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from evaluator.core.language_model import FailureKind, Message, Usage
from evaluator.network.bounded_answers import (
    UNCOMPRESSED,
    AnswerTooLargeError,
    CompressedAnswerError,
    read_answer_async,
)
from evaluator.network.event_loop import LoopThread
from evaluator.network.transient import ErrorKind, kind_of_error
from evaluator.planners.language_models.spelling import Tokens

_KINDS = {ErrorKind.TRANSIENT: FailureKind.BROKEN, ErrorKind.TOO_LONG: FailureKind.PROMPT_TOO_LONG}
MODEL = "planarena"
"""Name of the model on the server (`--served-model-name`)."""
_SMALL_BYTES = 64 * 1024
_BYTES_OF_A_TOKEN = 512
"""Size in the answer: a token id, or a token of a prompt with its log-probability."""
_LARGEST_BYTES = 64 * 1024 * 1024
_MOST_SCORED_TOKENS = 50_000
"""Per request."""
_LARGEST_ID = 2**31
_SHOWN = 300
_LEAST, _ROUNDING = -1e9, 1e-3
_CONNECTIONS = 32


class VllmError(Exception):
    """A call failed; the message is part of a sentence."""

    def __init__(self, message: str, *, kind: FailureKind) -> None:
        super().__init__(message)
        self.kind = kind
        """The kind of failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A free completion."""

    text: str
    usage: Usage
    truncated: bool


class VllmApi:
    """The API of one server. Thread-safe."""

    def __init__(self, url: str, *, seconds: float, transport: httpx.AsyncBaseTransport | None = None) -> None:
        """Args:
        url: base address, as in `http://10.0.0.7:7070`.
        seconds: limit of one call, from the connection to the last byte.
        transport: transport of the HTTP client, for tests.
        """
        self.url = url.rstrip("/")
        self._seconds = seconds
        self._until = math.inf
        self._loop = LoopThread(name="vllm")
        self._client = httpx.AsyncClient(
            timeout=None,  # noqa: S113 - `_answer` sets one deadline per call
            follow_redirects=False,
            trust_env=False,
            transport=transport,
            limits=httpx.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS),
        )

    def close(self) -> None:
        self._loop.submit(self._client.aclose()).result()
        self._loop.close()

    def limit(self, seconds: float) -> None:
        """Set a common deadline for all calls from now on."""
        self._until = time.monotonic() + seconds

    def longest_context(self) -> int:
        """The maximum number of tokens that the model reads, including its completion.

        Raises:
            VllmError: the server is unreachable or serves another model.
        """
        for model in _listed(self._requested("GET", "/v1/models", most_bytes=_SMALL_BYTES), "data"):
            if isinstance(model, Mapping) and model.get("id") == MODEL:
                return _count(model, "max_model_len")
        raise _nonsense(f"it serves no model {MODEL!r}")

    def tokens(self, text: str, *, special: bool = False) -> Tokens:
        """The tokens of a text; `special`: with those that the tokenizer puts around it."""
        payload = {"prompt": text, "add_special_tokens": special}
        # Except for a few special ones, a token has at least one byte.
        return self._tokenised(payload, most=len(text.encode("utf-8", "replace")) + 64)

    def prompt(self, messages: Sequence[Message]) -> Tokens:
        """The tokens of a conversation by the model's chat template, up to the beginning of its answer.

        Raises:
            VllmError: the call failed, for example because the template refuses the conversation.
        """
        continues = bool(messages) and messages[-1].role == "assistant"
        rows = [{"role": message.role, "content": message.content} for message in messages]
        payload = {"messages": rows, "add_generation_prompt": not continues, "continue_final_message": continues}
        length = sum(len(message.content.encode("utf-8", "replace")) for message in messages)
        # A template may add as much again; anything longer exceeds every context.
        return self._tokenised(payload, most=2 * length + 65_536)

    def text(self, tokens: Tokens) -> str:
        """The text of tokens, including special ones."""
        return _text(self._posted("/detokenize", {"tokens": list(tokens)}, most_bytes=_SMALL_BYTES), "prompt")

    def completion(
        self, prompt: Tokens, *, max_tokens: int, temperature: float, top_p: float, seed: int,
        stop: Sequence[str], ends: Tokens,
    ) -> Text:  # fmt: skip
        """A free continuation.

        Args:
            prompt: tokens of the prompt.
            max_tokens: maximum length.
            temperature: 0: always the most probable token.
            top_p: threshold of nucleus sampling.
            seed: seed of the draws.
            stop: texts before which it ends.
            ends: tokens that end it.
        """
        payload = {
            "prompt": list(prompt), "max_tokens": max_tokens, "temperature": temperature, "top_p": top_p, "seed": seed,
            "stop": list(stop), "stop_token_ids": list(ends), "n": 1, "stream": False,
        }  # fmt: skip
        most = _SMALL_BYTES + _BYTES_OF_A_TOKEN * max_tokens
        answer = self._posted("/v1/completions", payload, most_bytes=min(most, _LARGEST_BYTES))
        (choice,) = _choices(answer, count=1)
        usage = answer.get("usage")
        used = _count(usage if isinstance(usage, Mapping) else {}, "completion_tokens")
        if used > max_tokens:
            raise _nonsense(f"{used} tokens; at most {max_tokens} were asked for")
        return Text(
            text=_text(choice, "text"),
            usage=Usage(prompt_tokens=len(prompt), completion_tokens=used),
            truncated=choice.get("finish_reason") == "length",
        )

    def log_probabilities(self, rows: Sequence[tuple[Tokens, Tokens]]) -> list[tuple[float, ...]]:
        """Log-probabilities of continuations.

        Args:
            rows: pairs of a nonempty prompt and the tokens of its continuation.

        Returns:
            For each row, the conditional log-probability of each token of the continuation, over the whole vocabulary.
        """
        batches: list[list[tuple[Tokens, Tokens]]] = []
        size = _MOST_SCORED_TOKENS
        for row in rows:
            length = len(row[0]) + len(row[1])
            if size + length > _MOST_SCORED_TOKENS:
                batches.append([])
                size = 0
            batches[-1].append(row)
            size += length
        return [scores for batch in batches for scores in self._scored(batch)]

    def _scored(self, rows: Sequence[tuple[Tokens, Tokens]]) -> list[tuple[float, ...]]:
        whole = [[*prompt, *tail] for prompt, tail in rows]
        # `prompt_logprobs` 0: of the prompt's own tokens only. The API demands one generated token, which is ignored.
        payload = {"prompt": whole, "max_tokens": 1, "temperature": 0.0, "prompt_logprobs": 0, "stream": False}
        most = _SMALL_BYTES * (1 + len(rows)) + _BYTES_OF_A_TOKEN * sum(map(len, whole))
        answer = self._posted("/v1/completions", payload, most_bytes=min(most, _LARGEST_BYTES))
        scores = []
        for choice, tokens, (prompt, _) in zip(_choices(answer, count=len(rows)), whole, rows, strict=True):
            entries = _listed(choice, "prompt_logprobs")
            if len(entries) != len(tokens):
                raise _nonsense(f"log-probabilities of {len(entries)} tokens; {len(tokens)} were asked about")
            tail = range(len(prompt), len(tokens))
            scores.append(tuple(_log_probability(entries[at], token=tokens[at]) for at in tail))
        return scores

    def _tokenised(self, payload: Mapping[str, Any], *, most: int) -> Tokens:
        answer = self._posted("/tokenize", payload, most_bytes=min(_SMALL_BYTES + 16 * most, _LARGEST_BYTES))
        tokens = _listed(answer, "tokens")
        if len(tokens) > most or not all(type(token) is int and 0 <= token < _LARGEST_ID for token in tokens):
            raise _nonsense("its tokens are no list of ids that such a text can have")
        return tuple(tokens)

    def _posted(self, path: str, payload: Mapping[str, Any], *, most_bytes: int) -> Mapping[str, Any]:
        return self._requested("POST", path, payload={"model": MODEL, **payload}, most_bytes=most_bytes)

    def _requested(
        self, method: str, path: str, *, most_bytes: int, payload: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        status, body = self._loop.submit(self._answer(method, path, payload=payload, most_bytes=most_bytes)).result()
        if status != httpx.codes.OK:
            shown = " ".join(body[:_SHOWN].decode("utf-8", "replace").split())
            # The server responds, so this is no fault of the platform.
            kind = _KINDS.get(kind_of_error(status, body=shown), FailureKind.REFUSED)
            raise VllmError(f"answered HTTP {status} to {path}: {shown}", kind=kind)
        try:
            answer = json.loads(body, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise _nonsense(f"its answer to {path} is not JSON") from None
        if not isinstance(answer, dict):
            raise _nonsense(f"its answer to {path} is no JSON object")
        return answer

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
            # No HTTP, or the connection ended within an answer.
            raise VllmError(f"broke off: {error}", kind=FailureKind.UNAVAILABLE) from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            why = str(error) or type(error).__name__
            raise VllmError(f"cannot be reached: {why}", kind=FailureKind.UNAVAILABLE) from None


def _log_probability(entry: object, *, token: int) -> float:
    details = entry.get(str(token)) if isinstance(entry, Mapping) else None
    value: Any = details.get("logprob") if isinstance(details, Mapping) else None
    # Checked before conversion: JSON's integers have any length.
    if type(value) not in {int, float} or not _LEAST <= value <= _ROUNDING:
        raise _nonsense("a log-probability is missing, or no number that is at most 0")
    return min(0.0, float(value))


def _choices(answer: Mapping[str, Any], *, count: int) -> list[Mapping[str, Any]]:
    """The choices in the order of the prompts."""
    listed = _listed(answer, "choices")
    choices = {choice["index"]: choice for choice in listed
               if isinstance(choice, Mapping) and type(choice.get("index")) is int}  # fmt: skip
    if sorted(choices) != list(range(count)) or len(listed) != count:
        raise _nonsense(f"its choices are not one for each of {count} prompts")
    return [choices[index] for index in range(count)]


def _listed(answer: Mapping[str, Any], key: str) -> list[Any]:
    value = answer.get(key)
    if not isinstance(value, list):
        raise _nonsense(f"its answer has no list {key!r}")
    return value


def _text(answer: Mapping[str, Any], key: str) -> str:
    value = answer.get(key)
    if not isinstance(value, str):
        raise _nonsense(f"its answer has no text {key!r}")
    return value


def _count(answer: Mapping[str, Any], key: str) -> int:
    value = answer.get(key)
    if type(value) is not int or not 0 <= value < _LARGEST_ID:
        raise _nonsense(f"its answer has no count {key!r}")
    return value


def _refuse_constant(text: str) -> float:
    raise ValueError(text)


def _nonsense(what: str) -> VllmError:
    return VllmError(f"does not keep to its API: {what}", kind=FailureKind.BROKEN)
