"""Free text to names of tools, line by line, by similarity (OpenAGI, section 6.2).

A line that holds the name of exactly one tool is that tool. Any other line is the tool most similar to it, or unmapped
where that similarity is below the measure's threshold: an unmapped line is shown, and calls nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import OfferedTool, PlannerRequest
from evaluator.core.plans.literals import spelling
from evaluator.openagi.strategies.plan_building import NamedCall
from evaluator.openagi.strategies.reading import step_lines
from evaluator.openagi.strategies.similarity import Similarity

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
    names = [_only_name(line, tools=request.tools) for line in lines]
    unnamed = [line for line, name in zip(lines, names, strict=True) if name is None]
    compared = (
        dict(zip(unnamed, similarity.compare(lines=unnamed, tools=request.tools), strict=True)) if unnamed else {}
    )
    return tuple(
        _mapped(line=line, name=name, compared=compared, request=request, similarity=similarity)
        for line, name in zip(lines, names, strict=True)
    )


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


def _mapped(
    *,
    line: str,
    name: str | None,
    compared: Mapping[str, Sequence[float]],
    request: PlannerRequest,
    similarity: Similarity,
) -> MappedLine:
    mentioned = tuple(resource for resource in request.task.resources if _holds(line, resource))
    if name is not None:
        return MappedLine(text=line, best=name, similarity=1.0, mapper=BY_NAME, is_mapped=True, mentioned=mentioned)
    best, value = _best(similarities=compared[line], tools=request.tools)
    return MappedLine(
        text=line,
        best=best,
        similarity=value,
        mapper=similarity.name,
        is_mapped=best is not None and value >= similarity.threshold,
        mentioned=mentioned,
    )


def _best(*, similarities: Sequence[float], tools: Sequence[OfferedTool]) -> tuple[str | None, float]:
    """The most similar tool, of equals the one that is offered first."""
    value, index = max(((value, -index) for index, value in enumerate(similarities)), default=(0.0, 0))
    return (tools[-index].name, value) if value > 0 else (None, max(value, 0.0))


def _only_name(line: str, *, tools: Sequence[OfferedTool]) -> str | None:
    """The one tool whose name stands in a line. A name that is part of another name there does not count."""
    held = [tool.name for tool in tools if _holds(line, tool.name)]
    outermost = [name for name in held if not any(name != other and _holds(other, name) for other in held)]
    return outermost[0] if len(outermost) == 1 else None


def _holds(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(spelling(name))}(?!\w)", spelling(text)) is not None
