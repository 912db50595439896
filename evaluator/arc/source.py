"""The released tasks of ARC-AGI-1: pinned, and no part of this repository.

They are the 800 files of github.com/fchollet/ARC-AGI, folder `data`, under the Apache License 2.0, copyright 2019
François Chollet. `data/released_files.txt` here has the path, size and SHA-256 of each. Also their sets, what is known
to be wrong with them, and the 111 training tasks of the multi-expert paper.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from evaluator.network.released_files import PublicFile, Release

COMMIT = "399030444e0ab0cc8b4e199870fb20b863846f34"
"""Of June 2024, when tasks were last corrected."""
LICENCE = "Apache-2.0"
_ORIGIN = "https://github.com/fchollet/ARC-AGI"
_BASE = f"https://raw.githubusercontent.com/fchollet/ARC-AGI/{COMMIT}"
_LICENCE_FILE = PublicFile(
    name="LICENSE", base=_BASE, bytes=11_347, sha256="b3a161754ffc20840ccf92aec0fe464fbbcf42f14c22f78a3ec2e98fca3864ca"
)


def _task_files() -> tuple[PublicFile, ...]:
    listed = files(__package__).joinpath("data/released_files.txt").read_text(encoding="utf-8")
    rows = (line.split(" ") for line in listed.splitlines())
    return tuple(PublicFile(name=name, base=_BASE, bytes=int(size), sha256=digest) for name, size, digest in rows)


TASK_FILES = _task_files()
"""In the order of their names, training first."""
RELEASE = Release(name="arc", origin=_ORIGIN, commit=COMMIT, files=(*TASK_FILES, _LICENCE_FILE))


class PaperOutcome(StrEnum):
    """How far the recorded programs got."""

    SOLVED = "solved"
    DEMONSTRATIONS_ONLY = "demonstrations only"
    """Right on all demonstrations and wrong on a test input."""
    UNSOLVED = "unsolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTask:
    """One published page."""

    key: str
    outcome: PaperOutcome
    views: str
    """The views of the recorded agent as its page is named, such as `objdiagmulti`; `grid only` if it had no other."""


def _paper_tasks() -> Mapping[str, PaperTask]:
    listed = files(__package__).joinpath("data/paper_tasks.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in listed.splitlines())
    return MappingProxyType(
        {key: PaperTask(key=key, outcome=PaperOutcome(outcome), views=views) for key, outcome, views in rows}
    )


PAPER_TASKS = _paper_tasks()
"""The tasks of the multi-expert paper by ARC's id, and what its GPT-4 agents reached on them in July 2023. Read off the
names and folders of the pages published in github.com/tanchongmin/ARC-Challenge at commit 58e0b83. They are the tasks
whose prompt has at most 3,000 of GPT-4's tokens."""


class Split(StrEnum):
    """A set of released tasks."""

    TRAINING = "training"
    """ARC's 400 public training tasks."""
    EVALUATION = "evaluation"
    """Its 400 public evaluation tasks, which are harder."""
    PAPER = "paper"
    """The 111 training tasks that the multi-expert paper reports on."""


CONTAMINATION = (
    "These tasks and their solutions have been public since 2019. Training data of language models contain them, and "
    "programs that solve them, so that scores measure recall as well as reasoning."
)
"""For the descriptions of all suites of released tasks."""


@cache
def file_names(split: Split) -> tuple[str, ...]:
    """Paths of the split's files in the released layout, sorted by name. Excluded tasks are not left out."""
    folder = Split.TRAINING if split is Split.PAPER else split
    names = (file.name for file in TASK_FILES if PurePosixPath(file.name).parent.name == folder)
    return tuple(name for name in names if split is not Split.PAPER or PurePosixPath(name).stem in PAPER_TASKS)


class DefectKind(StrEnum):
    """What is wrong."""

    DEMONSTRATION = "demonstration"
    """A demonstration contradicts the others."""
    DUPLICATE = "duplicate"
    """The same task or pair is there twice."""
    SAME_TRANSFORMATION = "same transformation"
    """Several tasks have one solution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDefect:
    """A publicly reported defect."""

    tasks: tuple[str, ...]
    kind: DefectKind
    text: str
    source: str
    """Address of the report."""
    present: bool
    """Whether the pinned files have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExclusionChange:
    """An entry of the changelog of excluded tasks."""

    date: date
    exclude: tuple[str, ...]
    readmit: tuple[str, ...]
    reason: str


@cache
def known_defects() -> tuple[KnownDefect, ...]:
    """All reports, in the order of `data/defects.toml`."""
    return tuple(
        KnownDefect(**{**row, "tasks": tuple(row["tasks"]), "kind": DefectKind(row["kind"])})
        for row in _table("defects.toml")["defects"]
    )


@cache
def defects_of(key: str) -> tuple[KnownDefect, ...]:
    """The defects that a task has in the pinned files."""
    return tuple(defect for defect in known_defects() if defect.present and key in defect.tasks)


@cache
def excluded_tasks() -> frozenset[str]:
    """Keys of the tasks that suites leave out now."""
    return excluded_by([_change(row) for row in _table("exclusions.toml")["changes"]])


def excluded_by(changes: Sequence[ExclusionChange]) -> frozenset[str]:
    """Keys that are excluded after all changes, the oldest first.

    Raises:
        ValueError: a change excludes a task that is excluded, or readmits one that is not.
    """
    found: set[str] = set()
    for change in changes:
        for key in change.exclude:
            if key in found:
                raise ValueError(f"{change.date} excludes {key}, which is excluded already")
            found.add(key)
        for key in change.readmit:
            if key not in found:
                raise ValueError(f"{change.date} readmits {key}, which is not excluded")
            found.remove(key)
    return frozenset(found)


def _change(row: Mapping[str, Any]) -> ExclusionChange:
    lists = {name: tuple(row.get(name, ())) for name in ("exclude", "readmit")}
    return ExclusionChange(date=row["date"], reason=row["reason"], **lists)


def _table(name: str) -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath("data", name).read_text(encoding="utf-8"))
