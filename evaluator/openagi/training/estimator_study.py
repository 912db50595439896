"""The comparison of estimators: does task feedback improve its start?

`registered.py` beside this module runs it for a registered study.

Every seed draws its training tasks from one half of the suite, fine-tunes the starts on their gold plans, and continues
each with task feedback. All planners are tested on the other half. Existing results are kept.

    WORK/settings.json                        settings; a study with other settings is rejected
    WORK/seed-S/START/start/                  the planner before task feedback
    WORK/seed-S/START/ESTIMATOR/              the planner after task feedback, with the reward curve
    WORK/seed-S/START/ESTIMATOR.scores.json   its score at every held-out task; also for `start`
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import Outcome
from evaluator.episodes.execution import ExecutionEvaluator
from evaluator.execution.experts.weights import weights_digest
from evaluator.openagi.strategies.constrained import Nonlinear
from evaluator.openagi.training.feedback_run import FeedbackRun, train_with_feedback
from evaluator.openagi.training.finetuning import FINE_TUNING_STEPS, FineTuning, fine_tune
from evaluator.openagi.training.reinforce import Estimator
from evaluator.openagi.training.rltf import Schedule
from evaluator.openagi.training.splits import draw_halves, draw_training, few
from evaluator.planners.driving import StrategyPlanner
from evaluator.scoring.metrics.crossed import Estimate, sampled_tasks
from evaluator.scoring.metrics.statistics import DIFFERENCES
from evaluator.training.export import RECORD, load_planner
from evaluator.training.runs import refuse_others, write_settings

FEW = 10
START = "start"
"""In place of an estimator: the start itself."""


class Start(StrEnum):
    """The planner before task feedback."""

    FINE_TUNED = "fine-tuned"
    """Fine-tuned on the gold plans of all training tasks."""
    TEN_GOLD = "ten-gold"
    """Fine-tuned on the gold plans of ten of them."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One planner of each seed."""

    start: Start
    estimator: str
    """An `Estimator`, or `START`."""

    @property
    def name(self) -> str:
        """`START/ESTIMATOR`."""
        return f"{self.start}/{self.estimator}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorStudy:
    """Settings of the study."""

    model: Path
    """The pretrained planner."""
    work: Path
    training: ExecutionEvaluator
    """Computes the rewards, on other data than the test."""
    testing: ExecutionEvaluator
    data: dict[str, JsonValue]
    """Profile, split and samples of the training, for the record."""
    schedule: Schedule
    """Schedule of all runs of task feedback, except for seed and estimator."""
    fine_tuning_steps: int = FINE_TUNING_STEPS
    half: int = 0
    """The half of the suite that training tasks are drawn from, 0 or 1 (`splits.draw_halves`)."""

    @property
    def held_out(self) -> list[str]:
        """The tasks that planners are tested on."""
        return [key for key in draw_halves(self.testing.suite)[1 - self.half] if key not in self.testing.not_run]

    @property
    def settings(self) -> dict[str, JsonValue]:
        """Everything besides the code that the results depend on."""
        schedule: dict[str, JsonValue] = json.loads(json.dumps(asdict(self.schedule)))
        for name in ("seed", "estimator", "checkpoint_every"):
            schedule.pop(name)
        return {
            "model": weights_digest(self.model),
            "suite": self.testing.suite.digest,
            "profile": self.testing.profile.digest,
            "data": self.data,
            "fine_tuning_steps": self.fine_tuning_steps,
            "schedule": schedule,
            **({"half": self.half} if self.half else {}),
        }


Scores = dict[str, float]
"""By held-out task."""


def arms_of(text: str) -> list[Arm]:
    """Arms from `fine-tuned/leave-one-out,ten-gold/paper`, in their order.

    Raises:
        ValueError: a part of the text is not an arm.
    """
    parts = [part.strip().partition("/") for part in text.split(",")]
    return [Arm(start=Start(start), estimator=str(Estimator(estimator))) for start, _, estimator in parts]


def with_starts(arms: Sequence[Arm]) -> list[Arm]:
    """The arms, with each start before the first arm that needs it."""
    return list(dict.fromkeys(one for arm in arms for one in (Arm(start=arm.start, estimator=START), arm)))


def run_arm(*, study: EstimatorStudy, seed: int, arm: Arm, say: Callable[[str], None]) -> Scores:
    """Train and test a planner of a seed, or read its stored scores.

    Raises:
        SettingsError: the folder is of a study with other settings.
        RuntimeError: a task could not be measured, due to failures of the infrastructure.
    """
    settings = study.work / "settings.json"
    if study.work.is_dir():
        refuse_others(path=settings, settings=study.settings)
    else:
        write_settings(path=settings, settings=study.settings)
    path = scores_path(work=study.work, seed=seed, arm=arm)
    if not path.is_file():
        folder = _trained(study=study, seed=seed, arm=arm, say=say)
        scores = _tested(study=study, folder=folder)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")
        partial.replace(path)
        say(f"seed {seed}: {arm.name} {sum(scores.values()) / len(scores):.4f} over {len(scores)} held-out tasks")
    return read_arm(work=study.work, seed=seed, arm=arm)


def scores_path(*, work: Path, seed: int, arm: Arm) -> Path:
    """Path of a planner's scores."""
    return work / f"seed-{seed}" / arm.start / f"{arm.estimator}.scores.json"


def read_arm(*, work: Path, seed: int, arm: Arm) -> Scores:
    """A planner's stored scores. Raises OSError if it was not tested."""
    scores: Scores = json.loads(scores_path(work=work, seed=seed, arm=arm).read_text(encoding="utf-8"))
    return scores


def _trained(*, study: EstimatorStudy, seed: int, arm: Arm, say: Callable[[str], None]) -> Path:
    """The folder of a planner, which is trained if it does not exist."""
    of_start = study.work / f"seed-{seed}" / arm.start
    tasks = draw_training(suite=study.testing.suite, seed=seed, half=study.half)
    start = of_start / START
    if not (start / RECORD).is_file():
        learnt = tasks if arm.start is Start.FINE_TUNED else few(tasks, count=FEW)
        fine_tune(
            FineTuning(
                model=study.model, out=start, suite=study.testing.suite, tasks=learnt, seed=seed,
                steps=study.fine_tuning_steps, resume=True,
            )
        )  # fmt: skip
    if arm.estimator == START:
        return start
    taught = of_start / arm.estimator
    if not (taught / RECORD).is_file():
        schedule = replace(study.schedule, seed=seed, estimator=Estimator(arm.estimator))
        train_with_feedback(
            FeedbackRun(
                model=start, out=taught, evaluator=study.training, data=study.data, schedule=schedule, resume=True,
                tasks=tuple(key for key in tasks if key not in study.training.not_run),
            ),
            report=lambda point: say(f"seed {seed}: {arm.name} step {point.step} reward {point.reward:.4f}"),
        )  # fmt: skip
    return taught


def _tested(*, study: EstimatorStudy, folder: Path) -> Scores:
    planner = StrategyPlanner(strategy=Nonlinear(), model=load_planner(folder))
    scores = {}
    for record in study.testing.run(planner=planner, tasks=study.held_out):
        if record.outcome not in {Outcome.SCORED, Outcome.PLANNER_FAULT} or record.score is None:
            raise RuntimeError(f"task {record.task} was not measured: {record.outcome}: {record.reason_text}")
        scores[record.task] = record.score
    return scores


HEADINGS = ("planner", "held-out score", "less its start", "95 % interval", "p", "seeds above start", "by seed")

Measured = Mapping[int, Mapping[str, float]]
"""Scores by seed and held-out task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """A planner compared with its start, on the same tasks and seeds."""

    name: str
    score: float
    """Mean over tasks and seeds."""
    difference: Estimate
    by_seed: tuple[float, ...]
    """Mean difference of each seed."""

    @property
    def to_json(self) -> dict[str, JsonValue]:
        """The values of the row."""
        interval = self.difference.interval
        return {
            "name": self.name,
            "score": self.score,
            "difference": interval.mean,
            "low": interval.low,
            "high": interval.high,
            "p": self.difference.p_value,
            "tasks": self.difference.tasks,
            "by_seed": list(self.by_seed),
        }


def gain(*, name: str, taught: Measured, start: Measured, metrics: Mapping[str, str]) -> Gain:
    """The gain of a planner over its start.

    Args:
        name: name of the planner.
        taught: its scores.
        start: the scores of its start.
        metrics: the metric of each task, which defines the strata.

    Raises:
        ValueError: seeds or tasks differ.
    """
    seeds, tasks = sorted(taught), sorted(next(iter(taught.values())))
    if sorted(start) != seeds or any(sorted(one) != tasks for one in [*taught.values(), *start.values()]):
        raise ValueError(f"{name} and its start were not tested on the same seeds and tasks")
    after, before = (np.array([[one[seed][task] for seed in seeds] for task in tasks]) for one in (taught, start))
    return Gain(
        name=name,
        score=float(after.mean()),
        difference=sampled_tasks(after - before, strata=[metrics[task] for task in tasks], bounds=DIFFERENCES),
        by_seed=tuple(float(value) for value in (after - before).mean(axis=0)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Starts and the gains of planners over them."""

    starts: Mapping[str, float]
    """Mean score of each start."""
    gains: tuple[Gain, ...]
    seeds: tuple[int, ...]


def table_of(*, measured: Mapping[int, Mapping[Arm, Scores]], metrics: Mapping[str, str]) -> Table:
    """The table of a study.

    Args:
        measured: scores by seed and arm. Every seed has the same arms, including the start of each arm.
        metrics: the metric of each task.
    """
    by_arm: dict[Arm, dict[int, Scores]] = {}
    for seed, arms in measured.items():
        for arm, scores in arms.items():
            by_arm.setdefault(arm, {})[seed] = scores
    starts = {arm: found for arm, found in by_arm.items() if arm.estimator == START}
    return Table(
        starts={arm.name: _mean(found) for arm, found in starts.items()},
        gains=tuple(
            gain(name=arm.name, taught=found, start=starts[Arm(start=arm.start, estimator=START)], metrics=metrics)
            for arm, found in by_arm.items()
            if arm not in starts
        ),
        seeds=tuple(measured),
    )


def markdown(table: Table) -> str:
    """The table as Markdown: the starts, then the gains."""
    rows = [HEADINGS, ("---",) * len(HEADINGS)]
    rows += [(name, f"{score:.4f}", *[""] * (len(HEADINGS) - 2)) for name, score in table.starts.items()]
    rows += [_row(one) for one in table.gains]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    tasks = table.gains[0].difference.tasks if table.gains else 0
    about = f"Seeds {', '.join(map(str, table.seeds))}; {tasks} held-out tasks. Intervals cover tasks and seeds."
    return "\n".join([*lines, "", about]) + "\n"


def to_json(table: Table) -> dict[str, JsonValue]:
    """The table as a JSON object."""
    return {
        "seeds": list(table.seeds),
        "starts": dict(table.starts),
        "gains": [one.to_json for one in table.gains],
    }


def _mean(measured: Measured) -> float:
    values = [score for scores in measured.values() for score in scores.values()]
    return sum(values) / len(values)


def _row(one: Gain) -> tuple[str, ...]:
    found, p = one.difference.interval, one.difference.p_value
    above = sum(value > 0 for value in one.by_seed)
    return (
        one.name,
        f"{one.score:.4f}",
        f"{found.mean:+.4f}",
        found.in_words(form="+.4f"),
        "" if p is None else f"{p:.3f}",
        f"{above} of {len(one.by_seed)}",
        ", ".join(f"{value:+.3f}" for value in one.by_seed),
    )
