"""Base classes of request and response bodies."""

from typing import Any, TypeVar

from django.db.models import Model
from rest_framework import serializers
from rest_framework.request import Request

M = TypeVar("M", bound=Model)


class Input(serializers.Serializer[Any]):
    """The body of a request."""

    @classmethod
    def read(cls, request: Request) -> dict[str, Any]:
        """The checked values. Raises DRF's `ValidationError`, by field."""
        body = cls(data=request.data)
        body.is_valid(raise_exception=True)
        return dict(body.validated_data)


class Output(serializers.Serializer[Any]):
    """What the API writes: no field is read from a request."""

    def get_fields(self) -> dict[str, Any]:
        return _read_only(super().get_fields())


class ModelOutput(serializers.ModelSerializer[M]):
    """The same of a row; `Meta.fields` names what is written."""

    def get_extra_kwargs(self) -> dict[str, Any]:
        return {name: {"read_only": True} for name in self.Meta.fields}

    def get_fields(self) -> dict[str, Any]:
        return _read_only(super().get_fields())


def _read_only(fields: dict[str, Any]) -> dict[str, Any]:
    for field in fields.values():
        field.read_only, field.required = True, False
    return fields
