"""The MCP server: lists the tools of an agent and passes on its calls."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.server.lowlevel.server import Server

from evaluator import __version__
from evaluator.planners.agents.calls import ToolResult
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
