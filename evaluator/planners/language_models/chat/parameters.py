"""The parameters that a model accepts, found by its refusals and remembered.

A service that refuses a parameter names it, in the field `param` of its error or in a sentence. The request is sent
again at once with the parameter renamed, lowered or left out, as are all later ones. What a plan's meaning depends on
(model, messages, tools) is never left out.
"""

import re
import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from cachetools import TTLCache

from evaluator.core.canonical_json import JsonValue

MOST_ADAPTATIONS = 8
"""Of one call."""
REASONING_TOKENS = 16_384
"""Limit of an answer of a reasoning model, unless its settings declare another."""
_OPTIONAL = (
    "temperature", "top_p", "seed", "stop", "stop_sequences", "response_format", "text", "output_config",
    "reasoning_effort", "reasoning", "thinking", "thinking_budget", "stream_options", "store", "stream",
)  # fmt: skip
_LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens")
_ENGLISH = frozenset({"text", "stop", "seed", "stream", "store", "reasoning"})
"""Parameters that are also words of sentences."""
_NESTED: Mapping[str, str] = {
    "effort": "reasoning",
    "reasoning.effort": "reasoning",
    "text.format": "text",
    "budget_tokens": "thinking",
    "json_schema": "response_format",
    "include_usage": "stream_options",
}
"""Parts of parameters by which errors name them."""
_REFUSED = re.compile(
    r"unsupported|not[ _](be )?(supported|allowed|permitted|available|accepted|recogni[sz]ed|compatible|valid|a valid)|"
    r"unrecogni[sz]ed|unknown|unexpected|deprecated|removed|only the default|does(n't| not) (support|accept|allow)|"
    r"extra[ _](inputs?|fields?|forbidden)|invalid[ _](parameter|argument|field|value|type)|"
    r"cannot (both )?(be )?(used|set|specif)|incompatible|may (only|not) be|must be (1|unset|omitted)|"
    r"forbidden|no such (parameter|field)|instead",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"at most|maximum|up to|less than or equal|no more than|<=|cannot exceed|too large|> *\d|supports only|limited to",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.-])\d{1,3}(?:,\d{3})+(?![\w.])|(?<![\w.-])\d{2,7}(?![\w])")
_LEAST_LIMIT = 16
_ONLY_ONE = re.compile(r"\bboth\b|only one", re.IGNORECASE)
_SYSTEM_ROLE = re.compile(
    r"(system.{0,40}(role|message|prompt|instruction)|role.{0,60}system)", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An error that may name a parameter."""

    text: str
    """Its message, or the whole answer; the first 4,000 characters count."""
    value: JsonValue = None
    """The answer, if it is JSON."""

    def names(self, parameter: str) -> bool:
        """Whether the error is about a parameter."""
        error = self.value.get("error") if isinstance(self.value, Mapping) else None
        param = error.get("param") if isinstance(error, Mapping) else None
        if isinstance(param, str) and param:
            return parameter in (param, re.split(r"[.\[]", param)[0])
        name = re.escape(parameter)
        words = rf"['\"`]{name}['\"`]|\b{name} (parameter|field|argument)|(parameter|field|argument)s?:? {name}\b"
        pattern = words if parameter in _ENGLISH else rf"(?<![\w.]){name}(?!\w)"
        return re.search(pattern, self.text[:4000]) is not None


class Parameters:
    """Requests to one model, fitted to what it accepts."""

    def __init__(
        self, *, most_tokens: int | None = None, reasons: bool | None = None, budget: int | None = None
    ) -> None:
        """Args:
        most_tokens: declared limit of answers in tokens.
        reasons: whether the model is declared to reason before it answers; None: found out.
        budget: tokens of reasoning beside those of the answer.
        """
        self.dropped: dict[str, None] = {}
        """Parameters that the model refuses."""
        self.renamed: dict[str, str] = {}
        """New names of parameters."""
        self._most_tokens = most_tokens
        self._reasons = reasons
        self._budget = budget or 0
        self._bound: int | None = None
        self._has_system = True
        self._has_schemas = True

    @property
    def reasons(self) -> bool:
        """Whether the model reasons before it answers, as declared or found."""
        return bool(self._reasons)

    def identity(self) -> dict[str, JsonValue]:
        """What requests differ in from those of the strategy; empty if in nothing."""
        shown: dict[str, JsonValue] = {}
        if self.dropped:
            shown["left_out"] = [*sorted(self.dropped)]
        if self.renamed:
            shown["renamed"] = dict(sorted(self.renamed.items()))
        if not self._has_system:
            shown["system_messages"] = "sent as the user's"
        if not self._has_schemas and "response_format" not in self.dropped:
            shown["response_format"] = "json_object"
        if self._reasons:
            shown["reasons"] = True
        if self._most_tokens is not None:
            shown["most_tokens"] = self._most_tokens
        elif self._reasons:
            shown["most_tokens"] = f"at least {REASONING_TOKENS}"
        if self._bound is not None:
            shown["most_tokens_of_the_service"] = self._bound
        return shown

    def limit(self, asked: int) -> int:
        """The largest number of tokens of an answer, of which the strategy asked for this many."""
        limit = self._most_tokens or (max(asked, REASONING_TOKENS) if self._reasons else asked)
        limit += self._budget
        return limit if self._bound is None else min(limit, self._bound)

    def fitted(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """A request as the model accepts it."""
        fitted: dict[str, Any] = {}
        for name, value in payload.items():
            if name not in self.dropped:
                new = self.renamed.get(name, name)
                fitted[new] = self.limit(value) if name in _LIMITS else value
        if not self._has_schemas and "response_format" in fitted:
            fitted["response_format"] = {"type": "json_object"}
        if not self._has_system and isinstance(fitted.get("messages"), list):
            fitted["messages"] = _without_system(fitted["messages"])
        return fitted

    def found_reasoning(self, sent: Mapping[str, Any], *, asked: int) -> bool:
        """Note that the model reasons; whether the limit of answers is now above that of a request.

        Args:
            sent: the request.
            asked: the limit that the strategy asked for.
        """
        if self._reasons is None:
            self._reasons = True
        return any(name in sent and sent[name] < self.limit(asked) for name in _LIMITS)

    def adapt(self, sent: Mapping[str, Any], *, refusal: Refusal) -> bool:
        """Leave out, rename or lower what was refused; whether another request may succeed.

        Args:
            sent: the request; another may have changed the parameters since.
            refusal: its error.
        """
        return self._adapt_limit(sent, refusal=refusal) or self._adapt_others(sent, refusal=refusal)

    def _adapt_limit(self, sent: Mapping[str, Any], *, refusal: Refusal) -> bool:
        name = next((name for name in _LIMITS if name in sent), None)
        if name is None or not any(refusal.names(limit) for limit in (name, *_LIMITS)):
            return False
        other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}.get(name)
        bound = self._bound_in(refusal.text, sent=int(sent[name]))
        if bound is not None:
            self._bound = min(bound, self._bound or bound)
            return True
        if other is None or not refusal.names(name) or not _REFUSED.search(refusal.text[:4000]):
            return False
        if "max_tokens" in self.dropped:
            return True
        source = next((old for old, new in self.renamed.items() if new == name), name)
        if source != name:
            # Both names were refused.
            del self.renamed[source]
            self.dropped[source] = None
            return True
        self.renamed[name] = other
        if self._reasons is None:
            # Only reasoning models of Chat Completions insist on the new name.
            self._reasons = True
        return True

    def _bound_in(self, text: str, *, sent: int) -> int | None:
        if not _BOUND.search(text[:4000]):
            return None
        numbers = [int(number.replace(",", "")) for number in _NUMBER.findall(text[:4000])]
        return max((number for number in numbers if _LEAST_LIMIT <= number < sent), default=None)

    def _adapt_others(self, sent: Mapping[str, Any], *, refusal: Refusal) -> bool:
        text = refusal.text[:4000]
        if _has_system(sent) and _SYSTEM_ROLE.search(text) and _REFUSED.search(text):
            self._has_system = False
            return True
        if not _REFUSED.search(text):
            return False
        named = [name for name in _OPTIONAL if name in sent and refusal.names(name)]
        named = named or [whole for part, whole in _NESTED.items() if whole in sent and refusal.names(part)]
        if {"temperature", "top_p"} <= {*named} and _ONLY_ONE.search(text):
            named.remove("temperature")
        for name in named:
            if name == "response_format" and sent[name].get("type") == "json_schema":
                self._has_schemas = False
            else:
                self.dropped[name] = None
        return bool(named)


class KnownParameters:
    """What models accept, for all planners of a process, so that each later one need not find it again. Thread-safe."""

    def __init__(self, *, models: int = 256, seconds: float = 3600.0) -> None:
        """Args:
        models: maximum number.
        seconds: how long it is known: another model may be served at the same address.
        """
        self._lock = threading.Lock()
        self._known: TTLCache[Hashable, Parameters] = TTLCache(maxsize=models, ttl=seconds)

    def of(self, model: Hashable, *, new: Callable[[], Parameters]) -> Parameters:
        """The parameters of a model, which its planners share; `new` makes those of an unknown one."""
        with self._lock:
            found = self._known.get(model)
            if found is None:
                found = self._known[model] = new()
            return found


def _has_system(sent: Mapping[str, Any]) -> bool:
    messages = sent.get("messages")
    return isinstance(messages, list) and any(message.get("role") == "system" for message in messages)


def _without_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """The conversation with its system messages before the first of the user."""
    system = [message["content"] for message in messages if message["role"] == "system"]
    turns = [dict(message) for message in messages if message["role"] != "system"]
    if not system:
        return turns
    if turns and turns[0]["role"] == "user":
        turns[0]["content"] = "\n\n".join((*system, turns[0]["content"]))
        return turns
    return [{"role": "user", "content": "\n\n".join(system)}, *turns]
