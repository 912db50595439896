"""Counterparts: the same tasks on other inputs with the same references, to see what the inputs change.

A plan is executed on both. The indicator `DROP` of a sample is the score on the counterpart less the score on the
inputs themselves, in [-1, 1].
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import fsum
from typing import TYPE_CHECKING

from evaluator.core.suites.base import Task

if TYPE_CHECKING:
    from evaluator.episodes.samples import SampleArtefacts
    from evaluator.execution.engine.jobs import Job

DROP = "drop"
"""Name of the indicator."""
COUNTERPART = " (counterpart)"
"""Suffix of the jobs on counterparts; no task key ends with it."""


def counterpart_jobs(own: "Sequence[Job]", *, task: Task, samples: "SampleArtefacts") -> "list[Job]":
    """The jobs of the same plan on the counterparts of the same samples.

    Raises:
        Exception: the inputs cannot be read, one of `evaluator.episodes.scoring.UNREADABLE`.
    """
    return [
        replace(job, task=job.task + COUNTERPART, resources=samples.inputs(task=task, index=job.sample)) for job in own
    ]


def with_drop(
    indicators: Sequence[Mapping[str, float]], *, own: Sequence[float], counterparts: Sequence[float]
) -> tuple[list[dict[str, float]], dict[str, float]]:
    """Add `DROP` to the indicators of each sample, and return that of the task besides.

    Args:
        indicators: the indicators of each sample so far.
        own: the score on each sample's inputs.
        counterparts: the score on each sample's counterpart; empty if there is no comparison.
    """
    by_sample = [dict(given) for given in indicators]
    if not counterparts:
        return by_sample, {}
    drops = [there - here for here, there in zip(own, counterparts, strict=True)]
    for sample, drop in zip(by_sample, drops, strict=True):
        sample[DROP] = drop
    return by_sample, {DROP: fsum(drops) / len(drops)}
