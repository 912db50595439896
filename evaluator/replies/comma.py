"""Parser for OpenAGI's comma sequences: `Image Denoising, Image Deblurring, Image Captioning`.

Grammar::

    sequence = name { ("," | line break) name } [","]
    name     = any text without a comma; surrounding white space is ignored

A sequence specifies no data flow, so the steps are wired by the rule of `evaluator.replies.frontier`. The answer is the
first output of the last step. Other plans, for example with two texts corrected separately, need a tree or `plan/1`.

A text without the name of any tool is refused: a sentence is not a plan with one unknown tool.

Tolerated and recorded: empty names; names and aliases that differ in case, blanks, hyphens or underscores, or have
quotes, a number, a bullet or a full stop; line breaks instead of commas.
"""

import re
from collections.abc import Mapping, Sequence

from evaluator.core.naming import similar_names
from evaluator.core.plans.literals import short, spelling
from evaluator.core.plans.model import ParsedPlan, Plan, PlanContext, PlanSyntaxError
from evaluator.replies.frontier import known_names, resources_of, wire

FORM = "comma sequence"
MAX_NAMES = 100
_AROUND = re.compile(r"""^\s*(?:\(?\d{1,3}[.):]|[-*\u2022])?\s*["'`*]*|["'`*]*[.;]?["'`*]*\s*$""")
"""A number or bullet, quotes and marks, and a full stop."""
_LONGEST_NAME = 200
"""In characters, including white space."""


def parse_comma(*, text: str, context: PlanContext) -> ParsedPlan:
    """Parse a comma sequence and wire it. Unknown names become steps without inputs, for the checks to report.

    Raises:
        PlanSyntaxError: the text contains no name of a tool, or too many.
    """
    tolerated: list[str] = []
    names = _names(text=text, context=context, tolerated=tolerated)
    refuse_without_tool(text=text, names=names, context=context, tolerated=tolerated)
    frontier = resources_of(context)
    steps = tuple(
        wire(name=name, number=number, frontier=frontier, context=context) for number, name in enumerate(names)
    )
    answers = tuple(steps[-1].outputs.values())[:1]
    return ParsedPlan(plan=Plan(steps=steps, answers=answers), form=FORM, tolerated=tuple(tolerated))


def _names(*, text: str, context: PlanContext, tolerated: list[str]) -> list[str]:
    spellings = known_names(context)
    names = []
    position = 0
    for part in _parts(text, spellings=spellings):
        name = " ".join(part.split())
        known = _known(name, spellings=spellings)
        if not name:
            tolerated.append(f"character {position + 1}: ignored an empty name")
        elif known is not None and known != part.strip():
            tolerated.append(f"character {position + 1}: read {part.strip()!r} as {known!r}")
        if name:
            names.append(known or name)
        position += len(part) + 1
    if not names:
        raise PlanSyntaxError("the plan is empty: it names no tool", tolerated=tuple(tolerated))
    if len(names) > MAX_NAMES:
        raise PlanSyntaxError(f"{len(names)} names; a plan has at most {MAX_NAMES}")
    return names


def is_sequence(text: str, *, context: PlanContext) -> bool:
    """Whether a text consists of names of tools only."""
    spellings = known_names(context)
    parts = [part for part in _parts(text, spellings=spellings) if part.strip()]
    return bool(parts) and all(_known(part, spellings=spellings) for part in parts)


def is_name(text: str, *, context: PlanContext) -> bool:
    """Whether a text is the name of a tool."""
    return _known(text, spellings=known_names(context)) is not None


def _parts(text: str, *, spellings: Mapping[str, str]) -> list[str]:
    """The names, also separated by lines if all of these are known."""
    lines = [line for line in text.splitlines() if line.strip()]
    by_line = [part for line in lines for part in line.rstrip().rstrip(",").split(",")]
    if len(lines) > 1 and all(_known(part, spellings=spellings) for part in by_line):
        return by_line
    return text.split(",")


def _known(name: str, *, spellings: Mapping[str, str]) -> str | None:
    """The tool of a name, verbatim or without the marks of lists and sentences."""
    tool = spellings.get(spelling(name))
    if tool is not None or len(name) > _LONGEST_NAME:
        return tool
    return spellings.get(spelling(_AROUND.sub("", name)))


def refuse_without_tool(
    *, text: str, names: Sequence[str], context: PlanContext, tolerated: Sequence[str] = ()
) -> None:
    """Raise PlanSyntaxError if none of the parsed names is a tool's: a sentence is no plan."""
    known = set(known_names(context).values())
    if not names or known.intersection(names):
        return
    near = similar_names(names[0], known, least=0.8) if len(names) == 1 else []
    hint = f"; did you mean {near[0]!r}?" if near else ""
    message = f"{short(' '.join(text.split()))} names no tool that is offered, so that it is no plan{hint}"
    raise PlanSyntaxError(message, tolerated=tuple(tolerated))
