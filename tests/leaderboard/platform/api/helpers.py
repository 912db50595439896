"""Calling the API in tests."""

import secrets
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.test import Client

from leaderboard.people.models import Scope, User
from leaderboard.people.services import create_token
from leaderboard.queue.workers.sessions import open_session


class ApiClient:
    """A client of the API with a bearer token, or with none."""

    def __init__(self, token: str = "") -> None:
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = Client()

    def get(self, path: str, **query: Any):
        return self._client.get(f"/api/v1/{path}", query, headers=self._headers)

    def post(self, path: str, body: Any = None, **headers: str):
        body = {} if body is None else body
        headers = self._headers | {name.replace("_", "-"): value for name, value in headers.items()}
        return self._client.post(f"/api/v1/{path}", body, content_type="application/json", headers=headers)

    def patch(self, path: str, body: Any):
        return self._client.patch(f"/api/v1/{path}", body, content_type="application/json", headers=self._headers)

    def post_bytes(self, path: str, data: bytes, content_type: str):
        return self._client.post(f"/api/v1/{path}", data, content_type=content_type, headers=self._headers)

    def put(self, path: str, data: bytes, content_type: str):
        return self._client.put(f"/api/v1/{path}", data, content_type=content_type, headers=self._headers)

    def delete(self, path: str):
        return self._client.delete(f"/api/v1/{path}", headers=self._headers)


def client_of(user: User, *, scopes: Sequence[str] = Scope.values) -> ApiClient:
    """A client with a personal token of the user, which may do everything unless the test says what."""
    return ApiClient(create_token(user=user, scopes=scopes).token)


def worker_client() -> ApiClient:
    """A client with a session of the operator's worker."""
    return ApiClient(session_of(settings.WORKER_TOKEN))


def worker_with(enrolment: str) -> ApiClient:
    """A client with a session that this enrolment token opens."""
    return ApiClient(session_of(enrolment))


def session_of(enrolment: str) -> str:
    """A session that this enrolment token opens."""
    return open_session(enrolment=enrolment).token


def lease_request(**changes: Any) -> dict[str, Any]:
    """The body of a lease request, with a token of its own."""
    known = dict.fromkeys(("knows_roles", "knows_endpoint_roles", "knows_records", "knows_recorded_turns"), True)
    return {"worker": "w", "token": secrets.token_urlsafe(32), **known, **changes}
