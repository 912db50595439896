"""Large bodies through the real server: refused before they are read, unless a known caller uploads."""

import socket
from datetime import timedelta

import httpx
import pytest
from django.conf import settings as site_settings
from django.test import Client
from django.utils import timezone
from knox.models import AuthToken

from evaluator.core.values import Artefact, MediaType
from gpu_jobs import bundles
from leaderboard.evaluations.models import EvaluationState
from leaderboard.people.models import User
from leaderboard.people.services import create_token
from leaderboard.wiring.body_limits import LARGE_BODY, MOST_OF_ATTEMPT, SMALL_BODY, admit
from tests.leaderboard.factories import make_evaluation, make_lease, make_suite, make_user
from tests.leaderboard.platform.api.helpers import lease_request, session_of
from tests.leaderboard.serving import server

pytestmark = pytest.mark.django_db(transaction=True)
GIB = 1024**3
UPLOADS = "/api/v1/checkpoints/"
LARGE = 2 * SMALL_BODY
PATIENCE = 30.0
"""Seconds: a server that waited for the body would never answer."""


@pytest.fixture
def url(settings, tmp_path, launcher):
    settings.STORE_DIR = tmp_path / "store"
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path
    with server() as found:
        yield found


@pytest.fixture
def ada():
    return make_user("ada")


def head(path, *, headers, method="POST"):
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def announce(url, path, *, method="POST", size=GIB, sent=b"", **headers):
    """Status and text of the answer to a body that is announced and, but for its beginning, never sent."""
    address = httpx.URL(url)
    with socket.create_connection((address.host, address.port), timeout=PATIENCE) as connection:
        connection.sendall(head(path, method=method, headers={"Content-Length": str(size), **headers}) + sent)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return int(answer.split(b" ", 2)[1]), answer.decode()


def cookie(user):
    client = Client()
    client.force_login(user)
    return client.cookies[site_settings.SESSION_COOKIE_NAME].value


BOGUS = {
    "nothing": {},
    "a cookie of another name": {"Cookie": "a=b"},
    "a session that there is not": {"Cookie": f"sessionid={'a' * 32}"},
    "a token that there is not": {"Authorization": "Token x"},
    "a token of the right form": {"Authorization": f"Bearer pa_{'0' * 61}"},
    "a token that is no ASCII": {"Authorization": "Bearer \u00fc"},
    "a password": {"Authorization": "Basic YWRhOnNlY3JldA=="},
    "a cookie that is no ASCII": {"Cookie": "sessionid=\u00fc"},
}


def test_a_gibibyte_with_bogus_credentials_is_refused_unread(url):
    taken = {
        (path, name): status
        for path in ("/submit/", "/submit/checkpoint/", UPLOADS)
        for name, given in BOGUS.items()
        for status, text in [announce(url, path, **given)]
        if status != 401 or "valid credentials" not in text
    }
    assert taken == {}


def test_credentials_that_have_ended_or_are_of_another_kind_are_no_credentials(url, ada):
    bearer = {"Authorization": f"Bearer {create_token(user=ada).token}"}
    session = {"Cookie": f"sessionid={cookie(ada)}"}
    assert announce(url, "/account/tokens/", **session)[0] == announce(url, "/api/v1/teams/", **bearer)[0] == 413
    assert announce(url, "/submit/", **bearer)[0] == 401, "a token of the API opens no page"
    User.objects.update(is_active=False)
    assert announce(url, UPLOADS, **bearer)[0] == announce(url, "/submit/", **session)[0] == 401
    User.objects.update(is_active=True)
    AuthToken.objects.update(expiry=timezone.now() - timedelta(seconds=1))
    assert announce(url, UPLOADS, **bearer)[0] == 401
    ada.set_password("another one")
    ada.save()
    assert announce(url, "/submit/", **session)[0] == 401


def test_an_attempt_sends_a_few_large_bodies_at_once_and_goes_on_when_one_has_ended(launcher):
    lease = make_lease(make_evaluation(state=EvaluationState.LAUNCHING))
    path = f"/api/v1/worker/attempts/{lease.attempt.pk}/objects/{'0' * 64}/"
    scope = {
        "type": "http",
        "method": "PUT",
        "path": path,
        "headers": [(b"authorization", f"Bearer {lease.token}".encode())],
    }
    taken = [admit(scope, LARGE_BODY + 1) for _ in range(MOST_OF_ATTEMPT)]
    refused = admit(scope, LARGE_BODY + 1)
    assert (refused.status, refused.code, refused.retry_after) == (429, "too_many_bodies", 5)
    taken.pop().release()
    taken.append(admit(scope, LARGE_BODY + 1))
    for admission in taken:
        admission.release()


def test_a_gibibyte_where_nothing_is_uploaded_is_refused_even_to_known_callers(url, ada):
    known = {"Authorization": f"Bearer {create_token(user=ada).token}", "Cookie": f"sessionid={cookie(ada)}"}
    for path in ("/", "/api/v1/submissions/", "/api/v1/worker/lease/"):
        assert announce(url, path, **known)[0] == 413, path
    assert announce(url, UPLOADS, method="PUT", **known)[0] == 413


def test_a_large_form_is_read_with_a_session_and_without_a_length(url, ada):
    """A browser's form; Django then refuses it for want of a CSRF token, which it looked for in the body."""

    def pieces():
        for _ in range(LARGE // 65536):
            yield b"x" * 65536

    cookies = {site_settings.SESSION_COOKIE_NAME: cookie(ada)}
    assert httpx.post(f"{url}/submit/", content=pieces(), cookies=cookies, timeout=30).status_code == 403


class TestWorkers:
    @pytest.fixture
    def leased(self, url):
        make_evaluation(suite=make_suite(runnable=2), state=EvaluationState.LAUNCHING)
        headers = {"Authorization": f"Bearer {session_of(site_settings.WORKER_TOKEN)}"}
        return httpx.post(f"{url}/api/v1/worker/lease/", json=lease_request(), headers=headers).json()

    def test_a_large_bundle_is_taken_with_the_attempt_s_token(self, url, leased):
        data = b"x" * LARGE
        artefact = Artefact(data=data, media_type=MediaType.TEXT)
        answer = httpx.post(
            f"{url}/api/v1/worker/attempts/{leased['attempt']}/objects/",
            content=bundles.pack([artefact]),
            headers={"Authorization": f"Bearer {leased['token']}", "Content-Type": bundles.CONTENT_TYPE},
            timeout=30,
        )
        assert (answer.status_code, answer.json()) == (200, {"kept": 1, "refused": {}})

    def test_neither_another_token_nor_an_address_of_no_attempt_sends_a_large_one(self, url, leased):
        path = f"/api/v1/worker/attempts/{leased['attempt']}/objects/"
        for token in ("x", site_settings.WORKER_TOKEN, "\u00fc"):
            given = {"Content-Length": str(LARGE), "Authorization": f"Bearer {token}"}
            assert announce(url, path, **given)[0] == 401
        for path in ("attempts/x/objects/", "attempts/", "nothing/"):
            status, _ = announce(url, f"/api/v1/worker/{path}", Authorization=f"Bearer {site_settings.WORKER_TOKEN}")
            assert status in {401, 403, 413}
