"""The sets of tasks that suites are made of."""

from enum import StrEnum
from functools import cache
from pathlib import PurePosixPath

from evaluator.arc.paper import PAPER_TASKS
from evaluator.arc.source import TASK_FILES


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
