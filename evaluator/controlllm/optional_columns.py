"""Columns of ControlLLM's suites that only some planners or installations have a value in."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from evaluator.controlllm.strategies.subtasks import Resource, TypedSubtask, protocol_text
from evaluator.controlllm.toolbench.tasks import ToolTask
from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import ResultRecord
from evaluator.core.suites.base import Column, IntervalMethod, Measured, Suite, Task
from evaluator.core.tools.types import ResourceType

DEACC = Column(
    key="DeAcc",
    label="DeAcc",
    description="Share of requests with the right decomposition, of planners whose strategy decomposes.",
    indicator=True,
    interval=IntervalMethod.WILSON,
    title="Right decomposition",
    is_optional=True,
)
COLUMNS = (DEACC,)


def with_optional_columns(build: Callable[[], Suite]) -> Callable[[], Suite]:
    """The builder of a suite with the optional columns."""
    return partial(_with_columns, build)


def _with_columns(build: Callable[[], Suite]) -> Suite:
    suite = build()
    return replace(suite, metrics=(*suite.metrics, *COLUMNS), measures=measures)


def measures(task: Task, record: ResultRecord) -> Mapping[str, Measured]:
    """See `Suite.measures`."""
    # Imported here to keep the registry cheap: this loads numpy.
    from evaluator.scoring.metrics.decomposition import judge_decomposition, right_fields

    assert isinstance(task, ToolTask)
    written = decomposition_in(record.planner_notes)
    if task.decomposition is None or written is None:
        return {}
    # The sentences about differences quote the gold, which hidden requests do not tell.
    right = judge_decomposition(predicted=written, gold=task.decomposition).right
    wrong = [
        name for name, is_right in right_fields(predicted=written, gold=task.decomposition).items() if not is_right
    ]
    why = "Every field of every subtask is right." if right else f"Wrong in some subtask: {', '.join(wrong)}."
    return {DEACC.key: Measured(value=float(right), why=why)}


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
