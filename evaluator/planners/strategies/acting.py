"""Calls in the notation of ReAct agents: lines `Action: tool` and `Action Input: input`.

Grammar::

    text     = { section }
    section  = label ":" anything up to the next label
    label    = "Thought" | "Action" | "Action Input" | "Observation" | "Final Answer" | "AI"   (at the start of a line)
    input    = JSON object of {input: value} | value { "," value }
    value    = "$" resource | file name | "result-" number ["." output] | literal text

Values without names are in the order of the tool's signature; the last may contain commas. `result-k` is the first
output of the k-th call, `result-k.name` another one. A result of no earlier call becomes `$result-k`, an unknown
resource, so that it is not taken for a literal.
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
    """Empty for the text before the first label."""
    text: str
    line: int
    """Number of the line, from 1."""
    end: int
    """End position in the text."""


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


class Calls:
    """Collects the calls of one request into a plan."""

    def __init__(self, *, request: PlannerRequest, context: PlanContext) -> None:
        self._request = request
        self._context = context
        self._actions: list[Action] = []
        self._results: set[str] = set()
        self.tolerated: list[str] = []

    def add(self, *, tool: str, written: str, where: str) -> Mapping[str, str]:
        """Parse and add a call.

        Args:
            tool: name of the tool.
            written: text of the input.
            where: location, for errors.

        Returns:
            Names and types of the results, in the order of the signature; of type "unknown" for an unknown tool.

        Raises:
            PlanSyntaxError: the input is invalid.
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
            final: the final answer. The answers are the results that it names, or else the results that no call takes.
            form: name of the plan's form.

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
    """Results with their types, for observations and lists."""
    return ", ".join(f"{reference} ({kind})" for reference, kind in results.items())


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
