"""The MCP server: lists an agent's tools and forwards its calls; over standard input and output, with the evaluation in
a thread beside it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from evaluator import __version__
from evaluator.planners.agents.calls import ToolResult
from evaluator.planners.agents.desk import call
from evaluator.planners.agents.evaluation import AgentEvaluation
from evaluator.planners.agents.mailbox import Mailbox, MailboxDesk
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
