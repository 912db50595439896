"""`/mcp/`: the Model Context Protocol over streamable HTTP, as an ASGI application beside Django's.

The head of a request decides who calls and for which evaluation, before its body is read.

Every request stands alone: the SDK's server is made for it, knows whose it is, and goes with it. So any web process may
answer any request, and nothing needs to start or stop with the process.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from io import BytesIO
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from evaluator.core.planner import offered_tools
from evaluator.core.suites.registry import suite_of
from evaluator.planners.agents.calls import ToolResult
from evaluator.planners.agents.desk import call
from evaluator.planners.agents.server import mcp_server
from evaluator.planners.agents.tools import AgentTool, agent_tools
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.states import FINAL
from leaderboard.people.authentication import ApiTokenAuthentication
from leaderboard.people.models import Scope
from leaderboard.people.services import scopes_of
from leaderboard.platform.api.throttling import seconds_to_wait
from leaderboard.platform.http.bodies import Receive, Refusal, Send, refuse
from leaderboard.platform.http.bodies import Scope as AsgiScope
from leaderboard.queue.agents.desk import DatabaseDesk, in_database
from leaderboard.queue.agents.turns import AGENTS, note_presence

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """The agent that calls."""

    evaluation_id: UUID
    tools: dict[str, AgentTool]


class RefusedError(Exception):
    """A request is refused."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        super().__init__(refusal.detail)


def agent_of(scope: AsgiScope) -> Agent:
    """The agent that sends a request. Asks the database.

    Raises:
        RefusedError: nobody may send it so; says why.
    """
    try:
        request = ASGIRequest(scope, BytesIO())
        request.get_host()
    except (DisallowedHost, UnicodeDecodeError):
        raise _refused(HTTPStatus.BAD_REQUEST, "wrong_host", "This site does not answer to this host name.") from None
    _check_origin(request)
    user_id = _check_token(request)
    if seconds := seconds_to_wait(request, scope="agents"):
        detail = f"Too many calls: try again in {seconds} seconds."
        raise RefusedError(Refusal(HTTPStatus.TOO_MANY_REQUESTS, "throttled", detail, seconds))
    evaluation = _evaluation(user_id=user_id, wanted=_wanted(scope))
    note_presence(evaluation.pk)
    catalogue = suite_of(evaluation.suite.slug).catalogue
    return Agent(evaluation_id=evaluation.pk, tools=dict(agent_tools(offered_tools(catalogue))))


def _check_origin(request: ASGIRequest) -> None:
    """Pages of other sites, and those that rebind their names to this one, send their own origin."""
    origin = request.headers.get("Origin", "")
    if not origin:
        return
    own = {f"{request.scheme}://{request.get_host()}", *settings.CSRF_TRUSTED_ORIGINS}
    if origin not in own or not urlsplit(origin).netloc:
        raise _refused(HTTPStatus.FORBIDDEN, "wrong_origin", "Pages of other sites may not call this address.")


def _check_token(request: ASGIRequest) -> int:
    try:
        found = ApiTokenAuthentication().authenticate(Request(request))
    except AuthenticationFailed:
        found = None
    if found is None:
        detail = "Send a personal token: Authorization: Bearer pa_..."
        raise _refused(HTTPStatus.UNAUTHORIZED, "not_authenticated", detail)
    user, token = found
    if Scope.SUBMIT not in (granted := scopes_of(token)):
        has = ", ".join(granted) or "none"
        detail = f"This needs a token with the scope 'submit'; yours has: {has}."
        raise _refused(HTTPStatus.FORBIDDEN, "scope_missing", detail)
    request.user = user
    return int(user.pk)


def _wanted(scope: AsgiScope) -> UUID | None:
    named = parse_qs(scope.get("query_string", b"").decode("latin1")).get("evaluation", [])
    if not named:
        return None
    try:
        return UUID(named[0])
    except ValueError:
        raise _no_evaluation("The address names no evaluation: give its id, as in /mcp/?evaluation=ID.") from None


def _evaluation(*, user_id: int, wanted: UUID | None) -> Evaluation:
    """The evaluation that is named; else the only one of the user's agents that has not ended, or the last that did."""
    mine = Evaluation.runs.select_related("suite").filter(
        submission__submitted_by=user_id, submission__planner__kind__in=AGENTS
    )
    if wanted is not None:
        found = mine.filter(pk=wanted).first()
        if found is None:
            raise _no_evaluation("You have no agent-driven evaluation with this id.")
        return found
    under_way = list(mine.exclude(state__in=[state.value for state in FINAL]).order_by("created")[: _MOST_NAMED + 1])
    if len(under_way) > 1:
        named = ", ".join(f"{one.pk} ({one.suite.slug})" for one in under_way[:_MOST_NAMED])
        detail = f"You have several agent-driven evaluations: name one, as in /mcp/?evaluation=ID. There are: {named}."
        raise _refused(HTTPStatus.CONFLICT, "several_evaluations", detail)
    last = under_way[0] if under_way else mine.order_by("-finished", "-created").first()
    if last is None:
        raise _no_evaluation("You have no agent-driven evaluation: submit a planner of the kind 'agent' first.")
    return last


def _no_evaluation(detail: str) -> RefusedError:
    return _refused(HTTPStatus.NOT_FOUND, "not_found", detail)


def _refused(status: HTTPStatus, code: str, detail: str) -> RefusedError:
    return RefusedError(Refusal(status, code, detail))


PATHS = frozenset({"/mcp", "/mcp/"})
LARGEST_BODY = 1024 * 1024
_ONLY_POST = Refusal(
    HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", "Agents send POST requests here; there are no event streams."
)


async def agents(scope: AsgiScope, receive: Receive, send: Send) -> None:
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
