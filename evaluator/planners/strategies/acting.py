"""Calls written as lines `Action: tool` and `Action Input: input`, as agents of the ReAct kind write them.

Grammar::

    text     = { section }
    section  = label ":" anything up to the next label
    label    = "Thought" | "Action" | "Action Input" | "Observation" | "Final Answer" | "AI"      at the begin of a line
    input    = JSON object of {input: value} | value { "," value }
    value    = "$" resource | file name | "result-" number ["." output] | literal text

Values without names stand in the order of the tool's signature; the last may hold commas. `result-k` is the first
output of the k-th call, `result-k.name` another one. A result that no earlier call makes is kept as `$result-k`, a
resource that nobody gave, so that no literal is made of it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.literals import kind_of, load_literal
from evaluator.core.plans.model import ParsedPlan, PlanContext, PlanSyntaxError
from evaluator.planners.strategies.prompting import resource_named
from evaluator.replies.actions import Action, inputs_of, outputs_of, plan_of, tool_name

THOUGHT, ACTION, INPUT, OBSERVATION = "Thought", "Action", "Action Input", "Observation"
FINAL = ("Final Answer", "AI")
_LABEL = re.compile(r"^[ \t]*(Thought|Action Input|Action|Observation|Final Answer|AI)[ \t]*:[ \t]*", re.MULTILINE)
_RESULT = re.compile(r"result-[0-9]{1,4}(?:\.[A-Za-z_][A-Za-z0-9_]*)?")


@dataclass(frozen=True, slots=True)
class Section:
    """One labelled part of a text."""

    label: str
    """Empty for what stands before the first label."""
    text: str
    line: int
    """Counts from 1."""
    end: int
    """Where in the text it ends."""


def sections_of(text: str) -> tuple[Section, ...]:
    """The labelled parts of a text in order; what stands before the first label has the label ""."""
    found = list(_LABEL.finditer(text))
    ends = [*(match.start() for match in found[1:]), len(text)]
    head = text[: found[0].start() if found else len(text)].strip()
    sections = [Section(label="", text=head, line=1, end=len(head))] if head else []
    line, counted = 1, 0
    for match, end in zip(found, ends, strict=False):
        line += text.count("\n", counted, match.start(1))
        counted = match.start(1)
        sections.append(Section(label=match[1], text=text[match.end() : end].strip(), line=line, end=end))
    return tuple(sections)


class Calls:
    """The calls of one request as they are written, one after the other."""

    def __init__(self, *, request: PlannerRequest, context: PlanContext) -> None:
        self._request = request
        self._context = context
        self._actions: list[Action] = []
        self._results: set[str] = set()
        self.tolerated: list[str] = []

    def add(self, *, tool: str, written: str, where: str) -> Mapping[str, str]:
        """Add a call as it is written.

        Args:
            tool: the tool's name.
            written: the input.
            where: its place, for errors.

        Returns:
            The results' names and types, in the order of the signature; the type of an unknown tool's is "unknown".

        Raises:
            PlanSyntaxError: the input cannot be read.
        """
        name = tool_name(written=tool, context=self._context, where=where, tolerated=self.tolerated)
        inputs = {
            key: self._resolved(value)
            for key, value in self._arguments(tool=name, written=written, where=where).items()
        }
        kinds = outputs_of(tool=name, context=self._context)
        number = len(self._actions) + 1
        outputs = {
            output: f"result-{number}" if index == 0 else f"result-{number}.{output}"
            for index, output in enumerate(kinds or ("output0",))
        }
        self._actions.append(Action(tool=name, inputs=inputs, outputs=outputs, where=where))
        self._results.update(outputs.values())
        return {reference: str(kinds.get(output, "unknown")) for output, reference in outputs.items()}

    def plan(self, *, final: str, form: str) -> ParsedPlan:
        """The plan of all calls.

        Args:
            final: the last words; the results that they name are the answers. Where they name none, the answers are
                the results that no call takes.
            form: what the parsed plan says of its form.

        Raises:
            PlanSyntaxError: there are more calls than a plan may have.
        """
        parsed = plan_of(actions=self._actions, context=self._context, form=form, tolerated=self.tolerated)
        named = [match for match in _RESULT.findall(final) if match in self._results]
        if named:
            return replace(parsed, plan=replace(parsed.plan, answers=tuple(dict.fromkeys(named))))
        if not self._actions:
            return parsed
        note = "the final answer names no result; took those that no call takes"
        return replace(parsed, tolerated=(*parsed.tolerated, note))

    def _arguments(self, *, tool: str, written: str, where: str) -> dict[str, object]:
        names = tuple(inputs_of(tool=tool, context=self._context))
        if written.startswith("{"):
            return self._named(written=written, where=where)
        if not written:
            return {}
        parts = written.split(",", max(len(names) - 1, 0))
        return {
            names[index] if index < len(names) else f"input{index}": _unquoted(part) for index, part in enumerate(parts)
        }

    def _named(self, *, written: str, where: str) -> dict[str, object]:
        try:
            value, tolerated = load_literal(written)
        except PlanSyntaxError as error:
            raise PlanSyntaxError(f"this input is no JSON object: {error}", where=where) from None
        if not isinstance(value, dict):
            raise PlanSyntaxError(f"an input is a JSON object or values, not {kind_of(value)}", where=where)
        self.tolerated += [f"{where}: {note}" for note in tolerated]
        return value

    def _resolved(self, value: object) -> object:
        if isinstance(value, list):
            return [self._resolved(item) for item in value]
        if not isinstance(value, str):
            return value
        if _RESULT.fullmatch(value):
            return value if value in self._results else f"${value}"
        return resource_named(written=value, request=self._request) or value


def names_of_results(results: Mapping[str, str]) -> str:
    """Results with their types, as an observation or a list names them."""
    return ", ".join(f"{reference} ({kind})" for reference, kind in results.items())


def place(section: Section) -> str:
    """Where a section stands, for errors."""
    return f"line {section.line}"


def pairs_of(sections: Sequence[Section]) -> list[tuple[Section, Section | None]]:
    """Each `Action` with the `Action Input` that follows it at once, or None where none does."""
    return [
        (section, after if after is not None and after.label == INPUT else None)
        for section, after in zip(sections, [*sections[1:], None], strict=False)
        if section.label == ACTION
    ]


def final_of(sections: Sequence[Section]) -> str:
    """The last words, or nothing if there are none."""
    return next((section.text for section in reversed(sections) if section.label in FINAL), "")


def first_line(text: str) -> str:
    """A tool's name as it is written: what follows on further lines is no part of it."""
    return text.split("\n", 1)[0].strip().strip("`'\"[]")


def _unquoted(part: str) -> str:
    part = part.strip()
    return part[1:-1] if len(part) > 1 and part[0] == part[-1] and part[0] in "'\"`" else part
