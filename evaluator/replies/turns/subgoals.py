"""Reader for planning replies: `Subgoal 1: ...; Subgoal 2: ...`, or `Yes, I will stop planning.`

Grammar, in any mix of case::

    reply    = "Yes, I will stop planning" ["."] | [ "No, I will keep planning" ["."] ] subgoals
    subgoals = subgoal { (";" | line break) subgoal } [";"]
    subgoal  = "Subgoal" number ":" text

A text ends where the next `Subgoal` and number begin after `;` or a line break, and may contain both otherwise.

Tolerated and recorded: text after the wish to stop; numbers that do not follow each other.
"""

import re

from evaluator.core.plans.literals import MAX_STEPS, short
from evaluator.replies.turns.model import Stop, Subgoal, Subgoals, TurnSyntaxError
from evaluator.replies.turns.scanning import Source

MAX_SUBGOALS = MAX_STEPS
_STOP = re.compile(r"yes, ?i will stop planning\b[ \t]{0,9}\.?", re.IGNORECASE)
_KEEP = re.compile(r"no, ?i will keep planning\b[ \t]{0,9}\.?", re.IGNORECASE)
_HEAD = re.compile(r"Subgoal[ \t]{0,9}([0-9]{1,9})[ \t]{0,9}:", re.IGNORECASE | re.ASCII)
_NEXT = re.compile(r"[;\n][ \t\r]*Subgoal[ \t]{0,9}[0-9]{1,9}[ \t]{0,9}:", re.IGNORECASE | re.ASCII)


def read_plan_reply(text: str) -> Subgoals | Stop:
    """Read a planning reply, in time that grows with its length.

    Raises:
        TurnSyntaxError: with the position.
    """
    source = Source(text)
    at = _skip(text, 0)
    stop = _STOP.match(text, at)
    if stop is not None:
        rest = text[stop.end() :].strip()
        return Stop((f"{source.place(stop.end())}: ignored {short(rest)} after the wish to stop",) if rest else ())
    keep = _KEEP.match(text, at)
    if keep is not None:
        at = _skip(text, keep.end())
    return _subgoals(source=source, at=at)


def _subgoals(*, source: Source, at: int) -> Subgoals:
    found: list[Subgoal] = []
    tolerated: list[str] = []
    heads = [at]
    for match in _NEXT.finditer(source.text, at):
        if len(heads) == MAX_SUBGOALS:
            raise source.error(f"a reply has at most {MAX_SUBGOALS} subgoals", offset=match.start())
        heads.append(_skip(source.text, match.start() + 1))
    for begin, end in zip(heads, [*heads[1:], len(source.text)], strict=True):
        found.append(_subgoal(source=source, begin=begin, end=end))
        if len(found) > 1 and found[-1].number != found[-2].number + 1:
            wanted = f"Subgoal {found[-1].number} after Subgoal {found[-2].number}"
            tolerated.append(f"{found[-1].place}: {wanted}")
    return Subgoals(tuple(found), tuple(tolerated))


def _subgoal(*, source: Source, begin: int, end: int) -> Subgoal:
    head = _HEAD.match(source.text, begin)
    if head is None:
        raise _unexpected(source=source, begin=begin)
    text = source.text[head.end() : end].strip().removesuffix(";").rstrip()
    if not text:
        raise source.error(f"Subgoal {head[1]} has no text", offset=begin)
    return Subgoal(number=int(head[1]), text=text, place=source.place(begin))


def _unexpected(*, source: Source, begin: int) -> TurnSyntaxError:
    wanted = "'Subgoal 1: ...' or 'Yes, I will stop planning.'"
    return source.error(f"expected {wanted}; found {source.found(begin)}", offset=begin)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
