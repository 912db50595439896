"""The MCP tools of a suite: its own tools with typed schemas, and the arena's for tasks and answers."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import OfferedTool

NEXT_TASK = "next_task"
SUBMIT_ANSWER = "submit_answer"
PROGRESS = "progress"
LONGEST_ARGUMENT = 65_536
"""In characters."""
_LONGEST_NAME = 60
_TEXT_LIKE = frozenset({"text", "category", "tags", "title", "html", "location", "weather", "time"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """An MCP tool of an agent."""

    name: str
    description: str
    schema: Mapping[str, JsonValue]
    """JSON Schema of its arguments."""
    calls: OfferedTool | None = None
    """The suite's tool behind it; None: a tool of the arena."""


def agent_tools(offered: Iterable[OfferedTool]) -> Mapping[str, AgentTool]:
    """The tools of an agent by name: the arena's, then the suite's in the order of its catalogue.

    Names of MCP tools consist of letters, digits, `_` and `-`. A number distinguishes names that collide.
    """
    tools = {tool.name: tool for tool in _ARENA_TOOLS}
    for tool in offered:
        name = plain = re.sub(r"[^A-Za-z0-9_-]+", "_", tool.name).strip("_")[:_LONGEST_NAME] or "tool"
        numbers = count(2)
        while name in tools:
            name = f"{plain}_{next(numbers)}"
        results = ", ".join(f"{output} ({kind})" for output, kind in tool.outputs.items())
        description = f"{tool.description} Returns: {results}." if results else tool.description
        schema = _schema({argument: _argument(kind) for argument, kind in tool.inputs.items()})
        tools[name] = AgentTool(name=name, description=description, schema=schema, calls=tool)
    return tools


def _argument(kind: str) -> str:
    form = (
        "A text, which may name earlier results such as R1" if kind in _TEXT_LIKE else "The name of an earlier result"
    )
    return f"{form}, or an input of the task such as $name. Type: {kind}."


def _schema(arguments: Mapping[str, str]) -> Mapping[str, JsonValue]:
    """The JSON Schema of text arguments with these descriptions."""
    properties: dict[str, JsonValue] = {
        name: {"type": "string", "description": description, "maxLength": LONGEST_ARGUMENT}
        for name, description in arguments.items()
    }
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_ARENA_TOOLS = (
    AgentTool(
        name=NEXT_TASK,
        description="Gives the next task: the request, its inputs, and what you may use. While a task is open it "
        "gives that one again, with everything that happened so far.",
        schema=_schema({}),
    ),
    AgentTool(
        name=SUBMIT_ANSWER,
        description="Ends the open task with your answer. It cannot be changed afterwards.",
        schema=_schema({"answer": "The answer itself, or the name of the result that is the answer, such as R2."}),
    ),
    AgentTool(name=PROGRESS, description="Says how many tasks are done and how many are left.", schema=_schema({})),
)
