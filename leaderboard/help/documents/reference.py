"""The API reference, generated from the OpenAPI schema."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from drf_spectacular.generators import SchemaGenerator

from leaderboard.help.documents.markdown import inline

_METHODS = ("get", "post", "put", "patch", "delete")
_INTERNAL = "/api/v1/worker/"


class Field(NamedTuple):
    """A parameter, or a field of a body. Descriptions, here and below, are HTML."""

    name: str
    type: str
    required: bool
    description: str


class Answer(NamedTuple):
    """A response of a call."""

    status: str
    description: str
    fields: Sequence[Field]
    example: str
    """JSON, or empty."""


class Call(NamedTuple):
    """A method of a path."""

    anchor: str
    method: str
    path: str
    description: str
    parameters: Sequence[Field]
    body: Sequence[Field]
    body_example: str
    answers: Sequence[Answer]
    refusals: str
    """Statuses of errors, all of them problem documents."""


class Topic(NamedTuple):
    """Calls of one kind of resource."""

    anchor: str
    title: str
    calls: Sequence[Call]


@cache
def api_topics() -> list[Topic]:
    """The calls of the API, cached per process."""
    return topics(SchemaGenerator().get_schema(request=None, public=True))


def topics(schema: Mapping[str, Any]) -> list[Topic]:
    """The calls of a schema by the first segment of their path, without those of workers."""
    calls: dict[str, list[Call]] = {}
    for path, operations in schema["paths"].items():
        if path.startswith(_INTERNAL):
            continue
        name = path.removeprefix("/api/v1/").split("/")[0]
        for method in _METHODS:
            if method in operations:
                calls.setdefault(name, []).append(_call(schema, path=path, method=method, operation=operations[method]))
    return [Topic(name, name.replace("-", " ").capitalize(), group) for name, group in sorted(calls.items())]


def _call(schema: Mapping[str, Any], *, path: str, method: str, operation: Mapping[str, Any]) -> Call:
    body = _content(operation.get("requestBody", {}))
    responses = operation["responses"]
    return Call(
        anchor=operation["operationId"],
        method=method.upper(),
        path=path,
        description=inline(operation.get("description", "")),
        parameters=[
            Field(
                name=each["name"],
                type=_type(each["schema"]),
                required=each.get("required", False),
                description=inline(each.get("description", "")),
            )
            for each in operation.get("parameters", ())
        ],
        body=list(_fields(schema, shape=body.get("schema", {}))),
        body_example=_example(body),
        answers=[_answer(schema, status=status, response=each) for status, each in responses.items() if status < "4"],
        refusals=", ".join(sorted(status for status in responses if status >= "4")),
    )


def _answer(schema: Mapping[str, Any], *, status: str, response: Mapping[str, Any]) -> Answer:
    content = _content(response)
    return Answer(
        status=status,
        description=inline(response.get("description", "")),
        fields=list(_fields(schema, shape=content.get("schema", {}))),
        example=_example(content),
    )


def _content(part: Mapping[str, Any]) -> Mapping[str, Any]:
    contents: Mapping[str, Mapping[str, Any]] = part.get("content", {})
    return contents.get("application/json") or next(iter(contents.values()), {})


def _example(content: Mapping[str, Any]) -> str:
    return json.dumps(content["example"], indent=2, ensure_ascii=False) if "example" in content else ""


def _fields(schema: Mapping[str, Any], *, shape: Mapping[str, Any], prefix: str = "") -> Iterator[Field]:
    """The fields of an object, or of the items of a list or page, including fields of nested objects."""
    shape = _resolved(schema, shape)
    if shape.get("type") == "array":
        shape = _resolved(schema, shape["items"])
    properties: Mapping[str, Any] = shape.get("properties", {})
    if {"results", "next"} <= set(properties):
        yield from _fields(schema, shape=properties["results"])
        return
    for name, each in properties.items():
        whole = _resolved(schema, each)
        described = each.get("description") or whole.get("description", "")
        yield Field(prefix + name, _type(each), name in shape.get("required", ()), inline(described))
        if not prefix:
            inner: Mapping[str, Any] = whole if whole.get("type") == "object" else {}
            if whole.get("type") == "array":
                inner = _resolved(schema, whole["items"])
            yield from _fields(schema, shape=inner, prefix=f"{name}.")


def _resolved(schema: Mapping[str, Any], shape: Mapping[str, Any]) -> Mapping[str, Any]:
    """The target of a reference, which may be wrapped in `allOf`."""
    if "allOf" in shape and len(shape["allOf"]) == 1:
        shape = shape["allOf"][0]
    if "$ref" in shape:
        return schema["components"]["schemas"][shape["$ref"].rpartition("/")[2]]  # type: ignore[no-any-return]  # JSON
    return shape


def _type(shape: Mapping[str, Any]) -> str:
    """A readable type, such as `list of string` or `integer or null`."""
    if "$ref" in shape:
        return str(shape["$ref"].rpartition("/")[2])
    for several in ("allOf", "oneOf", "anyOf"):
        if several in shape:
            return " or ".join(dict.fromkeys(_type(each) for each in shape[several]))
    if "enum" in shape:
        return " or ".join("null" if each is None else json.dumps(each) for each in shape["enum"])
    kind = shape.get("type", "any")
    if kind == "array":
        return f"list of {_type(shape.get('items', {}))}"
    if isinstance(kind, list):
        return " or ".join(kind)
    return f"{kind} ({shape['format']})" if "format" in shape else str(kind)
