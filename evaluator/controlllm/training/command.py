"""What `planarena train controlllm` does: train one of the networks, measure the decomposer, or ship both."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from evaluator.controlllm.strategies.trained.shipped import DECOMPOSER, SCORER, shipped_folder
from evaluator.controlllm.training.measuring import HELD_OUT_PAIRS, Measured, measure_decomposer, measure_scorer
from evaluator.controlllm.training.scoring import ScorerOrder, train_scorer
from evaluator.controlllm.training.shipping import ship
from evaluator.controlllm.training.training import Order, train_decomposer
from evaluator.training.loop import Progress
from evaluator.training.runs import ChoiceError

CHOICES = ("decomposer", "scorer", "measure", "ship")


def run(*, what: str, work: Path, settings: Mapping[str, Any], report: Callable[[Progress], None]) -> str:
    """Do one of `CHOICES` and say what came of it.

    Args:
        what: which.
        work: folder of the networks, `work/decomposer` and `work/scorer`; of what is measured, the shipped ones if
            there is no such folder.
        settings: of the training: `steps`, `seed`, `resume`, `stop_after`.
        report: is told about the progress.

    Raises:
        ChoiceError: there is no such choice, or nothing to ship.
        SettingsError: the checkpoint is of another run.
    """
    torch.set_num_threads(1)
    if what == "decomposer":
        return _said(train_decomposer(Order(out=work / "decomposer", **settings), report=report))
    if what == "scorer":
        return _said(train_scorer(ScorerOrder(out=work / "scorer", **settings), report=report))
    if what == "measure":
        return "\n".join(_figures(work))
    if what == "ship":
        return "\n".join(f"written to {folder}" for folder in ship(work=work))
    raise ChoiceError(f"there is nothing to do called {what!r}; there are: {', '.join(CHOICES)}")


def _said(folder: Path | None) -> str:
    return "stopped early; --resume continues" if folder is None else f"written to {folder}"


def _figures(work: Path) -> list[str]:
    folders = {
        name: work / own if (work / own).is_dir() else shipped_folder(name)
        for name, own in ((DECOMPOSER, "decomposer"), (SCORER, "scorer"))
    }
    measured: Measured = {**measure_decomposer(folders[DECOMPOSER]), **measure_scorer(folders[SCORER])}
    lines = [f"{name}: {share.mean:.4f}, 95 % interval {share.in_words()}" for name, share in measured.items()]
    return [f"{HELD_OUT_PAIRS} held-out pairs of the corpus:", *lines]
