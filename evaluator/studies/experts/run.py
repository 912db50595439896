"""Training one shipped model from scene to weights."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from evaluator.miniature.seeds import PICTURES_VERSION, WORLD_VERSION, Split
from evaluator.studies.experts.data.bank import load_bank
from evaluator.studies.experts.recipes import RECIPES
from evaluator.training.export import update_lock
from evaluator.training.loop import Progress, fit, reached_step
from evaluator.training.runs import Run, begin_run

TRAINING_SCENES = 60_000


@dataclass(frozen=True, slots=True)
class Order:
    """What to train and where."""

    model: str
    work: Path
    """Checkpoints and the bank of scenes."""
    weights: Path
    """Where the finished model goes, and where the experts it depends on are read."""
    steps: int | None = None
    """Instead of the recipe's."""
    seed: int = 0
    resume: bool = False
    stop_after: int | None = None
    """Leave after this step, to go on another time."""
    scenes: int = TRAINING_SCENES
    threads: int = 1


def train(order: Order, *, report: Callable[[Progress], None] | None = None) -> Path | None:
    """Train one model and return its folder of weights, or None if it stopped before the end.

    Models that it begins from and that are missing are trained before, each by its own recipe.

    Raises:
        LookupError: there is no such model.
    """
    if order.model not in RECIPES:
        raise LookupError(f"no model {order.model!r}; there are: {', '.join(RECIPES)}")
    recipe = RECIPES[order.model]
    for name in recipe.needs:
        needed = dataclasses.replace(order, model=name, steps=None, stop_after=None, resume=True)
        if not (folder_of(needed) / "training.json").is_file():
            train(needed, report=report)
    torch.set_num_threads(order.threads)
    torch.manual_seed(order.seed)
    scenes = order.scenes if recipe.pictures else 1
    bank = load_bank(work=order.work, split=Split.TRAIN, count=scenes)
    steps = recipe.schedule.steps if order.steps is None else order.steps
    checkpoint = order.work / f"{recipe.name}.safetensors"
    reached = reached_step(checkpoint) if order.resume else 0
    runs = begin_run(path=checkpoint.with_suffix(".runs.json"), steps=steps, reached=reached)
    model = recipe.build()
    if recipe.begin is not None and not reached:
        recipe.begin(model, {"work": order.work, "weights": order.weights})
    last = fit(
        model=model,
        objective=recipe.objective(bank, order.weights),
        schedule=dataclasses.replace(recipe.schedule, steps=steps, seed=order.seed),
        checkpoint=checkpoint,
        resume=order.resume,
        stop_after=order.stop_after,
        report=report,
    )
    if last < steps:
        return None
    folder = folder_of(order)
    recipe.export(model.eval(), folder)
    write_training_record(order=order, runs=runs, folder=folder)
    if recipe.shipped:
        update_lock(weights=order.weights, model=recipe.name)
    return folder


def folder_of(order: Order) -> Path:
    """Where the weights of a model go."""
    return (order.weights if RECIPES[order.model].shipped else order.work) / order.model


def write_training_record(*, order: Order, runs: Sequence[Run], folder: Path) -> None:
    """Write down beside the weights how they came about, for the card."""
    commands = [run.command(model=order.model, seed=order.seed, first=run is runs[0]) for run in runs]
    recipe = RECIPES[order.model]
    seen = {"scenes": order.scenes, "pictures": PICTURES_VERSION}
    record = {
        "commands": commands,
        "steps": runs[-1].steps,
        "seed": order.seed,
        **(seen if recipe.pictures else {"texts": recipe.texts}),
        "world": WORLD_VERSION,
        "torch": torch.__version__,
    }
    (folder / "training.json").write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
