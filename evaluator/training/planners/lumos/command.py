"""What `planarena lumos train` and `planarena lumos compare` do."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from evaluator.training.loop import Progress
from evaluator.training.planners.lumos.training import Order, train_module
from evaluator.training.planners.lumos.variants import BASE, DATASET, FORMS, MODULES
from evaluator.training.planners.runs import ChoiceError


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
    seed = given.get("seed", 0)
    folder, base = module.folder(work=work, seed=seed), None
    if module.base is not None:
        base = module.base.folder(work=work, seed=seed)
        if not (base / "model.safetensors").is_file():
            raise ChoiceError(f"{name} begins as {module.base.name}, which is not trained with the seed {seed} yet")
    folder.parent.mkdir(parents=True, exist_ok=True)
    order = Order(
        data=tuple(data / f"{form}.jsonl" for form in (FORMS if module.form == BASE else (module.form,))),
        out=folder, base=base,
        datasets=(DATASET.format(module.only),) if module.only else (),
        without=(DATASET.format(module.without),) if module.without else (), **given,
    )  # fmt: skip
    return train_module(order, report=report)
