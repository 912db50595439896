"""The MCP tools of a suite: its own tools with typed schemas, and those that hand out tasks and take answers."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import OfferedTool

NEXT_TASK = "next_task"
SUBMIT_ANSWER = "submit_answer"
PROGRESS = "progress"
_RESERVED = frozenset({NEXT_TASK, SUBMIT_ANSWER, PROGRESS})
LONGEST_ARGUMENT = 65_536
"""Characters of one argument."""
_LONGEST_NAME = 60
_TEXT_LIKE = frozenset({"text", "category", "tags", "title", "html", "location", "weather", "time"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """A tool as an agent sees it."""

    name: str
    description: str
    schema: Mapping[str, JsonValue]
    """JSON Schema of its arguments."""
    calls: OfferedTool | None = None
    """The suite's tool that it calls; None: it belongs to the arena."""


def agent_tools(offered: Iterable[OfferedTool]) -> Mapping[str, AgentTool]:
    """The tools of an agent by name: the arena's, then the suite's in the order of its catalogue.

    Names of MCP tools have letters, digits, `_` and `-` only. A name that would be one of the arena's, or another
    tool's, gets a number.
    """
    found = {tool.name: tool for tool in _arena_tools()}
    for tool in offered:
        name = _free_name(tool.name, taken=found)
        found[name] = AgentTool(name=name, description=_description(tool), schema=_schema(tool), calls=tool)
    return found


def _arena_tools() -> tuple[AgentTool, ...]:
    answer: JsonValue = {
        "type": "string",
        "description": "The answer itself, or the name of the result that is the answer, such as R2.",
        "maxLength": LONGEST_ARGUMENT,
    }
    return (
        AgentTool(
            name=NEXT_TASK,
            description="Gives the next task: the request, its inputs, and what you may use. While a task is open it "
            "gives that one again, with everything that happened so far.",
            schema=_object({}),
        ),
        AgentTool(
            name=SUBMIT_ANSWER,
            description="Ends the open task with your answer. It cannot be changed afterwards.",
            schema=_object({"answer": answer}),
        ),
        AgentTool(
            name=PROGRESS,
            description="Says how many tasks are done and how many are left.",
            schema=_object({}),
        ),
    )


def _free_name(text: str, *, taken: Mapping[str, AgentTool]) -> str:
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_")[:_LONGEST_NAME] or "tool"
    numbered = (f"{plain}_{number}" for number in count(2))
    return plain if plain not in taken and plain not in _RESERVED else next(one for one in numbered if one not in taken)


def _description(tool: OfferedTool) -> str:
    gives = ", ".join(f"{name} ({kind})" for name, kind in tool.outputs.items())
    return f"{tool.description} Returns: {gives}." if gives else tool.description


def _schema(tool: OfferedTool) -> Mapping[str, JsonValue]:
    return _object({name: _property(kind) for name, kind in tool.inputs.items()})


def _property(kind: str) -> JsonValue:
    how = "A text, which may name earlier results such as R1" if kind in _TEXT_LIKE else "The name of an earlier result"
    return {
        "type": "string",
        "description": f"{how}, or an input of the task such as $name. Type: {kind}.",
        "maxLength": LONGEST_ARGUMENT,
    }


def _object(properties: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
