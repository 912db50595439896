"""What the APIs of language-model services have in common."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability, GenerateCall, ToolCall, Usage
from evaluator.network.transient import error_in

_MOST_TOKENS = 2**31
CHAT_ABILITIES = frozenset({Ability.GENERATE, Ability.CALL_TOOLS})
_TEXT_PARTS = ("text", "output_text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Settings of all requests to a model."""

    streamed: bool = False
    reasoning_effort: str | None = None
    reasoning_budget: int | None = None
    """Tokens of reasoning."""
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAnswer:
    """The content of a service's answer."""

    text: str
    """Empty if the model wrote none, for example because its reasoning reached the limit."""
    calls: tuple[ToolCall, ...] = ()
    truncated: bool = False
    """Whether it reached the limit of tokens."""
    withheld: bool = False
    """Whether a filter withheld it, or the service reports that the model refused."""
    is_reasoned: bool = False
    """Whether reasoning came with it."""
    usage: Usage | None = None
    """None if the service reports no counts, or counts that are none."""


class WrongAnswerError(ValueError):
    """The answer is JSON, but violates the protocol."""


class NoAnswerError(WrongAnswerError):
    """There is no answer, as from a router whose provider failed: a retry may succeed."""

    def __init__(self, message: str, *, error: JsonValue = None) -> None:
        """Args:
        message: a clause.
        error: the object that has the service's error, if it gave one.
        """
        super().__init__(message)
        self.error = error


class Api(Protocol):
    """One API. Answers are dictionaries of JSON from a stranger: any of their parts may be anything."""

    @property
    def name(self) -> str:
        """`chat`, `responses`, `messages` or `planner/1`."""
        ...

    @property
    def abilities(self) -> frozenset[Ability]:
        """Those of its models."""
        ...

    @property
    def path(self) -> str:
        """Path of calls below the base address."""
        ...

    @property
    def root(self) -> str:
        """Path of the base address where it has none."""
        ...

    @property
    def limit(self) -> str:
        """Parameter with the largest number of tokens of an answer."""
        ...

    def headers(self, key: str) -> Mapping[str, str]:
        """The header with the key, and others that the API requires; an empty key has none."""
        ...

    def payload(self, call: GenerateCall, *, model: str, options: Options) -> dict[str, Any]:
        """The request for a call."""
        ...

    def read(self, value: Mapping[str, Any]) -> ServiceAnswer:
        """The content of an answer.

        Raises:
            NoAnswerError: an error, or no answer.
            WrongAnswerError: no answer of this API.
        """
        ...

    def assembled(self, events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """The answer whose events these are.

        Raises:
            NoAnswerError: the events have an error, or break off.
        """
        ...


def refuse_error(value: Mapping[str, Any], *, wanted: str) -> None:
    """Raise the error that an answer reports.

    Raises:
        NoAnswerError: the answer has an `error`; its message says which part, `wanted`, is missing.
    """
    if (error := error_in(dict(value))) is not None:
        raise NoAnswerError(f"is an error and no {wanted}: {error.rstrip('.')}", error=dict(value))


def mappings(value: object) -> list[Mapping[str, Any]]:
    """The objects in a list; none if it is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def text_of(content: object) -> str:
    """The text of a message's content: a text, null, or a list of parts, of which the texts are joined.

    Raises:
        WrongAnswerError: the content is none of them.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, Mapping | str) for part in content):
        texts = [
            part if isinstance(part, str) else part.get("text")
            for part in content
            if isinstance(part, str) or part.get("type") in _TEXT_PARTS
        ]
        if all(isinstance(text, str) for text in texts):
            return "".join(texts)
    raise WrongAnswerError('has no text as "content" of its message')


def arguments_of(value: object) -> str:
    """The arguments of a call as the text of a JSON object."""
    return value if isinstance(value, str) else json.dumps({} if value is None else value, ensure_ascii=False)


def word_of(value: object) -> str:
    """A name or identifier; empty if it is no text."""
    return value if isinstance(value, str) else ""


def messages_of(call: GenerateCall) -> list[dict[str, str]]:
    """The conversation as the APIs of OpenAI write it."""
    return [{"role": message.role, "content": message.content} for message in call.messages]


def sampling_of(call: GenerateCall, *, options: Options) -> dict[str, Any]:
    """Temperature, and at a temperature above 0 what else decides the sample."""
    sampling: dict[str, Any] = {"temperature": call.temperature}
    if call.temperature > 0:
        sampling |= {"top_p": call.top_p, "seed": call.seed}
    if options.seed is not None:
        sampling["seed"] = options.seed + (call.seed if call.temperature > 0 else 0)
    return sampling


def read_usage(value: object) -> Usage | None:
    """The tokens of an answer; None if its counts are missing or invalid. Invalid details count as 0.

    Chat Completions and Responses count cached tokens among those of the prompt; Anthropic's API counts them apart.
    Some services count reasoning apart from the completion, which the total shows.
    """
    if not isinstance(value, Mapping):
        return None
    prompt = _count(value, "prompt_tokens", "input_tokens")
    completion = _count(value, "completion_tokens", "output_tokens")
    if prompt is None or completion is None:
        return None
    cached = _detail(value, ("prompt_tokens_details", "input_tokens_details"), "cached_tokens")
    cached = cached or _count(value, "prompt_cache_hit_tokens") or 0
    apart = [_count(value, name) or 0 for name in ("cache_read_input_tokens", "cache_creation_input_tokens")]
    if any(apart):
        prompt, cached = prompt + sum(apart), apart[0]
    details = ("completion_tokens_details", "output_tokens_details")
    reasoning = _detail(value, details, "reasoning_tokens") or _detail(value, details, "thinking_tokens")
    if reasoning and _count(value, "total_tokens") == prompt + completion + reasoning:
        completion += reasoning
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=min(cached, prompt),
        reasoning_tokens=min(reasoning, completion),
    )


def _count(value: Mapping[str, Any], *names: str) -> int | None:
    count = next((value[name] for name in names if value.get(name) is not None), None)
    return count if type(count) is int and 0 <= count < _MOST_TOKENS else None


def _detail(value: Mapping[str, Any], places: Sequence[str], name: str) -> int:
    found = (value.get(place) for place in places)
    return next((_count(details, name) or 0 for details in found if isinstance(details, Mapping)), 0)
