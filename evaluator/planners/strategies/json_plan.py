"""A plan as JSON: one prompt that asks for `plan/1`, with its JSON schema for services that keep completions to one."""

from collections.abc import Sequence
from typing import ClassVar

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability, Completion, Message
from evaluator.core.planner import OfferedTool, PlannerRequest
from evaluator.core.plans.model import ParsedPlan, PlanContext, PlanSyntaxError
from evaluator.core.strategy import Conversation
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
from evaluator.replies.read import read_plan

PROMPT = "json-plan/1"
_SYSTEM = """You plan work for a set of tools. Answer the user's request with nothing but a plan, a JSON object:

{"steps": [{"id": "s1", "tool": name, "inputs": {input: value}}], "answers": ["s1.output"]}

- A step is one call of a tool. "id" is s1, s2, ...; "tool" is the name of a tool, exactly as it is listed.
- "inputs" has a value for each input of the tool: something that is given, by its name; the result of another step,
  written id.output with the name of the output; or words, for an input of the type text.
- "answers" lists the results that answer the request, written like those of steps, in the order of the request.

Use as few steps as the request needs. If the tools cannot meet it, answer {"steps": [], "answers": []}.

The tools:
"""


class JsonPlan:
    """One prompt, one plan as JSON."""

    name: ClassVar[str] = "json-plan"
    description: ClassVar[str] = "One prompt that asks for the plan as JSON, kept to its schema where the model can."
    catalogue: ClassVar[str] = ""
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GENERATE})

    def converse(self, request: PlannerRequest) -> Conversation:
        """Ask once and read the plan."""
        given = f"Given:\n{resource_lines(request)}\n{answer_sentence(request)}"
        system = Message(role="system", content=_SYSTEM + "\n".join(map(_signature, request.tools)))
        user = Message(role="user", content=f"{request.task.request}\n\n{given}\n\nThe plan:")
        prompt = Prompt(name=PROMPT, messages=(system, user))
        (answer,) = yield [ask(prompt, schema=plan_schema(request.tools))]
        assert isinstance(answer, Completion)
        parsed = _read(text=answer.text, context=context_of(request))
        return read_draft(parsed=parsed, completions=[answer], prompt=PROMPT)


def plan_schema(tools: Sequence[OfferedTool]) -> dict[str, JsonValue] | None:
    """JSON schema of a `plan/1` that calls the given tools with all of their arguments; None without tools.

    In the subset that services accept: closed objects, all of whose properties are required. Outputs are left out, and
    so are named `<id>.<output>`.
    """
    if not tools:
        return None
    text: JsonValue = {"type": "string"}
    steps: list[JsonValue] = [
        closed_object(
            {
                "id": text,
                "tool": {"type": "string", "enum": [tool.name]},
                "inputs": closed_object(dict.fromkeys(tool.inputs, text)),
            }
        )
        for tool in tools
    ]
    return closed_object(
        {"steps": {"type": "array", "items": {"anyOf": steps}}, "answers": {"type": "array", "items": text}}
    )


def _read(*, text: str, context: PlanContext) -> ParsedPlan | PlanSyntaxError:
    try:
        refuse_too_long(text)
        return read_plan(value=text, context=context)
    except PlanSyntaxError as error:
        return error


def _signature(tool: OfferedTool) -> str:
    inputs = ", ".join(f"{name}: {kind}" for name, kind in tool.inputs.items())
    outputs = ", ".join(f"{name}: {kind}" for name, kind in tool.outputs.items())
    return f"- {tool.name}({inputs}) -> ({outputs}): {tool.description}"


STRATEGIES = (JsonPlan,)
