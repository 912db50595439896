"""Tool calls as JSON objects, by the keys that each service uses.

==========  ====================================================================  =============================
dialect     keys                                                                  source
==========  ====================================================================  =============================
openai      `function: {name, arguments}`, `id`                                   Chat Completions, Ollama, Cohere 2
responses   `type: function_call`, `name`, `arguments`, `call_id`                 Responses API
anthropic   `type: tool_use`, `name`, `input`, `id`                               Messages API
bedrock     `toolUse: {name, input, toolUseId}`                                   Converse API
gemini      `functionCall: {name, args, id}`                                      Gemini API
langchain   `type: tool_call`, `name`, `args`, `id`                               LangChain messages
cohere      `tool_name`, `parameters`, `tool_call_id`                             Command models
vercel      `toolName`, `input` or `args`, `toolCallId`                            Vercel's AI SDK
agent       `action`, `action_input`; `tool`, `tool_input`                        LangChain's JSON agent
parallel    `recipient_name: functions.<name>`, `parameters`                      OpenAI's multi_tool_use
named       `name` and one of `arguments`, `parameters`, `args`, `input`, `kwargs`  Hermes, Qwen, Mistral, Llama, xLAM
named       `function: <name>` and one of the same                                Llama, Granite
==========  ====================================================================  =============================
"""

from collections.abc import Callable, Mapping

from evaluator.core.plans.literals import a_text, kind_of
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.replies.calls import Call

JsonObject = Mapping[str, object]

_ARGUMENTS = ("arguments", "parameters", "args", "input", "kwargs")
_AGENT = (("action", "action_input"), ("tool", "tool_input"), ("tool_name", "tool_input"))
_CALL_TYPES = ("function", "tool_call", "function_call", "tool_use", "tool")


def kind_in(value: JsonObject, *kinds: str) -> bool:
    """Whether the `type` of an object is one of the given ones."""
    kind = value.get("type")
    return isinstance(kind, str) and kind in kinds


def dialect_of(value: object) -> str | None:
    """The dialect of an object that has the keys of a call; None for any other value."""
    if not isinstance(value, Mapping):
        return None
    return next((name for name, (has_keys, _) in _DIALECTS.items() if has_keys(value)), None)


def call_of(value: JsonObject, *, dialect: str, where: str) -> Call:
    """The call of an object in a dialect.

    Raises:
        PlanSyntaxError: a value has the wrong type.
    """
    _, read = _DIALECTS[dialect]
    return read(value, where)


def _openai(value: JsonObject, where: str) -> Call:
    if value.get("type", "function") != "function":
        raise PlanSyntaxError('the type of a call is "function"', where=f"{where}.type")
    function = value["function"]
    if not isinstance(function, Mapping):
        message = f"must be an object with name and arguments, not {kind_of(function)}"
        raise PlanSyntaxError(message, where=f"{where}.function")
    return _call(
        name=function.get("name"),
        arguments=function.get("arguments"),
        call_id=value.get("id"),
        where=where,
        key="function.name",
    )


def _reader(name: str, arguments: str, *ids: str, inside: str = "") -> Callable[[JsonObject, str], Call]:
    def read(value: JsonObject, where: str) -> Call:
        place = where
        if inside:
            content = value[inside]
            place = f"{where}.{inside}"
            if not isinstance(content, Mapping):
                raise PlanSyntaxError(f"must be an object with {name} and {arguments}", where=place)
            value = content
        call_id = next((value[key] for key in ids if value.get(key) is not None and value.get(key) != ""), None)
        return _call(name=value.get(name), arguments=value.get(arguments), call_id=call_id, where=place, key=name)

    return read


def _gemini_key(value: JsonObject) -> str | None:
    inner = value.get("function_call")
    if isinstance(inner, Mapping) and "args" in inner:
        return "function_call"
    return "functionCall" if "functionCall" in value else None


def _gemini(value: JsonObject, where: str) -> Call:
    return _reader("name", "args", "id", inside=_gemini_key(value) or "functionCall")(value, where)


def _vercel(value: JsonObject, where: str) -> Call:
    return _reader("toolName", "input" if "input" in value else "args", "toolCallId")(value, where)


def _agent_keys(value: JsonObject) -> tuple[str, str] | None:
    return next((keys for keys in _AGENT if value.keys() >= set(keys)), None)


def _agent(value: JsonObject, where: str) -> Call:
    return _reader(*(_agent_keys(value) or _AGENT[0]), "id")(value, where)


def _named(value: JsonObject, where: str) -> Call:
    key = "name" if "name" in value else "function"
    keys = [argument for argument in _ARGUMENTS if argument in value]
    if len(keys) > 1:
        raise PlanSyntaxError(f'"{keys[0]}" and "{keys[1]}" mean the same; give one of them', where=where)
    call_id = value.get("id", value.get("call_id", value.get("tool_call_id")))
    return _call(name=value[key], arguments=value[keys[0]], call_id=call_id, where=where, key=key)


def _call(*, name: object, arguments: object, call_id: object, where: str, key: str) -> Call:
    tool = a_text(name, f"{where}.{key}")
    if isinstance(call_id, int) and not isinstance(call_id, bool):
        call_id = str(call_id)
    return Call(
        tool=tool,
        arguments=arguments,
        where=where,
        id=None if call_id is None or call_id == "" else a_text(call_id, f"{where}.id"),
    )


_Keys = Callable[[JsonObject], bool]
_DIALECTS: dict[str, tuple[_Keys, Callable[[JsonObject, str], Call]]] = {
    "openai": (lambda value: "function" in value and not isinstance(value["function"], str), _openai),
    "responses": (
        lambda value: kind_in(value, "function_call", "custom_tool_call"),
        _reader("name", "arguments", "call_id", "id"),
    ),
    "anthropic": (
        lambda value: kind_in(value, "tool_use", "server_tool_use"),
        _reader("name", "input", "id"),
    ),
    "bedrock": (lambda value: "toolUse" in value, _reader("name", "input", "toolUseId", inside="toolUse")),
    "gemini": (lambda value: _gemini_key(value) is not None, _gemini),
    "cohere": (
        lambda value: "tool_name" in value and "parameters" in value,
        _reader("tool_name", "parameters", "tool_call_id", "id"),
    ),
    "vercel": (lambda value: "toolName" in value and ("input" in value or "args" in value), _vercel),
    "agent": (lambda value: _agent_keys(value) is not None, _agent),
    "parallel": (lambda value: "recipient_name" in value, _reader("recipient_name", "parameters", "id")),
    "langchain": (
        lambda value: kind_in(value, "tool_call") and "name" in value and "args" in value,
        _reader("name", "args", "id"),
    ),
    "named": (
        lambda value: (
            ("name" in value or isinstance(value.get("function"), str))
            and any(key in value for key in _ARGUMENTS)
            and ("type" not in value or value["type"] is None or kind_in(value, *_CALL_TYPES))
        ),
        _named,
    ),
}
