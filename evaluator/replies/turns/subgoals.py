"""Parser for planning replies: `Subgoal 1: ...; Subgoal 2: ...`, or `Yes, I will stop planning.`

Grammar, ignoring case::

    reply    = "Yes, I will stop planning" ["."] | [ "No, I will keep planning" ["."] ] subgoals
    subgoals = subgoal { (";" | line break) subgoal } [";"]
    subgoal  = "Subgoal" number ":" text

A text ends before the next `Subgoal` and number after `;` or a line break, and may contain both otherwise.

Tolerated and recorded: text after the stop; numbers that are not consecutive.
"""

import re
from dataclasses import replace

from evaluator.core.plans.literals import MAX_STEPS, short
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.replies.envelope import opened
from evaluator.replies.turns.model import Stop, Subgoal, Subgoals, TurnSyntaxError
from evaluator.replies.turns.scanning import MAX_TEXT, Source

MAX_SUBGOALS = MAX_STEPS
_STOP = re.compile(r"yes, ?i will stop planning\b[ \t]{0,9}\.?", re.IGNORECASE)
_KEEP = re.compile(r"no, ?i will keep planning\b[ \t]{0,9}\.?", re.IGNORECASE)
_HEAD = re.compile(r"Subgoal[ \t]{0,9}([0-9]{1,9})[ \t]{0,9}:", re.IGNORECASE | re.ASCII)
_FIRST = re.compile(r"^[ \t]*(?:(?:yes|no), ?i will |Subgoal[ \t]{0,9}[0-9])", re.IGNORECASE | re.MULTILINE)
_MARKDOWN = re.compile(
    r"^[ \t]*(?:[-*•#]{1,4}[ \t]+|[0-9]{1,3}[.)][ \t]+)?\*{0,2}(Subgoal[ \t]{0,9}[0-9]{1,9}[ \t]{0,9}:)\*{0,2}",
    re.IGNORECASE | re.MULTILINE,
)
"""A subgoal's head in bold, or as an item of a list."""
_NEXT = re.compile(r"[;\n][ \t\r]*Subgoal[ \t]{0,9}[0-9]{1,9}[ \t]{0,9}:", re.IGNORECASE | re.ASCII)


def read_plan_reply(text: str) -> Subgoals | Stop:
    """Parse a planning reply without its envelope, in linear time; TurnSyntaxError with the position of an error."""
    if len(text) <= MAX_TEXT:
        try:
            text, notes = opened(text)
        except PlanSyntaxError as error:
            raise TurnSyntaxError(error.message, place=Source(text).place(0)) from None
        text = _MARKDOWN.sub(r"\1", text)
        first = _FIRST.search(text)
        if first is not None and (prose := text[: first.start()].strip()):
            notes += (f"envelope: {len(prose)} characters of prose",)
            text = text[first.start() :]
        reply = _parsed(text)
        return replace(reply, tolerated=(*notes, *reply.tolerated))
    return _parsed(text)


def _parsed(text: str) -> Subgoals | Stop:
    source = Source(text)
    at = _skip(text, 0)
    stop = _STOP.match(text, at)
    if stop is not None:
        rest = text[stop.end() :].strip()
        return Stop((f"{source.place(stop.end())}: ignored {short(rest)} after the wish to stop",) if rest else ())
    keep = _KEEP.match(text, at)
    if keep is not None:
        at = _skip(text, keep.end())
    heads = [at]
    for match in _NEXT.finditer(text, at):
        if len(heads) == MAX_SUBGOALS:
            raise source.error(f"a reply has at most {MAX_SUBGOALS} subgoals", offset=match.start())
        heads.append(_skip(text, match.start() + 1))
    subgoals: list[Subgoal] = []
    tolerated: list[str] = []
    for begin, end in zip(heads, [*heads[1:], len(text)], strict=True):
        head = _HEAD.match(text, begin)
        if head is None:
            form = "'Subgoal 1: ...' or 'Yes, I will stop planning.'"
            raise source.error(f"expected {form}; found {source.found(begin)}", offset=begin)
        content = text[head.end() : end].strip().removesuffix(";").rstrip()
        if not content:
            raise source.error(f"Subgoal {head[1]} has no text", offset=begin)
        subgoal = Subgoal(number=int(head[1]), text=content, place=source.place(begin))
        if subgoals and subgoal.number != subgoals[-1].number + 1:
            tolerated.append(f"{subgoal.place}: Subgoal {subgoal.number} after Subgoal {subgoals[-1].number}")
        subgoals.append(subgoal)
    return Subgoals(tuple(subgoals), tuple(tolerated))


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
