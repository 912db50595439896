"""The table of the comparison of estimators. Pure.

Tasks and seeds are crossed, and both are samples: intervals are the closed form of the two-way bootstrap
(`evaluator.scoring.metrics.crossed`), stratified by metric.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evaluator.core.canonical_json import JsonValue
from evaluator.openagi.training.estimators.study import START, Arm, Scores
from evaluator.scoring.metrics.crossed import Estimate, sampled_tasks
from evaluator.scoring.metrics.statistics import DIFFERENCES

HEADINGS = ("planner", "held-out score", "less its start", "95 % interval", "p", "seeds above start", "by seed")

Measured = Mapping[int, Mapping[str, float]]
"""Scores by seed and held-out task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """A planner against the start that it was trained from, on the same tasks and seeds."""

    name: str
    score: float
    """Mean over tasks and seeds."""
    difference: Estimate
    by_seed: tuple[float, ...]
    """Mean difference of each seed."""

    @property
    def to_json(self) -> dict[str, JsonValue]:
        """All figures of the row."""
        found = self.difference.interval
        return {
            "name": self.name,
            "score": self.score,
            "difference": found.mean,
            "low": found.low,
            "high": found.high,
            "p": self.difference.p_value,
            "tasks": self.difference.tasks,
            "by_seed": list(self.by_seed),
        }


def gain(*, name: str, taught: Measured, start: Measured, metrics: Mapping[str, str]) -> Gain:
    """The gain of a planner over its start.

    Args:
        name: of the planner.
        taught: its scores.
        start: those of its start, on the same seeds and tasks.
        metrics: of each task, the strata.

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
    """Starts, and what was made of them."""

    starts: Mapping[str, float]
    """Mean score of each."""
    gains: tuple[Gain, ...]
    seeds: tuple[int, ...]


def table_of(*, measured: Mapping[int, Mapping[Arm, Scores]], metrics: Mapping[str, str]) -> Table:
    """The table of a study.

    Args:
        measured: by seed and arm; every seed has the same arms, and each arm the start that it was trained from.
        metrics: of each task.
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
    """The table as Markdown: the starts, then what was made of them."""
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
