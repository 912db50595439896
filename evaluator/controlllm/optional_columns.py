"""Columns of ControlLLM's suites that only some planners or installations have a value in."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from evaluator.controlllm.toolbench.tasks import ToolTask
from evaluator.core.records import ResultRecord
from evaluator.core.suites.base import Column, IntervalMethod, Measured, Suite, Task

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
    # Imported here to keep the registry cheap: these load numpy.
    from evaluator.controlllm.noted_decomposition import decomposition_in
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
