"""HuggingGPT's task planning: one prompt, and a list of tasks as JSON (Shen et al., 2023, section 3.1).

The system's other stages are not needed: the profile determines the model of a task, and only the plan is judged. Text
or a code fence around the list is recorded and ignored. `evaluator.replies.hugginggpt` turns the list into a plan.

A model that keeps to the call's JSON schema puts the list under the key `tasks`, since services want an object.
"""

import json
import re
from collections.abc import Sequence
from typing import ClassVar

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability, Completion, Message
from evaluator.core.planner import OfferedTool, PlannerRequest
from evaluator.core.plans.literals import Scanner, load_literal
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
    tool_lines,
)
from evaluator.replies.envelope import json_values, opened
from evaluator.replies.hugginggpt import FORM, parse_hugginggpt

PROMPT = "hugginggpt/2"
_SYSTEM = """You plan work for a set of tools. Break the user's request into tasks, each one call of one tool, and
answer with nothing but a JSON list of them:

[{"task": tool, "id": number, "dep": [ids], "args": {input: value}}]

- "task" is the name of a tool, exactly as it is listed.
- "id" counts the tasks from 0.
- "dep" lists the ids of the tasks whose results this task takes; it is [-1] for a task that takes none.
- "args" has a value for each input of the tool: something that is given, by its name; the result of an earlier task,
  written <resource>-id; or words, for an input of the type text.

Use as few tasks as the request needs. If no tool helps, answer [].

The tools:
"""


class HuggingGPT:
    """One prompt, one list of tasks."""

    name: ClassVar[str] = "hugginggpt"
    description: ClassVar[str] = "HuggingGPT's task planning: one prompt, answered with a list of tasks as JSON."
    catalogue: ClassVar[str] = ""
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GENERATE})

    def converse(self, request: PlannerRequest) -> Conversation:
        """Ask once and parse the list."""
        given = f"Given:\n{resource_lines(request)}\n{answer_sentence(request)}"
        user = f"{request.task.request}\n\n{given}\n\nThe list of tasks:"
        system = Message(role="system", content=_SYSTEM + tool_lines(request))
        prompt = Prompt(name=PROMPT, messages=(system, Message(role="user", content=user)))
        (answer,) = yield [ask(prompt, schema=tasks_schema(request.tools))]
        assert isinstance(answer, Completion)
        parsed = read_tasks(text=answer.text, context=context_of(request))
        return read_draft(parsed=parsed, completions=[answer], prompt=PROMPT)


def tasks_schema(tools: Sequence[OfferedTool]) -> dict[str, JsonValue] | None:
    """JSON schema of an object with a list of tasks for the given tools; None without tools."""
    if not tools:
        return None
    text: JsonValue = {"type": "string"}
    tasks: list[JsonValue] = [
        closed_object(
            {
                "task": {"type": "string", "enum": [tool.name]},
                "id": {"type": "integer"},
                "dep": {"type": "array", "items": {"type": "integer"}},
                "args": closed_object(dict.fromkeys(tool.inputs, text)),
            }
        )
        for tool in tools
    ]
    return closed_object({_TASKS: {"type": "array", "items": {"anyOf": tasks}}})


def read_tasks(*, text: str, context: PlanContext) -> ParsedPlan | PlanSyntaxError:
    """The plan of a completion, or the error in it."""
    try:
        refuse_too_long(text)
        text, left_out = opened(text)
        value, tolerated = find_list(text)
        parsed = parse_hugginggpt(value=value, context=context)
    except PlanSyntaxError as error:
        return error
    return ParsedPlan(plan=parsed.plan, form=FORM, tolerated=(*left_out, *tolerated, *parsed.tolerated))


def find_list(text: str) -> tuple[object, tuple[str, ...]]:
    """The only JSON list of objects, or empty list, in a text, and notes on the text around it.

    A Python literal counts too, and so does an equal list.

    Raises:
        PlanSyntaxError: there is none, or another one; the message is about the first possible opening bracket.
    """
    start = _LIST.search(text)
    if start is None:
        raise PlanSyntaxError("there is no JSON list of tasks in the completion")
    value, end, notes = _list_at(text, start.start())
    before, after = text[: start.start()], text[end:]
    if _OBJECT.fullmatch(before) and after.strip() == "}":
        return value, notes
    if any(load_literal(written)[0] != value for written, _ in json_values(after) if written.startswith("[")):
        raise PlanSyntaxError("there are several lists of tasks, and only one can be the plan")
    around = before.strip() + after.strip()
    return value, (*notes, *((f"left out {len(around)} characters around the list",) if around else ()))


def _list_at(text: str, start: int) -> tuple[object, int, tuple[str, ...]]:
    """The list at an index, its end, and what was tolerated."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except json.JSONDecodeError as error:
        scanner = Scanner(text)
        scanner.index = start
        try:
            value = scanner.value()
        except PlanSyntaxError:
            where = f"line {error.lineno}, column {error.colno}"
            raise PlanSyntaxError(f"the list of tasks is not valid JSON: {error.msg}", where=where) from None
        return value, scanner.index, (f"read as a Python literal: {error.msg}",)
    except RecursionError:
        raise PlanSyntaxError("JSON nested too deeply") from None
    except ValueError as error:  # a number of more digits than Python converts
        raise PlanSyntaxError(f"the list of tasks is not valid JSON: {error}") from None
    return value, end, ()


_TASKS = "tasks"
_OBJECT = re.compile(rf'\s*\{{\s*"{_TASKS}"\s*:\s*')
_LIST = re.compile(r"\[\s*(?=[\]{])")
STRATEGIES = (HuggingGPT,)
