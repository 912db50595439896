"""Recognises the format of a run, and reads it."""

from collections.abc import Set
from pathlib import Path

from evaluator.core.plans_file import PlansFileError, read_plans
from evaluator.interop.imports.bounded_files import MOST_MEMBER_BYTES, file_bytes, json_of
from evaluator.interop.imports.harbor_jobs import is_job, read_job
from evaluator.interop.imports.inspect_logs import is_log, read_log
from evaluator.interop.imports.run import Answer, ImportedRun, RunError
from evaluator.interop.imports.verifiers_traces import is_traces, read_traces

_BEGINNING = 8 * MOST_MEMBER_BYTES
FORMATS = "a log of Inspect (.eval or .json), a folder of a Harbor job, traces of verifiers (.jsonl), or a plans file"


def read_run(path: Path, *, tasks: Set[str]) -> ImportedRun:
    """A run in any of the known formats.

    Args:
        path: a file or a folder.
        tasks: keys of the suite's tasks.

    Raises:
        RunError: it is none of them, or damaged, or too large; the message says which and where.
    """
    if not path.exists():
        raise RunError(f"{path} does not exist.")
    if path.is_dir():
        if is_job(path):
            return _checked(read_job(path, tasks=tasks), tasks=tasks)
        raise RunError(f"{path} is a folder without any result.json. A run is {FORMATS}.")
    if path.suffix == ".eval":
        return _checked(read_log(path), tasks=tasks)
    data = file_bytes(path, most=_BEGINNING)
    first = data.lstrip()[:1]
    if first == b"{" and path.suffix == ".json" and is_log(json_of(data, where=str(path))):
        return _checked(read_log(path), tasks=tasks)
    line = data.partition(b"\n")[0]
    if path.suffix == ".jsonl" and is_traces(json_of(line, where=f"{path}, line 1")):
        return _checked(read_traces(path, tasks=tasks), tasks=tasks)
    try:
        plans = read_plans(data).plans
    except PlansFileError as error:
        raise RunError(f"{path}: {error} A run is {FORMATS}.") from None
    return _checked(
        ImportedRun(
            format="plans", producer="", model="", run="", created="", conditions={},
            answers=[Answer(task=task, plan=given.plan) for task, given in plans.items()],
            ignored=["Alternatives were ignored."] if any(given.alternatives for given in plans.values()) else [],
        ),
        tasks=tasks,
    )  # fmt: skip


def _checked(run: ImportedRun, *, tasks: Set[str]) -> ImportedRun:
    """The run with its tasks that the suite has.

    Raises:
        RunError: the suite has none of them.
    """
    known = [answer for answer in run.answers if answer.task in tasks]
    strange = [answer.task for answer in run.answers if answer.task not in tasks]
    if not known:
        named = ", ".join(repr(task[:60]) for task in strange[:3]) or "none"
        raise RunError(
            f"No task of the run ({named}) is a task of the suite, such as {min(tasks, default='')!r}. The id of a "
            "sample, or `task` in its metadata, is the key of the task."
        )
    ignored = [*run.ignored, *([f"{len(strange)} tasks are none of the suite's."] if strange else [])]
    return ImportedRun(
        format=run.format, producer=run.producer, model=run.model, run=run.run, created=run.created,
        conditions=run.conditions, answers=known, ignored=ignored,
    )  # fmt: skip
