"""ARC's tasks as planners get them: demonstrations and test inputs, and never a test output."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType

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
    """A transformation to find. The right outputs are elsewhere: `evaluator.arc.suite.expected_of`."""

    demonstrations: tuple[Demonstration, ...]
    test_inputs: tuple[Grid, ...]
    facts: Mapping[str, JsonValue] = field(default_factory=dict)
    """What facets name, beside the counts and sizes that every task has."""

    @property
    def attributes(self) -> dict[str, JsonValue]:
        """See `Task`."""
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
        train: list[JsonValue] = [
            {"input": _rows(pair.input), "output": _rows(pair.output)} for pair in self.demonstrations
        ]
        return {"train": train, "test": [{"input": _rows(grid)} for grid in self.test_inputs]}

    def to_json(self) -> dict[str, JsonValue]:
        """See `Task`. The grids are part of it, so that a suite's digest covers them."""
        return {**super().to_json(), **self.values_given}


def arc_task(
    *, key: str, demonstrations: tuple[Demonstration, ...], test_inputs: tuple[Grid, ...],
    facts: Mapping[str, JsonValue] | None = None, gold: Plan | None = None,
) -> ArcTask:  # fmt: skip
    """A task of any suite of this family."""
    return ArcTask(
        key=key, text=_text(demonstrations=len(demonstrations), tests=len(test_inputs)), structure="nonlinear",
        metric=METRIC, resources=MappingProxyType({}), expects=ResourceType.TEXT, gold=gold,
        demonstrations=demonstrations, test_inputs=test_inputs, facts=MappingProxyType(dict(facts or {})),
    )  # fmt: skip


def tasks_of(split: Split, *, folder: Path | None = None) -> tuple[ArcTask, ...]:
    """The tasks of a split, sorted by key, without excluded ones.

    Args:
        split: which.
        folder: a folder in the released layout, which is not verified; None: the fetched files.

    Raises:
        LookupError: the files were not fetched, or were changed; the message says what to do.
        TaskFileError: a file in `folder` is no task.
    """
    return _tasks(split, _fetched() if folder is None else folder)


@cache
def _tasks(split: Split, folder: Path) -> tuple[ArcTask, ...]:
    read = (read_task_file(folder / name) for name in file_names(split))
    return tuple(
        arc_task(
            key=file.key,
            demonstrations=file.demonstrations,
            test_inputs=file.test_inputs,
            facts=_facts(key=file.key),
        )
        for file in read
        if file.key not in excluded_tasks()
    )


def _fetched() -> Path:
    problem = RELEASE.problem_of(RELEASE.folder)
    if problem is not None:
        raise LookupError(problem)
    return RELEASE.folder


def _facts(*, key: str) -> dict[str, JsonValue]:
    known: dict[str, JsonValue] = {"defects": [str(defect.kind) for defect in defects_of(key)]}
    return {**known, "gpt4_2023": str(PAPER_TASKS[key].outcome)} if key in PAPER_TASKS else known


def _text(*, demonstrations: int, tests: int) -> str:
    return (
        f"Find the transformation of grids that {_count(demonstrations, 'demonstration')} "
        f"{'shows' if demonstrations == 1 else 'show'}, and apply it to {_count(tests, 'test input')}."
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _rows(grid: Grid) -> list[JsonValue]:
    return [list(row) for row in numbers_of(grid)]
