"""Text that language models put around a plan: reasoning, code fences, prose, end markers. All of it is recorded.

Grammar::

    text      = [reasoning] ( bare | fenced | prose ) { mark }
    reasoning = [ "<think>" ] any text "</think>"                             also `thinking`, `thought`, `reasoning`
    fenced    = [prose] "```" [label] plan ["```"] [prose]
    prose     = [words] JSON [words] | line plan | words ":" plan
    mark      = "<|im_end|>" | "<|eot_id|>" | "<|endoftext|>" | "<end_of_turn>" | "</s>" | ...

A text that begins like a plan is not searched, so that literals may contain any of these. If several fences or JSON
values could be the plan, the answer is ambiguous and none is read. Reasoning that never ends means that there is no
plan.
"""

import re
from collections.abc import Iterator

from evaluator.core.plans.literals import Scanner
from evaluator.core.plans.model import PlanSyntaxError

_TAGS = "think|thinking|thought|reasoning"
_OPENING = re.compile(rf"\s*<({_TAGS})>", re.IGNORECASE)
_CLOSING = re.compile(rf"</(?:{_TAGS})>", re.IGNORECASE)
_MARKS = re.compile(
    r"(?:\s*(?:<\|(?:im_end|eot_id|end|endoftext|end_of_text|eom_id|return)\|>|<end_of_turn>|<eos>|</s>))+\s*\Z"
)
_MARKS_WITHIN = 100
"""Length of the end of a text that is searched for marks."""
_FENCE = re.compile(r"`{3,}|~{3,}")
_LABEL = re.compile(r"[ \t]*(?:[\w+#.-]*[ \t]*\r?\n|[A-Za-z][\w+#.-]*[ \t]*(?=[{\[(]))")
_MOST_CANDIDATES = 50
"""Brackets in prose that are tried as the beginning of a JSON value."""


def without_reasoning(text: str) -> tuple[str, tuple[str, ...]]:
    """A text without the reasoning before it, and a note of what was left out.

    Raises:
        PlanSyntaxError: the reasoning never ends: the answer was cut off in it.
    """
    opening = _OPENING.match(text)
    if opening is None and text.lstrip()[:1] in ("{", "[", "("):
        return text, ()
    closings = list(_CLOSING.finditer(text))
    if opening is None and not closings:
        return text, ()
    if not closings:
        raise PlanSyntaxError(f"the reasoning after <{opening[1]}> never ends, so that there is no answer")  # type: ignore[index]  # an opening, or closings
    end = closings[-1].end()
    return text[end:], (f"left out {end} characters of reasoning",)


def without_marks(text: str) -> tuple[str, tuple[str, ...]]:
    """A text without a model's end markers, and a note of which were left out."""
    bare = text.rstrip()
    start = max(0, len(bare) - _MARKS_WITHIN)
    marks = _MARKS.search(bare[start:])
    return (bare[: start + marks.start()], (f"left out {marks[0].strip()}",)) if marks else (text, ())


def unfenced(text: str) -> tuple[str, tuple[str, ...]]:
    """The content of a text's only code fence, closed or not; a text without a fence is returned unchanged.

    Raises:
        PlanSyntaxError: there are several fences that are not empty.
    """
    if "```" not in text and "~~~" not in text:
        return text, ()
    pieces = _FENCE.split(text)
    blocks = [body for piece in pieces[1::2] if (body := _without_label(piece)).strip()]
    if len(blocks) != 1:
        many = f"there are {len(blocks)} code fences, and only one can be the plan" if blocks else "the fence is empty"
        raise PlanSyntaxError(many)
    if any(json_in(piece) is not None for piece in pieces[::2]):
        raise PlanSyntaxError("there is JSON outside of the code fence too, and only one of them can be the plan")
    around = sum(len(piece.strip()) for piece in pieces[::2])
    return blocks[0], (f"read a code fence; left out {around} characters around it",)


def _without_label(piece: str) -> str:
    label = _LABEL.match(piece)
    return piece[label.end() :] if label and piece[label.end() :].strip() else piece


def json_in(text: str) -> tuple[str, tuple[str, ...]] | None:
    """The one JSON value in prose that could be a plan, as its text; None if there is none.

    Raises:
        PlanSyntaxError: there are several, or one is cut off.
    """
    values = list(_values(text))
    if not values:
        return None
    if len(values) > 1:
        raise PlanSyntaxError(f"there are {len(values)} JSON values in the text, and only one can be the plan")
    start, end = values[0]
    around = len(text[:start].strip()) + len(text[end:].strip())
    return text[start:end], (f"left out {around} characters around the plan",) if around else ()


def _values(text: str) -> Iterator[tuple[int, int]]:
    scanner = Scanner(text)
    index, tried = 0, 0
    while tried < _MOST_CANDIDATES:
        starts = [at for at in (text.find("{", index), text.find("[", index)) if at >= 0]
        if not starts:
            return
        tried += 1
        scanner.index = start = min(starts)
        try:
            value = scanner.value()
        except PlanSyntaxError:
            if scanner.at_end():
                raise PlanSyntaxError("JSON in the text is cut off", where=scanner.places[start]) from None
            index = start + 1
            continue
        index = scanner.index
        is_list = isinstance(value, list) and any(isinstance(item, dict | list) for item in value)
        is_plan = isinstance(value, dict) or is_list
        if value and is_plan:
            yield start, index


def after_prose(text: str) -> Iterator[tuple[str, str]]:
    """The text after the first line, and the text after its first colon; each with what would be left out."""
    line, _, rest = text.strip().partition("\n")
    if rest.strip():
        yield rest, line
    words, _, rest_of_line = line.partition(":")
    if rest_of_line.strip():
        yield f"{rest_of_line}\n{rest}" if rest else rest_of_line, f"{words}:"
