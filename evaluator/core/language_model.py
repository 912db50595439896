"""The interface of language models: each call gets a completion, or a typed failure.

A model answers many calls at once (`LanguageModel`), so that it can batch them, or one at a time without blocking a
thread (`ConcurrentLanguageModel`), as endpoints do. `driving.py` knows both; strategies know neither.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal, Protocol, runtime_checkable

from evaluator.core.canonical_json import JsonValue

MAX_BEAMS = 256


class Ability(StrEnum):
    """An ability that not every language model has."""

    GENERATE = "generate"
    """Continue a text freely."""
    SCORE = "score"
    """Compute the probabilities of given continuations."""
    CONSTRAIN = "constrain"
    """Continue a text only with names that a `Constraint` allows, and search several beams."""
    CALL_TOOLS = "call_tools"
    """Answer with calls of tools whose definitions accompany the call."""

    @property
    def in_words(self) -> str:
        """The verb of a sentence about models that have it."""
        return self.value.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. A plain prompt is a single user message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool that a language model may call."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue] = field(hash=False)
    """JSON schema of the object of arguments."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool by a language model, as its service returned it."""

    id: str
    name: str
    arguments: str
    """The text of a JSON object, unless the model wrote something else."""


@dataclass(frozen=True, slots=True)
class Following:
    """The possible continuations of the names generated so far."""

    names: tuple[str, ...]
    may_end: bool


class Constraint(Protocol):
    """Which names a constrained completion may consist of; queried after every name."""

    @property
    def separator(self) -> str:
        """Stands between two names; no name contains it."""
        ...

    def following(self, written: tuple[str, ...]) -> Following:
        """The possible continuations; if there are none and the text may not end here, there is no completion."""
        ...


_STEP = 1_000_003
"""Difference between the seeds of two runs: a prime, so that strategies that count their samples share no seed."""
_SEEDS = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptLimit:
    """A prompt that must be short enough for a call to be made."""

    messages: tuple[Message, ...]
    """The prompt; not necessarily that of the call."""
    most_tokens: int
    """Largest number of tokens of its texts, as the model that answers the call counts them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateCall:
    """Continue a conversation."""

    messages: tuple[Message, ...]
    max_tokens: int = 512
    """Largest number of tokens of the completion."""
    temperature: float = 0.0
    """0: the most probable continuation, always the same."""
    top_p: float = 1.0
    seed: int = 0
    """Seed of the sampling at a temperature above 0."""
    stop: tuple[str, ...] = ()
    """The completion ends before the first of these."""
    constraint: Constraint | None = None
    beams: int = 1
    """How many of the most probable completions to search for; more than 1 needs a constraint."""
    tools: tuple[ToolDefinition, ...] = ()
    """Tools that the model may call; needs the ability `CALL_TOOLS`."""
    schema: Mapping[str, JsonValue] | None = field(default=None, hash=False)
    """JSON schema of the completion, for models that can keep to one; others ignore it."""
    role: str = ""
    """The strategy's role whose language model answers; empty: the planner's."""
    limit: PromptLimit | None = None
    """Checked before a model is asked: beyond it, the call fails with `PROMPT_TOO_LONG`."""

    def in_run(self, run: int) -> "GenerateCall":
        """The call in one of several runs of a planner, from 0: above temperature 0, each run has its own seed."""
        return replace(self, seed=(self.seed + run * _STEP) % _SEEDS) if run and self.temperature else self

    def problem(self) -> str | None:
        """Why no language model can answer the call, as a sentence, or None."""
        if self.max_tokens < 1:
            return f"A completion has at least one token; max_tokens is {self.max_tokens}."
        if not 1 <= self.beams <= MAX_BEAMS:
            return f"A search has 1 to {MAX_BEAMS} beams, not {self.beams}."
        if self.beams > 1 and (self.constraint is None or self.temperature > 0):
            return "Several beams need a constraint and the temperature 0."
        if self.temperature < 0 or not 0 < self.top_p <= 1:
            return f"The temperature is at least 0 and top_p in (0, 1], not {self.temperature} and {self.top_p}."
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreCall:
    """Compute the probability of each continuation of a conversation."""

    messages: tuple[Message, ...]
    continuations: tuple[str, ...]
    role: str = ""
    """See `GenerateCall.role`."""


Call = GenerateCall | ScoreCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one call or of several together."""

    prompt_tokens: int = 0
    """Tokens of the prompt, including cached ones."""
    completion_tokens: int = 0
    """Tokens of the completion, including those of reasoning."""
    cached_tokens: int = 0
    """Tokens of the prompt that the service read from its cache."""
    reasoning_tokens: int = 0
    """Tokens of the completion that the model spent on reasoning."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Beam:
    """One of several completions."""

    text: str
    log_probability: float
    """Sum over the tokens, not normalised; at most 0."""
    names: tuple[str, ...] = ()
    """The names that make up the text, if there was a constraint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The answer to a `GenerateCall`."""

    text: str
    usage: Usage = field(default_factory=Usage)
    truncated: bool = False
    """Whether it reached `max_tokens`."""
    beams: tuple[Beam, ...] = ()
    """The most probable first; empty for a single completion without a constraint."""
    calls: tuple[ToolCall, ...] = ()
    """The calls of tools, in the order of the model."""

    def transcript(self) -> str:
        """The text, and each call as JSON on a line of its own."""
        calls = (
            json.dumps({"id": call.id, "name": call.name, "arguments": call.arguments}, ensure_ascii=False)
            for call in self.calls
        )
        return "\n".join(filter(None, (self.text, *calls)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The answer to a `ScoreCall`."""

    log_probabilities: tuple[float, ...]
    """Of each continuation: sum over its tokens, at most 0."""
    usage: Usage = field(default_factory=Usage)


Answer = Completion | Scores


_ABOUT_LENGTH = re.compile(
    r"context[_ ]length|context[_ ]window|context size|maximum[_ ](context|model|sequence|input)[_ ]len|max_model_len|"
    r"(prompt|input|request|message|sequence)s? (is|are|was|has)? ?(too (long|large|many tokens)|longer than)|"
    r"too many (input |prompt )?tokens|reduce the length|exceeds? the (model'?s? )?max|string_above_max_length|"
    r"(input|prompt) (tokens?|length) .{0,40}exceed|exceed.{0,40}(token limit|tokens allowed)",
    re.IGNORECASE,
)


def is_about_length(text: str) -> bool:
    """Whether an error message of a language-model server says that the prompt is too long."""
    return _ABOUT_LENGTH.search(text[:4000]) is not None


class FailureKind(StrEnum):
    """Why there is no answer, which decides whose fault it is."""

    UNAVAILABLE = "unavailable"
    """Unreachable, overloaded or out of memory after all retries: `infra_fault`."""
    WRONG_ANSWER = "wrong_answer"
    """The response violates the protocol: `planner_fault`."""
    REFUSED = "refused"
    """The server rejects this call, for example with status 401: `planner_fault`."""
    PROMPT_TOO_LONG = "prompt_too_long"
    """Prompt and completion exceed the model's context: `planner_fault`."""
    BROKEN = "broken"
    """The model fails at this call on any machine: `planner_fault`."""
    TIMEOUT = "timeout"
    """It took longer than the planner's time limit: `planner_fault`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a call has no answer."""

    kind: FailureKind
    message: str
    """A sentence."""
    tries: int = 1
    received: str | None = None
    """The beginning of the response, if there was one."""


class LanguageModelError(Exception):
    """A call failed; raised inside a strategy where it waits for the answer. It may catch this."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class LanguageModel(Protocol):
    """Answers many calls together. Called from one thread at a time."""

    name: str
    abilities: frozenset[Ability]

    def answer(self, calls: Sequence[Call]) -> list[Answer | Failure]:
        """One answer for each call, in order; a failing call does not affect the others."""
        ...

    def count_tokens(self, text: str) -> int:
        """Number of tokens of a text, or an estimate if the tokeniser is unknown (`identity` says so)."""
        ...

    def identity(self) -> Mapping[str, JsonValue]:
        """Everything that the answers depend on: kind, id, revision or digest of the weights, precision, template."""
        ...


@runtime_checkable
class ConcurrentLanguageModel(LanguageModel, Protocol):
    """Answers one call without blocking a thread: an endpoint."""

    async def answer_one(self, call: Call) -> Answer | Failure:
        """The answer to this call."""
        ...

    async def close(self) -> None:
        """Close its connections; called in the event loop that ran `answer_one`."""
        ...
