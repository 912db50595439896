"""ARC's tasks as planners receive them: demonstrations and test inputs, without test outputs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import cast

from evaluator.arc.grids import Demonstration, Grid, numbers_of, size_of
from evaluator.arc.source import PAPER_TASKS, RELEASE, Split, defects_of, excluded_tasks, file_names
from evaluator.arc.task_files import read_task_file
from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Plan
from evaluator.core.suites.base import Task
from evaluator.core.tools.types import ResourceType

METRIC = "solved"


@dataclass(frozen=True, kw_only=True)
class ArcTask(Task):
    """A transformation to find. Holds no expected outputs; see `evaluator.arc.suite.expected_of`."""

    demonstrations: tuple[Demonstration, ...]
    test_inputs: tuple[Grid, ...]
    facts: Mapping[str, JsonValue] = field(default_factory=dict)
    """Attributes for facets, in addition to the counts and sizes that every task has."""

    @property
    def attributes(self) -> dict[str, JsonValue]:
        pairs = self.demonstrations
        return {
            "demonstrations": len(pairs),
            "tests": len(self.test_inputs),
            "longest_side": max(side for pair in pairs for grid in (pair.input, pair.output) for side in size_of(grid)),
            "keeps_size": all(size_of(pair.input) == size_of(pair.output) for pair in pairs),
            **self.facts,
        }

    @property
    def values_given(self) -> dict[str, JsonValue]:
        """See `Task`: the grids, in the form of ARC's files."""
        train = [{"input": numbers_of(pair.input), "output": numbers_of(pair.output)} for pair in self.demonstrations]
        test = [{"input": numbers_of(grid)} for grid in self.test_inputs]
        return cast("dict[str, JsonValue]", {"train": train, "test": test})

    def to_json(self) -> dict[str, JsonValue]:
        """See `Task`. The grids are part of it, so that a suite's digest covers them."""
        return {**super().to_json(), **self.values_given}


def arc_task(
    *, key: str, demonstrations: tuple[Demonstration, ...], test_inputs: tuple[Grid, ...],
    facts: Mapping[str, JsonValue] | None = None, gold: Plan | None = None,
) -> ArcTask:  # fmt: skip
    """A task of an ARC suite."""
    shows = "1 demonstration shows" if len(demonstrations) == 1 else f"{len(demonstrations)} demonstrations show"
    tests = "1 test input" if len(test_inputs) == 1 else f"{len(test_inputs)} test inputs"
    text = f"Find the transformation of grids that {shows}, and apply it to {tests}."
    return ArcTask(
        key=key, text=text, structure="nonlinear", metric=METRIC, resources=MappingProxyType({}),
        expects=ResourceType.TEXT, gold=gold, demonstrations=demonstrations, test_inputs=test_inputs,
        facts=MappingProxyType(dict(facts or {})),
    )  # fmt: skip


def tasks_of(split: Split, *, folder: Path | None = None) -> tuple[ArcTask, ...]:
    """The tasks of a split, sorted by key, without excluded ones.

    Args:
        split: the split.
        folder: an unverified folder in the released layout; default: the fetched files.

    Raises:
        LookupError: the files are missing or modified; the message says what to do.
        TaskFileError: a file in `folder` is not a task.
    """
    if folder is None:
        folder = RELEASE.folder
        if (problem := RELEASE.problem_of(folder)) is not None:
            raise LookupError(problem)
    return _tasks(split, folder)


@cache
def _tasks(split: Split, folder: Path) -> tuple[ArcTask, ...]:
    tasks = []
    for file in (read_task_file(folder / name) for name in file_names(split)):
        if file.key in excluded_tasks():
            continue
        facts: dict[str, JsonValue] = {"defects": [str(defect.kind) for defect in defects_of(file.key)]}
        if file.key in PAPER_TASKS:
            facts["gpt4_2023"] = str(PAPER_TASKS[file.key].outcome)
        tasks.append(
            arc_task(key=file.key, demonstrations=file.demonstrations, test_inputs=file.test_inputs, facts=facts)
        )
    return tuple(tasks)
