"""Tool calls in the notation of ReAct agents: lines `Action: tool` and `Action Input: input`.

Grammar::

    text     = { section }
    section  = label ":" anything up to the next label
    label    = "Thought" | "Action" | "Action Input" | "Observation" | "Final Answer" | "AI"   (at the start of a line)
    input    = JSON object of {argument: value} | value { "," value }

The n-th call is `result-n`; the answers are the results that the final answer names, or else those that no call takes.
Observations are ignored, because nothing was executed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from evaluator.core.plans.literals import kind_of, load_literal
from evaluator.core.plans.model import ParsedPlan, PlanContext, PlanSyntaxError
from evaluator.replies.actions import inputs_of, tool_name
from evaluator.replies.calls import Call, plan_of_calls

THOUGHT, ACTION, INPUT, OBSERVATION = "Thought", "Action", "Action Input", "Observation"
FINAL = ("Final Answer", "AI")
_LABEL = re.compile(
    r"^[ \t]*\**(Thought|Action Input|Action|Observation|Final Answer|AI)[ \t]*\**[ \t]*:[ \t]*\**", re.MULTILINE
)
_RESULT = re.compile(r"result-[0-9]{1,4}(?:\.[A-Za-z_][A-Za-z0-9_]*)?")
_HAS_CALL = re.compile(r"^[ \t]*\**Action[ \t]*\**[ \t]*:.*\n\s*\**Action Input[ \t]*\**[ \t]*:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """One labelled part of a text."""

    label: str
    """Empty for the text before the first label."""
    text: str
    line: int
    """Number of the line, from 1."""
    end: int
    """End position in the text."""


def has_action_lines(text: str) -> bool:
    """Whether a text has an action with its input."""
    return _HAS_CALL.search(text) is not None


def parse_action_lines(*, text: str, context: PlanContext) -> ParsedPlan:
    """Parse action lines.

    Raises:
        PlanSyntaxError: an action has no input, or one that cannot be read.
    """
    sections = sections_of(text)
    calls = []
    records: list[str] = ["dialect: action lines"]
    for number, (action, given) in enumerate(pairs_of(sections), start=1):
        where = place(action)
        if given is None:
            raise PlanSyntaxError("no 'Action Input:' follows this action", where=where)
        tool = first_line(action.text)
        known = tool_name(written=tool, context=context, where=where, tolerated=[])
        arguments = arguments_in(
            given.text, names=tuple(inputs_of(tool=known, context=context)), where=where, tolerated=records
        )
        calls.append(Call(tool=tool, arguments=arguments, where=where, id=f"result-{number}"))
    observations = sum(section.label == OBSERVATION for section in sections)
    if observations:
        records.append(f"left out {observations} observations: nothing was executed")
    parsed = plan_of_calls(calls=calls, context=context, form="action lines", tolerated=records)
    made = {reference for step in parsed.plan.steps for reference in step.outputs.values()}
    firsts = {step.id: next(iter(step.outputs.values())) for step in parsed.plan.steps if step.outputs}
    named = [firsts.get(name, name) for name in _RESULT.findall(final_of(sections))]
    answers = tuple(dict.fromkeys(name for name in named if name in made))
    return replace(parsed, plan=replace(parsed.plan, answers=answers)) if answers else parsed


def head_of(text: str) -> str:
    """The text before the first label."""
    sections = sections_of(text)
    return sections[0].text if sections and not sections[0].label else ""


def arguments_in(written: str, *, names: tuple[str, ...], where: str, tolerated: list[str]) -> dict[str, object]:
    """The arguments of an action's input: a JSON object, or values in the order of the signature.

    Args:
        written: the input.
        names: arguments of the tool. The last value may contain commas.
        where: location, for errors.
        tolerated: gets what was tolerated.

    Raises:
        PlanSyntaxError: it begins like an object and is none.
    """
    if not written:
        return {}
    if not written.startswith("{"):
        values = [part.strip() for part in written.split(",", max(len(names) - 1, 0))]
        return {
            names[index] if index < len(names) else f"input{index}": (
                value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"`" else value
            )
            for index, value in enumerate(values)
        }
    try:
        value, notes = load_literal(written)
    except PlanSyntaxError as error:
        raise PlanSyntaxError(f"this input is no JSON object: {error}", where=where) from None
    if not isinstance(value, dict):
        raise PlanSyntaxError(f"an input is a JSON object or values, not {kind_of(value)}", where=where)
    tolerated += [f"{where}: {note}" for note in notes]
    return value


def sections_of(text: str) -> tuple[Section, ...]:
    """The labelled parts of a text in order; the text before the first label has the label ""."""
    labels = list(_LABEL.finditer(text))
    ends = [*(match.start() for match in labels[1:]), len(text)]
    head = text[: labels[0].start() if labels else len(text)].strip()
    sections = [Section(label="", text=head, line=1, end=len(head))] if head else []
    line, counted = 1, 0
    for match, end in zip(labels, ends, strict=False):
        line += text.count("\n", counted, match.start(1))
        counted = match.start(1)
        sections.append(Section(label=match[1], text=text[match.end() : end].strip(), line=line, end=end))
    return tuple(sections)


def place(section: Section) -> str:
    """Location of a section, for errors."""
    return f"line {section.line}"


def pairs_of(sections: Sequence[Section]) -> list[tuple[Section, Section | None]]:
    """Each `Action` with the `Action Input` directly after it, or None."""
    return [
        (section, after if after is not None and after.label == INPUT else None)
        for section, after in zip(sections, [*sections[1:], None], strict=False)
        if section.label == ACTION
    ]


def final_of(sections: Sequence[Section]) -> str:
    """The final answer; empty if there is none."""
    return next((section.text for section in reversed(sections) if section.label in FINAL), "")


def first_line(text: str) -> str:
    """The tool's name: the first line without quotes and brackets."""
    return text.split("\n", 1)[0].strip().strip("`'\"[]")
