"""What `planarena lumos train` and `planarena lumos compare` do."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from evaluator.lumos.training import training
from evaluator.lumos.training.training import Order, Recipe, train_module
from evaluator.lumos.training.variants import BASE, DATASET, FORMS, MODULES, Module
from evaluator.planners.language_models.shipped import FOLDER
from evaluator.training.loop import Progress
from evaluator.training.runs import ChoiceError

SHIPPED = FOLDER.parent / "lumos-base"
"""The base that comes with PlanArena, so that modules are trained in minutes."""


def train(
    *, name: str, data: Path, work: Path, settings: Mapping[str, Any], report: Callable[[Progress], None]
) -> Path | None:
    """Train a module of the comparison and return its folder, or None if it stopped early.

    Args:
        name: of `MODULES`.
        data: folder of `planarena lumos convert`.
        work: folder of all modules.
        settings: `steps`, `seed`, `resume`, `stop_after`; None: the recipe's.
        report: is told about the progress.

    Raises:
        ChoiceError: there is no such module.
        DataError: the data cannot be read.
        SettingsError: the checkpoint is of another run.
    """
    if name not in MODULES:
        raise ChoiceError(f"there is no module {name!r}; there are: {', '.join(MODULES)}")
    torch.set_num_threads(1)
    module = MODULES[name]
    given = {key: value for key, value in settings.items() if value is not None}
    seed, recipe = given.get("seed", 0), _recipe_of(module)
    recipe = replace(recipe, steps=given.pop("steps", recipe.steps))
    folder, base = module.folder(work=work, seed=seed), None
    if module.base is not None:
        base = _base(module.base, work=work, seed=seed)
        if base is None:
            raise ChoiceError(f"{name} begins as {module.base.name}, which is not trained yet")
    folder.parent.mkdir(parents=True, exist_ok=True)
    order = Order(
        data=tuple(data / f"{form}.jsonl" for form in (FORMS if module.form == BASE else (module.form,))),
        out=folder, base=base, recipe=recipe,
        datasets=(DATASET.format(module.only),) if module.only else (),
        without=(DATASET.format(module.without),) if module.without else (), **given,
    )  # fmt: skip
    return train_module(order, report=report)


def _recipe_of(module: Module) -> Recipe:
    if module.base is None:
        return training.FIRST
    return training.BASE if module.form == BASE else training.MODULE


def _base(module: Module, *, work: Path, seed: int) -> Path | None:
    """The folder of a base, or of the one that comes with PlanArena; None: it is neither trained nor shipped."""
    own = module.folder(work=work, seed=seed)
    if (own / "model.safetensors").is_file():
        return own
    return SHIPPED if module == Module(form=BASE) else None
