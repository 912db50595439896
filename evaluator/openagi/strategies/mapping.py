"""Free text to plans, line by line, by similarity (OpenAGI, section 6.2).

Lines, by the first rule that applies::

    marked   = text with "Step" number ":" line anywhere, or "Step" number [ "." | ")" | "-" ] line at a line's start
    numbered = text with lines that begin with (number ("." | ")" | ":") | "-" | "*" | "•")
    listed   = line { ("," | ";" | "->" | "→") line }, over one line or several

Of a marked or numbered text only what is marked counts: what is before the first mark, and what explains a step on
further lines, is no step. Commas part steps only where nothing is marked. Nothing is dropped for what it says.

A line that holds the name of exactly one tool is that tool. Any other line is the tool most similar to it, or unmapped
where that similarity is below the measure's threshold: an unmapped line is shown, and calls nothing.
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
    """A tool to call, and what the text said about its input."""

    tool: str
    mentioned: tuple[str, ...] = ()
    """Resources of the request that were mentioned with it."""


def plan_of_calls(*, calls: Sequence[NamedCall], context: PlanContext) -> Plan:
    """The plan that calls these tools one after another; the answer is the first output of the last.

    A call is wired as in a comma sequence, with one exception: a tool of one input takes what has become of the one
    resource of that type that was mentioned with it. So `Fill Mask` on the document and `Fill Mask` on the query are
    two different steps, which a comma sequence cannot say.
    """
    wiring = _Wiring(context)
    steps = tuple(wiring.step(call=call, number=number) for number, call in enumerate(calls))
    return Plan(steps=steps, answers=tuple(steps[-1].outputs.values())[:1])


class _Wiring:
    """The frontier, and from which resources each of its values comes."""

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
"""Lines that are read. No plan needs as many."""
MAX_LINE = 300
"""Characters of a line that are read and shown."""
_STEP = re.compile(
    r"^[\s>*_#`-]*step[ \t]*\d+[ \t]*(?:[:.)\-–—]|[*_]*[ \t]*$)|\bstep[ \t]*\d+[ \t]*:",  # noqa: RUF001 - as models write
    re.IGNORECASE | re.MULTILINE,
)
_ITEM = re.compile(r"^\s*(?:[*_`]{0,3}\d{1,3}\s*[.):][*_`]{0,3}|[-*•–])\s+(?P<line>.*)$")  # noqa: RUF001 - as models write
_PARTING = re.compile(r"[,;\n]|->|→")
_DECORATION = " \t\r\n*_`#\"'.,;"


def step_lines(text: str) -> tuple[str, ...]:
    """The lines of a text that each say one step, in order, at most `MAX_LINES`."""
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
"""The mapper of a line that holds a tool's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedLine:
    """A line and what became of it."""

    text: str
    best: str | None
    """The tool most similar to it; None if it has nothing in common with any."""
    similarity: float
    mapper: str
    """`name`, or the name of the measure."""
    is_mapped: bool
    mentioned: tuple[str, ...]
    """Resources of the request whose names stand in it as words."""

    def to_json(self) -> dict[str, JsonValue]:
        """The line as the notes keep it."""
        return {
            "line": self.text,
            "best": self.best,
            "similarity": round(self.similarity, 4),
            "mapper": self.mapper,
            "mapped": self.is_mapped,
        }


def map_text(*, text: str, request: PlannerRequest, similarity: Similarity) -> tuple[MappedLine, ...]:
    """The lines of a free text, each with its tool."""
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
            # The most similar tool, of equals the one that is offered first.
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
        drops_repeats: of lines with the same tool and the same mentioned resources only the first counts.
    """
    calls = [
        NamedCall(tool=line.best, mentioned=line.mentioned)
        for line in lines
        if line.is_mapped and line.best is not None
    ]
    return tuple(dict.fromkeys(calls)) if drops_repeats else tuple(calls)


def _only_name(line: str, *, tools: Sequence[OfferedTool]) -> str | None:
    """The one tool whose name stands in a line. A name that is part of another name there does not count."""
    held = [tool.name for tool in tools if _holds(line, tool.name)]
    outermost = [name for name in held if not any(name != other and _holds(other, name) for other in held)]
    return outermost[0] if len(outermost) == 1 else None


def _holds(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(spelling(name))}(?!\w)", spelling(text)) is not None
