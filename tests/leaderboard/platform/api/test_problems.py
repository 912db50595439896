"""Every refusal of the API has one shape, and nothing that a request says is ignored."""

import json

import pytest
from django.db import transaction
from django.test import Client

from leaderboard.evaluations.models import Submission
from leaderboard.platform.api.errors import by_field
from leaderboard.queue.web.worker_api import urls as worker_api_urls
from leaderboard.workbench.web.urls import worker_patterns
from tests.leaderboard.factories import make_evaluation, make_suite, make_user
from tests.leaderboard.platform.api.helpers import ApiClient, client_of, worker_client
from tests.leaderboard.test_permissions import World, address, make_world
from tests.routes import ROLES, Route, named_routes, table

pytestmark = pytest.mark.django_db


def test_fields_are_named_as_they_are_nested():
    for errors, fields in (
        ({"a": ["x", "y"]}, {"a": ["x", "y"]}),
        ({"planner": {"name": ["x"]}, "suites": ["y"]}, {"planner.name": ["x"], "suites": ["y"]}),
        ({"lines": [{}, {"at": ["x"]}]}, {"lines.1.at": ["x"]}),
        ({"suites": {0: ["x"]}}, {"suites.0": ["x"]}),
        ({"non_field_errors": ["x"]}, {"": ["x"]}),
        (["x"], {"": ["x"]}),
        ({"a": "x"}, {"a": ["x"]}),
    ):
        assert dict(by_field(errors)) == fields


def test_every_kind_of_refusal_is_a_problem_document():
    evaluation = make_evaluation()
    user, everybody = client_of(make_user()), ApiClient()
    refusals = {
        everybody.post("submissions/"): (401, "not_authenticated"),
        user.post("submissions/"): (400, "invalid"),
        user.post("submissions/", "{"): (400, "parse_error"),
        user.post(f"evaluations/{evaluation.pk}/cancel/"): (403, "permission_denied"),
        everybody.get("boards/unheard-of/"): (404, "not_found"),
        everybody.get("unheard-of/"): (404, "not_found"),
        everybody.get("evaluations/no-uuid/"): (404, "not_found"),
        user.delete("evaluations/"): (405, "method_not_allowed"),
        user.post_bytes("submissions/", b"a=b", "text/plain"): (415, "unsupported_media_type"),
        worker_client().post("worker/lease/"): (400, "invalid"),
    }
    for answer, (status, code) in refusals.items():
        found = answer.json()
        assert (answer.status_code, found["status"], found["code"]) == (status, status, code)
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert found["detail"]
        assert found["title"]
        assert found["type"] == "http://testserver/docs/#problems"
        assert status != 401 or answer.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.fixture
def world(settings, tmp_path, launcher) -> World:
    settings.STORE_DIR = tmp_path / "store"
    return make_world(tmp_path)


CHANGING = ("post", "put", "patch", "delete")
MAY = frozenset({200, 201, 202, 204, 400, 409, 415, 429, 503})


def for_people() -> list[tuple[Route, list[str]]]:
    """The API's routes but for workers' calls, whose contract lets newer workers say more, and for uploaded bytes."""
    patterns = [*worker_api_urls.urlpatterns, *worker_patterns]
    workers = {f"api:{pattern.name}" for pattern in patterns}
    left_out = workers | {"api:nowhere", "api:upload"}
    return [
        (table()[name], parameters)
        for name, parameters in named_routes()
        if name.startswith("api:") and name not in left_out
    ]


def role_for(route: Route, method: str) -> str:
    """Somebody who may call it."""
    statuses = dict(zip(ROLES, route.statuses[method], strict=True))
    possible = (role for role in ("owner", "member", "stranger", "staff") if statuses[role] in MAY)
    return next(possible, "owner")


def call(world: World, *, role: str, path: str, method: str, **kwargs):
    with transaction.atomic():
        headers = {"Authorization": f"Bearer {world.tokens[role]}"}
        answer = getattr(Client(), method)(path, headers=headers, **kwargs)
        transaction.set_rollback(True)
    return answer


def test_every_address_refuses_unknown_parameters_and_every_body_unknown_fields_by_name(world):
    silent, bodies, walked = [], 0, 0
    for route, parameters in for_people():
        path = address(route, parameters, world)
        for method in route.statuses:
            walked += 1
            asked = [(f"{path}?visibilty=private", {})]
            if method in CHANGING:
                bodies += 1
                sent = {"data": json.dumps({"visibilty": "private"}), "content_type": "application/json"}
                asked += [(path, {"data": {"visibilty": "private"}} if route.name == "api:checkpoints" else sent)]
            for where, given in asked:
                answer = call(world, role=role_for(route, method), path=where, method=method, **given)
                if answer.status_code != 400 or "visibilty" not in answer.json().get("errors", {}):
                    silent.append(f"{method} {where}: {answer.status_code} {answer.content[:200]}")
    assert not silent, "\n".join(silent)
    assert (walked > 70, bodies > 25) == (True, True)


PLANNER = {"name": "mine", "kind": "bundled", "bundled_name": "gold"}


@pytest.fixture
def ada(launcher):
    make_suite(slug="openagi")
    return client_of(make_user("ada"))


def submission(**more):
    return {"planner": PLANNER, "suites": ["openagi"], **more}


def test_a_mistyped_field_publishes_nothing(ada):
    for body, errors in (
        (submission(visibilty="private"), {"visibilty": ["Unknown field. Did you mean 'visibility'?"]}),
        (
            submission(planner={**PLANNER, "modelname": "x"}),
            {"planner.modelname": ["Unknown field. Did you mean 'model_name'?"]},
        ),
    ):
        answer = ada.post("submissions/", body)
        assert (answer.status_code, answer.json()["errors"]) == (400, errors)
    assert not Submission.objects.exists()


def test_an_unknown_field_far_from_all_others_lists_what_there_is(ada):
    answer = ada.post("webhooks/", {"url": "https://example.org/hook", "qqq": 1})
    assert answer.json()["errors"] == {"qqq": ["Unknown field. Possible: url."]}
    answer = ada.post(f"evaluations/{make_evaluation().pk}/cancel/", {"qqq": 1})
    assert answer.json()["errors"] == {"qqq": ["Unknown field. None is possible here."]}


def test_unknown_fields_of_objects_in_lists_are_named_with_their_place(ada):
    plans = [{"task": "14", "completion": "a"}, {"task": "14", "completion": "a", "modle": "x"}]
    answer = ada.post("rewards/", {"suite": "openagi", "plans": plans})
    assert list(answer.json()["errors"]) == ["plans.1.modle"]


def test_what_is_given_twice_no_object_or_of_another_type_is_refused_and_a_byte_order_mark_is_not(ada):
    answer = ada.get("evaluations/", state=["completed", "failed"])
    assert answer.json()["errors"] == {"state": ["Give this parameter once."]}
    body = json.dumps(submission()).encode()
    answer = ada.post_bytes(
        "submissions/", body[:-1] + b', "visibility": "private", "visibility": "public"}', "application/json"
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "parse_error")
    assert "'visibility' appears more than once" in answer.json()["detail"]
    for text in (b"[]", b"null", b'"x"', b"7", b'[{"planner": {}}]'):
        assert ada.post_bytes("submissions/", text, "application/json").status_code == 400
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "text/csv", ""):
        assert ada.post_bytes("submissions/", body, content_type).status_code == 415
    assert not Submission.objects.exists()
    assert ada.post_bytes("submissions/", b"\xef\xbb\xbf" + body, "application/json").status_code == 201


def test_half_a_surrogate_pair_is_refused(ada):
    sentence = "This contains half of a surrogate pair, which is not a character."
    for body, place in (
        (rb'{"url": "https://example.org/\ud800"}', "url"),
        (rb'{"\uDfffx": 1}', ""),
        (rb'{"url": [{"a": "b\udeadc"}]}', "url.0.a"),
    ):
        answer = ada.post_bytes("webhooks/", body, "application/json")
        assert (answer.status_code, answer.json()["errors"]) == (400, {place: [sentence]})
