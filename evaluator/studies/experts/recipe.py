"""What a recipe is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from evaluator.studies.experts.data.bank import Bank
from evaluator.training.loop import Objective, Schedule

EXAMPLES = 24_000
TRANSLATIONS = 2 * EXAMPLES
"""How many texts the translator reads: lists of objects are its hardest, and need many."""
REVIEWS = EXAMPLES // 4
"""How many texts the judge of sentiments reads."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """One model: how to build, what to train it for, how long, and how to write it."""

    name: str
    """Also the name of its folder of weights."""
    title: str
    build: Callable[[], nn.Module]
    objective: Callable[[Bank, Path], Objective]
    """From the training bank and the folder of weights, where the experts it depends on lie already."""
    schedule: Schedule
    export: Callable[[nn.Module, Path], None]
    texts: int = EXAMPLES
    """How many texts a model reads that reads texts only."""
    pictures: bool = True
    """False for models that read texts only; they get a bank of a single scene."""
    begin: Callable[[nn.Module, Mapping[str, Path]], None] | None = None
    """Fills the new model with weights trained before; from the folders `work` and `weights`."""
    shipped: bool = True
    """Otherwise the weights stay in the work folder, for models that begin from them."""
    needs: tuple[str, ...] = ()
    """Recipes whose weights it begins from; those that are missing are trained first."""
    data: str = ""
    """What it was trained on, for its card."""
    limits: str = ""
    """What it cannot do, for its card."""
