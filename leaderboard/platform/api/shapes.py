"""Base classes of request and response bodies."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from django.db.models import Model
from rest_framework import serializers
from rest_framework.request import Request

from evaluator.core.naming import did_you_mean
from evaluator.core.suggestions import as_sentence, no_such

M = TypeVar("M", bound=Model)
_MOST_UNKNOWN = 10
_LONGEST_NAME = 100
_SURROGATE = re.compile("[\ud800-\udfff]")
_HALF = "This contains half of a surrogate pair, which is not a character."


def unknown_names(names: Iterable[Any], *, known: Collection[str], what: str) -> dict[str, list[str]]:
    """An error message for each unknown name, at most ten. `what` they are is "field" or "parameter"."""
    unknown = [str(name) for name in names if name not in known]
    possible = f"Possible: {', '.join(known)}." if known else "None is possible here."
    return {
        name[:_LONGEST_NAME]: [f"Unknown {what}.{did_you_mean(name, known) or f' {possible}'}"]
        for name in unknown[:_MOST_UNKNOWN]
    }


class Input(serializers.Serializer[Any]):
    """The body of a request, or an object in it. Rejects unknown fields: a typo must not select the default."""

    def to_internal_value(self, data: Any) -> Any:
        """The validated values; raises the errors of all fields at once."""
        known = [name for name, field in self.fields.items() if not field.read_only]
        unknown = unknown_names(data, known=known, what="field") if isinstance(data, Mapping) else {}
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            if not isinstance(error.detail, dict):
                raise
            raise serializers.ValidationError({**error.detail, **unknown}) from error
        if unknown:
            raise serializers.ValidationError(unknown)
        return values

    @classmethod
    def read(cls, request: Request) -> dict[str, Any]:
        """The validated values. Raises DRF's `ValidationError`, by field."""
        for path in _half_surrogates(request.data):
            raise serializers.ValidationError({path: [_HALF]})
        body = cls(data=request.data)
        body.is_valid(raise_exception=True)
        return dict(body.validated_data)


class NamedChoiceField(serializers.ChoiceField):
    """A choice whose error suggests the value that was probably meant."""

    def __init__(self, what: str, **options: Any) -> None:
        """`what` is the noun, such as `kind of planner`; other arguments are those of `ChoiceField`."""
        super().__init__(**options)
        self._what = what

    def to_internal_value(self, data: Any) -> Any:
        """The value of the choice."""
        try:
            return super().to_internal_value(data)
        except serializers.ValidationError:
            known = [str(choice) for choice in self.choices]
            text = as_sentence(no_such(self._what, str(data), known))
            raise serializers.ValidationError(text, code="invalid_choice") from None


class Output(serializers.Serializer[Any]):
    """A response body, whose fields are all read-only."""

    def get_fields(self) -> dict[str, Any]:
        return _read_only(super().get_fields())


class ModelOutput(serializers.ModelSerializer[M]):
    """The response body of a model; `Meta.fields` names its fields."""

    def get_extra_kwargs(self) -> dict[str, Any]:
        return {name: {"read_only": True} for name in self.Meta.fields}

    def get_fields(self) -> dict[str, Any]:
        return _read_only(super().get_fields())


def _read_only(fields: dict[str, Any]) -> dict[str, Any]:
    for field in fields.values():
        field.read_only, field.required = True, False
    return fields


def _half_surrogates(part: Any, *, path: str = "") -> Iterator[str]:
    """Paths of texts with half a surrogate pair, such as `"\\ud800"`, which neither UTF-8 nor the database can
    store."""
    if isinstance(part, str) and _SURROGATE.search(part):
        yield path
    elif isinstance(part, list):
        for number, inner in enumerate(part):
            yield from _half_surrogates(inner, path=f"{path}.{number}".lstrip("."))
    elif isinstance(part, dict):
        for name, inner in part.items():
            if _SURROGATE.search(name):
                yield path
            yield from _half_surrogates(inner, path=f"{path}.{name}".lstrip("."))
