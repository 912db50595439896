"""Where the open turns of an agent's tasks wait for its answers, and what each call of the agent does there."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from evaluator.core.records import ResultRecord
from evaluator.core.transcripts import StopReason, TurnRun
from evaluator.core.turns import TurnRequest, TurnResponse
from evaluator.planners.agents.calls import NO_TASK, CallRefusedError, ToolResult, response_to, result_in, task_text
from evaluator.planners.agents.tools import NEXT_TASK, PROGRESS, SUBMIT_ANSWER, AgentTool


@dataclass(frozen=True, slots=True)
class Ended:
    """A task is over."""

    text: str
    """What the last call came to, and why no other follows; a sentence or more."""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Nothing:
    """No turn is open."""

    text: str
    """Why, and what to do, as sentences."""


class Desk(Protocol):
    """The open turns of one agent. Several calls may come at once: each turn takes one answer."""

    async def hand_out(self) -> TurnRequest | Nothing:
        """The open turn of the task that the agent has, else of another task; waits a while for one to open."""
        ...

    async def open_turn(self) -> TurnRequest | None:
        """The open turn of the task that the agent has; waits a while for one. None: it has no task."""
        ...

    async def answer(self, *, request: TurnRequest, response: TurnResponse) -> bool:
        """Answer an open turn. False: another call was faster, and nothing changed."""
        ...

    async def following(self, request: TurnRequest) -> TurnRequest | Ended:
        """What follows a turn that was answered."""
        ...

    async def progress(self) -> str:
        """How many tasks are done and left, in words."""
        ...


async def call(*, desk: Desk, tools: Mapping[str, AgentTool], name: str, arguments: Mapping[str, object]) -> ToolResult:
    """Do what an agent calls for.

    Args:
        desk: where its turns are.
        tools: its tools.
        name: of the tool that it calls.
        arguments: as received.
    """
    tool = tools.get(name)
    if tool is None:
        return ToolResult(f'There is no tool "{name[:60]}"; there are: {", ".join(tools)}.', is_error=True)
    try:
        if tool.name == NEXT_TASK:
            found = await desk.hand_out()
            return ToolResult(found.text if isinstance(found, Nothing) else task_text(found, tools=tools))
        if tool.name == PROGRESS:
            return ToolResult(await desk.progress())
        return await _acted(desk=desk, tool=tool, arguments=arguments)
    except CallRefusedError as error:
        return ToolResult(str(error), is_error=True)


async def _acted(*, desk: Desk, tool: AgentTool, arguments: Mapping[str, object]) -> ToolResult:
    # Calls that come together are answered one after the other: each takes the turn after the one before.
    while (request := await desk.open_turn()) is not None:
        response = response_to(request=request, tool=tool, arguments=arguments)
        if not await desk.answer(request=request, response=response):
            continue
        after = await desk.following(request)
        if isinstance(after, TurnRequest):
            return result_in(after)
        if tool.name == SUBMIT_ANSWER:
            return ToolResult(f"Your answer is recorded. Call {NEXT_TASK} for the next task.")
        return ToolResult(after.text, is_error=after.is_error)
    return NO_TASK


_WHY: Mapping[StopReason, str] = MappingProxyType(
    {
        StopReason.ANSWERED: "Your answer is recorded.",
        StopReason.TURN_LIMIT: "The task is over without an answer: no further call was left.",
        StopReason.ACTION_LIMIT: "The task is over without an answer: no further call of a tool was left.",
        StopReason.TIME_LIMIT: "The task is over without an answer: its time has passed.",
        StopReason.UNREADABLE: "The task is over: too many calls in a row could not be read.",
        StopReason.CALL_FAILED: "The task is over: no answer came in time.",
    }
)


def end_of(record: ResultRecord) -> Ended:
    """The result of the last call, where it had one, and why the task is over."""
    transcript = record.transcripts[-1] if record.transcripts else None
    if transcript is None:
        return Ended(f"This task cannot be run. Call {NEXT_TASK} for the next one.", is_error=True)
    why = f"{_WHY.get(transcript.stop, 'The task is over.')} Call {NEXT_TASK} for the next one."
    last = _last_result(transcript.turns[-1]) if transcript.turns else ""
    return Ended(f"{last}\n\n{why}".strip(), is_error=transcript.stop is not StopReason.ANSWERED)


def _last_result(turn: TurnRun) -> str:
    if not turn.actions:
        return turn.error
    action = turn.actions[-1]
    return action.error or "\n".join(f"{name} = {text}" for name, text in action.outputs.items())
