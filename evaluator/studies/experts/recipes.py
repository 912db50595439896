"""The models of the miniature world: the table `recipes.toml`, and the training of a model."""

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
_SCHEDULE = ("steps", "learning_rate", "weight_decay", "checkpoint_every")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A model: its architecture, objective, schedule and export."""

    name: str
    """Also the name of its folder of weights."""
    title: str
    module: str
    build: Callable[[], nn.Module]
    objective_type: Callable[..., Objective]
    arguments: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Arguments of the objective besides the data."""
    schedule: Schedule
    export: Callable[[nn.Module, Path], None]
    texts: int = 0
    """Number of training texts, for models that read texts only."""
    pictures: bool = True
    """False for models that read no scenes; they get a bank of a single scene."""
    begin: Callable[[nn.Module, Mapping[str, Path]], None] | None = None
    """Initialises the model with earlier weights, from the folders `work` and `weights`."""
    shipped: bool = True
    """If false, the weights stay in the work folder, for models that start from them."""
    needs: Sequence[str] = ()
    """Recipes whose weights it starts from; missing ones are trained first."""
    data: str = ""
    """For the card: the training data."""
    limits: str = ""
    """For the card: the limits of the model."""
    use: str = ""
    """For the card: the use of a model that is not an expert."""

    def objective(self, bank: Bank, weights: Path) -> Objective:
        """The training objective on the scenes of `bank`; `weights` holds the experts that it depends on."""
        data = {"bank": bank, "weights": weights, "texts": self.texts}
        needed = inspect.signature(self.objective_type).parameters
        return self.objective_type(**{name: data[name] for name in data if name in needed}, **self.arguments)


def _recipe(name: str, row: dict[str, Any]) -> Recipe:
    module = import_module(f"evaluator.studies.experts.{row['module']}")
    return Recipe(
        name=name,
        build=getattr(module, row.pop("build", "build")),
        objective_type=getattr(module, row.pop("objective")),
        schedule=Schedule(**{field: row.pop(field) for field in _SCHEDULE if field in row}),
        begin=getattr(module, row.pop("begin", "begin"), None),
        export=getattr(module, row.pop("export", "export"), export_transformers),
        **row,
    )


RECIPES: Mapping[str, Recipe] = {
    name: _recipe(name, row)
    for name, row in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
"""In the order of training."""


@dataclass(frozen=True, slots=True)
class Order:
    """A model to train, and where."""

    model: str
    work: Path
    """Folder of checkpoints and of the bank of scenes."""
    weights: Path
    """Folder that the model is written to, and that the experts it depends on are read from."""
    steps: int | None = None
    """Overrides the steps of the recipe."""
    seed: int = 0
    resume: bool = False
    stop_after: int | None = None
    """Stop after this step; a later call can resume."""
    scenes: int = TRAINING_SCENES
    threads: int = 1


def train(order: Order, *, report: Callable[[Progress], None] | None = None) -> Path | None:
    """Train a model and return its folder of weights, or None if it stopped before the end.

    Missing models that it starts from are trained first, each by its own recipe.

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
    """The folder that the weights of a model are written to."""
    return (order.weights if RECIPES[order.model].shipped else order.work) / order.model


def write_training_record(*, order: Order, runs: Sequence[Run], folder: Path) -> None:
    """Write `training.json` beside the weights, from which the card is made."""
    commands = [run.command(model=order.model, seed=order.seed, first=run is runs[0]) for run in runs]
    recipe = RECIPES[order.model]
    data = {"scenes": order.scenes, "pictures": PICTURES_VERSION} if recipe.pictures else {"texts": recipe.texts}
    record = {
        "commands": commands,
        "steps": runs[-1].steps,
        "seed": order.seed,
        **data,
        "world": WORLD_VERSION,
        "torch": torch.__version__,
    }
    (folder / "training.json").write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
