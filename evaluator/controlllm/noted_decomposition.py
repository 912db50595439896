"""The decomposition that a strategy leaves in the notes of a plan."""

from collections.abc import Mapping

from evaluator.controlllm.strategies.subtasks import Resource, TypedSubtask, protocol_text
from evaluator.core.canonical_json import JsonValue
from evaluator.core.tools.types import ResourceType


def decomposition_in(notes: Mapping[str, JsonValue]) -> str | None:
    """The decomposition in the notes of a strategy, in the protocol of the paper's Table 1: as its model wrote it, or
    written from the subtasks of its rules. None if it does not decompose."""
    noted = notes.get("decomposition")
    if not isinstance(noted, dict):
        return None
    answer, subtasks = noted.get("answer"), noted.get("subtasks")
    if isinstance(answer, str) and answer:
        return answer
    if noted.get("tries") or not isinstance(subtasks, list):
        return ""
    try:
        return protocol_text([_subtask(row) for row in subtasks])
    except (TypeError, KeyError, ValueError):
        return ""


def _subtask(row: JsonValue) -> TypedSubtask:
    if not isinstance(row, dict):
        raise TypeError
    return TypedSubtask(
        id=_number(row["id"]),
        description=str(row["description"]),
        domains=tuple(map(str, _rows(row["task"]))),
        args=tuple(map(_resource, _rows(row["args"]))),
        returns=tuple(map(_resource, _rows(row["returns"]))),
    )


def _resource(row: JsonValue) -> Resource:
    if not isinstance(row, dict):
        raise TypeError
    return Resource(type=ResourceType(str(row["type"])), value=str(row["value"]))


def _rows(value: JsonValue) -> list[JsonValue]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _number(value: JsonValue) -> int:
    if not isinstance(value, int):
        raise TypeError
    return value
