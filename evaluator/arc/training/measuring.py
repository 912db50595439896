"""Measuring the variants on tasks of arc-mini that the writer did not learn from."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from evaluator.arc.mini.draws import Source, draw_tasks
from evaluator.arc.mini.suite import mini_suite, task_of
from evaluator.arc.suite import environment_of
from evaluator.arc.training.variants import VARIANTS, Variant
from evaluator.core.records import Outcome
from evaluator.episodes.base import Evaluator
from evaluator.episodes.turns.environment import Bounds
from evaluator.episodes.turns.evaluator import TurnEvaluator
from evaluator.miniature.seeds import Split
from evaluator.planners.language_models.local.model import LocalModel
from evaluator.planners.strategies.registry import named_strategy
from evaluator.planners.turns.strategies import strategy_planner_of
from evaluator.training.causal.comparing import Measured
from evaluator.training.runs import ChoiceError

SPLITS = (str(Split.PUBLIC), str(Split.VALIDATION))
_ROWS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Tasks:
    """What is measured on."""

    split: str
    each: int
    """Tasks of each family."""

    @property
    def name(self) -> str:
        """Of the folder of their scores."""
        return f"{self.split}-{self.each}"


def folder_of(*, work: Path, seed: int) -> Path:
    """Where the writer of a seed lies."""
    return work / f"seed-{seed}" / "writer"


def evaluator_of(tasks: Tasks) -> Evaluator:
    """An evaluator on these tasks; those of the public split are the suite's.

    Raises:
        ChoiceError: there is no such split, or planners learn from it.
    """
    if tasks.split not in SPLITS:
        raise ChoiceError(f"--split: there is no split {tasks.split!r} to measure on; there are: {', '.join(SPLITS)}")
    drawn = draw_tasks(Source(split=Split(tasks.split)), count=tasks.each)
    asked = tuple(map(task_of, drawn))
    outputs = {one.key: tuple(pair.output for pair in one.tests) for one in drawn}
    environment = environment_of(tasks=asked, expected=outputs.__getitem__, data=tasks.name)
    return TurnEvaluator(
        suite=replace(mini_suite(), tasks=asked), environment=environment, bounds=Bounds(turns=1, actions=3)
    )  # fmt: skip


def measure(*, variant: Variant, seed: int, work: Path, tasks: Tasks, evaluator: Evaluator) -> Measured:
    """Run a variant with the writer of a seed, or read what was measured before.

    Raises:
        ChoiceError: the writer was not trained yet.
        RuntimeError: a task could not be measured, for reasons that are not the planner's.
    """
    beside = work / f"seed-{seed}" / tasks.name
    kept = beside / f"{variant.name.replace(' ', '-').replace(',', '')}.scores.json"
    if kept.is_file():
        return Measured(variant=variant.name, seed=seed, scores=json.loads(kept.read_text()))
    folder = folder_of(work=work, seed=seed)
    if not (folder / "model.safetensors").is_file():
        raise ChoiceError(f"{variant.name}: the writer with the seed {seed} is not trained yet")
    scores = _scores(variant=variant, model=LocalModel.from_folder(folder, rows=_ROWS), evaluator=evaluator)
    beside.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(dict(sorted(scores.items())), indent=1) + "\n")
    return Measured(variant=variant.name, seed=seed, scores=scores)


def _scores(*, variant: Variant, model: LocalModel, evaluator: Evaluator) -> dict[str, float]:
    strategy = named_strategy(f"{variant.strategy}:model").strategy(with_model=True)
    planner = strategy_planner_of(strategy=strategy, model=model, name=variant.name)
    scores = {}
    for record in evaluator.run(planner=planner, tasks=[task.key for task in evaluator.suite.tasks]):
        if record.outcome not in {Outcome.SCORED, Outcome.PLANNER_FAULT}:
            raise RuntimeError(f"task {record.task} was not measured: {record.outcome}: {record.reason_text}")
        scores[record.task] = record.score or 0.0
    return scores


def measure_all(
    *, work: Path, seeds: Sequence[int], tasks: Tasks, evaluator: Evaluator, say: Callable[[str], None]
) -> list[Measured]:
    """All variants with the writers of all seeds; says which are not trained."""
    torch.set_num_threads(1)
    found = []
    for seed in seeds:
        for variant in VARIANTS.values():
            try:
                one = measure(variant=variant, seed=seed, work=work, tasks=tasks, evaluator=evaluator)
            except ChoiceError as error:
                say(str(error))
                continue
            say(f"seed {seed}: {variant.name} solves {sum(one.scores.values()):.0f} of {len(one.scores)}")
            found.append(one)
    return found
