"""What authorises a worker's call: an enrolment token, a session, or the credential of one attempt."""

import hmac
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from gpu_jobs.logs.lines import also_named
from leaderboard.evaluations.models import OWN_WORKER, Attempt
from leaderboard.platform.tracing.requests import trace_attempt_call
from leaderboard.queue.leasing.next_shard import hash_token
from leaderboard.queue.workers.sessions import holder_of_session
from leaderboard.queue.workers.tokens import enrolled


class WorkerAuthentication(BaseAuthentication):
    """`Authorization: Bearer` with an enrolment token, a session of a worker, or the credential of one attempt."""

    def authenticate(self, request: Request) -> tuple[None, str]:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise AuthenticationFailed("Send Authorization: Bearer with the worker's token.")
        return None, token.strip()

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 - the base class's signature
        return "Bearer"


class WorkerScheme(OpenApiAuthenticationExtension):
    """Describes the credentials of workers in the OpenAPI schema."""

    target_class = WorkerAuthentication
    name = "worker"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ARG002 - the base class's
        description = "An enrolment token for a session, a session for a lease, and the lease's token for its attempt."
        return {"type": "http", "scheme": "bearer", "description": description}


class IsEnrolled(BasePermission):
    """The call has an enrolment token that opens sessions."""

    def has_permission(self, request: Request, view: Any) -> bool:  # noqa: ARG002 - the base class's signature
        return bool(enrolled(str(request.auth)))


class HasWorkerSession(BasePermission):
    """The call has a session of a worker. `view.holder` is the worker."""

    def has_permission(self, request: Request, view: Any) -> bool:
        view.holder = holder_of_session(str(request.auth))
        return True


class HoldsAttempt(BasePermission):
    """The call has the credential of the attempt that it names. Whether the attempt is live is decided later, with 409.

    `view.split` is that of the attempt's evaluation, `view.is_own` whether a researcher's own worker calls.
    """

    message = "This is not the credential of this attempt, which its lease answered."

    def has_permission(self, request: Request, view: Any) -> bool:
        of_attempt = Attempt.objects.filter(pk=view.kwargs["attempt_id"])
        found = of_attempt.values_list("token_hash", "shard__evaluation__split", "worker").first()
        if found is None or not hmac.compare_digest(found[0], hash_token(str(request.auth))):
            return False
        also_named(worker=found[2])
        trace_attempt_call(attempt=view.kwargs["attempt_id"], worker=found[2], request=request._request)
        view.split, view.is_own = found[1], found[2].startswith(OWN_WORKER)
        return True
