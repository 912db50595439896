"""Every refusal of the API has one shape."""

import pytest

from leaderboard.site.api.errors import by_field
from tests.leaderboard.factories import make_evaluation, make_user
from tests.leaderboard.site.api.helpers import ApiClient, client_of, worker_client

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
