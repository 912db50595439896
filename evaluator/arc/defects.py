"""What is known to be wrong with released tasks, and which of them suites leave out."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any


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
