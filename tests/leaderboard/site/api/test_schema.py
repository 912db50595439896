"""What the schema promises. That the site keeps it is `test_conformance.py`'s."""

import json

import pytest
from django.core.management import call_command
from jsonschema import Draft202012Validator

from leaderboard.site.api.problems import PROBLEMS
from tests.leaderboard.factories import make_evaluation
from tests.leaderboard.site.api.helpers import ApiClient


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    file = tmp_path_factory.mktemp("schema") / "schema.json"
    call_command("spectacular", "--format", "openapi-json", "--validate", "--fail-on-warn", "--file", str(file))
    made = json.loads(file.read_text())
    assert made["openapi"].startswith("3.1.")
    return made


def operations(schema):
    for path, found in schema["paths"].items():
        for method, operation in found.items():
            yield f"{method} {path}", operation


def contents(operation):
    for part in (operation.get("requestBody", {}), *operation["responses"].values()):
        yield from part.get("content", {}).values()


def test_every_body_of_every_endpoint_has_an_example_that_is_right(schema):
    for name, operation in operations(schema):
        for content in contents(operation):
            assert "example" in content, f"{name}: decorate the serializer with @example"
            whole = {**content["schema"], "components": schema["components"]}
            problems = [error.message for error in Draft202012Validator(whole).iter_errors(content["example"])]
            assert not problems, f"{name}: {problems}"


def test_every_refusal_is_a_problem_document(schema):
    for name, operation in operations(schema):
        refusals = {code: answer for code, answer in operation["responses"].items() if int(code) >= 400}
        assert {"401", "403"} <= set(refusals), name
        for code, answer in refusals.items():
            assert list(answer["content"]) == ["application/problem+json"], name
            assert int(code) in PROBLEMS


@pytest.mark.django_db
class TestSelection:
    def test_rows_have_the_fields_that_were_asked_for(self):
        evaluation = make_evaluation()
        everybody = ApiClient()
        rows = everybody.get("evaluations/", fields="id, state").json()["results"]
        assert rows == [{"id": str(evaluation.pk), "state": evaluation.state}]
        assert set(everybody.get(f"evaluations/{evaluation.pk}/", fields="done").json()) == {"done"}
        path = f"evaluations/{evaluation.pk}/results/"
        assert everybody.get(path, fields="task").status_code == 200
        # Some fields of a planner are left out for others than its owner, chosen or not.
        planner = f"planners/{evaluation.submission.planner_id}/"
        assert set(everybody.get(planner, fields="name").json()) == {"name"}
        assert set(everybody.get(planner, fields="name,endpoint_url").json()) == {"name"}
        answer = everybody.get("evaluations/", fields="id,colour")
        assert answer.status_code == 400
        assert answer.json()["errors"]["fields"][0].startswith("'colour' is none of: id, submission, suite")


@pytest.mark.django_db
def test_the_schema_is_made_once(client, django_assert_num_queries):
    with django_assert_num_queries(0):
        first = client.get("/api/v1/schema/?format=json").content
        assert client.get("/api/v1/schema/?format=json").content == first
        assert client.get("/api/v1/schema/").content != first
