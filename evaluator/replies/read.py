"""Reads whatever a language model or planner writes for a plan: value -> envelope removed -> dialect -> plan.

========================================================  ============================================
value                                                     parser
========================================================  ============================================
null, or object whose `plan` is null                      `parse_abstention`
message, response or list of calls (`replies.messages`)   its calls by `plan_of_calls`, or its text
object with `solution`                                    `parse_controlllm`
object whose only content is `plan`, `tools`, ...         its content
any other object                                          `parse_canonical`
list of texts                                             `parse_names`
list whose first object has `task` and `returns`          refused: a decomposition is no plan
list whose first object has `task`                        `parse_hugginggpt`
any other list                                            `parse_controlllm`
text that begins with `<Solution>`                        refused: a decomposition is no plan
text that begins with `Action(`, after any `[`            `parse_printed`
text that begins with `{` or `[`                          loaded, then as the object or list
text that begins with `(`                                 `parse_tree`
text that begins with `R1 =`, or `Action 1-1:` and `R1 =`  `parse_lumos`
text that begins with a call of a tool                    `dialects.pythonic`
text with the marks of a chat template                    `dialects.texts`
text with `Action:` and `Action Input:`                   `dialects.action_lines`
any other text                                            `parse_comma`
========================================================  ============================================

A text that is a plan from its first to its last character is read as it is, so that literals may contain anything.
Otherwise the envelope is removed (`evaluator.replies.envelope`): roles, reasoning, channels, answer tags, code fences
and prose. If what is left could be two different plans, none is read. What was removed is recorded as `envelope: ...`,
a dialect that no suite documents as `dialect: ...`. Leniency never changes an argument or a step.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from evaluator.core.plans.abstaining import is_abstention, parse_abstention
from evaluator.core.plans.literals import kind_of, load_json, load_literal, spelling
from evaluator.core.plans.model import ParsedPlan, PlanContext, PlanSyntaxError
from evaluator.replies.calls import Call, plan_of_calls
from evaluator.replies.canonical import is_remark, parse_canonical
from evaluator.replies.comma import is_sequence, parse_comma, parse_names, refuse_without_tool
from evaluator.replies.controlllm import parse_controlllm
from evaluator.replies.decomposition import OPENING
from evaluator.replies.dialects import action_lines, pythonic, texts
from evaluator.replies.envelope import (
    Block,
    Message,
    after_prose,
    answer_in_tags,
    blocks_of,
    channels,
    has_fence,
    json_values,
    server_sent_events,
    trimmed,
    without_reasoning,
)
from evaluator.replies.frontier import known_names
from evaluator.replies.hugginggpt import parse_hugginggpt
from evaluator.replies.lumos import looks_like_assignments, parse_lumos
from evaluator.replies.messages import Content, content_of, content_of_events
from evaluator.replies.printed import parse_printed
from evaluator.replies.tree import parse_tree

CALLS = "tool calls"
"""Form of plans from tool calls."""
MAX_TEXT = 1024 * 1024
"""Characters of a text that are read."""
_DECOMPOSITION = "this is a task decomposition, which says what to produce and not with which tools; it is no plan"
_WRAPPERS = ("plan", "answer", "output", "result", "response", "final_answer", "tools", "sequence")
"""Keys under which structured outputs put a plan."""
_PRINT = re.compile(r"^[ \t]*(?:print|final_answer)[ \t]*\(", re.MULTILINE)
_TUPLE = re.compile(r"""\(\s*(?:"[^"()]*"|'[^'()]*')(?:\s*,\s*(?:"[^"()]*"|'[^'()]*'))+\s*,?\s*\)\s*""")
_NAME_KEYS = ("tool", "name", "tool_name", "model", "action")
_NUMBER_KEYS = ("step", "order", "number", "index", "id")
_MOST_FENCES = 50
_MAX_NESTING = 6
"""Envelopes within envelopes."""


def read_plan(*, value: object, context: PlanContext) -> ParsedPlan:
    """Parse a plan in any accepted form, by the table of this module.

    Raises:
        PlanSyntaxError: it has none of the forms, is ambiguous, or is cut off.
    """
    return _checked(_Reader(context).value(value))


def read_message(*, calls: Sequence[Call], text: str, context: PlanContext) -> ParsedPlan:
    """Parse the plan of a message with tool calls and a text, or of its text if it has no calls.

    Raises:
        PlanSyntaxError: see `read_plan`; or there is neither call nor text, or the text is another plan than the calls.
    """
    if not calls and not text.strip():
        raise PlanSyntaxError("the message has neither a text nor a call")
    if not calls:
        return read_plan(value=text, context=context)
    return _checked(_Reader(context).calls(calls, outside=text, notes=()))


def _checked(parsed: ParsedPlan) -> ParsedPlan:
    # JSON can contain lone surrogates, but UTF-8, and so every digest and store, cannot.
    plan = parsed.plan
    for step in plan.steps:
        strings = (step.id, step.tool, *step.inputs, *step.inputs.values(), *step.outputs, *step.outputs.values())
        _refuse_half_character(strings, where=f"step {step.id!a}")
    _refuse_half_character((*plan.answers, *(plan.subgoals or ())), where="answers or subgoals")
    return replace(parsed, tolerated=tuple(dict.fromkeys(parsed.tolerated)))


class _Reader:
    def __init__(self, context: PlanContext) -> None:
        self._context = context
        self._nesting = 0

    def value(self, value: object) -> ParsedPlan:
        if isinstance(value, str):
            return self.text(value)
        if is_abstention(value):
            return parse_abstention(value)
        if isinstance(value, Mapping | list):
            content = content_of(value)
            if content is not None:
                return self._content(content)
        if isinstance(value, Mapping):
            if "solution" in value and "steps" not in value:
                return parse_controlllm(value=value, context=self._context)
            if (key := _wrapper(value)) is not None:
                notes = (f"envelope: object with {key!r}",)
                return self._inside(lambda: self.value(value[key]), notes=notes)
            return parse_canonical(value=value, context=self._context)
        if isinstance(value, list):
            return self._list(value)
        raise PlanSyntaxError(f"a plan is a JSON object (plan/1), a list of calls or a text, not {kind_of(value)}")

    def _list(self, items: list[object]) -> ParsedPlan:
        first = items[0] if items else None
        if items and all(isinstance(item, str) for item in items):
            return parse_names(names=[str(item) for item in items], context=self._context)
        if isinstance(first, Mapping):
            if ("task" in first or "task_domain" in first) and ("returns" in first or "return" in first):
                raise PlanSyntaxError(_DECOMPOSITION, where="[0]")
            if "task" in first:
                return parse_hugginggpt(value=items, context=self._context)
            if (names := _only_names(items)) is not None:
                notes = ("envelope: objects with a name only",)
                return self._inside(lambda: parse_names(names=names, context=self._context), notes=notes)
        return parse_controlllm(value=items, context=self._context)

    def _content(self, content: Content) -> ParsedPlan:
        if not content.calls:
            if not content.text.strip():
                cut = f"; it ended by {content.finish!r}" if content.finish else ""
                raise PlanSyntaxError(f"the message has neither a text nor a call{cut}", tolerated=content.notes)
            return self._inside(lambda: self.text(content.text), notes=content.notes)
        return self.calls(content.calls, outside=content.text, notes=content.notes)

    def calls(self, calls: Sequence[Call], *, outside: str, notes: tuple[str, ...]) -> ParsedPlan:
        parsed = plan_of_calls(calls=calls, context=self._context, form=CALLS, tolerated=notes)
        if not outside.strip():
            return parsed
        if self._is_other_plan(outside, than=parsed):
            raise _Ambiguous("there are calls and another plan in the text, and only one can be the plan")
        return _noted(parsed, f"envelope: {len(outside.strip())} characters of prose")

    def text(self, text: str) -> ParsedPlan:
        if len(text) > MAX_TEXT:
            raise PlanSyntaxError(f"the text has {len(text)} characters; at most {MAX_TEXT} are read")
        text, notes = trimmed(text)
        return self._inside(lambda: self._trimmed(text), notes=notes)

    def _trimmed(self, text: str) -> ParsedPlan:
        problem: PlanSyntaxError | None = None
        if self._begins_as_plan(text):
            try:
                return self._bare(text)
            except _Ambiguous:
                raise
            except PlanSyntaxError as error:
                problem = error
        if text[:1] == text.rstrip()[-1:] == '"':
            with suppress(PlanSyntaxError):
                inner = load_json(text)
                if isinstance(inner, str) and inner != text:
                    return self._inside(lambda: self.text(inner), notes=("envelope: text in quotes",))
        if (events := server_sent_events(text)) is not None:
            return self._content(content_of_events(events))
        if messages := channels(text):
            return self._channels(messages)
        opened, notes = without_reasoning(text)
        if opened != text:
            return self._inside(lambda: self.text(opened), notes=notes)
        try:
            return self._in_prose(text)
        except _Ambiguous:
            raise
        except PlanSyntaxError as error:
            # The error of a text that begins as a plan is the more precise one.
            raise (problem or error) from None

    def _in_prose(self, text: str) -> ParsedPlan:
        # Literals may contain marks, tags and fences.
        plain = _without_values(text)
        if texts.has_marks(plain):
            marked = texts.calls_in(text)
            if marked is not None:
                return self.calls(marked.calls, outside=marked.outside, notes=(f"dialect: {marked.dialect}",))
        if answer_in_tags(plain) is not None and (answer := answer_in_tags(text)) is not None:
            return self._inside(lambda: self.text(answer[0]), notes=answer[1])
        blocks, outside = blocks_of(text) if has_fence(plain) else ((), "")
        if blocks:
            return self._fenced(blocks, outside=outside)
        if action_lines.has_action_lines(text):
            parsed = action_lines.parse_action_lines(text=text, context=self._context)
            self._refuse_plan_beside(action_lines.head_of(text), than=parsed)
            return parsed
        for rest, words in after_prose(text):
            if self._begins_as_plan(rest) and not rest.lstrip().startswith(("{", "[{")) and not json_values(words):
                with suppress(PlanSyntaxError):
                    return _noted(self._bare(rest), f"envelope: {len(words)} characters of prose")
        values = json_values(text)
        if values:
            return self._embedded(text, values=values)
        return parse_comma(text=text, context=self._context)

    def _channels(self, messages: Sequence[Message]) -> ParsedPlan:
        calls = [
            Call(tool=message.recipient, arguments=message.text.strip(), where=f"message {number}")
            for number, message in enumerate(messages, start=1)
            if message.recipient
        ]
        final = "".join(message.text for message in messages if message.channel == "final" and not message.recipient)
        if calls:
            return self.calls(calls, outside=final, notes=("envelope: channels", "dialect: harmony"))
        if not final.strip():
            raise PlanSyntaxError("there is no message in the final channel")
        return self._inside(lambda: self.text(final), notes=("envelope: channels",))

    def _fenced(self, blocks: tuple[Block, ...], *, outside: str) -> ParsedPlan:
        final = [block for block in blocks if block.is_final]
        candidates = final if len(final) == 1 else list(blocks)
        if len(candidates) > _MOST_FENCES:
            raise PlanSyntaxError(f"there are {len(candidates)} code fences; at most {_MOST_FENCES} are read")
        plans: list[ParsedPlan] = []
        problem: PlanSyntaxError | None = None
        for block in candidates:
            try:
                plans.append(self._inside(lambda block=block: self.text(block.content), notes=()))  # type: ignore[misc]
            except PlanSyntaxError as error:
                if isinstance(error, _Ambiguous) or self._begins_as_plan(block.content):
                    problem = problem or error
                elif len(blocks) == 1:
                    problem = error
        if problem is not None:
            if len(candidates) == 1:
                raise problem
            raise _Ambiguous(f"there are {len(blocks)} code fences, and one of them cannot be read: {problem}")
        if not plans:
            raise PlanSyntaxError(f"none of the {len(blocks)} code fences is a plan")
        if any(parsed.plan != plans[0].plan for parsed in plans):
            raise _Ambiguous(f"there are {len(plans)} different plans in code fences, and only one can be the plan")
        if len(final) != 1:
            self._refuse_other_plan(outside, than=plans[0])
        left = len(outside.strip())
        notes = ["envelope: fence"] + ([f"envelope: {left} characters of prose"] if left else [])
        return _noted(plans[0], *notes)

    def _refuse_other_plan(self, outside: str, *, than: ParsedPlan) -> None:
        if any(self._is_other_plan(written, than=than) for written, _ in json_values(outside)):
            raise _Ambiguous("there is a plan outside of the code fence too, and only one can be the plan")
        if is_sequence(outside, context=self._context) and self._is_other_plan(outside, than=than):
            raise _Ambiguous("there are names outside of the code fence too, and only one can be the plan")

    def _refuse_plan_beside(self, outside: str, *, than: ParsedPlan) -> None:
        """Refuse a text beside a plan that begins as another one. Names alone are a summary rather than a plan."""
        if self._begins_as_plan(outside.strip()) and self._is_other_plan(outside, than=than):
            raise _Ambiguous("there is another plan beside this one, and only one can be the plan")

    def _is_other_plan(self, text: str, *, than: ParsedPlan) -> bool:
        try:
            return self._inside(lambda: self.text(text), notes=()).plan != than.plan
        except _Ambiguous:
            return True
        except PlanSyntaxError:
            return False

    def _embedded(self, text: str, *, values: list[tuple[str, int]]) -> ParsedPlan:
        loaded = [load_literal(written)[0] for written, _ in values]
        left = len(text.strip()) - sum(len(written) for written, _ in values)
        prose = (f"envelope: {left} characters of prose",) if left > len(values) else ()
        if len(values) > 1 and all(isinstance(value, Mapping) for value in loaded):
            contents = [content_of(value) for value in loaded]
            if all(content is not None and content.calls and not content.text for content in contents):
                calls = [call for content in contents if content is not None for call in content.calls]
                return self.calls(calls, outside="", notes=(*prose, "dialect: calls one after another"))
        plans: list[ParsedPlan] = []
        problem: PlanSyntaxError | None = None
        for value in loaded:
            try:
                plans.append(self._inside(lambda value=value: self.value(value), notes=()))  # type: ignore[misc]
            except PlanSyntaxError as error:
                problem = problem or error
        if problem is not None and (len(values) == 1 or not plans):
            raise problem
        if problem is not None or any(parsed.plan != plans[0].plan for parsed in plans):
            raise _Ambiguous(f"there are {len(values)} JSON values in the text, and only one can be the plan")
        self._refuse_plan_beside(_without_values(text), than=plans[0])
        return _noted(plans[0], *prose)

    def _begins_as_plan(self, text: str) -> bool:
        start = text.lstrip()
        if start.startswith(("{", "[", "(", OPENING)) or _begins_with_action(start) or looks_like_assignments(text):
            return True
        return self._begins_with_call(start)

    def _begins_with_call(self, text: str) -> bool:
        if looks_like_assignments(text) and _PRINT.search(text) is None:
            return False
        tool = pythonic.first_tool(text)
        return tool is not None and (tool in pythonic.OUTPUTS or spelling(tool) in known_names(self._context))

    def _bare(self, text: str) -> ParsedPlan:
        start = text.lstrip()
        if start.startswith(OPENING):
            raise PlanSyntaxError(_DECOMPOSITION, where=f"character {len(text) - len(start) + 1}")
        if _begins_with_action(start):
            return parse_printed(text=text, context=self._context)
        if self._begins_with_call(start):
            calls = pythonic.calls_of(text)
            return plan_of_calls(calls=calls, context=self._context, form=CALLS, tolerated=("dialect: pythonic",))
        if start.startswith(("{", "[")):
            value, tolerated = load_literal(text)
            return _noted(self._inside(lambda: self.value(value), notes=()), *tolerated)
        if _TUPLE.fullmatch(start) is not None:
            return self._bare(f"[{start.strip()[1:-1]}]")
        if start.startswith("("):
            parsed = parse_tree(text=text, context=self._context)
            refuse_without_tool(text=text, names=parsed.plan.tools(), context=self._context)
            return parsed
        if looks_like_assignments(text):
            return parse_lumos(text=text, context=self._context)
        return parse_comma(text=text, context=self._context)

    def _inside(self, read: Callable[[], ParsedPlan], *, notes: tuple[str, ...]) -> ParsedPlan:
        """Read what an envelope holds, with the notes on the envelope before the others."""
        if self._nesting > _MAX_NESTING:
            raise PlanSyntaxError(f"the plan is in more than {_MAX_NESTING} envelopes", tolerated=notes)
        self._nesting += 1
        try:
            return _noted(read(), *notes)
        except PlanSyntaxError as error:
            error.tolerated = notes + error.tolerated
            raise
        finally:
            self._nesting -= 1


class _Ambiguous(PlanSyntaxError):
    """A text could be two different plans, so that no other reading may be tried."""


def _wrapper(value: Mapping[object, object]) -> str | None:
    keys = [key for key in value if not is_remark(key)]
    if "plan" in keys:
        # Beside a plan, whatever can hold none, such as a number or the repeated task, is a remark.
        keys = [
            key
            for key in keys
            if key == "plan" or isinstance(value[key], dict | list) or key in _WRAPPERS or "plan" in str(key)
        ]
    if len(keys) != 1 or keys[0] not in _WRAPPERS:
        return None
    return str(keys[0]) if isinstance(value[keys[0]], Mapping | list | str) else None


def _only_names(items: Sequence[object]) -> list[str] | None:
    """The names of objects that have nothing but a name, and a number that counts them; None for other lists."""
    names: list[str] = []
    counts: list[object] = []
    for item in items:
        keys = [key for key in item if not is_remark(key) or key == "model"] if isinstance(item, Mapping) else []
        numbers = [key for key in keys if key in _NUMBER_KEYS]
        left = [key for key in keys if key not in numbers]
        if not isinstance(item, Mapping) or len(left) != 1 or left[0] not in _NAME_KEYS or len(numbers) > 1:
            return None
        if not isinstance(name := item[left[0]], str):
            return None
        names.append(name)
        counts += [item[key] for key in numbers]
    if counts and counts not in (list(range(len(items))), list(range(1, len(items) + 1))):
        return None
    return names


def _without_values(text: str) -> str:
    """A text without its JSON values, whose literals may contain anything."""
    try:
        values = json_values(text)
    except PlanSyntaxError:
        return text
    parts, begin = [], 0
    for written, start in values:
        parts.append(text[begin:start])
        begin = start + len(written)
    return "".join((*parts, text[begin:]))


def _noted(parsed: ParsedPlan, *notes: str) -> ParsedPlan:
    return replace(parsed, tolerated=(*notes, *parsed.tolerated)) if notes else parsed


def _begins_with_action(text: str) -> bool:
    index = 0
    while index < len(text) and (text[index] == "[" or text[index].isspace()):
        index += 1
    return text.startswith("Action", index) and text[index + 6 :].lstrip().startswith("(")


def _refuse_half_character(strings: tuple[str, ...], *, where: str) -> None:
    try:
        "".join(strings).encode()
    except UnicodeEncodeError:
        raise PlanSyntaxError("a text holds half a character (a lone surrogate)", where=where) from None
