"""What an agent's call of a tool means for an open turn, and what its result is. Pure: waits for nothing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.core import canonical_json
from evaluator.core.turns import PastTurn, TurnRequest, TurnResponse
from evaluator.planners.agents.tools import LONGEST_ARGUMENT, NEXT_TASK, SUBMIT_ANSWER, AgentTool

_NAMED = re.compile(r"\s*((?:R[0-9]{1,9}\s*,\s*)*R[0-9]{1,9})\s*=", re.ASCII)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What an agent gets back."""

    text: str
    is_error: bool = False


class CallRefusedError(ValueError):
    """A call has wrong arguments: it costs no turn. The message is a sentence for the agent."""


def checked(*, tool: AgentTool, arguments: Mapping[str, object]) -> dict[str, str]:
    """The arguments of a call, which are a stranger's.

    Raises:
        CallRefusedError: they do not fit the tool's schema.
    """
    wanted = tool.schema["required"]
    assert isinstance(wanted, list)
    names = [str(name) for name in wanted]
    listed = ", ".join(f'"{name}"' for name in names) or "no arguments"
    if unknown := sorted(set(arguments) - set(names)):
        raise CallRefusedError(f'{tool.name} has no argument "{unknown[0][:60]}"; it takes {listed}.')
    found: dict[str, str] = {}
    for name in names:
        if name not in arguments:
            raise CallRefusedError(f'{tool.name} needs "{name}"; it takes {listed}.')
        found[name] = _text(arguments[name], where=f'{tool.name}: "{name}"')
    return found


def _text(value: object, *, where: str) -> str:
    # Models often write numbers without quotes, and mean the same.
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        raise CallRefusedError(f"{where} must be a text.")
    if len(text) > LONGEST_ARGUMENT:
        raise CallRefusedError(f"{where} has {len(text)} characters, and at most {LONGEST_ARGUMENT} are read.")
    if "\x00" in text or not _is_unicode(text):
        raise CallRefusedError(f"{where} has characters that cannot be kept, such as NUL or half of a surrogate pair.")
    return text


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def response_to(*, request: TurnRequest, tool: AgentTool, arguments: Mapping[str, object]) -> TurnResponse:
    """The answer to an open turn that a call is: one step for a tool of the suite, or the answer of the task.

    Raises:
        CallRefusedError: the arguments do not fit.
    """
    given = checked(tool=tool, arguments=arguments)
    if tool.name == SUBMIT_ANSWER:
        return TurnResponse(answer=given["answer"])
    assert tool.calls is not None
    first = 1 + max((number for turn in request.past for number in _numbers(turn)), default=0)
    outputs = {name: f"R{first + place}" for place, name in enumerate(tool.calls.outputs)} or {"result": f"R{first}"}
    step = {"id": f"s{first}", "tool": tool.calls.name, "inputs": dict(given), "outputs": dict(outputs)}
    return TurnResponse(steps=[step])  # type: ignore[list-item]  # JSON, which mypy cannot see of nested dictionaries


def _numbers(turn: PastTurn) -> list[int]:
    """Numbers of the references that a turn named, also those whose actions failed."""
    named = [match[1] for result in turn.results if (match := _NAMED.match(result.action))]
    references = [reference for names in named for reference in names.split(",")]
    return [int(reference.strip()[1:]) for reference in references]


def episode_of(request: TurnRequest) -> str:
    """Names the episode of a turn: a task may have several, one for each data point."""
    return episode_of_key(request.key)


def episode_of_key(key: str) -> str:
    """`episode_of` by the key of a turn: the key ends with the number of the turn and the role."""
    return key.rsplit("/", 2)[0]


def task_text(request: TurnRequest, *, tools: Mapping[str, AgentTool]) -> str:
    """An open task in words, with its history."""
    task, limits = request.task, request.limits
    offered = {tool.name for tool in request.tools}
    own = [tool.name for tool in tools.values() if tool.calls is not None and tool.calls.name in offered]
    inputs = [f"- ${name}: {kind}" for name, kind in task.resources.items()]
    left = min(limits.turns_left - 1, limits.actions_left)
    lines = [
        f"Task {task.id} of {request.suite}",
        "",
        task.request,
        "",
        *(["Given, as JSON:", canonical_json.dumps(task.given), ""] if task.given else []),
        *(["Inputs, which tools take by these names:", *inputs, ""] if inputs else []),
        f"Wanted: {_wanted(request)}",
        f"Tools: {', '.join(own)}. Each result gets a name, R1, R2 and so on; later calls may use it.",
        f"You may call these tools {_times(left)} and then submit the answer with {SUBMIT_ANSWER}. "
        f"{round(limits.seconds_left)} seconds are left.",
    ]
    return "\n".join([*lines, *_history(request.past)])


def _wanted(request: TurnRequest) -> str:
    expects = request.expects
    kinds = expects.types or ([expects.type] if expects.type else [])
    return f"{', '.join(kinds)}." if kinds else "what the request asks for."


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
    """The result of the last call, which the request after it carries."""
    turn = request.past[-1]
    failed = [result.error for result in turn.results if result.error]
    left = min(request.limits.turns_left - 1, request.limits.actions_left)
    remark = "" if left > 3 else f"\n\nYou may call tools {_times(left)}. Then submit your answer."
    return ToolResult(text=f"{turn.feedback}{remark}", is_error=bool(failed or turn.error))


EPISODE_OVER = f"Your answer is recorded, if you gave one, and this part is over. Call {NEXT_TASK} for the next one."
"""Where a task goes on with another data point."""
NO_TASK = ToolResult(f"No task is open. Call {NEXT_TASK} first.", is_error=True)
