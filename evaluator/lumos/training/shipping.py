"""Shipping LUMOS's modules of one seed: each with a card that says how it was trained and what it solves."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from evaluator.lumos.training.study import COLUMNS, kept_scores, table
from evaluator.lumos.training.variants import VARIANTS
from evaluator.planners.language_models.shipped import FOLDER, LUMOS, LUMOS_MODULES
from evaluator.training.export import parameters_of, update_lock
from evaluator.training.runs import ChoiceError

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
