"""Submitting through the API: every wrong field is named, and a pipeline that asks again submits once."""

from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.evaluations.models import Evaluation, IdempotencyKey, Submission
from leaderboard.planners.models import Planner
from leaderboard.quotas.models import QuotaEntry
from leaderboard.submissions import services
from tests.leaderboard.factories import make_evaluation, make_submission, make_suite, make_user
from tests.leaderboard.platform.api.helpers import ApiClient, client_of
from tests.leaderboard.threads import in_threads

pytestmark = pytest.mark.django_db


def body(**planner) -> dict:
    return {
        "planner": {"name": "mine", "kind": "bundled", "bundled_name": "gold", **planner},
        "suites": ["openagi"],
    }


ENDPOINT = {"kind": "endpoint", "bundled_name": "", "endpoint_url": "https://planner.example.org/plan"}


def test_a_submission_makes_an_evaluation_with_shards_for_what_can_run(settings):
    settings.TASKS_PER_SHARD = 3
    make_suite(slug="openagi", runnable=7, not_run=2)
    user = make_user()
    response = client_of(user).post("submissions/", body())
    assert response.status_code == 201, response.json()
    (evaluation,) = response.json()["evaluations"]
    assert (evaluation["state"], evaluation["tasks_total"], evaluation["tasks_not_run"]) == ("queued", 9, 2)
    assert evaluation["done"] == 2
    row = Evaluation.objects.get(pk=evaluation["id"])
    assert [shard.task_keys for shard in row.shards.order_by("number")] == [["0", "1", "2"], ["3", "4", "5"], ["6"]]
    assert set(row.results.values_list("task__key", "outcome", "reason")) == {
        ("x0", "not_run", "no_expert"),
        ("x1", "not_run", "no_expert"),
    }


def test_a_wrong_field_of_the_planner_is_named():
    make_suite(slug="openagi")
    client, wrong = client_of(make_user()), {}
    for change, where, complaint in (
        ({"name": ""}, ("planner", "name"), "blank"),
        ({"name": "a" * 81}, ("planner", "name"), "at most 80"),
        ({"name": "a\nb"}, ("planner", "name"), "unprintable"),
        ({"name": "a\x00b"}, ("planner", "name"), "Null"),
        ({"name": "\ud800"}, ("planner", "name"), "surrogate pair"),
        ({"name": ["a"]}, ("planner", "name"), "string"),
        ({"kind": "magic"}, ("planner", "kind"), "There is no kind of planner 'magic'; there are: bundled"),
        ({"kind": "endpont"}, ("planner", "kind"), "did you mean 'endpoint'?"),
        ({"bundled_name": "hugginggpt:chat:http://10.0.0.1/v1#m"}, ("planner", "bundled_name"), "Choose one of gold"),
        ({"bundled_name": "controlllm/adaptive"}, ("suites",), "does not support requests of openagi"),
        ({"bundled_name": "silver"}, ("planner", "bundled_name"), "gold, random-valid, random-valid/2, "),
        ({"endpoint_url": "https://a.example"}, ("planner", "endpoint_url"), "leave this empty"),
        ({**ENDPOINT, "endpoint_url": ""}, ("planner", "endpoint_url"), "Give the address"),
        ({**ENDPOINT, "endpoint_url": "ftp://a.example"}, ("planner", "endpoint_url"), "http"),
        ({**ENDPOINT, "endpoint_url": "http://private.example"}, ("planner", "endpoint_url"), "private"),
        ({**ENDPOINT, "endpoint_url": "http://a.example/" + "a" * 500}, ("planner", "endpoint_url"), "at most 500"),
        ({**ENDPOINT, "bundled_name": "gold"}, ("planner", "bundled_name"), "leave this empty"),
        ({"timeout_seconds": 0}, ("planner", "timeout_seconds"), "1 to 300"),
        ({"timeout_seconds": 10**6}, ("planner", "timeout_seconds"), "1 to 300"),
        ({"timeout_seconds": "soon"}, ("planner", "timeout_seconds"), "integer"),
        ({"description": "a" * 4001}, ("planner", "description"), "4000"),
    ):
        response = client.post("submissions/", body(**change))
        said = response.json().get("errors", {}).get(".".join(where), [""])[0]
        if response.status_code != 400 or complaint not in said:
            wrong[str(change)[:80]] = response.content
    assert wrong == {}
    assert not Planner.objects.exists()


def test_wrong_and_missing_fields_and_bodies_are_named(monkeypatch):
    make_suite(slug="openagi")
    client, whole = client_of(make_user()), body()
    for wrong, field, complaint in (
        ({**whole, "suites": []}, "suites", "at least one"),
        ({**whole, "suites": ["unheard-of"]}, "suites", "no suite 'unheard-of'"),
        ({**whole, "suites": ["openagi", "openagi"]}, "suites", "twice"),
        ({**whole, "suites": "openagi"}, "suites", "list"),
        ({"suites": whole["suites"]}, "planner", "required"),
        ({"planner": whole["planner"]}, "suites", "required"),
    ):
        response = client.post("submissions/", wrong)
        assert (response.status_code, complaint in response.json()["errors"][field][0]) == (400, True), wrong
    for text in ("{", "[]", "null", "\x00", "[" * 100_000, '{"planner": NaN}'):
        assert client.post("submissions/", text).status_code == 400
    monkeypatch.setattr("leaderboard.platform.api.parsers.LARGEST_BODY", 100)
    assert client.post("submissions/", {"planner": "a" * 200}).status_code == 413
    assert not Submission.objects.exists()


def test_a_private_address_is_accepted_in_demo_mode_only(settings):
    make_suite(slug="openagi")
    private = body(**{**ENDPOINT, "endpoint_url": "http://private.example/plan"})
    client = client_of(make_user())
    assert client.post("submissions/", private).status_code == 400
    settings.DEMO = True
    assert client.post("submissions/", private).status_code == 201


def test_the_same_planner_is_used_again_and_a_different_one_needs_another_name():
    make_suite(slug="openagi")
    client = client_of(make_user())
    assert client.post("submissions/", body()).status_code == 201
    assert client.post("submissions/", body(name="MINE")).status_code == 201
    assert Planner.objects.count() == 1
    response = client.post("submissions/", body(bundled_name="no-op"))
    assert response.status_code == 400
    assert "another bundled planner" in response.json()["errors"]["planner.name"][0]
    assert Submission.objects.count() == 2


def test_a_planner_s_address_is_shown_to_its_owner_only():
    owner = make_user()
    submission = make_submission(user=owner, **ENDPOINT)
    path = f"submissions/{submission.pk}/"
    assert client_of(owner).get(path).json()["planner"]["endpoint_url"] == ENDPOINT["endpoint_url"]
    for other in (ApiClient(), client_of(make_user())):
        response = other.get(path)
        assert response.status_code == 200
        assert ENDPOINT["endpoint_url"] not in response.content.decode()


KEY = {"Idempotency-Key": "build-17"}


def body_for(suite, **planner) -> dict:
    return {"planner": {"name": "mine", "kind": "bundled", "bundled_name": "gold", **planner}, "suites": [suite.slug]}


@pytest.mark.django_db
class TestOneAfterTheOther:
    def test_the_same_request_gives_the_first_submission_and_charges_nothing(self):
        client, suite = client_of(make_user()), make_suite()
        first = client.post("submissions/", body_for(suite), **KEY)
        again = client.post("submissions/", body_for(suite), **KEY)
        assert (first.status_code, again.status_code) == (201, 201)
        assert again.json() == first.json()
        assert "Idempotent-Replayed" not in first.headers
        assert again.headers["Idempotent-Replayed"] == "true"
        assert Submission.objects.count() == QuotaEntry.objects.count() == 1

    def test_another_request_with_the_key_is_422_while_another_key_user_or_day_submits(self):
        client, suite = client_of(make_user()), make_suite()
        client.post("submissions/", body_for(suite), **KEY)
        other = client.post("submissions/", body_for(suite, name="another"), **KEY)
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
        assert client.post("submissions/", body_for(suite), **{"Idempotency-Key": "build-18"}).status_code == 201
        assert client.post("submissions/", body_for(suite)).status_code == 201
        assert Submission.objects.count() == 3
        assert client_of(make_user()).post("submissions/", body_for(suite), **KEY).status_code == 201, (
            "each has its own"
        )
        IdempotencyKey.objects.update(created=timezone.now() - timedelta(hours=25))
        assert client.post("submissions/", body_for(suite, name="another"), **KEY).status_code == 201, "a day later"
        for key in ("", "x" * 256, "schlüssel"):
            answer = client.post("submissions/", body_for(suite), **{"Idempotency-Key": key})
            assert answer.status_code == 400
            assert "printable ASCII" in answer.json()["errors"]["Idempotency-Key"][0]

    def test_a_request_that_was_refused_may_come_again_corrected(self, settings):
        settings.QUOTA_PER_DAY = 1
        client, suite = client_of(make_user()), make_suite()
        assert client.post("submissions/", body_for(suite, bundled_name="no such"), **KEY).status_code == 400
        client.post("submissions/", body_for(suite))
        assert client.post("submissions/", body_for(suite), **KEY).status_code == 429
        assert not IdempotencyKey.objects.exists()
        settings.QUOTA_PER_DAY = 2
        assert client.post("submissions/", body_for(suite), **KEY).status_code == 201

    def test_a_rerun_is_made_once_and_its_key_is_no_submission_s(self):
        evaluation = make_evaluation()
        services.cancel(evaluation)
        client = client_of(evaluation.submission.submitted_by)
        path = f"evaluations/{evaluation.pk}/rerun/"
        first, again = client.post(path, **KEY), client.post(path, **KEY)
        assert first.status_code == again.status_code == 201
        assert first.json()["id"] == again.json()["id"]
        assert client.post("submissions/", body_for(evaluation.suite), **KEY).status_code == 422
        assert evaluation.reruns.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_requests_that_arrive_at_once_one_submits_and_all_get_its_answer():
    user, suite = make_user(), make_suite()
    client_token = client_of(user)
    answers = []

    def ask() -> None:
        answers.append(client_token.post("submissions/", body_for(suite), **KEY))

    assert in_threads(ask, count=5) == []
    assert [answer.status_code for answer in answers] == [201] * 5
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sum("Idempotent-Replayed" in answer.headers for answer in answers) == 4
    assert Submission.objects.count() == 1
