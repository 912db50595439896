"""Translates an agent's tool calls into answers to open turns, and their results into text. Pure functions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.core import canonical_json
from evaluator.core.turns import PastTurn, TurnRequest, TurnResponse
from evaluator.planners.agents.tools import LONGEST_ARGUMENT, NEXT_TASK, SUBMIT_ANSWER, AgentTool

_NAMED = re.compile(r"\s*((?:R[0-9]{1,9}\s*,\s*)*R[0-9]{1,9})\s*=", re.ASCII)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call."""

    text: str
    is_error: bool = False


class CallRefusedError(ValueError):
    """A call has invalid arguments and costs no turn. The message is a sentence for the agent."""


def checked(*, tool: AgentTool, arguments: Mapping[str, object]) -> dict[str, str]:
    """The validated arguments of a call.

    Raises:
        CallRefusedError: they do not fit the tool's schema.
    """
    required = tool.schema["required"]
    assert isinstance(required, list)
    names = [str(name) for name in required]
    listed = ", ".join(f'"{name}"' for name in names) or "no arguments"
    if unknown := sorted(set(arguments) - set(names)):
        raise CallRefusedError(f'{tool.name} has no argument "{unknown[0][:60]}"; it takes {listed}.')
    texts: dict[str, str] = {}
    for name in names:
        if name not in arguments:
            raise CallRefusedError(f'{tool.name} needs "{name}"; it takes {listed}.')
        texts[name] = _text(arguments[name], where=f'{tool.name}: "{name}"')
    return texts


def _text(value: object, *, where: str) -> str:
    # Models often write numbers without quotes.
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        raise CallRefusedError(f"{where} must be a text.")
    if len(text) > LONGEST_ARGUMENT:
        raise CallRefusedError(f"{where} has {len(text)} characters, and at most {LONGEST_ARGUMENT} are read.")
    if re.search("[\x00\ud800-\udfff]", text):
        raise CallRefusedError(f"{where} has characters that cannot be kept, such as NUL or half of a surrogate pair.")
    return text


def response_to(*, request: TurnRequest, tool: AgentTool, arguments: Mapping[str, object]) -> TurnResponse:
    """The turn that a call stands for: one step for a tool of the suite, or the task's answer.

    Raises:
        CallRefusedError: the arguments do not fit.
    """
    inputs = checked(tool=tool, arguments=arguments)
    if tool.name == SUBMIT_ANSWER:
        return TurnResponse(answer=inputs["answer"])
    assert tool.calls is not None
    # References of failed actions count as well.
    named = [match[1] for turn in request.past for result in turn.results if (match := _NAMED.match(result.action))]
    first = 1 + max((int(name.strip()[1:]) for names in named for name in names.split(",")), default=0)
    outputs = {name: f"R{first + place}" for place, name in enumerate(tool.calls.outputs)} or {"result": f"R{first}"}
    step = {"id": f"s{first}", "tool": tool.calls.name, "inputs": dict(inputs), "outputs": dict(outputs)}
    return TurnResponse(steps=[step])  # type: ignore[list-item]  # JSON, which mypy cannot see of nested dictionaries


def episode_of(request: TurnRequest) -> str:
    """The episode of a turn. A task has one episode per data point."""
    return episode_of_key(request.key)


def episode_of_key(key: str) -> str:
    """The episode of a turn's key, which ends with the turn's number and role."""
    return key.rsplit("/", 2)[0]


def task_text(request: TurnRequest, *, tools: Mapping[str, AgentTool]) -> str:
    task, limits = request.task, request.limits
    offered = {tool.name for tool in request.tools}
    own = [tool.name for tool in tools.values() if tool.calls is not None and tool.calls.name in offered]
    inputs = [f"- ${name}: {kind}" for name, kind in task.resources.items()]
    left = min(limits.turns_left - 1, limits.actions_left)
    kinds = request.expects.types or ([request.expects.type] if request.expects.type else [])
    answer = f"{', '.join(kinds)}." if kinds else "what the request asks for."
    lines = [
        f"Task {task.id} of {request.suite}",
        "",
        task.request,
        "",
        *(["Given, as JSON:", canonical_json.dumps(task.given), ""] if task.given else []),
        *(["Inputs, which tools take by these names:", *inputs, ""] if inputs else []),
        f"Wanted: {answer}",
        f"Tools: {', '.join(own)}. Each result gets a name, R1, R2 and so on; later calls may use it.",
        f"You may call these tools {_times(left)} and then submit the answer with {SUBMIT_ANSWER}. "
        f"{round(limits.seconds_left)} seconds are left.",
    ]
    return "\n".join([*lines, *_history(request.past)])


def _times(count: int) -> str:
    return "no more" if count <= 0 else "once" if count == 1 else f"{count} times"


def _history(turns: Sequence[PastTurn]) -> list[str]:
    if not turns:
        return []
    lines = ["", "What you did so far:"]
    for turn in turns:
        for result in turn.results:
            lines.append(f"{turn.index}. {result.action}")
            lines += [f"   {name} = {text}" for name, text in result.outputs.items()]
            lines += [f"   Error: {result.error}"] if result.error else []
        lines += [f"{turn.index}. Error: {turn.error}"] if turn.error else []
    return lines


def result_in(request: TurnRequest) -> ToolResult:
    """The result of the last call, from the request of the next turn."""
    turn = request.past[-1]
    failed = [result.error for result in turn.results if result.error]
    left = min(request.limits.turns_left - 1, request.limits.actions_left)
    remark = "" if left > 3 else f"\n\nYou may call tools {_times(left)}. Then submit your answer."
    return ToolResult(text=f"{turn.feedback}{remark}", is_error=bool(failed or turn.error))


EPISODE_OVER = f"Your answer is recorded, if you gave one, and this part is over. Call {NEXT_TASK} for the next one."
"""For tasks that continue with another data point."""
NO_TASK = ToolResult(f"No task is open. Call {NEXT_TASK} first.", is_error=True)
