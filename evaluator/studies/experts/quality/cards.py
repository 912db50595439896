"""Model cards: what each shipped model is, how it was trained, and its quality on held-out scenes."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

from safetensors import safe_open

from evaluator.studies.experts.recipes import RECIPES

_EXPERT_USE = "executes a step of a plan in the miniature world, so that plans can be compared on a laptop"


def record_quality(*, folder: Path, quality: Mapping[str, str]) -> None:
    """Write figures on held-out data, by name and with their units, to a model's `training.json` for its card."""
    path = folder / "training.json"
    record = json.loads(path.read_text(encoding="utf-8")) | {"quality": [list(pair) for pair in quality.items()]}
    path.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def write_card(folder: Path) -> None:
    """Write `card.md` into a folder of weights."""
    (folder / "card.md").write_text(card(folder), encoding="utf-8")


def card(folder: Path) -> str:
    """The card of a shipped expert or scorer, from the record beside its weights."""
    recipe = RECIPES[folder.name]
    record = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    commands = ", then ".join(f"`{command}`" for command in record["commands"])
    amount = f"{record['scenes']:,} scenes" if recipe.pictures else f"{record['texts']:,} texts"
    # Recipes for tableaux and clips state the amount in `data`.
    source = f"{amount} of world" if recipe.pictures or recipe.texts else "world"
    parameters = 0
    for path in folder.rglob("*.safetensors"):
        with safe_open(path, framework="pt") as file:
            shapes = (file.get_slice(name).get_shape() for name in file.keys())  # noqa: SIM118 - not a dict
            parameters += sum(map(math.prod, shapes))
    # A retrained model has no quality until it is measured.
    quality = dict(record.get("quality", [("quality", "not measured since the training")]))
    lines = [
        f"# {recipe.title}",
        "",
        f"- Parameters: {parameters:,}, stored as float16, computed with as float32",
        f"- Data: {recipe.data}; {source} {record['world']}",
        f"- Trained by: {commands} (seed {record['seed']}, {record['steps']} steps, torch {record['torch']}, CPU)",
        *(f"- Note: {note}" for note in [record.get("note")] if note),
        "- Licence: Apache-2.0; trained here from random weights on procedural data",
        f"- Intended use: {recipe.use or _EXPERT_USE}. Not for photographs, texts by people, or decisions",
        f"- Limits: {recipe.limits}",
        "",
        "Held-out quality, measured by `planarena lilliput quality` on scenes of the validation split:",
        "",
        *(f"- {name}: {figure}" for name, figure in quality.items()),
    ]
    return "\n".join(lines) + "\n"
