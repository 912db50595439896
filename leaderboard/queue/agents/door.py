"""`/mcp/`: the Model Context Protocol over streamable HTTP, as an ASGI application beside Django's.

The caller and the evaluation are determined from the request's headers, before its body is read.

Requests are stateless: each has its own instance of the SDK's server. So any web process may answer any request, and
nothing needs to start or stop with the process.
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
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from evaluator.core.planner import offered_tools
from evaluator.core.suites.registry import suite_of
from evaluator.planners.agents.calls import ToolResult
from evaluator.planners.agents.desk import call
from evaluator.planners.agents.server import mcp_server
from evaluator.planners.agents.tools import AgentTool, agent_tools
from leaderboard.evaluations.models import Evaluation, EvaluationState
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
    """The calling agent."""

    evaluation_id: UUID
    tools: dict[str, AgentTool]


class RefusedError(Exception):
    """A request is refused."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        super().__init__(refusal.detail)


def agent_of(scope: AsgiScope) -> Agent:
    """The agent that sends a request. Queries the database.

    Raises:
        RefusedError: the request is not allowed.
    """
    try:
        request = ASGIRequest(scope, BytesIO())
        request.get_host()
    except (DisallowedHost, UnicodeDecodeError):
        raise _refused(HTTPStatus.BAD_REQUEST, "wrong_host", "This site does not answer to this host name.") from None
    # Pages of other sites, also those that use DNS rebinding, send their own origin.
    if origin := request.headers.get("Origin", ""):
        own = {f"{request.scheme}://{request.get_host()}", *settings.CSRF_TRUSTED_ORIGINS}
        if origin not in own or not urlsplit(origin).netloc:
            raise _refused(HTTPStatus.FORBIDDEN, "wrong_origin", "Pages of other sites may not call this address.")
    user_id = _check_token(request)
    if seconds := seconds_to_wait(request, scope="agents"):
        detail = f"Too many calls: try again in {seconds} seconds."
        raise RefusedError(Refusal(HTTPStatus.TOO_MANY_REQUESTS, "throttled", detail, seconds))
    evaluation = _evaluation(user_id=user_id, evaluation_id=_evaluation_id(scope))
    note_presence(evaluation.pk)
    catalogue = suite_of(evaluation.suite.slug).catalogue
    return Agent(evaluation_id=evaluation.pk, tools=dict(agent_tools(offered_tools(catalogue))))


def _check_token(request: ASGIRequest) -> int:
    try:
        credentials = ApiTokenAuthentication().authenticate(Request(request))
    except AuthenticationFailed:
        credentials = None
    if credentials is None:
        detail = "Send a personal token: Authorization: Bearer pa_..."
        raise _refused(HTTPStatus.UNAUTHORIZED, "not_authenticated", detail)
    user, token = credentials
    if Scope.SUBMIT not in (granted := scopes_of(token)):
        has = ", ".join(granted) or "none"
        detail = f"This needs a token with the scope 'submit'; yours has: {has}."
        raise _refused(HTTPStatus.FORBIDDEN, "scope_missing", detail)
    request.user = user
    return int(user.pk)


def _evaluation_id(scope: AsgiScope) -> UUID | None:
    values = parse_qs(scope.get("query_string", b"").decode("latin1")).get("evaluation", [])
    if not values:
        return None
    try:
        return UUID(values[0])
    except ValueError:
        raise _no_evaluation("The address names no evaluation: give its id, as in /mcp/?evaluation=ID.") from None


def _evaluation(*, user_id: int, evaluation_id: UUID | None) -> Evaluation:
    """The evaluation with this id; without one, the only unfinished one of the user's agents, or the last finished. One
    that waits for its further runs is represented by the first of these."""
    mine = Evaluation.runs.select_related("suite").filter(
        submission__submitted_by=user_id, submission__planner__kind__in=AGENTS, submission__is_regrade=False
    )
    if evaluation_id is not None:
        evaluation = mine.filter(pk=evaluation_id).first()
        if evaluation is None:
            raise _no_evaluation("You have no agent-driven evaluation with this id.")
        return _open_run(evaluation)
    mine = mine.filter(is_further_run=False)
    unfinished = list(mine.exclude(state__in=[state.value for state in FINAL]).order_by("created")[: _MOST_NAMED + 1])
    if len(unfinished) > 1:
        named = ", ".join(f"{evaluation.pk} ({evaluation.suite.slug})" for evaluation in unfinished[:_MOST_NAMED])
        detail = f"You have several agent-driven evaluations: name one, as in /mcp/?evaluation=ID. There are: {named}."
        raise _refused(HTTPStatus.CONFLICT, "several_evaluations", detail)
    last = unfinished[0] if unfinished else mine.order_by("-finished", "-created").first()
    if last is None:
        raise _no_evaluation("You have no agent-driven evaluation: submit a planner of the kind 'agent' first.")
    return _open_run(last)


def _open_run(evaluation: Evaluation) -> Evaluation:
    """The first unfinished further run of an evaluation that waits for it, or the evaluation itself."""
    if evaluation.state != EvaluationState.AGGREGATING or not evaluation.is_submitted:
        return evaluation
    open_runs = evaluation.further_runs.exclude(state__in=[state.value for state in FINAL])
    return open_runs.select_related("suite").first() or evaluation


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
    """ASGI application for agents' requests. Credentials are checked before the body is read."""
    if scope["method"] != "POST":
        await refuse(_ONLY_POST, scope=scope, send=send)
        return
    try:
        agent = await in_database(lambda: agent_of(scope))
    except RefusedError as error:
        await refuse(error.refusal, scope=scope, send=send)
        return
    # Read before the SDK does: it answers 500 if the sender disconnects or exceeds a limit.
    body = await _received(receive)
    if body is None:
        return
    desk = DatabaseDesk(agent.evaluation_id)

    async def tools() -> Mapping[str, AgentTool]:
        return agent.tools

    async def call_tool(name: str, arguments: Mapping[str, object]) -> ToolResult:
        return await call(desk=desk, tools=agent.tools, name=name, arguments=arguments)

    # JSON responses: this server does not stream, and proxies buffer event streams.
    manager = StreamableHTTPSessionManager(
        app=mcp_server(tools=tools, call=call_tool),
        stateless=True,
        json_response=True,
        max_request_body_size=LARGEST_BODY,
    )
    async with manager.run():
        await manager.handle_request(scope, _Replayed(body), send)  # type: ignore[arg-type]  # Starlette's types of the same


async def _received(receive: Receive) -> bytes | None:
    """The whole body, whose size `BoundedBodies` limits; None if the client disconnected."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


class _Replayed:
    """An ASGI `receive` with a body that was read before."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body

    async def __call__(self) -> Mapping[str, Any]:
        if self._body is None:
            await asyncio.Event().wait()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}
