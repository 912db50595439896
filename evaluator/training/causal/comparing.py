"""Scores of variants with several seeds: their means, and paired differences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.scoring.metrics.statistics import DIFFERENCES, Interval, clustered_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A variant's scores with one seed."""

    variant: str
    seed: int
    scores: Mapping[str, float]
    """By task."""


def differences(measured: Sequence[Measured], *, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, Interval]]:
    """The mean of paired differences, over the tasks and seeds that both variants have."""
    found = []
    for better, worse in pairs:
        by_task = paired(measured, first=better, second=worse)
        if by_task:
            values = [[one - other for one, other in by_task[task]] for task in sorted(by_task)]
            found.append((f"{better} - {worse}", clustered_mean(values, bounds=DIFFERENCES)))
    return found


def paired(measured: Sequence[Measured], *, first: str, second: str) -> dict[str, list[tuple[float, float]]]:
    """The scores of two variants by task, a pair for each seed that both have."""
    by_task: dict[str, list[tuple[float, float]]] = {}
    others = {one.seed: one.scores for one in measured if one.variant == second}
    for one in measured:
        if one.variant == first and one.seed in others:
            for task in set(one.scores) & set(others[one.seed]):
                by_task.setdefault(task, []).append((one.scores[task], others[one.seed][task]))
    return by_task


def in_words(one: Interval, *, signed: bool = False) -> str:
    """A mean with its interval."""
    form = "+.3f" if signed else ".3f"
    return f"{one.mean:{form}}" + ("" if one.ends is None else f" ({one.in_words(form=form)})")


def by_seed(scores: Sequence[Mapping[str, float]]) -> str:
    """The mean of each seed."""
    return ", ".join(f"{sum(one.values()) / len(one):.3f}" for one in scores)
