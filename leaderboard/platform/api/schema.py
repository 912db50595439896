"""Additions to the generated API schema: problems, field selection, examples."""

import re
from collections.abc import Iterator
from typing import Any

from drf_spectacular.openapi import AutoSchema

from leaderboard.platform.api.examples import BY_PARAMETER, PROBLEM_CONTENT_TYPE, PROBLEMS, described
from leaderboard.platform.api.views import ApiView
from leaderboard.platform.http.one_hop import WORKER_CALLS

_PAGE = re.compile(r"Paginated(\w+)List")
_CHANGING = frozenset({"post", "put", "patch", "delete"})
_MEANINGS = {
    400: "The request is wrong; `errors` names the fields.",
    401: "The token or the password is missing or wrong, or the token has expired.",
    403: "The caller may not do this, or the token lacks the scope.",
    404: "Not found, or not visible to the caller.",
    413: "The body is too large.",
    415: "Unsupported media type.",
    429: "Too many requests, or the quota is used up; see `Retry-After`.",
}
_PROBLEM = {
    "type": "object",
    "description": "Problem details (RFC 9457).",
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "A sentence for people."},
        "code": {"type": "string", "description": "Machine-readable form of `detail`."},
        "request_id": {
            "type": "string",
            "description": "As in the header `X-Request-ID`; finds the request in the logs.",
        },
        "errors": {
            "type": "object",
            "description": "Sentences by field, named as it is nested: `planner.name`.",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
    },
    "required": ["type", "title", "status", "detail", "code"],
}


class ApiSchema(AutoSchema):
    """DRF Spectacular's schema, with the parameters and bodies that the view declares."""

    def get_override_parameters(self) -> list[Any]:
        parameters = super().get_override_parameters()
        if self.method == "GET" and isinstance(self.view, ApiView):
            return [*parameters, *self.view.query_parameters()]
        return parameters

    def get_request_serializer(self) -> Any:
        return self.view.bodies.get(self.method) if isinstance(self.view, ApiView) else None


def complete(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Postprocessing hook: adds common problems and examples."""
    schemas = result["components"]["schemas"]
    schemas["Problem"] = _PROBLEM
    for name, schema in schemas.items():
        if (known := described(name)) and known.may_lack:
            schema["required"] = [field for field in schema["required"] if field not in known.may_lack]
    _simplify_nulls(schemas)
    operations = [(path, *item) for path, methods in result["paths"].items() for item in methods.items()]
    for path, method, operation in operations:
        if not path.startswith(WORKER_CALLS):
            _close(operation.get("requestBody", {}), schemas=schemas)
        _add_problems(path=path, method=method, operation=operation)
        parameters = operation.get("parameters", [])
        for parameter in parameters:
            if parameter["name"] in BY_PARAMETER:
                parameter["example"] = BY_PARAMETER[parameter["name"]]
        for content in _contents(operation):
            if (example := example_of(content["schema"])) is not None:
                content["example"] = example
        if any(parameter["name"] == "fields" for parameter in parameters):
            # If callers select fields, none is required.
            reference = operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
            name = reference.rpartition("/")[2]
            page = _PAGE.fullmatch(name)
            schemas[page[1] if page else name].pop("required", None)
    return result


def _close(part: Any, *, schemas: dict[str, Any]) -> None:
    """Disallow additional properties in request bodies."""
    if isinstance(part, list):
        for inner in part:
            _close(inner, schemas=schemas)
    elif isinstance(part, dict):
        schema = schemas.get(str(part.get("$ref", "")).rpartition("/")[2], part)
        if "properties" in schema:
            schema["additionalProperties"] = False
        for inner in schema.values():
            _close(inner, schemas=schemas)


def _simplify_nulls(part: Any) -> None:
    """Remove "one of anything or null", which null violates by matching both alternatives."""
    if isinstance(part, dict):
        if part.get("oneOf") == [{}, {"type": "null"}]:
            del part["oneOf"]
        for inner in part.values():
            _simplify_nulls(inner)
    elif isinstance(part, list):
        for inner in part:
            _simplify_nulls(inner)


def example_of(schema: dict[str, Any]) -> Any:
    """An example of a schema, or None."""
    if schema.get("type") == "array":
        inner = example_of(schema["items"])
        return None if inner is None else [inner]
    if schema.get("format") == "binary":
        return "(the bytes)"
    name = schema.get("$ref", "").rpartition("/")[2]
    if page := _PAGE.fullmatch(name):
        following = "https://planarena.example.org/api/v1/...?cursor=cD0y"
        return {"next": following, "previous": None, "results": [example_of({"$ref": page[1]})]}
    component = described(name)
    return None if component is None else component.example


def _contents(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in (operation.get("requestBody", {}), *operation["responses"].values()):
        for media_type, content in part.get("content", {}).items():
            known = media_type in {"application/json", "multipart/form-data"}
            if known or content["schema"].get("format") == "binary":
                yield content


def _add_problems(*, path: str, method: str, operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    declared = {int(code): response for code, response in responses.items() if int(code) >= 400}
    possible = {400, 401, 403, *declared}
    if method in {"get", "head"}:
        possible.add(429)
    if "{" in path:
        possible.add(404)
    if method in _CHANGING:
        possible |= {413, 415, 429}
    for code in sorted(possible):
        description = declared.get(code, {}).get("description") or _MEANINGS[code]
        short, title, detail = PROBLEMS[code]
        example: dict[str, Any] = {
            "type": "https://planarena.example.org/docs/#problems",
            "title": title,
            "status": code,
            "detail": detail,
            "code": short,
        }
        if short == "invalid":
            example["errors"] = {"planner.name": ["Give the planner a name."]}
        content = {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}
        responses[str(code)] = {"description": description, "content": {PROBLEM_CONTENT_TYPE: content}}
