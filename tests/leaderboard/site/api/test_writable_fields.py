"""What the API lets its callers write, field by field: a field that becomes writable by mistake fails here."""

from collections.abc import Iterator

from django.urls import get_resolver
from rest_framework.serializers import BaseSerializer, ModelSerializer

from leaderboard.site.api.shapes import Input, ModelOutput

WRITABLE = {
    "PlannerInput": {
        "name", "kind", "bundled_name", "endpoint_url", "timeout_seconds", "header_name", "header_value",
        "remove_header", "plans", "description", "model_id", "revision", "checkpoint_digest", "strategy",
        "model_name", "parameters", "open_weights", "prompt_price", "completion_price",
    },
    "CheckpointInput": {"file"},
    "UploadInput": {"bytes"},
    "SubmissionInput": {
        "planner", "suites", "team", "version", "season", "own_worker", "priority", "visibility", "embargo_until",
    },
    "HeaderInput": {"name", "value"},
    "VisibilityInput": {"visibility", "embargo_until"},
    "MailsShape": {"mails"},
    "EndpointTestInput": {
        "kind", "endpoint_url", "model_id", "strategy", "timeout_seconds", "suite", "header_name", "header_value",
        "name",
    },
    "RewardsInput": {"suite", "plans"},
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
