"""The log of an evaluation: how it comes in, and who reads it."""

import re
import time

import pytest
from django.test import Client

from leaderboard.evaluations.models import EvaluationState
from leaderboard.queue.leasing import leases
from leaderboard.queue.models import LogChunk
from leaderboard.submissions import services
from tests.leaderboard.factories import make_submission, make_user
from tests.leaderboard.platform.api.helpers import ApiClient, client_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]
ADDRESS = "https://planner.example.org/plan"


class Case:
    """An evaluation of `ada` with a live attempt, and what its worker sends."""

    def __init__(self, **planner) -> None:
        self.owner = make_user("ada")
        self.evaluation = make_submission(user=self.owner, **planner).evaluations.get()
        self.evaluation.state = EvaluationState.LAUNCHING
        self.evaluation.save()
        found = leases.lease(worker="the-worker")
        assert found is not None
        self.lease = found

    def send(self, *texts: str, first: int = 0, level: str = "INFO"):
        lines = [{"at": time.time() + number, "level": level, "text": text} for number, text in enumerate(texts)]
        path = f"worker/attempts/{self.lease.attempt.pk}/log/"
        return ApiClient(self.lease.token).post(path, {"first": first, "lines": lines})

    def read(self, client: ApiClient):
        return client.get(f"evaluations/{self.evaluation.pk}/log/")

    def texts(self) -> list[str]:
        return [line["text"] for line in self.read(client_of(self.owner)).json()["results"][0]["lines"]]

    def page(self, rest: str = "", user=None) -> tuple[int, str]:
        client = Client()
        if user is not None:
            client.force_login(user)
        response = client.get(f"/evaluations/{self.evaluation.pk}/{rest}")
        return response.status_code, response.content.decode()


@pytest.fixture
def case() -> Case:
    return Case()


def test_lines_come_once_however_often_they_are_sent_and_without_gaps(case):
    assert case.send("one", "two").json() == {"next": 2, "cut": False}
    assert case.send("one", "two").json() == {"next": 2, "cut": False}
    assert case.send("two", "three", first=1).json() == {"next": 3, "cut": False}
    gap = case.send("five", first=4)
    assert (gap.status_code, gap.json()["errors"]) == (400, {"first": ["line 3 is expected next."]})
    assert case.texts() == ["one", "two", "three"]


def test_a_log_is_bounded_and_says_that_it_was_cut(case, settings):
    settings.MAX_LOG_CHARACTERS = 1000
    assert case.send("x" * 600, "y" * 600, "z").json() == {"next": 3, "cut": True}
    assert case.send("more", first=3).json() == {"next": 4, "cut": True}
    shown = case.read(client_of(case.owner)).json()["results"][0]
    assert ([line["text"][0] for line in shown["lines"]], shown["cut"]) == (["x"], True)
    assert "The log was truncated here" in case.page("log/", case.owner)[1]


def test_secrets_are_taken_out_here_too(settings):
    case = Case(kind="endpoint", bundled_name="", endpoint_url=ADDRESS)
    case.send(f"{ADDRESS} {settings.WORKER_TOKEN} Bearer abcdefghijkl", "http://me:pass@host/", "a\x7fb")
    kept = str(list(LogChunk.objects.values_list("lines", flat=True)))
    for secret in ("planner.example.org", settings.WORKER_TOKEN, "abcdefghijkl", "me:pass"):
        assert secret not in kept
    assert "the endpoint" in kept


def test_malformed_and_too_many_lines_are_400(case):
    path = f"worker/attempts/{case.lease.attempt.pk}/log/"
    lines = [{"at": 1, "level": "INFO"}]
    for body in ({}, {"first": -1, "lines": []}, {"first": 0, "lines": lines}, {"first": 0, "lines": 3}):
        assert ApiClient(case.lease.token).post(path, body).status_code == 400, body
    assert case.send(*["x"] * 201).status_code == 400
    assert case.send(*["x"] * 200).status_code == 200


def staff():
    user = make_user("operator")
    user.is_staff = True
    user.save()
    return user


def test_only_the_owner_and_staff_read_it(case):
    case.send("a line of the log")
    stranger = make_user("eve")
    assert case.read(ApiClient()).status_code == 401
    assert case.read(client_of(stranger)).status_code == 403
    for rest in ("log/", "log/tail/"):
        assert case.page(rest)[0] == 404
        assert case.page(rest, stranger)[0] == 404
    for user in (None, stranger):
        assert "Worker log" not in case.page(user=user)[1]
    for user in (case.owner, staff()):
        assert case.read(client_of(user)).status_code == 200
        for rest in ("", "log/", "log/tail/"):
            assert "a line of the log" in case.page(rest, user)[1]


def test_of_hidden_data_only_staff_read_it(case):
    case.send("a line of the log")
    type(case.evaluation).objects.update(split="hidden")
    assert case.read(client_of(case.owner)).status_code == 403
    assert case.page("log/", case.owner)[0] == 404
    assert "Worker log" not in case.page(user=case.owner)[1]
    assert case.page("log/", staff())[0] == 200


def test_the_page_shows_lines_without_script_and_asks_for_more_while_it_runs(case):
    case.send("<script>alert(1)</script> done")
    status, html = case.page(user=case.owner)
    assert status == 200
    assert "&lt;script&gt;alert(1)&lt;/script&gt; done" in html
    assert f'hx-get="/evaluations/{case.evaluation.pk}/log/tail/"' in html
    assert case.page("log/tail/", case.owner)[0] == 200
    services.cancel(case.evaluation)
    assert "hx-get=" not in re.sub(r"<section[^>]*id=\"results\".*", "", case.page(user=case.owner)[1], flags=re.S)
    # htmx stops asking at this status.
    assert case.page("log/tail/", case.owner)[0] == 286


def test_the_tail_has_the_last_lines_in_the_order_of_time(case):
    case.send(*[f"line {number:03}" for number in range(150)])
    case.send(*[f"line {number:03}" for number in range(150, 300)], first=150)
    shown = re.findall(r"line \d{3}", case.page("log/tail/", case.owner)[1])
    assert len(shown) == 200
    assert "line 299" in shown
