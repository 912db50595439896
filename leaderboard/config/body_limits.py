"""Which requests may have large bodies: at which addresses, and from whom.

The credentials are checked by the head of the request alone, before its body is read. The views check them again, with
scopes and rights.
"""

import hmac
from importlib import import_module
from io import BytesIO
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user
from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from leaderboard.api.authentication import ApiTokenAuthentication
from leaderboard.api.parsers import LARGEST_BODY
from leaderboard.config.bodies import BodyLimits, Scope
from leaderboard.config.worker_calls import PREFIX as WORKERS
from leaderboard.evaluations.leases import hash_token
from leaderboard.evaluations.models import Attempt

_MIB = 1024 * 1024
SMALL_BODY = _MIB
"""Of every form and call but those that bring plans, checkpoints, results or artefacts."""
_API = "/api/"
_ATTEMPTS = f"{WORKERS}attempts/"
_CHECKPOINTS = frozenset({"/submit/", "/api/v1/checkpoints/"})


def most_bytes(scope: Scope) -> int:
    """The largest body at an address, from a caller with valid credentials."""
    path = scope["path"]
    if path.startswith(_ATTEMPTS):
        return max(settings.MAX_OBJECT_BYTES, LARGEST_BODY)
    if path.startswith(WORKERS):
        return SMALL_BODY
    if path in _CHECKPOINTS and scope["method"] == "POST":
        return settings.MAX_CHECKPOINT_BYTES + _MIB
    return LARGEST_BODY + _MIB


def knows_caller(scope: Scope) -> bool:
    """Whether the credentials are valid that the address goes by.

    That is the attempt's token for calls of workers, a personal token or a session for other calls of the API, and a
    session for pages. Asks the database, and gives its connection back: no request ends here.
    """
    try:
        request = ASGIRequest(scope, BytesIO())
        path = scope["path"]
        if path.startswith(WORKERS):
            return _holds_attempt(request, path=path)
        return (path.startswith(_API) and _has_token(request)) or _has_session(request)
    except UnicodeDecodeError:
        return False
    finally:
        connection.close()


def _has_session(request: ASGIRequest) -> bool:
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    return bool(key) and get_user(request).is_authenticated


def _has_token(request: ASGIRequest) -> bool:
    try:
        return ApiTokenAuthentication().authenticate(Request(request)) is not None
    except AuthenticationFailed:
        return False


def _holds_attempt(request: ASGIRequest, *, path: str) -> bool:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    try:
        attempt_id = UUID(path.removeprefix(_ATTEMPTS).partition("/")[0])
    except ValueError:
        return False
    kept = Attempt.objects.filter(pk=attempt_id).values_list("token_hash", flat=True).first()
    return scheme.lower() == "bearer" and kept is not None and hmac.compare_digest(kept, hash_token(token.strip()))


LIMITS = BodyLimits(small=SMALL_BODY, at_address=most_bytes, knows_caller=knows_caller)
