"""Submitting through the API: every wrong field is named."""

import pytest

from leaderboard.evaluations.models import Evaluation, Submission
from leaderboard.planners.models import Planner
from tests.leaderboard.factories import make_submission, make_suite, make_user
from tests.leaderboard.site.api.helpers import ApiClient, client_of

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
        ({"kind": "magic"}, ("planner", "kind"), "choice"),
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
    monkeypatch.setattr("leaderboard.site.api.parsers.LARGEST_BODY", 100)
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
