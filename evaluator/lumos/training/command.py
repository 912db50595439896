"""What `planarena lumos train`, `compare` and `ship` do."""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from evaluator.lumos.training import training
from evaluator.lumos.training.study import COLUMNS, kept_scores, table
from evaluator.lumos.training.training import Order, Recipe, train_module
from evaluator.lumos.training.variants import BASE, DATASET, FORMS, MODULES, VARIANTS, Module
from evaluator.planners.language_models.shipped import FOLDER, LUMOS, LUMOS_MODULES
from evaluator.training.export import parameters_of, update_lock
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


_MEASURED: Mapping[str, str] = {
    "plan-iterative": "iterative",
    "ground-iterative": "iterative",
    "integrated": "integrated",
}
"""The variant of the comparison that has a module."""
_TITLES: Mapping[str, str] = {
    "plan-iterative": "what to do next",
    "ground-iterative": "subgoals to actions",
    "integrated": "subgoals and actions in one",
}


def ship(*, work: Path, seed: int, weights: Path = FOLDER.parent) -> list[Path]:
    """Copy the modules of a seed to where they are shipped from, with their cards, and lock their digests.

    Args:
        work: folder of the comparison.
        seed: whose modules are shipped.
        weights: the folder of all shipped weights.

    Raises:
        ChoiceError: a module is not trained, or not measured yet.
    """
    cards = {module: _card(module=module, work=work, seed=seed) for module in LUMOS_MODULES}
    shipped = []
    for module, card in cards.items():
        folder = weights / LUMOS / module
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(_trained(module, work=work, seed=seed), folder)
        (folder / "model.safetensors").chmod(0o644)
        (folder / "card.md").write_text(card, encoding="utf-8")
        update_lock(weights=weights, model=f"{LUMOS}/{module}")
        shipped.append(folder)
    return shipped


def _trained(module: str, *, work: Path, seed: int) -> Path:
    return work / f"seed-{seed}" / module.replace("-", "_")


def _card(*, module: str, work: Path, seed: int) -> str:
    folder, variant = _trained(module, work=work, seed=seed), VARIANTS[_MEASURED[module]]
    measured = kept_scores(variant=variant, seed=seed, work=work)
    if measured is None or not (folder / "model.safetensors").is_file():
        raise ChoiceError(f"{folder} is not trained and measured yet: see `planarena lumos train` and `compare`")
    record = json.loads((folder / "training.json").read_text())
    (row,) = table([measured])
    lines = [
        f"# {LUMOS}, {module}: Llama, {_TITLES[module]}",
        "",
        f"- Parameters: {parameters_of(folder):,}, stored as float16, computed with as float32",
        f"- Data: `{next(iter(record['data']))}`, solutions of training tasks of `lumos-mini` "
        "(`planarena lumos convert --tasks 3000`)",
        f"- Trained by: `planarena lumos train {folder.name} --seed {seed}`, {record['steps']:,} steps from the "
        f"shipped base (torch {record['torch']})",
        "- Licence: Apache-2.0; trained here from random weights on procedural data",
        "",
        f"Share of the {len(measured.scores)} public tasks of `lumos-mini` that `{variant.strategy}` solves with the "
        f"modules of seed {seed}, with 95 % intervals over tasks (`planarena lumos compare`):",
        "",
        *(f"- {column}: {cell}" for column, cell in zip(COLUMNS, row[1:-1], strict=True)),
    ]
    return "\n".join(lines) + "\n"
