"""The study of the table: every seed fine-tunes, continues with task feedback, and tests all variants on equal tasks.

Existing results are kept, so an interrupted study continues where it stopped.

    WORK/seed-S/settings.json   settings; a study with other settings is rejected
    WORK/seed-S/finetuned/      the fine-tuned planner
    WORK/seed-S/rltf/           the planner after task feedback, with the reward curve
    WORK/seed-S/scores.json     the score of every variant at every task of the test draws
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import plan_to_json
from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.strategy import Strategy
from evaluator.core.suites.base import Task
from evaluator.episodes.execution import ExecutionEvaluator
from evaluator.execution.experts.weights import weights_digest
from evaluator.openagi.strategies.constrained import Nonlinear
from evaluator.openagi.strategies.free_text import FewShot, ZeroShot
from evaluator.openagi.training.feedback_run import FeedbackRun, train_with_feedback
from evaluator.openagi.training.finetuning import FINE_TUNING_STEPS, FineTuning, fine_tune
from evaluator.openagi.training.lessons import gold_demonstrations
from evaluator.openagi.training.rltf import Schedule
from evaluator.openagi.training.splits import Split, draw_split
from evaluator.planners.driving import StrategyPlanner
from evaluator.scoring.metrics.statistics import DIFFERENCES, UNIT, Bounds, Interval, clustered_mean
from evaluator.training.export import load_planner
from evaluator.training.runs import refuse_others, write_settings

METRICS = ("CLIP", "BERT", "ViT", "overall")
OVERALL = "overall"
HEADINGS = ("variant", *METRICS, "valid plans", "gold plans", "overall by seed")


@dataclass(frozen=True, slots=True)
class TaskResult:
    """A variant's result at a task."""

    metric: str
    score: float
    """In [0, 1]; 0 for an invalid plan."""
    is_valid: bool
    is_gold: bool
    """Whether the plan is the gold plan."""


@dataclass(frozen=True, slots=True)
class SeedResults:
    """The results of a seed."""

    seed: int
    tests: tuple[tuple[str, ...], ...]
    """Tasks of each test draw."""
    results: Mapping[str, Mapping[str, TaskResult]]
    """By variant and task."""


@dataclass(frozen=True, slots=True)
class Row:
    """One variant."""

    variant: str
    metrics: Mapping[str, Interval]
    """Without metrics that no test draw has."""
    valid: float
    gold: float
    by_seed: tuple[float, ...]
    """Overall score of each seed, over its test draws."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A variant minus another on the same tasks, seeds and draws."""

    better: str
    worse: str
    metrics: Mapping[str, Interval]
    by_seed: tuple[float, ...]

    @property
    def holds(self) -> bool:
        """Whether the interval of the overall difference exists and is above 0."""
        ends = self.metrics[OVERALL].ends
        return ends is not None and ends[0] > 0


def make_row(*, variant: str, seeds: Sequence[SeedResults]) -> Row:
    """A row of the table."""
    results = [found for one in seeds for found in _occurrences(one, variant)]
    return Row(
        variant=variant,
        metrics=_intervals([(key, result.metric, result.score) for key, result in results]),
        valid=_mean([float(result.is_valid) for _, result in results]),
        gold=_mean([float(result.is_gold) for _, result in results]),
        by_seed=tuple(_mean([result.score for _, result in _occurrences(one, variant)]) for one in seeds),
    )


def make_difference(*, better: str, worse: str, seeds: Sequence[SeedResults]) -> Difference:
    """The paired difference of two variants."""
    pairs = [list(_pairs(one, better, worse)) for one in seeds]
    return Difference(
        better=better,
        worse=worse,
        metrics=_intervals([pair for several in pairs for pair in several], bounds=DIFFERENCES),
        by_seed=tuple(_mean([value for _, _, value in several]) for several in pairs),
    )


def cells(*, rows: Sequence[Row], differences: Sequence[Difference]) -> list[tuple[str, ...]]:
    """The table as text, under `HEADINGS`."""
    found = []
    for row in rows:
        by_seed = ", ".join(f"{value:.3f}" for value in row.by_seed)
        means = (_cell(row.metrics.get(metric)) for metric in METRICS)
        found.append((row.variant, *means, f"{row.valid:.1%}", f"{row.gold:.1%}", by_seed))
    for one in differences:
        by_seed = ", ".join(f"{value:+.3f}" for value in one.by_seed)
        means = (_cell(one.metrics.get(metric), signed=True) for metric in METRICS)
        found.append((f"{one.better} - {one.worse}", *means, "", "", by_seed))
    return found


def markdown(*, table: Sequence[Sequence[str]], seeds: Sequence[int]) -> str:
    """The cells of the table as Markdown."""
    lines = [f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in table]
    return "\n".join([*lines, "", caption(seeds)]) + "\n"


def caption(seeds: Sequence[int]) -> str:
    """The caption of the table."""
    return f"Seeds {', '.join(map(str, seeds))}. Means with 95 % intervals, bootstrapped over tasks."


def to_json(*, rows: Sequence[Row], differences: Sequence[Difference], seeds: Sequence[int]) -> dict[str, JsonValue]:
    """The table as a JSON object."""
    return {
        "seeds": list(seeds),
        "variants": [asdict(row) for row in rows],
        "differences": [{**asdict(one), "holds": one.holds} for one in differences],
    }


def _cell(interval: Interval | None, *, signed: bool = False) -> str:
    if interval is None:
        return "not measured"
    form = "+.4f" if signed else ".4f"
    span = interval.in_words(form=form)
    return f"{interval.mean:{form}} {span if interval.ends is None else f'({span})'}"


def _occurrences(one: SeedResults, variant: str) -> Iterator[tuple[str, TaskResult]]:
    """Every task of every draw; a task in two draws counts twice."""
    return ((key, one.results[variant][key]) for test in one.tests for key in test)


def _pairs(one: SeedResults, better: str, worse: str) -> Iterator[tuple[str, str, float]]:
    for (key, first), (_, second) in zip(_occurrences(one, better), _occurrences(one, worse), strict=True):
        yield key, first.metric, first.score - second.score


def _intervals(found: Sequence[tuple[str, str, float]], *, bounds: Bounds = UNIT) -> dict[str, Interval]:
    """Intervals by metric, of triples of task, metric and value."""
    intervals = {}
    for metric in METRICS:
        clusters = defaultdict(list)
        for key, own, value in found:
            if metric in {OVERALL, own}:
                clusters[key].append(value)
        if clusters:
            intervals[metric] = clustered_mean(list(clusters.values()), bounds=bounds)
    return intervals


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


ZERO_SHOT, FEW_SHOT, UNTUNED, FINE_TUNED, RLTF = (
    "zero-shot", "few-shot", "zero-shot, constrained", "fine-tuned", "RLTF"
)  # fmt: skip
VARIANTS = (ZERO_SHOT, FEW_SHOT, UNTUNED, FINE_TUNED, RLTF)
"""In the order of the table. The third is not from the paper; it measures the effect of the constraint alone."""
SHOWN = 5
"""Demonstrations of the few-shot prompt, from the seed's training tasks: the maximum of pretraining."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Settings of the study."""

    model: Path
    """The pretrained planner."""
    work: Path
    training: ExecutionEvaluator
    """Computes the rewards, on other data than the test."""
    testing: ExecutionEvaluator
    data: dict[str, JsonValue]
    """Profile, split and samples of the training, for the record."""
    draws: int = 3
    fine_tuning_steps: int = FINE_TUNING_STEPS
    schedule: Schedule = field(default_factory=Schedule)

    @property
    def settings(self) -> dict[str, JsonValue]:
        """Everything besides the code that the results of a seed depend on."""
        schedule: dict[str, JsonValue] = json.loads(json.dumps(asdict(self.schedule)))
        schedule.pop("seed")
        return {
            "model": weights_digest(self.model),
            "suite": self.testing.suite.digest,
            "profile": self.testing.profile.digest,
            "data": self.data,
            "draws": self.draws,
            "fine_tuning_steps": self.fine_tuning_steps,
            "schedule": schedule,
        }


def study_seed(*, study: Study, seed: int, say: Callable[[str], None]) -> SeedResults:
    """Train and test all variants of a seed.

    Raises:
        SettingsError: the seed was studied with other settings.
        RuntimeError: a task could not be measured, due to failures of the infrastructure.
    """
    suite = study.testing.suite
    split = draw_split(suite=suite, seed=seed, draws=study.draws)
    folder = study.work / f"seed-{seed}"
    scores = folder / "scores.json"
    if folder.is_dir():
        refuse_others(path=folder / "settings.json", settings=study.settings)
    else:
        write_settings(path=folder / "settings.json", settings=study.settings)
    if not scores.is_file():
        say(f"seed {seed}: {len(split.train)} training tasks, {len(split.held_out)} of {study.draws} test draws")
        folders = _trained(study=study, seed=seed, split=split, folder=folder, say=say)
        measured = {}
        for variant in VARIANTS:
            measured[variant] = _measured(study=study, variant=variant, folders=folders, split=split)
            mean = sum(result.score for result in measured[variant].values()) / len(measured[variant])
            say(f"seed {seed}: {variant} {mean:.4f} over the held-out tasks")
        _write(path=scores, settings=study.settings, split=split, measured=measured)
    return read_scores(path=scores, seed=seed)


def read_scores(*, path: Path, seed: int) -> SeedResults:
    """The stored results of a seed."""
    value = json.loads(path.read_text(encoding="utf-8"))
    return SeedResults(
        seed=seed,
        tests=tuple(tuple(test) for test in value["tests"]),
        results={
            variant: {key: TaskResult(**result) for key, result in results.items()}
            for variant, results in value["results"].items()
        },
    )


def _trained(*, study: Study, seed: int, split: Split, folder: Path, say: Callable[[str], None]) -> Mapping[str, Path]:
    tuned, taught = folder / "finetuned", folder / "rltf"
    if not (tuned / "training.json").is_file():
        fine_tune(
            FineTuning(
                model=study.model, out=tuned, suite=study.testing.suite, tasks=split.train, seed=seed,
                steps=study.fine_tuning_steps, resume=True,
            )
        )  # fmt: skip
        say(f"seed {seed}: fine-tuned")
    if not (taught / "training.json").is_file():
        schedule = Schedule(**{**asdict(study.schedule), "seed": seed})
        train_with_feedback(
            FeedbackRun(
                model=tuned, out=taught, evaluator=study.training, tasks=split.train, data=study.data,
                schedule=schedule, resume=True,
            ),
            report=lambda point: say(f"seed {seed}: step {point.step} reward {point.reward:.4f}"),
        )  # fmt: skip
    return {ZERO_SHOT: study.model, FEW_SHOT: study.model, UNTUNED: study.model, FINE_TUNED: tuned, RLTF: taught}


def _measured(*, study: Study, variant: str, folders: Mapping[str, Path], split: Split) -> dict[str, TaskResult]:
    suite = study.testing.suite
    planner = StrategyPlanner(
        strategy=_strategy(study=study, variant=variant, split=split), model=load_planner(folders[variant])
    )
    keys = [task.key for task in suite.tasks if task.key in split.held_out]
    records = study.testing.run(planner=planner, tasks=keys)
    return dict(_result(record=record, task=suite.task(record.task)) for record in records)


def _strategy(*, study: Study, variant: str, split: Split) -> Strategy:
    if variant == ZERO_SHOT:
        return ZeroShot()
    if variant == FEW_SHOT:
        shown = [split.train[index] for index in range(0, len(split.train), max(1, len(split.train) // SHOWN))][:SHOWN]
        return FewShot(demonstrations=gold_demonstrations(suite=study.testing.suite, tasks=shown))
    return Nonlinear()


def _result(*, record: ResultRecord, task: Task) -> tuple[str, TaskResult]:
    if record.outcome not in {Outcome.SCORED, Outcome.PLANNER_FAULT} or record.score is None:
        raise RuntimeError(f"task {record.task} was not measured: {record.outcome}: {record.reason_text}")
    is_gold = (
        record.plan is not None and task.gold is not None and _calls(record.plan) == _calls(plan_to_json(task.gold))
    )
    is_valid = record.outcome is Outcome.SCORED
    return record.task, TaskResult(metric=task.metric, score=record.score, is_valid=is_valid, is_gold=is_gold)


def _calls(plan: Any) -> JsonValue:
    """The calls behind the answers of a `plan/1`, independent of the order and names of its steps."""
    made = {reference: step for step in plan["steps"] for reference in step["outputs"].values()}

    def term(value: str) -> JsonValue:
        step = made.get(value)
        return value if step is None else {step["tool"]: {name: term(given) for name, given in step["inputs"].items()}}

    return [term(answer) for answer in plan["answers"]]


def _write(
    *, path: Path, settings: dict[str, JsonValue], split: Split, measured: Mapping[str, Mapping[str, TaskResult]]
) -> None:
    value = {
        "settings": settings,
        "train": list(split.train),
        "tests": [list(test) for test in split.tests],
        "results": {
            variant: {key: asdict(result) for key, result in results.items()} for variant, results in measured.items()
        },
    }
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


def chosen(seeds: Sequence[SeedResults], *, variants: Sequence[str] = VARIANTS) -> list[str]:
    """The variants with results of every seed, in the order of the table."""
    return [variant for variant in variants if all(variant in one.results for one in seeds)]
