"""Shipping the networks of `controlllm/trained`, each with a card."""

import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import safe_open

from evaluator.controlllm.strategies.trained.shipped import DECOMPOSER, SCORER, WEIGHTS
from evaluator.controlllm.training.measuring import (
    HELD_OUT_LESSONS,
    HELD_OUT_PAIRS,
    Measured,
    measure_decomposer,
    measure_scorer,
)
from evaluator.training.export import update_lock
from evaluator.training.runs import ChoiceError

_ABOUT = {
    "decomposer": "T5 encoder and decoder, a request to its decomposition by ControlLLM's protocol",
    "scorer": "BERT, a subtask beside a tool or a solution to a score from 1 to 5",
}
_DATA = {
    "decomposer": "{pairs:,} requests of a grammar of our own with their decompositions, all of different wording; none"
    " is of Tool100 or Tool2K",
    "scorer": "subtasks of {pairs:,} such requests beside the tools and solutions that fit their types; the scores"
    " follow from chains of tools that each kind of subtask is written down with (`scoring_corpus.py` has the recipe)",
}
_MEASURED_ON = {
    "decomposer": f"{HELD_OUT_PAIRS} held-out requests of the same grammar with other wordings",
    "scorer": f"{HELD_OUT_LESSONS} held-out lessons",
}


def ship(*, work: Path, weights: Path = WEIGHTS) -> list[Path]:
    """Copy both networks to where they are shipped from, with their cards, and lock their digests.

    Args:
        work: the folder of `decomposer` and `scorer`.
        weights: the folder of both shipped networks and of the lock file with their digests.

    Raises:
        ChoiceError: one of them is not there.
    """
    missing = [name for name in ("decomposer", "scorer") if not (work / name / "model.safetensors").is_file()]
    if missing:
        raise ChoiceError(f"{work} holds no trained {' and no '.join(missing)}: train it first")
    measured = {"decomposer": measure_decomposer(work / "decomposer"), "scorer": measure_scorer(work / "scorer")}
    shipped = []
    for own, name in (("decomposer", DECOMPOSER), ("scorer", SCORER)):
        folder = weights / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(work / own, folder)
        (folder / "model.safetensors").chmod(0o644)
        (folder / "card.md").write_text(card(folder=folder, name=name, measured=measured[own]), encoding="utf-8")
        update_lock(weights=weights, model=name)
        shipped.append(folder)
    return shipped


def card(*, folder: Path, name: str, measured: Measured) -> str:
    """The card of a network: what it is, how it was made, and how good it is on what was held out."""
    record: Mapping[str, Any] = json.loads((folder / "training.json").read_text())
    kind = record["kind"]
    lines = [
        f"# {name}: {_ABOUT[kind]}",
        "",
        f"- Parameters: {_parameters(folder):,}, stored as float16, computed with as float32",
        f"- Data: {_DATA[kind].format(pairs=record['pairs'])}",
        f"- Trained by: {_commands(record)} (torch {record['torch']}, CPU)",
        "- Licence: Apache-2.0; trained here from random weights on procedural data",
        "",
        f"Quality on {_MEASURED_ON[kind]}, measured by `planarena train controlllm measure`, with 95 % intervals:",
        "",
        *(f"- {what}: {share.mean:.4f}, {share.in_words()}" for what, share in measured.items()),
    ]
    return "\n".join(lines) + "\n"


def _commands(record: Mapping[str, Any]) -> str:
    """What to type to train the network again, one command for each run."""
    commands = []
    for number, run in enumerate(record["runs"]):
        command = f"planarena train controlllm {record['kind']} --steps {run['steps']} --seed {record['seed']}"
        stop = "" if run["stop_after"] in {None, run["steps"]} else f" --stop-after {run['stop_after']}"
        commands.append(f"`{command}{' --resume' if number else ''}{stop}`")
    return ", then ".join(commands)


def _parameters(folder: Path) -> int:
    with safe_open(folder / "model.safetensors", framework="pt") as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118 - not a dict
