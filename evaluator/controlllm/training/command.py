"""`planarena train controlllm`: train one of the networks, measure both on held-out pairs, or ship them with cards."""

import json
import math
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open

from evaluator.controlllm.strategies.trained.linear import written
from evaluator.controlllm.strategies.trained.networks import (
    DECOMPOSER,
    SCORER,
    WEIGHTS,
    Decomposer,
    Scorer,
    shipped_folder,
)
from evaluator.controlllm.training.corpus import SIZE
from evaluator.controlllm.training.decomposer import HELD_OUT, Order, distinct_pairs, train_decomposer, wording
from evaluator.controlllm.training.drafting import Pair
from evaluator.controlllm.training.scorer import ScorerOrder, by_kind, draw_lesson, train_scorer
from evaluator.replies.decomposition import parse_decomposition
from evaluator.scoring.metrics.decomposition import FIELDS, judge_decomposition, right_fields
from evaluator.scoring.metrics.statistics import Interval, wilson
from evaluator.training.export import update_lock
from evaluator.training.loop import Progress
from evaluator.training.runs import ChoiceError

HELD_OUT_PAIRS = 500
HELD_OUT_LESSONS = 2000
Measured = dict[str, Interval]
"""Shares by name."""


def held_out_pairs(size: int, *, trained: int = SIZE) -> list[Pair]:
    """Pairs of another seed without the wordings of the training pairs."""
    learnt = frozenset(wording(pair) for pair in distinct_pairs(size=trained))
    return list(distinct_pairs(size=size, seed=HELD_OUT, without=learnt))


def measure_decomposer(folder: Path, *, pairs: list[Pair] | None = None) -> Measured:
    """DeAcc, and for each field the share of requests in which it is right.

    Args:
        folder: folder of the decomposer.
        pairs: test pairs; None: `HELD_OUT_PAIRS` held-out pairs.
    """
    decomposer = Decomposer.from_folder(folder)
    right: list[bool] = []
    fields: dict[str, list[bool]] = {name: [] for name in FIELDS}
    for pair in held_out_pairs(HELD_OUT_PAIRS) if pairs is None else pairs:
        gold = parse_decomposition(written(subtasks=pair.subtasks, reading=pair.reading))
        text = written(subtasks=decomposer.decompose(pair.reading), reading=pair.reading)
        right.append(judge_decomposition(predicted=text, gold=gold).right)
        for name, is_right in right_fields(predicted=text, gold=gold).items():
            fields[name].append(is_right)
    return {"DeAcc": _share(right), **{f"{name} right": _share(own) for name, own in fields.items()}}


def measure_scorer(folder: Path) -> Measured:
    """The share of held-out lessons whose rounded score is right."""
    scorer, rng = Scorer.from_folder(folder), np.random.default_rng(HELD_OUT)
    subtasks = by_kind(list(distinct_pairs(size=HELD_OUT_PAIRS, seed=HELD_OUT)))
    lessons = [draw_lesson(subtasks=subtasks, rng=rng) for _ in range(HELD_OUT_LESSONS)]
    scores = scorer.scores([text for text, _ in lessons])
    return {"scores right": _share(round(score) == gold for score, (_, gold) in zip(scores, lessons, strict=True))}


def _share(right: Iterable[bool]) -> Interval:
    outcomes = list(right)
    return wilson(successes=sum(outcomes), total=len(outcomes))


_ABOUT = {
    "decomposer": "T5 encoder and decoder, a request to its decomposition by ControlLLM's protocol",
    "scorer": "BERT, a subtask beside a tool or a solution to a score from 1 to 5",
}
_DATA = {
    "decomposer": "{pairs:,} requests of a grammar of our own with their decompositions, all of different wording; none"
    " is of Tool100 or Tool2K",
    "scorer": "subtasks of {pairs:,} such requests beside the tools and solutions that fit their types; the scores"
    " follow from chains of tools that each kind of subtask is written down with (`training/scorer.py` has the recipe)",
}
_MEASURED_ON = {
    "decomposer": f"{HELD_OUT_PAIRS} held-out requests of the same grammar with other wordings",
    "scorer": f"{HELD_OUT_LESSONS} held-out lessons",
}


def ship(*, work: Path, weights: Path = WEIGHTS) -> list[Path]:
    """Copy both networks to the shipped weights, with their cards, and lock their digests.

    Args:
        work: the folder of `decomposer` and `scorer`.
        weights: the folder of the shipped networks and the lock file with their digests.

    Raises:
        ChoiceError: a network is missing.
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
    """The card of a network: architecture, data, training, and quality on held-out data."""
    record: Mapping[str, Any] = json.loads((folder / "training.json").read_text())
    kind = record["kind"]
    with safe_open(folder / "model.safetensors", framework="pt") as file:
        parameters = sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118 - not a dict
    lines = [
        f"# {name}: {_ABOUT[kind]}",
        "",
        f"- Parameters: {parameters:,}, stored as float16, computed with as float32",
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
    """The commands of the training runs."""
    commands = []
    for number, run in enumerate(record["runs"]):
        command = f"planarena train controlllm {record['kind']} --steps {run['steps']} --seed {record['seed']}"
        stop = "" if run["stop_after"] in {None, run["steps"]} else f" --stop-after {run['stop_after']}"
        commands.append(f"`{command}{' --resume' if number else ''}{stop}`")
    return ", then ".join(commands)


CHOICES = ("decomposer", "scorer", "measure", "ship")


def run(*, what: str, work: Path, settings: Mapping[str, Any], report: Callable[[Progress], None]) -> str:
    """Do one of `CHOICES` and return a message.

    Args:
        what: the choice.
        work: folder of the networks, `work/decomposer` and `work/scorer`. Shipped networks are measured if it has none.
        settings: settings of the training: `steps`, `seed`, `resume`, `stop_after`.
        report: receives the progress.

    Raises:
        ChoiceError: there is no such choice, or nothing to ship.
        SettingsError: the checkpoint is of another run.
    """
    torch.set_num_threads(1)
    if what == "measure":
        folders = {
            name: work / own if (work / own).is_dir() else shipped_folder(name)
            for name, own in ((DECOMPOSER, "decomposer"), (SCORER, "scorer"))
        }
        measured: Measured = {**measure_decomposer(folders[DECOMPOSER]), **measure_scorer(folders[SCORER])}
        lines = [f"{name}: {share.mean:.4f}, 95 % interval {share.in_words()}" for name, share in measured.items()]
        return "\n".join([f"{HELD_OUT_PAIRS} held-out pairs of the corpus:", *lines])
    if what == "ship":
        return "\n".join(f"written to {folder}" for folder in ship(work=work))
    if what not in CHOICES:
        raise ChoiceError(f"there is nothing to do called {what!r}; there are: {', '.join(CHOICES)}")
    if what == "decomposer":
        folder = train_decomposer(Order(out=work / "decomposer", **settings), report=report)
    else:
        folder = train_scorer(ScorerOrder(out=work / "scorer", **settings), report=report)
    return "stopped early; --resume continues" if folder is None else f"written to {folder}"
