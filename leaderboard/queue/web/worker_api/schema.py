"""The OpenAPI schema of the contract's messages, which is pydantic's."""

from typing import Any

from drf_spectacular.drainage import set_override
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.plumbing import ResolvedComponent

from leaderboard.queue.web.worker_api import examples  # noqa: F401 - registers them

_PREFIX = "Worker"
"""Of the components' names: a planner, a result and a problem are something else in the rest of the API."""


class MessageExtension(OpenApiSerializerExtension):
    """Describes a message as a component, and what it is made of as others."""

    target_class = "gpu_jobs.contract.Message"
    match_subclasses = True
    # Before the framework's own one for pydantic, which knows no prefix.
    priority = 1

    def get_name(self, auto_schema: Any, direction: Any) -> str:  # noqa: ARG002 - the base class's signature
        # A message within another one has been registered by its name alone; both are described alike.
        set_override(self.target, "suppress_collision_warning", True)
        return f"{_PREFIX}{self.target.__name__}"

    def map_serializer(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        mode = "validation" if direction == "request" else "serialization"
        schema: dict[str, Any] = self.target.model_json_schema(
            mode=mode, ref_template=f"#/components/schemas/{_PREFIX}{{model}}"
        )
        for name, part in schema.pop("$defs", {}).items():
            full_name = f"{_PREFIX}{name}"
            component = ResolvedComponent(
                name=full_name, type=ResolvedComponent.SCHEMA, object=full_name, schema=_plain(part)
            )
            auto_schema.registry.register_on_missing(component)
        described: dict[str, Any] = _plain(schema)
        return described


def _plain(part: Any) -> Any:
    """The schema without titles, which repeat the names."""
    if isinstance(part, dict):
        return {key: _plain(value) for key, value in part.items() if not (key == "title" and isinstance(value, str))}
    return [_plain(value) for value in part] if isinstance(part, list) else part
