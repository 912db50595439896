"""Authentication of workers' calls: enrolment tokens, sessions, and credentials of attempts."""

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
    """The call has a valid enrolment token."""

    def has_permission(self, request: Request, view: Any) -> bool:  # noqa: ARG002 - the base class's signature
        return bool(enrolled(str(request.auth)))


class HasWorkerSession(BasePermission):
    """The call has a worker's session. Sets `view.holder`."""

    def has_permission(self, request: Request, view: Any) -> bool:
        view.holder = holder_of_session(str(request.auth))
        return True


class HoldsAttempt(BasePermission):
    """The call has the credential of its attempt. An attempt that is not live is answered later, with 409.

    Sets `view.split` to the split of the attempt's evaluation, and `view.is_own` if a self-hosted worker calls.
    """

    message = "This is not the attempt's credential, which its lease contains."

    def has_permission(self, request: Request, view: Any) -> bool:
        of_attempt = Attempt.objects.filter(pk=view.kwargs["attempt_id"])
        row = of_attempt.values_list("token_hash", "shard__evaluation__split", "worker").first()
        if row is None:
            return False
        token_hash, split, worker = row
        if not hmac.compare_digest(token_hash, hash_token(str(request.auth))):
            return False
        also_named(worker=worker)
        trace_attempt_call(attempt=view.kwargs["attempt_id"], worker=worker, request=request._request)
        view.split, view.is_own = split, worker.startswith(OWN_WORKER)
        return True
