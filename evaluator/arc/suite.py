"""ARC's suites of released tasks, and the expected outputs of their tests. Not imported by tasks and views."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from evaluator.arc.columns import COLUMNS, FACETS, labels
from evaluator.arc.environment import ArcEnvironment
from evaluator.arc.grids import Grid, numbers_of
from evaluator.arc.plan_forms import CANDIDATES
from evaluator.arc.source import CONTAMINATION, RELEASE, TASK_FILES, Split, file_names
from evaluator.arc.task_files import read_task_file
from evaluator.arc.tasks import ArcTask, tasks_of
from evaluator.arc.tools import TOOLS
from evaluator.arc.views import named_view
from evaluator.core import canonical_json
from evaluator.core.suites.base import Conditions, Panel, Suite
from evaluator.episodes.base import Setting
from evaluator.network.released_files import FetchError, PublicFile, read, verified

VERSION = "1"
_SCORING = (
    "A planner gives up to three candidates, best first: programs, steps, or the output grids themselves. A task is "
    "solved if one candidate gives every test output. Up to three candidates can be tried on the demonstrations before."
)
_TITLES = {
    Split.PAPER: ("arc-111", "ARC, the paper's 111"),
    Split.TRAINING: ("arc-training", "ARC training"),
    Split.EVALUATION: ("arc-evaluation", "ARC evaluation"),
}
_WORDS = {
    Split.PAPER: "The 111 public training tasks that the multi-expert system was measured on.",
    Split.TRAINING: "The 400 public training tasks of ARC-AGI-1.",
    Split.EVALUATION: "The 400 public evaluation tasks of ARC-AGI-1, which are harder than those for training.",
}


def slug_of(split: Split) -> str:
    return _TITLES[split][0]


@cache
def released_suite(split: Split) -> Suite:
    """A suite of released tasks.

    Raises:
        LookupError: the files were not fetched.
    """
    slug, title = _TITLES[split]
    return arc_suite(slug=slug, title=title, description=f"{_WORDS[split]} {CONTAMINATION}", tasks=tasks_of(split))


def arc_suite(*, slug: str, title: str, description: str, tasks: tuple[ArcTask, ...], split: str = "public") -> Suite:
    """A suite of ARC tasks."""
    return Suite(
        slug=slug, version=VERSION, title=title, description=description, metrics=COLUMNS, catalogue=TOOLS, tasks=tasks,
        conditions=Conditions(experts=False, samples=False, splits=(split,)), panels=(Panel.GRIDS, Panel.TRANSCRIPT),
        scoring=_SCORING, facets=FACETS, candidates=CANDIDATES, views=named_view, labels=labels,
    )  # fmt: skip


def released_environment(split: Split, _: Setting) -> ArcEnvironment:
    """The environment of a split.

    Raises:
        LookupError: the files were not fetched.
    """
    return environment_of(tasks=tasks_of(split), expected=expected_of, data=expected_digest(split))


def environment_of(
    *, tasks: tuple[ArcTask, ...], expected: Callable[[str], tuple[Grid, ...]], data: str
) -> ArcEnvironment:
    """The environment of these tasks; see `ArcEnvironment`."""
    return ArcEnvironment(tasks={task.key: task for task in tasks}, expected=expected, data=data)


_FILES: Mapping[str, PublicFile] = MappingProxyType({PurePosixPath(file.name).stem: file for file in TASK_FILES})


def expected_of(key: str, *, folder: Path | None = None) -> tuple[Grid, ...]:
    """The expected output of each test input of a task, in order.

    Args:
        key: ARC's id, of either set.
        folder: an unverified folder in the released layout; default: the fetched files.

    Raises:
        LookupError: there is no such task, or its file is missing or modified.
        TaskFileError: the file in `folder` is not a task.
    """
    if key not in _FILES:
        raise LookupError(f"ARC has no task {key!r}")
    if folder is not None:
        return _outputs(folder / _FILES[key].name)
    # Verify only this file; verifying all 800 for each task would take too long.
    path = RELEASE.folder / _FILES[key].name
    try:
        verified(file=_FILES[key], content=read(path), origin=str(path))
    except FetchError as error:
        raise LookupError(f"{error}; run `planarena suites fetch {RELEASE.name}`") from None
    return _outputs(path)


@cache
def _outputs(path: Path) -> tuple[Grid, ...]:
    return read_task_file(path).expected.outputs


def expected_digest(split: Split, *, folder: Path | None = None) -> str:
    """SHA-256 over the expected outputs of a split, which the digests of tasks do not cover."""
    keys = (PurePosixPath(name).stem for name in file_names(split))
    return canonical_json.digest({key: [numbers_of(grid) for grid in expected_of(key, folder=folder)] for key in keys})
