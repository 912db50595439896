"""Measuring the variants on the public tasks, and the table of the comparison."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch

from evaluator.core.turns import Role
from evaluator.episodes.base import Evaluator
from evaluator.lumos.training.variants import GROUPS, VARIANTS, Variant
from evaluator.planners.driving import strategy_planner_of
from evaluator.planners.language_models.local.model import LocalModel
from evaluator.planners.strategies.registry import named_strategy
from evaluator.scoring.metrics.statistics import clustered_mean
from evaluator.training.causal import Measured, by_seed, differences, in_words
from evaluator.training.runs import ChoiceError

Scores = Mapping[str, float]
"""By task."""
ALL = "all"
_ROWS = 16
COLUMNS = (*GROUPS, ALL)


def measure(*, variant: Variant, seed: int, work: Path, evaluator: Evaluator) -> Measured:
    """Run a variant with the networks of a seed on the tasks of its groups, or read its recorded scores.

    Raises:
        ChoiceError: a network is not trained yet.
    """
    if (recorded := recorded_scores(variant=variant, seed=seed, work=work)) is not None:
        return recorded
    folders = {module.name: module.folder(work=work, seed=seed) for module in variant.modules}
    missing = [name for name, folder in folders.items() if not (folder / "model.safetensors").is_file()]
    if missing:
        raise ChoiceError(f"{variant.name}: {' and '.join(missing)} with the seed {seed} is not trained yet")
    # Small batches limit memory: a page of results has hundreds of tokens.
    models = [LocalModel.from_folder(folder, rows=_ROWS) for folder in folders.values()]
    planner = strategy_planner_of(
        strategy=named_strategy(f"{variant.strategy}:model").strategy(with_model=True), model=models[0],
        name=variant.name, roles={str(Role.GROUND): models[1]} if len(models) > 1 else {},
    )  # fmt: skip
    tasks = [task.key for task in evaluator.suite.tasks if task.metric in variant.groups]
    scores = {record.task: record.score or 0.0 for record in evaluator.run(planner=planner, tasks=tasks)}
    path = _scores_path(variant=variant, seed=seed, work=work)
    path.write_text(json.dumps(dict(sorted(scores.items())), indent=1) + "\n")
    return Measured(variant=variant.name, seed=seed, scores=scores)


def recorded_scores(*, variant: Variant, seed: int, work: Path) -> Measured | None:
    """The recorded scores, if there are any."""
    path = _scores_path(variant=variant, seed=seed, work=work)
    if not path.is_file():
        return None
    return Measured(variant=variant.name, seed=seed, scores=json.loads(path.read_text()))


def _scores_path(*, variant: Variant, seed: int, work: Path) -> Path:
    return work / f"seed-{seed}" / f"{variant.name.replace(' ', '-').replace(',', '')}.scores.json"


def measure_all(
    *, work: Path, seeds: Sequence[int], evaluator: Evaluator, say: Callable[[str], None]
) -> list[Measured]:
    """Measure all variants with all seeds. Reports and skips untrained ones."""
    torch.set_num_threads(1)
    measured = []
    for seed in seeds:
        for variant in VARIANTS.values():
            try:
                measured.append(measure(variant=variant, seed=seed, work=work, evaluator=evaluator))
            except ChoiceError as error:
                say(str(error))
    return measured


def table(measured: Sequence[Measured]) -> list[tuple[str, ...]]:
    """A row per variant: the share of solved tasks of each group and of all, with 95 % intervals, and by seed."""
    rows = []
    for name in VARIANTS:
        scores = [result.scores for result in measured if result.variant == name]
        if scores:
            rows.append((name, *(_cell(scores, group=group) for group in COLUMNS), by_seed(scores)))
    return rows


def markdown(*, measured: Sequence[Measured], seeds: Sequence[int]) -> str:
    """The table with its caption."""
    headings = ("variant", *COLUMNS, "all, by seed")
    lines = [f"| {' | '.join(headings)} |", "|---" * len(headings) + "|"]
    lines += [f"| {' | '.join(row)} |" for row in table(measured)]
    lines += ["", "| difference, all tasks that both were measured on | mean |", "|---|---|"]
    for name, mean in differences(measured, pairs=PAIRS):
        lines.append(f"| {name} | {in_words(mean, signed=True)} |")
    caption = (
        f"Share of solved tasks. Seeds {', '.join(map(str, seeds))}. Means with 95 % intervals, bootstrapped over "
        "tasks; a task's results over all seeds form one cluster."
    )
    return "\n".join([*lines, "", caption]) + "\n"


PAIRS = (
    ("iterative", "one-pass"),
    ("iterative", "integrated"),
    ("iterative", "chain of thought"),
    ("iterative", "direct"),
    ("chain of thought", "direct"),
    *(("iterative", f"iterative, {group} only") for group in GROUPS),
    ("iterative", "iterative, without web"),
    ("iterative, qa only", "iterative, qa only, low-level"),
)


def _cell(scores: Sequence[Scores], *, group: str) -> str:
    tasks = sorted(task for task in scores[0] if group in {ALL, task.partition("/")[0]})
    if not tasks or (group == ALL and len({task.partition("/")[0] for task in tasks}) < len(GROUPS)):
        return ""
    return in_words(clustered_mean([[seed[task] for seed in scores] for task in tasks]))
