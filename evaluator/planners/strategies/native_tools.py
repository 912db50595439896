"""Native tools: the catalogue as tool definitions of the language model's service, and the plan from its calls.

All calls of a plan are written in one message, before any of them has a result. So a value refers to another call by
its place, `call_1`, and never by the id that the service gives to it. Calls that a model writes into its text are read
like any other text (`evaluator.replies.read`).

A plan in which another step takes an answer too cannot be expressed, since the answers are the results that no call
takes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability, Completion, Message, ToolDefinition
from evaluator.core.planner import OfferedTool, PlannerRequest
from evaluator.core.plans.model import ParsedPlan, PlanContext, PlanSyntaxError
from evaluator.core.strategy import Conversation
from evaluator.core.tools.types import ResourceType
from evaluator.planners.strategies.prompting import (
    Prompt,
    answer_sentence,
    ask,
    closed_object,
    context_of,
    read_draft,
    refuse_too_long,
    resource_lines,
)
from evaluator.replies.calls import Call
from evaluator.replies.read import read_message

PROMPT = "native-tools/1"
_SYSTEM = """You plan work for a set of tools. Call all tools that the user's request needs, in one message: no call
runs before you have written all of them, so you see no results.

- The calls count in the order in which you write them: call_1, call_2, call_3, ...
- The value of an argument is something that is given, by its name; the result of an earlier call, as call_1, or as
  call_1.NAME if its tool has several results; or words, for an argument of the type text.
- The answers to the request are the results that no other call takes, in the order of the calls.
- Make as few calls as the request needs.
- If the tools cannot meet the request, call none and write {"plan": null, "reason": "why"}.
"""
_NOT_OF_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 64
"""Services accept letters, digits, `_` and `-`, at most so many."""


class NativeTools:
    """One message with calls of the service's tools."""

    name: ClassVar[str] = "native-tools"
    description: ClassVar[str] = (
        "Tool calling of the model's service: the tools as definitions, all calls of the plan in one message."
    )
    catalogue: ClassVar[str] = ""
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GENERATE, Ability.CALL_TOOLS})

    def converse(self, request: PlannerRequest) -> Conversation:
        """Ask once and read the calls, or the text if there are none."""
        given = f"Given:\n{resource_lines(request)}\n{answer_sentence(request)}"
        user = Message(role="user", content=f"{request.task.request}\n\n{given}")
        prompt = Prompt(name=PROMPT, messages=(Message(role="system", content=_SYSTEM), user))
        tools = Definitions.of(request)
        (answer,) = yield [ask(prompt, tools=tools.definitions)]
        assert isinstance(answer, Completion)
        parsed = read_calls(answer=answer, tools=tools, context=context_of(request))
        return read_draft(parsed=parsed, completions=[answer], prompt=PROMPT, notes={"calls": len(answer.calls)})


@dataclass(frozen=True, slots=True)
class Definitions:
    """The definitions of the offered tools."""

    definitions: tuple[ToolDefinition, ...]
    catalogue_names: Mapping[str, str]
    """The catalogue's name of each defined tool, which may have characters that services refuse."""

    @classmethod
    def of(cls, request: PlannerRequest) -> "Definitions":
        """The definitions of the tools of a request."""
        names: dict[str, str] = {}
        definitions = []
        for tool in request.tools:
            name = _free_name(tool.name, taken=names)
            names[name] = tool.name
            definitions.append(
                ToolDefinition(name=name, description=_description(tool), parameters=_parameters(tool.inputs))
            )
        return cls(definitions=tuple(definitions), catalogue_names=names)


def read_calls(*, answer: Completion, tools: Definitions, context: PlanContext) -> ParsedPlan | PlanSyntaxError:
    """The plan of a completion, or the error in it. Its steps are `call_1`, `call_2`, ..., whatever the calls' ids."""
    calls = [
        Call(
            tool=tools.catalogue_names.get(call.name, call.name),
            arguments=call.arguments,
            where=f"call {number}",
            id=f"call_{number}",
        )
        for number, call in enumerate(answer.calls, start=1)
    ]
    try:
        refuse_too_long(answer.transcript())
        return read_message(calls=calls, text=answer.text, context=context)
    except PlanSyntaxError as error:
        return error


def _free_name(name: str, *, taken: Mapping[str, str]) -> str:
    plain = _NOT_OF_NAMES.sub("_", name)[:_LONGEST_NAME]
    number, free = 1, plain
    while free in taken:
        number += 1
        free = f"{plain[: _LONGEST_NAME - 1 - len(str(number))]}_{number}"
    return free


def _description(tool: OfferedTool) -> str:
    results = ", ".join(f"{name} ({kind})" for name, kind in tool.outputs.items())
    return f"{tool.description} Result{'s' if len(tool.outputs) > 1 else ''}: {results}."


def _parameters(inputs: Mapping[str, str]) -> dict[str, JsonValue]:
    """JSON schema of a tool's arguments: texts, all required."""
    properties: dict[str, JsonValue] = {
        name: {"type": "string", "description": _values_of(kind)} for name, kind in inputs.items()
    }
    return closed_object(properties)


def _values_of(kind: str) -> str:
    words = "words, " if kind == ResourceType.TEXT else ""
    return f"Type {kind}: {words}the name of something given, or the result of an earlier call, such as call_1."


STRATEGIES = (NativeTools,)
