"""The released tasks of ARC-AGI-1, pinned but not included: splits, known defects, and the paper's 111 training tasks.

They are the 800 files of github.com/fchollet/ARC-AGI, folder `data`, under the Apache License 2.0, copyright 2019
François Chollet. `data/released_files.txt` lists path, size and SHA-256 of each.
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

from evaluator.network.released_files import PublicFile, Release

COMMIT = "399030444e0ab0cc8b4e199870fb20b863846f34"
"""June 2024, the last correction of tasks."""
LICENCE = "Apache-2.0"
_ORIGIN = "https://github.com/fchollet/ARC-AGI"
_BASE = f"https://raw.githubusercontent.com/fchollet/ARC-AGI/{COMMIT}"
_LICENCE_FILE = PublicFile(
    name="LICENSE", base=_BASE, bytes=11_347, sha256="b3a161754ffc20840ccf92aec0fe464fbbcf42f14c22f78a3ec2e98fca3864ca"
)


def _read(name: str) -> str:
    return files(__package__).joinpath("data", name).read_text(encoding="utf-8")


TASK_FILES = tuple(
    PublicFile(name=name, base=_BASE, bytes=int(size), sha256=digest)
    for name, size, digest in (line.split(" ") for line in _read("released_files.txt").splitlines())
)
"""Sorted by name, training first."""
RELEASE = Release(name="arc", origin=_ORIGIN, commit=COMMIT, files=(*TASK_FILES, _LICENCE_FILE))


class PaperOutcome(StrEnum):
    """Outcome of the recorded programs."""

    SOLVED = "solved"
    DEMONSTRATIONS_ONLY = "demonstrations only"
    """Right on all demonstrations, wrong on a test input."""
    UNSOLVED = "unsolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTask:
    """A published page."""

    key: str
    outcome: PaperOutcome
    views: str
    """The recorded agent's views in the name of its page, such as `objdiagmulti`; `grid only` for no other view."""


PAPER_TASKS: Mapping[str, PaperTask] = MappingProxyType({
    key: PaperTask(key=key, outcome=PaperOutcome(outcome), views=views)
    for key, outcome, views in (line.split("\t") for line in _read("paper_tasks.tsv").splitlines())
})  # fmt: skip
"""The tasks of the multi-expert paper by ARC's id, with the outcome of its GPT-4 agents in July 2023. Taken from the
names and folders of the pages in github.com/tanchongmin/ARC-Challenge at commit 58e0b83. They are the tasks whose
prompt has at most 3,000 GPT-4 tokens."""


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
"""Part of the description of every suite of released tasks."""


@cache
def file_names(split: Split) -> tuple[str, ...]:
    """Paths of the split's files in the released layout, sorted by name, including excluded tasks."""
    folder = Split.TRAINING if split is Split.PAPER else split
    names = (file.name for file in TASK_FILES if PurePosixPath(file.name).parent.name == folder)
    return tuple(name for name in names if split is not Split.PAPER or PurePosixPath(name).stem in PAPER_TASKS)


class DefectKind(StrEnum):
    """Kind of a defect."""

    DEMONSTRATION = "demonstration"
    """A demonstration contradicts the others."""
    DUPLICATE = "duplicate"
    """A task or pair occurs twice."""
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
        for row in tomllib.loads(_read("defects.toml"))["defects"]
    )


@cache
def defects_of(key: str) -> tuple[KnownDefect, ...]:
    """The defects that a task has in the pinned files."""
    return tuple(defect for defect in known_defects() if defect.present and key in defect.tasks)


@cache
def excluded_tasks() -> frozenset[str]:
    """Keys of the tasks that are currently excluded from suites."""
    return excluded_by(
        [
            ExclusionChange(
                date=row["date"], reason=row["reason"],
                exclude=tuple(row.get("exclude", ())), readmit=tuple(row.get("readmit", ())),
            )
            for row in tomllib.loads(_read("exclusions.toml"))["changes"]
        ]
    )  # fmt: skip


def excluded_by(changes: Sequence[ExclusionChange]) -> frozenset[str]:
    """Keys that are excluded after all changes, which are sorted by date.

    Raises:
        ValueError: a change excludes an excluded task, or readmits one that is not excluded.
    """
    excluded: set[str] = set()
    for change in changes:
        for key in change.exclude:
            if key in excluded:
                raise ValueError(f"{change.date} excludes {key}, which is excluded already")
            excluded.add(key)
        for key in change.readmit:
            if key not in excluded:
                raise ValueError(f"{change.date} readmits {key}, which is not excluded")
            excluded.remove(key)
    return frozenset(excluded)
