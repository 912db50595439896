"""The models of the miniature world: the table `recipes.toml`, and the training of one model from scenes to weights."""

import dataclasses
import inspect
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import nn

from evaluator.miniature.seeds import PICTURES_VERSION, WORLD_VERSION, Split
from evaluator.studies.experts.data.bank import Bank, load_bank
from evaluator.training.export import export_transformers, update_lock
from evaluator.training.loop import Objective, Progress, Schedule, fit, reached_step
from evaluator.training.runs import Run, begin_run

TRAINING_SCENES = 60_000
_MODULES = "evaluator.studies.experts"
_SCHEDULE = ("steps", "learning_rate", "weight_decay", "checkpoint_every")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One model: how to build, what to train it for, how long, and how to write it."""

    name: str
    """Also the name of its folder of weights."""
    title: str
    module: str
    build: Callable[[], nn.Module]
    objective_type: Callable[..., Objective]
    arguments: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Of the objective, besides the data."""
    schedule: Schedule
    export: Callable[[nn.Module, Path], None]
    texts: int = 0
    """How many texts a model reads that reads texts only."""
    pictures: bool = True
    """False for models that read no scenes; they get a bank of a single one."""
    begin: Callable[[nn.Module, Mapping[str, Path]], None] | None = None
    """Fills the new model with weights trained before; from the folders `work` and `weights`."""
    shipped: bool = True
    """Otherwise the weights stay in the work folder, for models that begin from them."""
    needs: Sequence[str] = ()
    """Recipes whose weights it begins from; those that are missing are trained first."""
    data: str = ""
    """What it was trained on, for its card."""
    limits: str = ""
    """What it cannot do, for its card."""
    use: str = ""
    """What it is used for, if it is no expert, for its card."""

    def objective(self, bank: Bank, weights: Path) -> Objective:
        """What it is trained for.

        Args:
            bank: training scenes.
            weights: folder of weights, where the experts that it depends on are already.
        """
        data = {"bank": bank, "weights": weights, "texts": self.texts}
        needed = inspect.signature(self.objective_type).parameters
        return self.objective_type(**{name: data[name] for name in data if name in needed}, **self.arguments)


def _recipe(name: str, row: dict[str, Any]) -> Recipe:
    module = import_module(f"{_MODULES}.{row['module']}")
    objective = getattr(module, row.pop("objective"))
    functions = {part: getattr(module, row.pop(part, part), None) for part in ("begin", "export")}
    return Recipe(
        name=name,
        build=getattr(module, row.pop("build", "build")),
        objective_type=objective,
        schedule=Schedule(**{field: row.pop(field) for field in _SCHEDULE if field in row}),
        begin=functions["begin"],
        export=functions["export"] or export_transformers,
        **row,
    )


RECIPES: Mapping[str, Recipe] = {
    name: _recipe(name, row)
    for name, row in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
"""In the order of training."""


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
