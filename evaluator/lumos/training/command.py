"""Implementation of `planarena lumos train` and `ship`."""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from evaluator.lumos.training import training
from evaluator.lumos.training.study import COLUMNS, recorded_scores, table
from evaluator.lumos.training.training import Order, module_lessons, train_module
from evaluator.lumos.training.variants import BASE, DATASET, FORMS, MODULES, VARIANTS, Module
from evaluator.planners.language_models.shipped import FOLDER, LUMOS, LUMOS_MODULES
from evaluator.training.export import parameters_of, update_lock
from evaluator.training.loop import Progress
from evaluator.training.options import Purpose
from evaluator.training.runs import ChoiceError

SHIPPED = FOLDER.parent / "lumos-base"
"""The shipped base, with which training a module takes minutes."""


def train(
    *, name: str, data: Path, work: Path, settings: Mapping[str, Any], report: Callable[[Progress], None]
) -> Path | None:
    """Train a module of the comparison and return its folder, or None if it stopped early.

    Args:
        name: name in `MODULES`.
        data: folder of `planarena lumos convert`.
        work: folder of all modules.
        settings: `steps`, `seed`, `resume`, `stop_after`; None: the recipe's.
        report: progress callback.

    Raises:
        ChoiceError: there is no such module.
        DataError: the data cannot be read.
        SettingsError: the checkpoint belongs to another run.
    """
    if name not in MODULES:
        raise ChoiceError(f"there is no module {name!r}; there are: {', '.join(MODULES)}")
    torch.set_num_threads(1)
    module = MODULES[name]
    options = {key: value for key, value in settings.items() if value is not None}
    seed = options.get("seed", 0)
    recipe = training.FIRST if module.base is None else training.BASE if module.form == BASE else training.MODULE
    recipe = replace(recipe, steps=options.pop("steps", recipe.steps))
    folder, base = module.folder(work=work, seed=seed), None
    if module.base is not None:
        base = module.base.folder(work=work, seed=seed)
        if not (base / "model.safetensors").is_file():
            if module.base != Module(form=BASE):
                raise ChoiceError(f"{name} begins as {module.base.name}, which is not trained yet")
            base = SHIPPED
    folder.parent.mkdir(parents=True, exist_ok=True)
    order = Order(
        data=tuple(data / f"{form}.jsonl" for form in (FORMS if module.form == BASE else (module.form,))),
        out=folder, base=base, recipe=recipe,
        datasets=(DATASET.format(module.only),) if module.only else (),
        without=(DATASET.format(module.without),) if module.without else (), **options,
    )  # fmt: skip
    return train_module(order, report=report)


_STRATEGIES: Mapping[str, str] = {
    "plan_iterative": "lumos/iterative", "ground_iterative": "lumos/iterative", "plan_onetime": "lumos/onepass",
    "ground_onetime": "lumos/onepass", "integrated": "lumos/integrated", "chain_of_thought": "lumos/chain-of-thought",
    "direct": "lumos/direct",
}  # fmt: skip
"""The strategy that uses a module of each form."""


def tuned_for(form: str, *, data: Path) -> tuple[Purpose, Path]:
    """The purpose of a module that is tuned from a given model, and the file of its lessons.

    Args:
        form: one of `FORMS`.
        data: folder of `planarena lumos convert`, or a file in LUMOS's layout.

    Raises:
        ChoiceError: there is no such form.
    """
    if form not in FORMS:
        raise ChoiceError(f"no module {form!r} can be tuned from a given model; there are: {', '.join(FORMS)}")
    purpose = Purpose(title=f"LUMOS, {form}", strategy=_STRATEGIES[form], read=module_lessons, stop=("\n",))
    return purpose, data / f"{form}.jsonl" if data.is_dir() else data


_MEASURED: Mapping[str, str] = {
    "plan-iterative": "iterative", "ground-iterative": "iterative", "integrated": "integrated",
}  # fmt: skip
"""The measured variant of each module."""
_TITLES: Mapping[str, str] = {
    "plan-iterative": "what to do next",
    "ground-iterative": "subgoals to actions",
    "integrated": "subgoals and actions in one",
}


def ship(*, work: Path, seed: int, weights: Path = FOLDER.parent) -> list[Path]:
    """Copy the modules of a seed, with their cards, into the folder of shipped weights, and lock their digests.

    Args:
        work: folder of the comparison.
        seed: seed of the modules.
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
    measured = recorded_scores(variant=variant, seed=seed, work=work)
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
