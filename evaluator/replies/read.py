"""Selects the parser of a planner's reply.

========================================================  =====================================
value                                                     parser
========================================================  =====================================
null, or object whose `plan` is null                      `parse_abstention`
object with `solution`                                    `parse_controlllm`
object with `tool_calls`                                  `parse_tool_calls`
any other object                                          `parse_canonical`
list of texts, all of them names of tools                  `parse_comma`
list whose first object has `function`                    `parse_tool_calls`
list whose first object has `task` and `returns`          refused: a decomposition is no plan
list whose first object has `task`                        `parse_hugginggpt`
any other list                                            `parse_controlllm`
text that begins with `<Solution>`                        refused: a decomposition is no plan
text that begins with `Action(`, after any `[`            `parse_printed`
text that begins with `{` or `[`                          loaded, then as the object or list
text that begins with `(`                                 `parse_tree`
text that begins with `R1 =`, or `Action 1-1:` and `R1 =` `parse_lumos`
any other text                                            `parse_comma`
========================================================  =====================================

The envelope of a text (`evaluator.core.plans.envelope`) is removed first. Surrounding white space is ignored. A text
that begins with `{` or `[` is JSON; a Python literal of the same shape is tolerated and recorded.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from evaluator.core.plans.abstaining import is_abstention, parse_abstention
from evaluator.core.plans.envelope import after_prose, json_in, unfenced, without_marks, without_reasoning
from evaluator.core.plans.literals import kind_of, load_literal
from evaluator.core.plans.model import ParsedPlan, PlanContext, PlanSyntaxError
from evaluator.replies.canonical import parse_canonical
from evaluator.replies.comma import is_name, is_sequence, parse_comma, refuse_without_tool
from evaluator.replies.controlllm import parse_controlllm
from evaluator.replies.decomposition import OPENING
from evaluator.replies.hugginggpt import parse_hugginggpt
from evaluator.replies.lumos import looks_like_assignments, parse_lumos
from evaluator.replies.printed import parse_printed
from evaluator.replies.tool_calls import parse_tool_calls
from evaluator.replies.tree import parse_tree

_DECOMPOSITION = "this is a task decomposition, which says what to produce and not with which tools; it is no plan"


def read_plan(*, value: object, context: PlanContext) -> ParsedPlan:
    """Parse a plan in any accepted form, by the table of this module.

    Raises:
        PlanSyntaxError: it has none of the forms.
    """
    parsed = _read(value=value, context=context)
    # JSON can contain lone surrogates, but UTF-8, and so every digest and store, cannot.
    plan = parsed.plan
    for step in plan.steps:
        texts = (step.id, step.tool, *step.inputs, *step.inputs.values(), *step.outputs, *step.outputs.values())
        _refuse_half_character(texts, where=f"step {step.id!a}")
    _refuse_half_character((*plan.answers, *(plan.subgoals or ())), where="answers or subgoals")
    return parsed


def _read(*, value: object, context: PlanContext) -> ParsedPlan:
    if isinstance(value, str):
        return _read_text(text=value, context=context)
    if is_abstention(value):
        return parse_abstention(value)
    if isinstance(value, Mapping):
        if "solution" in value and "steps" not in value:
            return parse_controlllm(value=value, context=context)
        if "tool_calls" in value and "steps" not in value:
            return parse_tool_calls(value=value, context=context)
        return parse_canonical(value=value, context=context)
    if isinstance(value, list):
        return _read_list(items=value, context=context)
    raise PlanSyntaxError(f"a plan is a JSON object (plan/1), a list of calls or a text, not {kind_of(value)}")


def _read_list(*, items: list[object], context: PlanContext) -> ParsedPlan:
    first = items[0] if items else None
    if items and all(isinstance(item, str) and is_name(item, context=context) for item in items):
        return parse_comma(text=", ".join(map(str, items)), context=context)
    if isinstance(first, Mapping):
        if "function" in first:
            return parse_tool_calls(value=items, context=context)
        if ("task" in first or "task_domain" in first) and ("returns" in first or "return" in first):
            raise PlanSyntaxError(_DECOMPOSITION, where="[0]")
        if "task" in first:
            return parse_hugginggpt(value=items, context=context)
    return parse_controlllm(value=items, context=context)


def _read_text(*, text: str, context: PlanContext) -> ParsedPlan:
    text, notes = without_marks(text)
    try:
        if not _begins_as_plan(text):
            for step in (without_reasoning, unfenced):
                text, removed = step(text)
                notes += removed
        parsed = _read_in_prose(text=text, context=context)
    except PlanSyntaxError as error:
        error.tolerated = notes + error.tolerated
        raise
    return replace(parsed, tolerated=notes + parsed.tolerated)


def _read_in_prose(*, text: str, context: PlanContext) -> ParsedPlan:
    if _begins_as_plan(text):
        try:
            return _read_bare(text=text, context=context)
        except PlanSyntaxError as error:
            # The plan may be followed by prose.
            start = text.lstrip()
            embedded = None
            if start[0] in "{[" and not _begins_with_action(start):
                with suppress(PlanSyntaxError):
                    embedded = json_in(start)
            if embedded is None or not start.startswith(embedded[0]) or embedded[0] == start.rstrip():
                raise error from None
            return _noted(_read_bare(text=embedded[0], context=context), *embedded[1])
    for rest, words in after_prose(text):
        if _begins_as_plan(rest) and json_in(words) is None:
            with suppress(PlanSyntaxError):
                return _noted(_read_bare(text=rest, context=context), f"left out {words!r}")
    if (embedded := json_in(text)) is not None:
        return _noted(_read_bare(text=embedded[0], context=context), *embedded[1])
    if not is_sequence(text, context=context):
        for rest, words in after_prose(text):
            if is_sequence(rest, context=context):
                return _noted(_read_bare(text=rest, context=context), f"left out {words!r}")
    return _read_bare(text=text, context=context)


def _noted(parsed: ParsedPlan, *notes: str) -> ParsedPlan:
    return replace(parsed, tolerated=(*notes, *parsed.tolerated))


def _begins_as_plan(text: str) -> bool:
    start = text.lstrip()
    return start.startswith(("{", "[", "(", OPENING)) or _begins_with_action(start) or looks_like_assignments(text)


def _read_bare(*, text: str, context: PlanContext) -> ParsedPlan:
    start = text.lstrip()
    if start.startswith(OPENING):
        raise PlanSyntaxError(_DECOMPOSITION, where=f"character {len(text) - len(start) + 1}")
    if _begins_with_action(start):
        return parse_printed(text=text, context=context)
    if start.startswith(("{", "[")):
        value, tolerated = load_literal(text)
        parsed = _read(value=value, context=context)
        return replace(parsed, tolerated=tolerated + parsed.tolerated)
    if start.startswith("("):
        parsed = parse_tree(text=text, context=context)
        refuse_without_tool(text=text, names=parsed.plan.tools(), context=context)
        return parsed
    if looks_like_assignments(text):
        return parse_lumos(text=text, context=context)
    return parse_comma(text=text, context=context)


def _begins_with_action(text: str) -> bool:
    index = 0
    while index < len(text) and (text[index] == "[" or text[index].isspace()):
        index += 1
    return text.startswith("Action", index) and text[index + 6 :].lstrip().startswith("(")


def _refuse_half_character(texts: tuple[str, ...], *, where: str) -> None:
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise PlanSyntaxError("a text holds half a character (a lone surrogate)", where=where) from None
