"""The paper's comparison with one network: single views and all of them, with and without feedback, on held-out tasks
of arc-mini."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from evaluator.arc.mini.draws import Source, draw_tasks
from evaluator.arc.mini.families import FAMILIES
from evaluator.arc.mini.suite import mini_suite, task_of
from evaluator.arc.strategies.strategy import Options
from evaluator.arc.strategies.styles import COMPACT
from evaluator.arc.suite import environment_of
from evaluator.core.records import Outcome
from evaluator.episodes.base import Evaluator
from evaluator.episodes.turns.environment import Bounds
from evaluator.episodes.turns.evaluator import TurnEvaluator
from evaluator.miniature.seeds import Split
from evaluator.planners.driving import strategy_planner_of
from evaluator.planners.language_models.local.model import LocalModel
from evaluator.planners.strategies.registry import named_strategy
from evaluator.scoring.metrics.statistics import Interval, clustered_mean
from evaluator.training.causal import Measured, by_seed, differences, in_words, paired
from evaluator.training.runs import ChoiceError

VIEWS = tuple(agent.name for agent in COMPACT.agents)
SAMPLES, LOOPS = Options().samples, Options().loops
MULTI = "all views"
WITHOUT = ", without feedback"
AS_MANY = ", as many samples"
NO_FEEDBACK_MANY = ", without feedback, as many replies"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A planner of the comparison."""

    name: str
    strategy: str
    """Name of the strategy, without the model."""
    replies: int
    """Maximum number of replies."""


def _variant(view: str, *, ending: str = "", samples: int = SAMPLES, loops: int = LOOPS) -> Variant:
    options = f"style={COMPACT.name};samples={samples};loops={loops}"
    is_multi = view == MULTI
    return Variant(
        name=view + ending, strategy=f"arc-experts@{options}" if is_multi else f"arc-single:{view};{options}",
        replies=samples * loops * (len(VIEWS) if is_multi else 1),
    )  # fmt: skip


VARIANTS: Mapping[str, Variant] = {
    variant.name: variant
    for variant in (
        _variant(MULTI), _variant(MULTI, ending=WITHOUT, loops=1),
        _variant(MULTI, ending=NO_FEEDBACK_MANY, samples=SAMPLES * LOOPS, loops=1),
        *(_variant(view) for view in VIEWS),
        *(_variant(view, ending=WITHOUT, loops=1) for view in VIEWS),
        *(_variant(view, ending=AS_MANY, samples=SAMPLES * len(VIEWS)) for view in VIEWS),
    )
}  # fmt: skip
"""By name, in the order of the table."""


SPLITS = (str(Split.PUBLIC), str(Split.VALIDATION))
_ROWS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Tasks:
    """The tasks of a comparison."""

    split: str
    each: int
    """Tasks of each family."""

    @property
    def name(self) -> str:
        """Name of the folder of scores."""
        return f"{self.split}-{self.each}"


def folder_of(*, work: Path, seed: int) -> Path:
    """Folder of a seed's writer."""
    return work / f"seed-{seed}" / "writer"


def evaluator_of(tasks: Tasks) -> Evaluator:
    """An evaluator on these tasks; the public split is the suite's.

    Raises:
        ChoiceError: there is no such split, or it is for training.
    """
    if tasks.split not in SPLITS:
        raise ChoiceError(f"--split: there is no split {tasks.split!r} to measure on; there are: {', '.join(SPLITS)}")
    drawn = draw_tasks(Source(split=Split(tasks.split)), count=tasks.each)
    arc_tasks = tuple(map(task_of, drawn))
    outputs = {task.key: tuple(pair.output for pair in task.tests) for task in drawn}
    environment = environment_of(tasks=arc_tasks, expected=outputs.__getitem__, data=tasks.name)
    return TurnEvaluator(
        suite=replace(mini_suite(), tasks=arc_tasks), environment=environment, bounds=Bounds(turns=1, actions=3)
    )  # fmt: skip


def measure(*, variant: Variant, seed: int, work: Path, tasks: Tasks, evaluator: Evaluator) -> Measured:
    """Run a variant with the writer of a seed, or read its recorded scores.

    Raises:
        ChoiceError: the writer is not trained yet.
        RuntimeError: a task could not be measured, for a reason other than the planner.
    """
    path = work / f"seed-{seed}" / tasks.name / f"{variant.name.replace(' ', '-').replace(',', '')}.scores.json"
    if path.is_file():
        return Measured(variant=variant.name, seed=seed, scores=json.loads(path.read_text()))
    folder = folder_of(work=work, seed=seed)
    if not (folder / "model.safetensors").is_file():
        raise ChoiceError(f"{variant.name}: the writer with the seed {seed} is not trained yet")
    strategy = named_strategy(f"{variant.strategy}:model").strategy(with_model=True)
    model = LocalModel.from_folder(folder, rows=_ROWS)
    planner = strategy_planner_of(strategy=strategy, model=model, name=variant.name)
    scores = {}
    for record in evaluator.run(planner=planner, tasks=[task.key for task in evaluator.suite.tasks]):
        if record.outcome not in {Outcome.SCORED, Outcome.PLANNER_FAULT}:
            raise RuntimeError(f"task {record.task} was not measured: {record.outcome}: {record.reason_text}")
        scores[record.task] = record.score or 0.0
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(dict(sorted(scores.items())), indent=1) + "\n")
    return Measured(variant=variant.name, seed=seed, scores=scores)


def measure_all(
    *, work: Path, seeds: Sequence[int], tasks: Tasks, evaluator: Evaluator, say: Callable[[str], None]
) -> list[Measured]:
    """Measure all variants with the writers of all seeds. Reports and skips untrained ones."""
    torch.set_num_threads(1)
    results = []
    for seed in seeds:
        for variant in VARIANTS.values():
            try:
                measured = measure(variant=variant, seed=seed, work=work, tasks=tasks, evaluator=evaluator)
            except ChoiceError as error:
                say(str(error))
                continue
            say(f"seed {seed}: {variant.name} solves {sum(measured.scores.values()):.0f} of {len(measured.scores)}")
            results.append(measured)
    return results


_CAPTION = (
    "Share of {count} tasks of arc-mini ({tasks}) that are solved by one of three candidates. Seeds {seeds}. Means "
    "with 95 % intervals, bootstrapped over tasks; a task's results over all seeds form one cluster. The best single "
    "view is selected on the same tasks, which favours it."
)


def markdown(*, measured: Sequence[Measured], seeds: Sequence[int], tasks: str) -> str:
    """All tables with their caption.

    Args:
        measured: scores of any variants.
        seeds: the requested seeds.
        tasks: name of the tasks, such as `public-10`.
    """
    count = len({task for result in measured for task in result.scores})
    means = [(name, in_words(difference, signed=True)) for name, difference in compared(measured)]
    parts = [
        _table(("variant", "replies at most", "solved", "by seed"), rows(measured)),
        _table(("difference", "mean"), means),
        _table(("feedback", "solved only with it", "solved only without"), gains(measured)),
        _table(("variant", *FAMILIES), by_family(measured)),
        _CAPTION.format(count=count, tasks=tasks, seeds=", ".join(map(str, seeds))),
    ]
    return "\n\n".join(parts) + "\n"


def rows(measured: Sequence[Measured]) -> list[tuple[str, ...]]:
    """A row per measured variant."""
    return [
        (name, str(variant.replies), in_words(_mean(own)), by_seed(own))
        for name, variant in VARIANTS.items()
        if (own := _scores(measured, variant=name))
    ]


def compared(measured: Sequence[Measured]) -> list[tuple[str, Interval]]:
    """The paired differences of the paper's claims."""
    best = [(MULTI, view) for ending in ("", AS_MANY) if (view := best_single(measured, ending=ending))]
    feedback = [(name, name + WITHOUT) for name in (MULTI, *VIEWS)]
    return differences(measured, pairs=[*best, *feedback, (MULTI, MULTI + NO_FEEDBACK_MANY)])


def best_single(measured: Sequence[Measured], *, ending: str = "") -> str:
    """The first single view that solves most tasks; empty if none was measured."""
    means = {
        view + ending: _mean(own).mean for view in VIEWS if (own := _scores(measured, variant=view + ending))
    }  # fmt: skip
    return max(means, key=lambda name: means[name], default="")


def gains(measured: Sequence[Measured]) -> list[tuple[str, ...]]:
    """The shares of tasks solved only with feedback, and only without."""
    result = []
    for name in (MULTI, *VIEWS):
        pairs = paired(measured, first=name, second=name + WITHOUT)
        if pairs:
            clusters = [pairs[task] for task in sorted(pairs)]
            only = [
                clustered_mean([[float((bool(a), bool(b)) == solved) for a, b in cluster] for cluster in clusters])
                for solved in ((True, False), (False, True))
            ]
            result.append((name, *map(in_words, only)))
    return result


def by_family(measured: Sequence[Measured]) -> list[tuple[str, ...]]:
    """The share of solved tasks of each family, for all views and single ones, with feedback."""
    result = []
    for name in (MULTI, *VIEWS):
        own = _scores(measured, variant=name)
        if own:
            families: list[list[float]] = [
                [score for scores in own for task, score in scores.items() if task.partition("/")[0] == family]
                for family in FAMILIES
            ]
            result.append((name, *(f"{sum(values) / len(values):.2f}" if values else "" for values in families)))
    return result


def _scores(measured: Sequence[Measured], *, variant: str) -> list[Mapping[str, float]]:
    return [result.scores for result in measured if result.variant == variant]


def _mean(scores: Sequence[Mapping[str, float]]) -> Interval:
    return clustered_mean([[seed[task] for seed in scores if task in seed] for task in sorted(scores[0])])


def _table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, ["---"] * len(headings), *lines))
