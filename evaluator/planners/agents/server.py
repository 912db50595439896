"""The MCP server: lists an agent's tools and forwards its calls; over standard input and output, with the evaluation in
a thread beside it."""

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
    """A server of an agent's tools, whose calls `call` handles."""

    async def list_tools(context: object, params: object) -> types.ListToolsResult:
        del context, params
        return types.ListToolsResult(
            tools=[
                types.Tool(name=tool.name, description=tool.description, input_schema=dict(tool.schema))
                for tool in (await tools()).values()
            ]
        )

    async def call_tool(context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        del context
        result = await call(params.name, params.arguments or {})
        content = types.TextContent(type="text", text=result.text)
        return types.CallToolResult(content=[content], is_error=result.is_error)

    return Server(
        "planarena", version=__version__, title="PlanArena", instructions=INSTRUCTIONS,
        on_list_tools=list_tools, on_call_tool=call_tool,
    )  # fmt: skip


_LAST_WORDS_SECONDS = 30.0
"""A running tool may take this long after the agent has disconnected."""


class AgentEvaluation:
    """Evaluates an agent on tasks one after the other, in its own thread."""

    def __init__(
        self, *, evaluator: Evaluator, mailbox: Mailbox, tasks: Sequence[str], run: str, done: Callable[[], None]
    ) -> None:
        """Args:
        evaluator: evaluator of the suite.
        mailbox: holds the agent's turns.
        tasks: keys of tasks.
        run: name of the run whose journal answers finished turns; empty: a new run.
        done: called when all tasks have records.
        """
        self.records: list[ResultRecord] = []
        """Records of finished tasks."""
        self.error: BaseException | None = None
        """Why the evaluation broke off, unless its agent disconnected."""
        self._evaluator, self._mailbox, self._tasks, self._run, self._done = evaluator, mailbox, tasks, run, done
        self._thread = threading.Thread(target=self._work, name="evaluation", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the evaluation of an agent that has disconnected."""
        self._mailbox.close()
        self._thread.join(_LAST_WORDS_SECONDS)

    def _work(self) -> None:
        planner = AgentPlanner(self._mailbox)
        try:
            for task in self._tasks:
                # One at a time: the time of a task that waits for the agent would count.
                for record in self._evaluator.run(planner=planner, tasks=[task], run=self._run):
                    self.records.append(record)
                    self._mailbox.ended(end_of(record))
            self._done()
        except AgentLeft:
            return
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            self.error = error
        finally:
            if self.error is None:
                self._mailbox.finish(f"All {len(self._tasks)} tasks are done. There is nothing left to do.")
            else:
                self._mailbox.finish(f"The evaluation broke off: {type(self.error).__name__}.")


def serve(*, evaluation: AgentEvaluation, mailbox: Mailbox, tools: Mapping[str, AgentTool]) -> None:
    """Serve the agent on standard input and output until it disconnects. Meanwhile prints go to standard error."""
    anyio.run(_serve, evaluation, mailbox, tools)


async def _serve(evaluation: AgentEvaluation, mailbox: Mailbox, tools: Mapping[str, AgentTool]) -> None:
    desk = MailboxDesk(mailbox)

    async def list_tools() -> Mapping[str, AgentTool]:
        return tools

    async def call_tool(name: str, arguments: Mapping[str, object]) -> ToolResult:
        return await call(desk=desk, tools=tools, name=name, arguments=arguments)

    server = mcp_server(tools=list_tools, call=call_tool)
    async with stdio_server() as (read, write):
        evaluation.start()
        try:
            await server.run(read, write, server.create_initialization_options())
        finally:
            await anyio.to_thread.run_sync(evaluation.stop)
