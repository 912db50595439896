"""What `planarena arc train` does."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from evaluator.arc.training.conversion import FILE
from evaluator.arc.training.measuring import folder_of
from evaluator.arc.training.training import Order, train_writer
from evaluator.training.loop import Progress


def train(*, data: Path, work: Path, settings: Mapping[str, Any], report: Callable[[Progress], None]) -> Path | None:
    """Train the writer of a seed and return its folder, or None if it stopped early.

    Args:
        data: folder of `planarena arc convert`.
        work: folder of all writers.
        settings: `steps`, `seed`, `resume`, `stop_after`; None: the recipe's.
        report: is told about the progress.

    Raises:
        DataError: the data cannot be read.
        ChoiceError: there is nothing to learn from.
        SettingsError: the checkpoint is of another run.
    """
    torch.set_num_threads(1)
    given = {key: value for key, value in settings.items() if value is not None}
    folder = folder_of(work=work, seed=given.get("seed", 0))
    folder.parent.mkdir(parents=True, exist_ok=True)
    return train_writer(Order(data=data / FILE, out=folder, **given), report=report)
