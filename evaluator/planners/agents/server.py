"""The MCP server: lists the tools of an agent and passes on its calls."""

import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from evaluator import __version__
from evaluator.core.records import ResultRecord
from evaluator.episodes.base import Evaluator
from evaluator.planners.agents.calls import ToolResult
from evaluator.planners.agents.desk import call, end_of
from evaluator.planners.agents.mailbox import AgentLeft, AgentPlanner, Mailbox, MailboxDesk
from evaluator.planners.agents.tools import NEXT_TASK, SUBMIT_ANSWER, AgentTool

INSTRUCTIONS = (
    f"You are being evaluated. Call {NEXT_TASK}, solve the task with the other tools, and call {SUBMIT_ANSWER}. "
    f"Repeat until {NEXT_TASK} says that no task is left. Only what these tools return counts as a result, and "
    "every call is recorded."
)

Tools = Callable[[], Awaitable[Mapping[str, AgentTool]]]
Call = Callable[[str, Mapping[str, object]], Awaitable[ToolResult]]


def mcp_server(*, tools: Tools, call: Call) -> Server[Any]:
    """A server with these tools.

    Args:
        tools: the tools of the agent that asks.
        call: does what it calls for.
    """

    async def list_tools(context: object, params: object) -> types.ListToolsResult:
        del context, params
        return types.ListToolsResult(tools=[_listed(tool) for tool in (await tools()).values()])

    async def call_tool(context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        del context
        result = await call(params.name, params.arguments or {})
        content = types.TextContent(type="text", text=result.text)
        return types.CallToolResult(content=[content], is_error=result.is_error)

    return Server(
        "planarena", version=__version__, title="PlanArena", instructions=INSTRUCTIONS,
        on_list_tools=list_tools, on_call_tool=call_tool,
    )  # fmt: skip


def _listed(tool: AgentTool) -> types.Tool:
    return types.Tool(name=tool.name, description=tool.description, input_schema=dict(tool.schema))


_LAST_WORDS_SECONDS = 30.0
"""How long a tool that still runs may take when the agent has gone."""


class AgentEvaluation:
    """Evaluates an agent on some tasks, one after the other, in a thread of its own."""

    def __init__(
        self, *, evaluator: Evaluator, mailbox: Mailbox, tasks: Sequence[str], run: str, done: Callable[[], None]
    ) -> None:
        """Args:
        evaluator: of the suite.
        mailbox: where the agent's turns are.
        tasks: keys of tasks.
        run: name of the run, from whose journal finished turns are answered; empty: a new run.
        done: called when all tasks have records.
        """
        self.records: list[ResultRecord] = []
        """Of the tasks that are over."""
        self.error: BaseException | None = None
        """Why the evaluation broke off, if it did and its agent has not just left."""
        self._evaluator, self._mailbox, self._tasks, self._run, self._done = evaluator, mailbox, tasks, run, done
        self._thread = threading.Thread(target=self._work, name="evaluation", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, because the agent has gone."""
        self._mailbox.close()
        self._thread.join(_LAST_WORDS_SECONDS)

    def _work(self) -> None:
        planner = AgentPlanner(self._mailbox)
        try:
            for task in self._tasks:
                # One at a time: a task that waits for the agent's attention would count as slow.
                for record in self._evaluator.run(planner=planner, tasks=[task], run=self._run):
                    self.records.append(record)
                    self._mailbox.ended(end_of(record))
            self._done()
        except AgentLeft:
            return
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            self.error = error
        finally:
            self._mailbox.finish(self._why_over())

    def _why_over(self) -> str:
        if self.error is not None:
            return f"The evaluation broke off: {type(self.error).__name__}."
        return f"All {len(self._tasks)} tasks are done. There is nothing left to do."


def serve(*, evaluation: AgentEvaluation, mailbox: Mailbox, tools: Mapping[str, AgentTool]) -> None:
    """Serve the agent on standard input and output until it leaves. While serving, prints go to standard error."""
    anyio.run(_serve, evaluation, mailbox, tools)


async def _serve(evaluation: AgentEvaluation, mailbox: Mailbox, tools: Mapping[str, AgentTool]) -> None:
    desk = MailboxDesk(mailbox)

    async def listed() -> Mapping[str, AgentTool]:
        return tools

    async def called(name: str, arguments: Mapping[str, object]) -> ToolResult:
        return await call(desk=desk, tools=tools, name=name, arguments=arguments)

    server = mcp_server(tools=listed, call=called)
    async with stdio_server() as (read, write):
        evaluation.start()
        try:
            await server.run(read, write, server.create_initialization_options())
        finally:
            await anyio.to_thread.run_sync(evaluation.stop)
