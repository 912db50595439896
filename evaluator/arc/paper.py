"""The 111 training tasks of the multi-expert paper, and what its GPT-4 agents reached on them in July 2023.

Read off the names and folders of the pages published in github.com/tanchongmin/ARC-Challenge at commit 58e0b83. They
are the tasks whose prompt has at most 3,000 of GPT-4's tokens.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from types import MappingProxyType


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
"""By ARC's id."""
