"""Tool calls between the special tokens and tags of chat templates.

==========  =============================================================================  ====================
dialect     text                                                                           family
==========  =============================================================================  ====================
hermes      `<tool_call>` JSON `</tool_call>`                                              Hermes, Qwen
qwen-coder  `<function=name><parameter=key>` value `</parameter></function>`               Qwen3-Coder
glm         `<tool_call>name<arg_key>` key `</arg_key><arg_value>` value `</arg_value>...`  GLM
invoke      `<invoke name="..."><parameter name="...">` value `</parameter></invoke>`      Claude, MiniMax, DeepSeek
mistral     `[TOOL_CALLS]` JSON, or `[TOOL_CALLS]name[ARGS]` JSON                          Mistral
llama       `<|python_tag|>` JSON or calls; `<function=name>` JSON `</function>`           Llama 3, 4
deepseek    `<｜tool▁call▁begin｜>` ... `<｜tool▁sep｜>` ... `<｜tool▁call▁end｜>`              DeepSeek V3, R1
kimi        `<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>` JSON           Kimi K2
functionary `>>>name` JSON; `<|recipient|>name<|content|>` JSON                            Functionary
marked      JSON or Python calls between the marks of `_MARKS`                             others
==========  =============================================================================  ====================

JSON arguments may follow the tool's name, also in a code fence, as Hunyuan writes them. The last mark may be missing
where the content is JSON or Python, which shows that the call is complete.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from evaluator.core.plans.literals import Scanner, kind_of, short
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.replies.calls import Call
from evaluator.replies.dialects import pythonic
from evaluator.replies.envelope import BACKTICKS
from evaluator.replies.messages import content_of


@dataclass(frozen=True, slots=True)
class MarkedCalls:
    """The calls between the marks of a dialect."""

    dialect: str
    calls: tuple[Call, ...]
    outside: str
    """The text outside of the marks."""


_MARKS: dict[str, tuple[str, str]] = {
    "hermes": (r"<tool_call>", r"</tool_call>"),
    "tool_calls tag": (r"<tool_calls>", r"</tool_calls>"),
    "olmo": (r"<function_calls>(?=\s{0,9}[A-Za-z_]\w{0,99}\()", r"</function_calls>"),
    "function_call tag": (r"<function_call>", r"</function_call>"),
    "nemotron": (r"<TOOLCALL>", r"</TOOLCALL>"),
    "granite": (r"<\|tool_call\|>", r"<\|/tool_call\|>"),
    "lfm": (r"<\|tool_call_start\|>", r"<\|tool_call_end\|>"),
    "internlm": (r"<\|action_start\|>\s*(?:<\|plugin\|>)?", r"<\|action_end\|>"),
    "command": (r"<\|START_ACTION\|>", r"<\|END_ACTION\|>"),
    "llama 4": (r"<\|python_start\|>", r"<\|python_end\|>"),
    "llama": (r"<\|python_tag\|>", r"<\|e(?:om|ot)_id\|>"),
    "functionary": (r"\bfunctools(?=\s{0,9}\[)", r"\Z"),
}
"""Opening and closing marks of JSON or Python calls."""
_INVOKE = re.compile(r"<(?:[\w｜|]+[:｜|])?invoke name=\"(?P<name>[^\"<>]+)\">")
_INVOKE_END = re.compile(r"</(?:[\w｜|]+[:｜|])?invoke>")
_INVOKE_PARAMETER = re.compile(r"<(?:[\w｜|]+[:｜|])?parameter name=\"(?P<name>[^\"<>]+)\"(?P<more>[^<>]*)>")
_INVOKE_PARAMETER_END = re.compile(r"</(?:[\w｜|]+[:｜|])?parameter>")
_INVOKE_AROUND = re.compile(r"</?(?:[\w｜|]+[:｜|])?(?:function_calls|tool_calls?|tool_use)>")
_FUNCTION = re.compile(r"<function=(?P<name>[\w.:/ -]+)>")
_FUNCTION_END = re.compile(r"</function>")
_PARAMETER = re.compile(r"<parameter=(?P<name>[\w.-]+)>")
_PARAMETER_END = re.compile(r"</parameter>")
_GLM_NAME = re.compile(r"\s*(?P<name>[\w.-]+)\s*(?=<arg_key>|\Z)")
_GLM_PARAMETER = re.compile(r"<arg_key>(?P<name>[^<>]*)</arg_key>\s{0,9}<arg_value>")
_GLM_PARAMETER_END = re.compile(r"</arg_value>")
_MISTRAL = re.compile(r"\[TOOL_CALLS\]")
_MISTRAL_NAME = re.compile(r"\s*(?P<name>[A-Za-z_][\w.-]*)\s*(?:\[CALL_ID\](?P<id>[\w-]+)\s*)?(?:\[ARGS\])?\s*(?=\{)")
_DEEPSEEK = re.compile(r"<[｜|]tool[▁_]call[▁_]begin[｜|]>")
_DEEPSEEK_END = re.compile(r"<[｜|]tool[▁_]call[▁_]end[｜|]>")
_DEEPSEEK_SEPARATOR = re.compile(r"<[｜|]tool[▁_]sep[｜|]>")
_DEEPSEEK_AROUND = re.compile(r"<[｜|]tool[▁_](?:calls|outputs?)[▁_](?:begin|end)[｜|]>")
_DEEPSEEK_JSON = re.compile(rf"\s*(?:{BACKTICKS}(?:json)?\s*)?(?P<json>\{{.*\}})\s*(?:{BACKTICKS})?\s*", re.DOTALL)
_KIMI = re.compile(r"<\|tool_call_begin\|>")
_KIMI_ARGUMENTS = re.compile(r"<\|tool_call_argument_begin\|>")
_KIMI_END = re.compile(r"<\|tool_call_end\|>")
_KIMI_AROUND = re.compile(r"<\|tool_calls_section_(?:begin|end)\|>")
_FUNCTIONARY = re.compile(
    r"^>>>(?P<name>[A-Za-z_][\w.-]*)[ \t]*\n|<\|recipient\|>\s{0,9}(?P<recipient>[A-Za-z_][\w.-]*)\s{0,9}<\|content\|>",
    re.MULTILINE,
)
_FUNCTIONARY_AROUND = re.compile(r"<\|from\|>\s{0,9}assistant|<\|stop\|>")
_FUNCTIONARY_MARK = ">>>"
_TO_ALL = "all"
"""Functionary's recipient of texts."""
_NAME_AND_JSON = re.compile(
    rf"\s*(?P<name>[A-Za-z_][\w.-]*)\s*(?:{BACKTICKS}(?:json)?\s*)?(?P<json>\{{.*\}})\s*(?:{BACKTICKS})?\s*", re.DOTALL
)
_KIMI_ID = re.compile(r"\s*(?P<id>(?:functions\.)?(?P<name>[\w.-]+?)(?::\d+)?)\s*")


def has_marks(text: str) -> bool:
    """Whether a text has the opening mark of any dialect."""
    return _ANY.search(text) is not None


_EMPTY = re.compile(r"<tool_calls>\s*</tool_calls>")
"""What is left of marks around marks."""


def calls_in(text: str) -> MarkedCalls | None:
    """The calls of a text with the marks of a dialect; None if it has the marks of none.

    Raises:
        PlanSyntaxError: the content of the marks is no call, or is cut off; `where` is the position in the text.
    """
    for read in _READERS:
        marked = read(text)
        if marked is not None:
            if not marked.calls:
                raise PlanSyntaxError("there is no call between the marks")
            return replace(marked, outside=_EMPTY.sub("", marked.outside))
    return None


def _between(
    text: str, opening: re.Pattern[str], closing: re.Pattern[str], *, is_visibly_whole: bool = True
) -> tuple[list[tuple[re.Match[str], str]], str]:
    """The texts after each opening mark up to its closing mark, the next opening mark or the end; and the rest.

    Args:
        text: the text.
        opening: an opening mark.
        closing: a closing mark.
        is_visibly_whole: whether the content shows that it is complete, like JSON, so that the closing mark may be
            missing.

    Raises:
        PlanSyntaxError: a closing mark is missing that may not be.
    """
    bodies: list[tuple[re.Match[str], str]] = []
    outside: list[str] = []
    begin = 0
    openings = list(opening.finditer(text))
    for mark, limit in zip(openings, [*(mark.start() for mark in openings[1:]), len(text)], strict=False):
        outside.append(text[begin : mark.start()])
        end = closing.search(text, mark.end(), limit)
        if end is None and not is_visibly_whole:
            raise PlanSyntaxError(f"{short(mark[0])} is never closed", where=f"call {len(bodies) + 1}")
        bodies.append((mark, text[mark.end() : end.start() if end else limit]))
        begin = end.end() if end else limit
    outside.append(text[begin:])
    return bodies, "".join(outside)


def _parameters(
    body: str, opening: re.Pattern[str], closing: re.Pattern[str], *, where: str
) -> dict[str, tuple[re.Match[str], str]]:
    """The opening tag and the value of each parameter, by name.

    Raises:
        PlanSyntaxError: there is text outside of the parameters, a tag is never closed, or a name occurs twice.
    """
    found, outside = _between(body, opening, closing, is_visibly_whole=False)
    if left := outside.strip():
        raise PlanSyntaxError(f"expected a parameter, found {short(left)}", where=where)
    parameters: dict[str, tuple[re.Match[str], str]] = {}
    for tag, value in found:
        name = tag["name"].strip()
        if name in parameters:
            raise PlanSyntaxError(f"the parameter {short(name)} occurs twice", where=where)
        parameters[name] = (tag, value)
    return parameters


def _marked(text: str) -> MarkedCalls | None:
    for dialect, (opening, closing) in _MARKS.items():
        bodies, outside = _between(text, re.compile(opening), re.compile(closing))
        if not bodies:
            continue
        calls: list[Call] = []
        for number, (_, body) in enumerate(bodies, start=1):
            where = f"{dialect} call {number}"
            if _INVOKE.search(body) or _FUNCTION.search(body):
                return None
            if dialect in ("hermes", "glm") and (glm := _glm(body, where=where)) is not None:
                if len(bodies) > len(re.findall(closing, text)):
                    raise PlanSyntaxError("the call is never closed", where=where)
                dialect = "glm"
                calls.append(glm)
            else:
                calls += calls_in_body(body, where=where)
        return MarkedCalls(dialect, tuple(calls), outside)
    return None


def calls_in_body(body: str, *, where: str) -> Iterator[Call]:
    """The calls of a text that is JSON, several JSON values, or calls in Python.

    Raises:
        PlanSyntaxError: it is neither.
    """
    if pythonic.first_tool(body) is not None and not body.lstrip().startswith(("{", "[{")):
        yield from pythonic.calls_of(body)
        return
    if (named := _NAME_AND_JSON.fullmatch(body)) is not None:
        yield Call(tool=named["name"], arguments=named["json"], where=where)
        return
    scanner = Scanner(body)
    while not scanner.at_end():
        try:
            value = scanner.value()
        except PlanSyntaxError as error:
            raise PlanSyntaxError(
                f"the call cannot be read: {error.message}", where=f"{where}, {error.where}"
            ) from None
        content = content_of(value)
        if content is None or content.text:
            raise PlanSyntaxError(f"this is no call, but {kind_of(value)}", where=where)
        yield from content.calls
        while scanner.take(";") or scanner.take(","):
            pass


def _glm(body: str, *, where: str) -> Call | None:
    name = _GLM_NAME.match(body)
    if name is None:
        return None
    parameters = _parameters(body[name.end() :], _GLM_PARAMETER, _GLM_PARAMETER_END, where=where)
    arguments = {key: value for key, (_, value) in parameters.items()}
    return Call(tool=name["name"], arguments=arguments, where=where)


def _invoke(text: str) -> MarkedCalls | None:
    bodies, outside = _between(text, _INVOKE, _INVOKE_END, is_visibly_whole=False)
    if not bodies:
        return None
    calls = []
    for number, (mark, body) in enumerate(bodies, start=1):
        where = f"call {number}"
        parameters = _parameters(_INVOKE_AROUND.sub("", body), _INVOKE_PARAMETER, _INVOKE_PARAMETER_END, where=where)
        arguments: dict[str, object] = {
            name: _text_or_json(value, is_text='string="false"' not in tag["more"])
            for name, (tag, value) in parameters.items()
        }
        calls.append(Call(tool=mark["name"], arguments=arguments, where=where))
    return MarkedCalls("invoke", tuple(calls), _INVOKE_AROUND.sub("", outside))


def _function(text: str) -> MarkedCalls | None:
    if _FUNCTION.search(text) is None:
        return None
    # JSON shows that it is complete, parameters do not.
    dialect = "llama" if _PARAMETER.search(text) is None else "qwen-coder"
    bodies, outside = _between(text, _FUNCTION, _FUNCTION_END, is_visibly_whole=dialect == "llama")
    calls = []
    for number, (mark, body) in enumerate(bodies, start=1):
        where = f"call {number}"
        arguments: object = body.replace("</tool_call>", "").strip()
        if dialect == "qwen-coder" or not arguments:
            parameters = _parameters(str(arguments), _PARAMETER, _PARAMETER_END, where=where)
            arguments = {name: _unwrapped(value) for name, (_, value) in parameters.items()}
        calls.append(Call(tool=mark["name"].strip(), arguments=arguments, where=where))
    return MarkedCalls(dialect, tuple(calls), re.sub(r"</?tool_call>", "", outside))


def _unwrapped(value: str) -> str:
    return value.removeprefix("\n").removesuffix("\n")


def _text_or_json(value: str, *, is_text: bool) -> object:
    if is_text:
        return _unwrapped(value)
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return _unwrapped(value)


def _mistral(text: str) -> MarkedCalls | None:
    marks = list(_MISTRAL.finditer(text))
    if not marks:
        return None
    calls: list[Call] = []
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for number, (mark, end) in enumerate(zip(marks, ends, strict=True), start=1):
        body = text[mark.end() : end]
        name = _MISTRAL_NAME.match(body)
        where = f"mistral call {number}"
        if name is None:
            calls += calls_in_body(body, where=where)
        else:
            while name is not None:
                scanner = Scanner(body)
                scanner.index = name.end()
                calls.append(Call(tool=name["name"], arguments=scanner.value(), where=where, id=name["id"]))
                rest = body[scanner.index :]
                # Without a mark of its own, a further call is one only if its arguments have theirs.
                name, body = _MISTRAL_NAME.match(rest), rest
                if name is not None and "[ARGS]" not in name[0]:
                    name = None
            if body.strip():
                raise PlanSyntaxError(f"expected the end after a call, found {short(body.strip())}", where=where)
    return MarkedCalls("mistral", tuple(calls), text[: marks[0].start()])


def _deepseek(text: str) -> MarkedCalls | None:
    bodies, outside = _between(text, _DEEPSEEK, _DEEPSEEK_END)
    if not bodies or _INVOKE.search(text):
        return None
    calls = []
    for number, (_, body) in enumerate(bodies, start=1):
        separator = _DEEPSEEK_SEPARATOR.search(body)
        if separator is None:
            raise PlanSyntaxError("there is no separator between the call's name and arguments", where=f"call {number}")
        head, rest = body[: separator.start()].strip(), body[separator.end() :]
        if head == "function":
            head, _, rest = rest.partition("\n")
        arguments = _DEEPSEEK_JSON.fullmatch(rest)
        calls.append(
            Call(tool=head.strip(), arguments=arguments["json"] if arguments else rest.strip(), where=f"call {number}")
        )
    return MarkedCalls("deepseek", tuple(calls), _DEEPSEEK_AROUND.sub("", outside))


def _kimi(text: str) -> MarkedCalls | None:
    bodies, outside = _between(text, _KIMI, _KIMI_END)
    if not bodies:
        return None
    calls = []
    for number, (_, body) in enumerate(bodies, start=1):
        separator = _KIMI_ARGUMENTS.search(body)
        head = _KIMI_ID.fullmatch(body, 0, separator.start() if separator else len(body))
        if separator is None or head is None:
            raise PlanSyntaxError("the call has no arguments", where=f"call {number}")
        calls.append(
            Call(tool=head["name"], arguments=body[separator.end() :].strip(), where=f"call {number}", id=head["id"])
        )
    return MarkedCalls("kimi", tuple(calls), _KIMI_AROUND.sub("", outside))


def _functionary(text: str) -> MarkedCalls | None:
    marks = list(_FUNCTIONARY.finditer(text))
    calls: list[Call] = []
    outside = [text[: marks[0].start()]] if marks else []
    for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), len(text)], strict=False):
        name = mark["name"] or mark["recipient"]
        body = _FUNCTIONARY_AROUND.sub("", text[mark.end() : end]).strip()
        if name == _TO_ALL:
            outside.append(body)
        else:
            calls.append(Call(tool=name, arguments=body, where=f"call {len(calls) + 1}"))
    if not calls:
        return None
    if _FUNCTIONARY_MARK in outside[0]:
        raise PlanSyntaxError(f"{_FUNCTIONARY_MARK!r} before a tool's name must begin a line")
    return MarkedCalls("functionary", tuple(calls), _FUNCTIONARY_AROUND.sub("", "\n".join(outside)))


_READERS: tuple[Callable[[str], MarkedCalls | None], ...] = (
    _functionary,
    _kimi,
    _deepseek,
    _mistral,
    _marked,
    _invoke,
    _function,
)
_ANY = re.compile(
    "|".join(
        [*(opening for opening, _ in _MARKS.values())]
        + [mark.pattern for mark in (_KIMI, _DEEPSEEK, _MISTRAL)]
        + [r"^>>>[A-Za-z_]|<\|recipient\|>"]
        + [r"<(?:[\w｜|]+[:｜|])?invoke name=", r"<function="]
    ),
    re.MULTILINE,
)
"""The opening mark of any dialect."""
