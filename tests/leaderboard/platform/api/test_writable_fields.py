"""What the API lets its callers write, field by field: a field that becomes writable by mistake fails here.

And what its schema promises; that the site keeps it is `test_conformance.py`'s.
"""

import json
from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.urls import get_resolver
from jsonschema import Draft202012Validator
from rest_framework.serializers import BaseSerializer, ModelSerializer

from leaderboard.platform.api.examples import PROBLEMS
from leaderboard.platform.api.shapes import Input, ModelOutput
from tests.leaderboard.factories import make_evaluation
from tests.leaderboard.platform.api.helpers import ApiClient

WRITABLE = {
    "PlannerInput": {
        "api", "reasoning_effort", "answer_tokens", "streamed",
        "name", "kind", "bundled_name", "endpoint_url", "timeout_seconds", "header_name", "header_value",
        "remove_header", "plans", "description", "model_id", "revision", "checkpoint_digest", "strategy",
        "model_name", "parameters", "open_weights", "prompt_price", "completion_price", "cached_price",
        "options", "roles",
    },
    "RoleInput": {
        "kind", "endpoint_url", "timeout_seconds", "header_name", "header_value", "remove_header", "model_id", "api",
        "reasoning_effort", "answer_tokens", "streamed", "revision", "checkpoint_digest",
    },
    "CheckpointInput": {"file"},
    "UploadInput": {"bytes"},
    "SubmissionInput": {
        "planner", "suites", "team", "version", "season", "own_worker", "priority", "visibility", "embargo_until",
        "deterministic", "asked_again",
    },
    "HeaderInput": {"name", "value"},
    "VisibilityInput": {"visibility", "embargo_until"},
    "MailsShape": {"mails"},
    "EndpointTestInput": {
        "api", "reasoning_effort", "answer_tokens", "streamed",
        "kind", "endpoint_url", "model_id", "strategy", "timeout_seconds", "suite", "header_name", "header_value",
        "name",
    },
    "RewardsInput": {"suite", "plans"},
    "RegradeInput": {"allow"},
    "RegradeBoardInput": {"skip"},
    "RunInput": {"text", "planner", "suite", "files", "marks", "plan", "after", "keep"},
    "RunFileInput": {"name", "content"},
    "MarkInput": {"type", "picture", "at"},
    "BlindPairInput": {"text", "suite", "files", "keep"},
    "VoteInput": {"response", "plan"},
    "TakesPartInput": {"takes_part"},
    "CompletionInput": {"task", "completion"},
    "ProfileInput": {"display_name", "affiliation", "link", "bio"},
    "PasswordInput": {"password"},
    "TokenInput": {"name", "days", "scopes"},
    "TeamInput": {"slug", "name"},
    "UserNameInput": {"username"},
    "WebhookInput": {"url"},
    "WorkerTokenInput": {"name"},
}  # fmt: skip

NEVER_READ = {"ComparedMetricOutput", "ComparisonOutput", "DifferingTaskOutput", "GroupOutput", "PairOutput"}
"""Answers without a mark on their fields; no view reads a body with them."""


def serializers_of_the_api() -> Iterator[tuple[str, type[BaseSerializer]]]:
    # Loads the views of all addresses, and with them their serializers.
    assert get_resolver().url_patterns
    waiting = [BaseSerializer]
    while waiting:
        for found in waiting.pop().__subclasses__():
            waiting.append(found)
            if found.__module__.startswith("leaderboard.") and found.__module__ != ModelOutput.__module__:
                yield found.__name__, found


def test_every_serializer_writes_what_the_table_says():
    writable = {
        name: {field for field, shape in found().fields.items() if not shape.read_only}
        for name, found in serializers_of_the_api()
        if name not in NEVER_READ
    }
    assert {name: fields for name, fields in writable.items() if fields} == WRITABLE
    assert len(writable) > len(WRITABLE)


def test_every_serializer_with_writable_fields_refuses_unknown_ones():
    found = dict(serializers_of_the_api())
    assert not [name for name in WRITABLE if not issubclass(found[name], Input)]


def test_every_model_serializer_lists_its_fields():
    for name, found in serializers_of_the_api():
        if issubclass(found, ModelSerializer):
            assert isinstance(found.Meta.fields, list), name
            assert issubclass(found, ModelOutput) or found.Meta.read_only_fields == found.Meta.fields, name


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
