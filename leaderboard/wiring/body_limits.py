"""Limits on request bodies by URL and caller.

Credentials are checked from the head of a request, before its body is read; the views check them again, with scopes and
permissions. Nothing of a worker's call is read before its token is checked. The largest bodies of users also reserve
room, like uploads with a ticket.
"""

import hmac
import threading
from collections import Counter
from functools import partial
from http import HTTPStatus
from importlib import import_module
from io import BytesIO
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user
from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from evaluator.workbench.files import MOST_BYTES as MOST_OF_FILE
from gpu_jobs import bundles
from leaderboard.evaluations.models import Attempt
from leaderboard.people.authentication import ApiTokenAuthentication
from leaderboard.platform.api.parsers import LARGEST_BODY
from leaderboard.platform.http.addresses import address_of_scope
from leaderboard.platform.http.bodies import Admission, BodyLimits, Refusal, Scope
from leaderboard.platform.http.one_hop import WORKER_CALLS as WORKERS
from leaderboard.platform.lru_cache import SharedCache
from leaderboard.platform.uploads import services as uploads
from leaderboard.queue.agents.door import LARGEST_BODY as AGENTS_LARGEST
from leaderboard.queue.agents.door import PATHS as AGENT_PATHS
from leaderboard.queue.leasing.next_shard import hash_token
from leaderboard.queue.workers.sessions import holder_of_session
from leaderboard.queue.workers.tokens import CredentialRefusedError, enrolled
from leaderboard.workbench.models import Run

_MIB = 1024 * 1024
SMALL_BODY = 64 * 1024
"""Limit for anonymous forms and calls, such as signing in."""
LARGE_BODY = _MIB
"""Size from which a user's body reserves room among the uploads."""
MOST_OF_ATTEMPT = 4
"""Concurrent large bodies of one attempt per web process, since self-hosted workers send them too."""
RETRY_ATTEMPT_SECONDS = 5
_API = "/api/"
_ATTEMPTS = f"{WORKERS}attempts/"
_RUNS = f"{WORKERS}runs/"
_RUN_LEASE = f"{_RUNS}lease/"
_SESSION = f"{WORKERS}session/"
_WORKBENCH = "/workbench/"
_CHECKPOINTS = frozenset({"/submit/", "/submit/checkpoint/", "/api/v1/checkpoints/"})
_MOST_REMEMBERED = 10_000


def small_bytes(scope: Scope) -> int:
    """The largest body that a URL accepts from anyone."""
    if scope["path"] == _WORKBENCH and settings.WORKBENCH_IS_OPEN:
        # A stranger's request with one file.
        return MOST_OF_FILE + SMALL_BODY
    return 0 if scope["path"].startswith(WORKERS) else SMALL_BODY


def most_bytes(scope: Scope) -> int:
    """The largest body that a URL accepts from authenticated callers."""
    path = scope["path"]
    if path.startswith(_ATTEMPTS):
        return max(settings.MAX_OBJECT_BYTES, LARGEST_BODY)
    if path.startswith(_RUNS) and path != _RUN_LEASE:
        return bundles.MOST_BYTES
    if path.startswith(WORKERS):
        return SMALL_BODY
    if path in _CHECKPOINTS and scope["method"] == "POST":
        return settings.MAX_CHECKPOINT_BYTES + _MIB
    return AGENTS_LARGEST if path in AGENT_PATHS else LARGEST_BODY + _MIB


def admit(scope: Scope, size: int) -> Admission | Refusal:
    """Decide about a body of at most `size` bytes by the credentials of its URL.

    These are the token of the attempt or worker for workers' calls, a personal token or a session for other calls of
    the API, and a session for pages. Closes the database connection, since no request ends here.
    """
    try:
        request = ASGIRequest(scope, BytesIO())
        if scope["path"].startswith(WORKERS):
            return _refused_worker(request, path=scope["path"]) or _of_worker(scope["path"], size=size)
        user = None
        if scope["path"].startswith(_API) or scope["path"] in AGENT_PATHS:
            user = _of_token(request)
        if user is None:
            user = _of_session(request)
        if user is None:
            return _unknown(most=SMALL_BODY)
        if size <= LARGE_BODY:
            return Admission()
        ticket = uploads.reserve(owner_id=user, address=address_of_scope(scope), size=size)
        return Admission(release=partial(_release, ticket.pk))
    except uploads.NoRoomError as error:
        return Refusal(HTTPStatus.TOO_MANY_REQUESTS, "no_room", str(error), uploads.RETRY_SECONDS)
    except UnicodeDecodeError:
        return _unknown(most=small_bytes(scope))
    finally:
        connection.close()


def _of_worker(path: str, *, size: int) -> Admission | Refusal:
    """Workers send the artefacts of an attempt sequentially; a few concurrent ones are retries of interrupted calls."""
    if size <= LARGE_BODY or not path.startswith(_ATTEMPTS):
        return Admission()
    attempt = path.removeprefix(_ATTEMPTS).partition("/")[0].lower()
    if not _bodies_of_attempts.take(attempt):
        detail = f"This attempt already sends {MOST_OF_ATTEMPT} large bodies: wait for one of them."
        return Refusal(HTTPStatus.TOO_MANY_REQUESTS, "too_many_bodies", detail, RETRY_ATTEMPT_SECONDS)
    return Admission(release=partial(_bodies_of_attempts.give_back, attempt))


class _AtOnce:
    """Limits the number of concurrent bodies in this process, by key."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._counts: Counter[str] = Counter()

    def take(self, key: str) -> bool:
        with self._lock:
            if self._counts[key] >= self._most:
                return False
            self._counts[key] += 1
            return True

    def give_back(self, key: str) -> None:
        with self._lock:
            self._counts[key] -= 1
            self._counts += Counter()  # removes zero counts


def _release(ticket_id: UUID) -> None:
    try:
        uploads.end(ticket_id)
    finally:
        connection.close()


def _unknown(*, most: int) -> Refusal:
    bodies = f"Bodies larger than {most} bytes" if most else "Bodies of workers' calls"
    detail = f"{bodies} require valid credentials: sign in, or send a valid token."
    return Refusal(HTTPStatus.UNAUTHORIZED, "not_authenticated", detail)


def _of_session(request: ASGIRequest) -> int | None:
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    user = get_user(request) if key else None
    return user.pk if user is not None and user.is_authenticated else None


def _of_token(request: ASGIRequest) -> int | None:
    try:
        authenticated = ApiTokenAuthentication().authenticate(Request(request))
    except AuthenticationFailed:
        return None
    return None if authenticated is None else authenticated[0].pk


_attempts: SharedCache[UUID, str] = SharedCache(maxsize=_MOST_REMEMBERED)
"""Token hashes of attempts by id. They never change, so repeated calls need no query; the views check that the attempt
is still live."""


_bodies_of_attempts = _AtOnce(MOST_OF_ATTEMPT)


def _refused_worker(request: ASGIRequest, *, path: str) -> Refusal | None:
    """The refusal of a worker's call, or None if it has the token that its URL requires. Equal to the view's response,
    since workers act on its code: they open a new session, or are updated."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    token = text.strip()
    if scheme.lower() != "bearer" or not token or not token.isascii():
        return _unknown(most=0)
    if path.startswith(_ATTEMPTS):
        return None if _is_attempt_token(token, path=path) else _unknown(most=0)
    if path.startswith(_RUNS) and path != _RUN_LEASE:
        return None if _is_run_token(token, path=path) else _unknown(most=0)
    try:
        if path == _SESSION:
            enrolled(token)
        else:
            holder_of_session(token)
    except CredentialRefusedError as error:
        return Refusal(HTTPStatus.FORBIDDEN, error.code, str(error))
    return None


def _is_attempt_token(token: str, *, path: str) -> bool:
    try:
        attempt_id = UUID(path.removeprefix(_ATTEMPTS).partition("/")[0])
    except ValueError:
        return False
    token_hash = _attempts.get(attempt_id)
    if token_hash is None:
        token_hash = Attempt.objects.filter(pk=attempt_id).values_list("token_hash", flat=True).first()
    if token_hash is None or not hmac.compare_digest(token_hash, hash_token(token)):
        return False
    _attempts.put(attempt_id, token_hash)
    return True


def _is_run_token(token: str, *, path: str) -> bool:
    """Whether a token is or was that of a run's worker: the view answers one that was with 409."""
    try:
        run_id = UUID(path.removeprefix(_RUNS).partition("/")[0])
    except ValueError:
        return False
    return Run.objects.filter(pk=run_id, last_token_hash=hash_token(token)).exists()


LIMITS = BodyLimits(
    small=small_bytes,
    at_address=most_bytes,
    admit=admit,
    patience_seconds=uploads.PATIENCE_SECONDS,
    bytes_per_second=uploads.SLOWEST_BYTES_PER_SECOND,
)
