"""What the API lets its callers write, field by field: a field that becomes writable by mistake fails here."""

import importlib
import inspect
import pkgutil

from rest_framework import serializers

import leaderboard.site.api

WRITABLE = {
    "PlannerInput": {
        "name", "kind", "bundled_name", "endpoint_url", "timeout_seconds", "header_name", "header_value",
        "remove_header", "plans", "description", "model_id", "revision", "checkpoint_digest", "strategy",
        "model_name", "parameters", "open_weights", "prompt_price", "completion_price",
    },
    "CheckpointInput": {"file"},
    "UploadInput": {"bytes"},
    "SubmissionInput": {"planner", "suites", "team", "own_worker", "priority", "visibility", "embargo_until"},
    "HeaderInput": {"name", "value"},
    "VisibilityInput": {"visibility", "embargo_until"},
    "MailsShape": {"mails"},
    "EndpointTestInput": {"endpoint_url", "timeout_seconds", "suite", "header_name", "header_value", "name"},
    "ProfileInput": {"display_name", "affiliation", "link", "bio"},
    "PasswordInput": {"password"},
    "TokenInput": {"name", "days", "scopes"},
    "TeamInput": {"slug", "name"},
    "UserNameInput": {"username"},
    "WebhookInput": {"url"},
    "WorkerTokenInput": {"name"},
}  # fmt: skip


def serializers_of_the_api():
    for module in pkgutil.iter_modules(leaderboard.site.api.__path__):
        loaded = importlib.import_module(f"leaderboard.site.api.{module.name}")
        for name, found in inspect.getmembers(loaded, inspect.isclass):
            if issubclass(found, serializers.BaseSerializer) and found.__module__ == loaded.__name__:
                yield name, found


def test_every_serializer_writes_what_the_table_says():
    writable = {
        name: {field for field, shape in found().fields.items() if not shape.read_only}
        for name, found in serializers_of_the_api()
    }
    assert {name: fields for name, fields in writable.items() if fields} == WRITABLE
    assert len(writable) > len(WRITABLE)


def test_every_model_serializer_lists_its_fields():
    for name, found in serializers_of_the_api():
        if issubclass(found, serializers.ModelSerializer):
            assert isinstance(found.Meta.fields, list), name
            assert found.Meta.read_only_fields == found.Meta.fields, name
