"""`/mcp/`: the Model Context Protocol over streamable HTTP, as an ASGI application beside Django's.

Every request stands alone: the SDK's server is made for it, knows whose it is, and goes with it. So any web process may
answer any request, and nothing needs to start or stop with the process.
"""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from evaluator.planners.agents.calls import ToolResult
from evaluator.planners.agents.desk import call
from evaluator.planners.agents.server import mcp_server
from evaluator.planners.agents.tools import AgentTool
from leaderboard.platform.http.bodies import Receive, Refusal, Scope, Send, refuse
from leaderboard.queue.agents.access import Agent, RefusedError, agent_of
from leaderboard.queue.agents.desk import DatabaseDesk, in_database

PATHS = frozenset({"/mcp", "/mcp/"})
LARGEST_BODY = 1024 * 1024
_ONLY_POST = Refusal(
    HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", "Agents send POST requests here; there are no event streams."
)


async def agents(scope: Scope, receive: Receive, send: Send) -> None:
    """One request of an agent. Its credentials are checked before its body is read."""
    if scope["method"] != "POST":
        await refuse(_ONLY_POST, scope=scope, send=send)
        return
    try:
        agent = await in_database(lambda: agent_of(scope))
    except RefusedError as error:
        await refuse(error.refusal, scope=scope, send=send)
        return
    # Before the SDK, which answers 500 where the sender of a body goes away, or is cut off at a limit.
    body = await _received(receive)
    if body is None:
        return
    # JSON answers: nothing of this server streams, and proxies buffer event streams.
    manager = StreamableHTTPSessionManager(
        app=_server(agent), stateless=True, json_response=True, max_request_body_size=LARGEST_BODY
    )
    async with manager.run():
        await manager.handle_request(scope, _Replayed(body), send)  # type: ignore[arg-type]  # Starlette's types of the same


async def _received(receive: Receive) -> bytes | None:
    """The whole body, which `BoundedBodies` bounds; None: it did not come."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


class _Replayed:
    """Receives a body that has come, and then nothing more."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body

    async def __call__(self) -> Mapping[str, Any]:
        if self._body is None:
            await asyncio.Event().wait()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


def _server(agent: Agent) -> Server[Any]:
    desk = DatabaseDesk(agent.evaluation_id)

    async def listed() -> Mapping[str, AgentTool]:
        return agent.tools

    async def called(name: str, arguments: Mapping[str, object]) -> ToolResult:
        return await call(desk=desk, tools=agent.tools, name=name, arguments=arguments)

    return mcp_server(tools=listed, call=called)
