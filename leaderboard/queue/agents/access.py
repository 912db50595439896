"""Who calls `/mcp/`, and for which evaluation: decided by the head of a request, before anything of it is read."""

from dataclasses import dataclass
from http import HTTPStatus
from io import BytesIO
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from evaluator.core.planner import offered_tools
from evaluator.core.suites.registry import suite_of
from evaluator.planners.agents.tools import AgentTool, agent_tools
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.transitions import FINAL
from leaderboard.people.authentication import ApiTokenAuthentication
from leaderboard.people.scopes import Scope
from leaderboard.people.services import scopes_of
from leaderboard.platform.api.throttling import seconds_to_wait
from leaderboard.platform.http.bodies import Refusal
from leaderboard.platform.http.bodies import Scope as AsgiScope
from leaderboard.queue.agents.presence import AGENTS, note_presence

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
    mine = Evaluation.objects.select_related("suite").filter(
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
