"""Maps free text to plans, line by line, by similarity (OpenAGI, section 6.2).

Lines, by the first rule that applies::

    marked   = text with "Step" number ":" line anywhere, or "Step" number [ "." | ")" | "-" ] line at a line's start
    numbered = text with lines that begin with (number ("." | ")" | ":") | "-" | "*" | "•")
    listed   = line { ("," | ";" | "->" | "→") line }, over one line or several

In a marked or numbered text only marked lines count, not the text before the first mark or further lines that explain a
step. Commas separate steps only if nothing is marked. No line is dropped because of its content.

A line that contains the name of exactly one tool is mapped to that tool. Any other line is mapped to the most similar
tool, or is unmapped if the similarity is below the measure's threshold. Unmapped lines are noted, and call no tool.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import OfferedTool, PlannerRequest
from evaluator.core.plans.literals import spelling
from evaluator.core.plans.model import Plan, PlanContext, Step
from evaluator.openagi.strategies.similarity import Similarity
from evaluator.replies.frontier import Value, resources_of, wire


@dataclass(frozen=True, slots=True)
class NamedCall:
    """A tool to call, with the resources in its line."""

    tool: str
    mentioned: tuple[str, ...] = ()
    """Resources of the request that the line mentions."""


def plan_of_calls(*, calls: Sequence[NamedCall], context: PlanContext) -> Plan:
    """The plan that calls these tools in order; the answer is the first output of the last.

    Calls are wired as in a comma sequence, except that a tool of one input takes the value derived from the one
    mentioned resource of that type. So `Fill Mask` on the document and `Fill Mask` on the query are different steps,
    which a comma sequence cannot express.
    """
    wiring = _Wiring(context)
    steps = tuple(wiring.step(call=call, number=number) for number, call in enumerate(calls))
    return Plan(steps=steps, answers=tuple(steps[-1].outputs.values())[:1])


class _Wiring:
    """The frontier, and the resources that each of its values is derived from."""

    def __init__(self, context: PlanContext) -> None:
        self._context = context
        self._frontier = resources_of(context)
        self._origins = {f"${name}": frozenset({name}) for name in context.resources}

    def step(self, *, call: NamedCall, number: int) -> Step:
        meant = self._meant(call)
        frontier = self._frontier if meant is None else [meant]
        step = wire(name=call.tool, number=number, frontier=frontier, context=self._context)
        if meant is not None:
            index = self._frontier.index(meant)
            self._frontier[index : index + 1] = frontier
        origins = frozenset[str]().union(*(self._origins[value] for value in step.inputs.values()))
        self._origins |= dict.fromkeys(step.outputs.values(), origins)
        return step

    def _meant(self, call: NamedCall) -> Value | None:
        tool = self._context.catalogue.tools.get(call.tool)
        if tool is None or len(tool.inputs) != 1:
            return None
        fitting = [
            value
            for value in self._frontier
            if value.type is tool.input_types[0] and self._origins[value.reference].intersection(call.mentioned)
        ]
        return fitting[0] if len(fitting) == 1 else None


MAX_LINES = 50
"""Maximum number of lines, more than any plan needs."""
MAX_LINE = 300
"""Maximum length of a line; the rest is ignored."""
_STEP = re.compile(
    r"^[\s>*_#`-]*step[ \t]*\d+[ \t]*(?:[:.)\-–—]|[*_]*[ \t]*$)|\bstep[ \t]*\d+[ \t]*:",  # noqa: RUF001 - as models write
    re.IGNORECASE | re.MULTILINE,
)
_ITEM = re.compile(r"^\s*(?:[*_`]{0,3}\d{1,3}\s*[.):][*_`]{0,3}|[-*•–])\s+(?P<line>.*)$")  # noqa: RUF001 - as models write
_PARTING = re.compile(r"[,;\n]|->|→")
_DECORATION = " \t\r\n*_`#\"'.,;"


def step_lines(text: str) -> tuple[str, ...]:
    """The lines of a text that describe steps, in order, at most `MAX_LINES`."""
    if _STEP.search(text):
        parts = [
            next((line for line in part.splitlines() if line.strip(_DECORATION)), "") for part in _STEP.split(text)[1:]
        ]
    elif items := [match["line"] for match in map(_ITEM.match, text.splitlines()) if match is not None]:
        parts = items
    else:
        parts = _PARTING.split(text)
    lines = (" ".join(part.split()).strip(_DECORATION)[:MAX_LINE].rstrip() for part in parts)
    return tuple(line for line in lines if line)[:MAX_LINES]


BY_NAME = "name"
"""The mapper of a line that contains a tool's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedLine:
    """A line and its tool."""

    text: str
    best: str | None
    """The most similar tool; None if no tool is similar."""
    similarity: float
    mapper: str
    """`name`, or the name of the measure."""
    is_mapped: bool
    mentioned: tuple[str, ...]
    """Resources of the request whose names it contains as words."""

    def to_json(self) -> dict[str, JsonValue]:
        """The line for the notes."""
        return {
            "line": self.text, "best": self.best, "similarity": round(self.similarity, 4), "mapper": self.mapper,
            "mapped": self.is_mapped,
        }  # fmt: skip


def map_text(*, text: str, request: PlannerRequest, similarity: Similarity) -> tuple[MappedLine, ...]:
    """The lines of a free text with their tools."""
    lines = step_lines(text)
    names = {line: _only_name(line, tools=request.tools) for line in lines}
    unnamed = [line for line in lines if names[line] is None]
    rows = similarity.compare(lines=unnamed, tools=request.tools) if unnamed else []
    compared = dict(zip(unnamed, rows, strict=True))
    mapped = []
    for line in lines:
        best, value, mapper = names[line], 1.0, BY_NAME
        is_named = best is not None
        if not is_named:
            # The most similar tool, or the first of several.
            values = compared[line]
            value, mapper = max(values, default=0.0), similarity.name
            best = request.tools[values.index(value)].name if value > 0 else None
            value = max(value, 0.0)
        mapped.append(
            MappedLine(
                text=line, best=best, similarity=value, mapper=mapper,
                is_mapped=is_named or (best is not None and value >= similarity.threshold),
                mentioned=tuple(resource for resource in request.task.resources if _holds(line, resource)),
            )
        )  # fmt: skip
    return tuple(mapped)


def calls_of(lines: Sequence[MappedLine], *, drops_repeats: bool) -> tuple[NamedCall, ...]:
    """The calls of the mapped lines.

    Args:
        drops_repeats: whether to drop repetitions of the same tool with the same mentioned resources.
    """
    calls = [
        NamedCall(tool=line.best, mentioned=line.mentioned)
        for line in lines
        if line.is_mapped and line.best is not None
    ]
    return tuple(dict.fromkeys(calls)) if drops_repeats else tuple(calls)


def _only_name(line: str, *, tools: Sequence[OfferedTool]) -> str | None:
    """The only tool whose name is in a line. A name that is part of another name does not count."""
    held = [tool.name for tool in tools if _holds(line, tool.name)]
    outermost = [name for name in held if not any(name != other and _holds(other, name) for other in held)]
    return outermost[0] if len(outermost) == 1 else None


def _holds(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(spelling(name))}(?!\w)", spelling(text)) is not None
