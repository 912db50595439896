"""The content of whole messages and responses, as services return them: text and tool calls.

Responses: Chat Completions (`choices`), Responses API (`output`), Anthropic (`content` blocks), Gemini (`candidates`,
`parts`), Bedrock (`output.message`), Ollama (`message`, `response`), LangChain (`kwargs` or `data` of a serialized
message), Vercel's AI SDK (`toolCalls`), text completions (`text`, `generated_text`, `generation`), and the events of a
stream. Reasoning and thoughts are left out and recorded. A list of calls is a message without text.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from evaluator.core.plans.literals import kind_of, load_json
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.replies.calls import Call
from evaluator.replies.dialects.objects import call_of, dialect_of, kind_in

_TEXT_TYPES = ("text", "output_text", "refusal", "message")
_REASONING_TYPES = ("thinking", "redacted_thinking", "reasoning", "reasoning_content", "summary_text")
_REASONING_KEYS = ("reasoning_content", "reasoning", "thinking", "reasoning_details")
_COMPLETIONS = (
    ("generated_text", frozenset({"generated_text", "details"})),
    ("generation", frozenset({"generation", "prompt_token_count", "generation_token_count", "stop_reason"})),
    ("text", frozenset({"text", "index", "logprobs", "finish_reason", "stop_reason", "prompt_logprobs", "token_ids"})),
)
"""Keys of text completions: the one with the text, and all."""
_OTHER_TURNS = ("user", "system", "tool", "developer", "human", "function")
_CALLS = ("tool_calls", "toolCalls")
_KWARGS = "additional_kwargs"
"""LangChain's key for what a service returned besides the text."""
_MAX_DEPTH = 8


@dataclass(slots=True)
class Content:
    """The text and the calls of a message."""

    texts: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    dialects: list[str] = field(default_factory=list)
    envelopes: list[str] = field(default_factory=list)
    finish: str = ""
    """The reason for its end, if any."""

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def notes(self) -> tuple[str, ...]:
        envelopes = tuple(f"envelope: {name}" for name in dict.fromkeys(self.envelopes))
        return envelopes + tuple(f"dialect: {name}" for name in dict.fromkeys(self.dialects) if name != "openai")


def content_of(value: object) -> Content | None:
    """The content of a message, response or list of calls; None if a value has the keys of none of them.

    Raises:
        PlanSyntaxError: it has the keys of one, and an item that is no part of it; `where` is the JSON path.
    """
    content = Content()
    return content if _read(value, where="", into=content, depth=0) else None


def text_of_message(value: object) -> object:
    """The text of a message or response without calls, in JSON or its text; any other value unchanged.

    Raises:
        PlanSyntaxError: see `content_of`.
    """
    loaded = value
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        with suppress(PlanSyntaxError):
            loaded = load_json(value)
    content = content_of(loaded) if isinstance(loaded, Mapping) else None
    return value if content is None or content.calls else content.text


def content_of_events(events: Iterable[str]) -> Content:
    """The content of a stream of Chat Completions, Responses or Messages events.

    Raises:
        PlanSyntaxError: an event is no JSON object, or reports an error; `where` is its number.
    """
    content = Content(envelopes=["event stream"])
    arguments: dict[str, dict[str, str]] = {}
    for number, event in enumerate(events, start=1):
        value = load_json(event)
        if not isinstance(value, Mapping):
            raise PlanSyntaxError(f"an event is a JSON object, not {kind_of(value)}", where=f"event {number}")
        if value.get("error") or value.get("type") == "error":
            raise PlanSyntaxError("the stream reports an error", where=f"event {number}")
        _add_event(value, content=content, calls=arguments)
    for number, call in enumerate(arguments.values(), start=1):
        if not call["name"]:
            raise PlanSyntaxError("the call names no tool", where=f"call {number}")
        content.calls.append(
            Call(tool=call["name"], arguments=call["arguments"], where=f"call {number}", id=call["id"] or None)
        )
        content.dialects.append("openai")
    return content


def _add_event(value: Mapping[str, object], *, content: Content, calls: dict[str, dict[str, str]]) -> None:
    kind = value.get("type")
    delta = value.get("delta")
    if kind == "response.output_text.delta" and isinstance(delta, str):
        content.texts.append(delta)
    elif kind == "response.output_item.done" and dialect_of(value.get("item")) == "responses":
        _read(value["item"], where="item", into=content, depth=1)
    elif kind == "content_block_start" and isinstance(block := value.get("content_block"), Mapping):
        if block.get("type") == "tool_use":
            calls[str(value.get("index"))] = {"id": _text(block, "id"), "name": _text(block, "name"), "arguments": ""}
    elif kind == "content_block_delta" and isinstance(delta, Mapping):
        if delta.get("type") == "text_delta":
            content.texts.append(_text(delta, "text"))
        elif delta.get("type") == "input_json_delta" and (call := calls.get(str(value.get("index")))) is not None:
            call["arguments"] += _text(delta, "partial_json")
    elif isinstance(choices := value.get("choices"), list):
        for choice in choices[:1]:
            _add_delta(choice.get("delta") if isinstance(choice, Mapping) else None, content=content, calls=calls)


def _add_delta(delta: object, *, content: Content, calls: dict[str, dict[str, str]]) -> None:
    if not isinstance(delta, Mapping):
        return
    if isinstance(delta.get("content"), str):
        content.texts.append(delta["content"])
    if any(delta.get(key) for key in _REASONING_KEYS):
        content.envelopes.append("reasoning")
    items = delta.get("tool_calls")
    for item in items if isinstance(items, list) else ():
        function = item.get("function") if isinstance(item, Mapping) else None
        if not isinstance(function, Mapping):
            raise PlanSyntaxError(f"a part of a call has a function with name and arguments, not {kind_of(function)}")
        call = calls.setdefault(str(item.get("index", 0)), {"id": "", "name": "", "arguments": ""})
        call["id"] = call["id"] or _text(item, "id")
        call["name"] += _text(function, "name")
        call["arguments"] += _text(function, "arguments")


def _text(value: Mapping[str, object], key: str) -> str:
    text = value.get(key)
    return text if isinstance(text, str) else ""


def _read(value: object, *, where: str, into: Content, depth: int) -> bool:
    """Add the content of a value; whether it has the keys of a message, a response or a call."""
    if depth > _MAX_DEPTH:
        raise PlanSyntaxError(f"messages nested more than {_MAX_DEPTH} deep", where=where)
    if isinstance(value, list):
        return _read_list(value, where=where, into=into, depth=depth)
    if not isinstance(value, Mapping) or "steps" in value or "solution" in value:
        return False
    if (inner := _inner(value)) is not None:
        key, content = inner
        into.envelopes.append("response")
        place = f"{where}.{key}".removeprefix(".")
        for reason in ("finish_reason", "stop_reason", "finishReason", "stopReason", "done_reason"):
            into.finish = str(value.get(reason) or into.finish)
        if not _read(content, where=place, into=into, depth=depth + 1):
            raise PlanSyntaxError("this is no message", where=place)
        return True
    if (completion := _completion(value)) is not None:
        into.envelopes.append("completion")
        into.texts.append(completion)
        into.finish = str(value.get("finish_reason") or value.get("stop_reason") or into.finish)
        return True
    if _is_message(value):
        _read_message(value, where=where, into=into, depth=depth)
        return True
    dialect = dialect_of(value)
    if dialect is None:
        return False
    into.calls.append(call_of(value, dialect=dialect, where=where or "call"))
    into.dialects.append(dialect)
    return True


def _inner(value: Mapping[str, object]) -> tuple[str, object] | None:
    """The key of a response under which its message is, with the message."""
    choices = value.get("choices", value.get("candidates"))
    if isinstance(choices, list) and choices:
        key = "choices" if "choices" in value else "candidates"
        if len(choices) > 1:
            raise PlanSyntaxError(f"there are {len(choices)} answers, and only one can be the plan", where=key)
        return f"{key}[0]", choices[0]
    if isinstance(value.get("tool_uses"), list):
        return "tool_uses", value["tool_uses"]
    if isinstance(parallel := value.get("parameters"), Mapping) and isinstance(parallel.get("tool_uses"), list):
        return "parameters.tool_uses", parallel["tool_uses"]
    if value.get("object") == "response" or (
        isinstance(value.get("output"), list | Mapping) and ("model" in value or "stopReason" in value)
    ):
        return "output", value.get("output")
    if isinstance(value.get("message"), Mapping) and value.keys().isdisjoint({"plan", "tool"}):
        return "message", value["message"]
    if isinstance(value.get("delta"), Mapping) and "index" in value:
        return "delta", value["delta"]
    if value.get("lc") == 1 and isinstance(value.get("kwargs"), Mapping):
        return "kwargs", value["kwargs"]
    if kind_in(value, "ai", "AIMessage") and isinstance(value.get("data"), Mapping):
        return "data", value["data"]
    if isinstance(value.get("content"), Mapping) and "parts" in value["content"]:  # type: ignore[operator]  # checked
        return "content", value["content"]
    return None


def _completion(value: Mapping[str, object]) -> str | None:
    """The text of a completion; None for any other value."""
    if "done" in value and isinstance(text := value.get("response"), str):  # Ollama
        return text
    for key, keys in _COMPLETIONS:
        if isinstance(text := value.get(key), str) and value.keys() <= keys and (key != "text" or len(value) > 1):
            return text
    return None


def _is_message(value: Mapping[str, object]) -> bool:
    if not value.keys().isdisjoint(_CALLS) or isinstance(value.get("parts"), list):
        return True
    if isinstance(value.get("function_call"), Mapping) and "args" not in value["function_call"]:  # type: ignore[operator]  # checked
        return True
    return "content" in value and (value.get("role") in ("assistant", "model", "ai", None)) and "task" not in value


def _read_message(value: Mapping[str, object], *, where: str, into: Content, depth: int) -> None:
    if value.get("content") is not None or value.get("parts") is not None:
        into.envelopes.append("message")
    if any(value.get(key) for key in _REASONING_KEYS):
        into.envelopes.append("reasoning")
    for reason in ("stop_reason", "finish_reason"):
        into.finish = str(value.get(reason) or into.finish)
    for key in ("content", "parts", "refusal"):
        content = value.get(key)
        place = f"{where}.{key}".removeprefix(".")
        if isinstance(content, str):
            into.texts.append(content)
        elif isinstance(content, list):
            _read_parts(content, where=place, into=into, depth=depth + 1)
        elif content is not None:
            raise PlanSyntaxError(f"the content is a text or a list of parts, not {kind_of(content)}", where=place)
    if isinstance(kwargs := value.get(_KWARGS), Mapping) and not any(value.get(key) for key in _CALLS):
        value = {**{key: kwargs[key] for key in (*_CALLS, "function_call") if kwargs.get(key)}, **_without_calls(value)}
    key = next((key for key in _CALLS if value.get(key) is not None), _CALLS[0])
    place = f"{where}.{key}".removeprefix(".")
    calls = value.get(key)
    if calls is not None and not isinstance(calls, list):
        raise PlanSyntaxError(f"tool calls are a list, not {kind_of(calls)}", where=place)
    # LangChain repeats calls of the content as calls of the message.
    known = {call.id for call in into.calls if call.id is not None}
    for index, item in enumerate(calls or ()):
        here = f"{place}[{index}]"
        dialect = dialect_of(item)
        if not isinstance(item, Mapping) or dialect is None:
            raise PlanSyntaxError(f"this is no tool call but {kind_of(item)}", where=here)
        call = call_of(item, dialect=dialect, where=here)
        if call.id is None or call.id not in known:
            into.calls.append(call)
            into.dialects.append(dialect)
    function = value.get("function_call")
    if isinstance(function, Mapping):
        into.calls.append(call_of({"function": function}, dialect="openai", where=f"{where}.function_call".lstrip(".")))
        into.dialects.append("openai function_call")


def _without_calls(value: Mapping[str, object]) -> dict[str, object]:
    return {key: part for key, part in value.items() if key not in _CALLS}


def _read_list(items: list[object], *, where: str, into: Content, depth: int) -> bool:
    first = items[0] if items else None
    if not isinstance(first, Mapping):
        return False
    if first.get("role") in _OTHER_TURNS or (first.get("role") and "content" in first):
        answers = [item for item in items if isinstance(item, Mapping) and item.get("role") in ("assistant", "model")]
        if len(answers) != 1:
            message = f"there are {len(answers)} messages of the assistant, and only one can have the plan"
            raise PlanSyntaxError(message, where=where)
        return _read(answers[0], where=f"{where}[{items.index(answers[0])}]", into=into, depth=depth + 1)
    if not _is_part(first):
        return False
    _read_parts(items, where=where, into=into, depth=depth + 1)
    return True


def _is_part(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    if kind_in(value, *_TEXT_TYPES, *_REASONING_TYPES) or dialect_of(value) is not None or "generated_text" in value:
        return True
    return value.keys() <= {"text", "thought", "thoughtSignature"} or "reasoningContent" in value


def _read_parts(items: list[object], *, where: str, into: Content, depth: int) -> None:
    for index, item in enumerate(items):
        place = f"{where}[{index}]"
        if isinstance(item, str):
            into.texts.append(item)
            continue
        if not isinstance(item, Mapping):
            raise PlanSyntaxError(f"a part is a text or an object, not {kind_of(item)}", where=place)
        if kind_in(item, *_REASONING_TYPES) or item.get("thought") is True or "reasoningContent" in item:
            into.envelopes.append("reasoning")
        elif (dialect := dialect_of(item)) is not None:
            into.calls.append(call_of(item, dialect=dialect, where=place))
            into.dialects.append(dialect)
        elif kind_in(item, "message") and "content" in item:
            _read_message(item, where=place, into=into, depth=depth + 1)
        elif isinstance(text := item.get("text", item.get("refusal", item.get("generated_text"))), str):
            into.envelopes.append("content parts")
            into.texts.append(text)
        else:
            raise PlanSyntaxError(f"this part is neither a text nor a call, but {kind_of(item)}", where=place)
