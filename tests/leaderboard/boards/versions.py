"""Runs of versions of a planner."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
from django.utils import timezone

from evaluator.core.records import Outcome
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation, Submission, TaskResult
from leaderboard.planners.models import Planner
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_summary

SCENES = 8


def make_version(
    planner: Planner, suite: Suite, *, version: str, values: Sequence[float], hours: float = 0, **fields: Any
) -> Evaluation:
    """A run with these scores on the suite's first tasks, which differ a little between scenes."""
    summary = make_summary(float(np.mean(values)), scored=len(values))
    made = make_evaluation(
        planner=planner, suite=suite, summary=summary, samples=SCENES,
        finished=timezone.now() - timedelta(days=1) + timedelta(hours=hours), **fields,
    )  # fmt: skip
    Submission.objects.filter(pk=made.submission_id).update(version=version)
    noise = np.random.default_rng(len(version) + abs(int(hours))).normal(0, 0.001, (len(values), SCENES))
    for task, value, row in zip(Task.objects.filter(suite=suite).order_by("position"), values, noise, strict=False):
        scores = [] if value == 0 else np.clip(value + row - row.mean(), 0, 1).round(6).tolist()
        TaskResult.objects.create(
            evaluation=made, task=task, outcome=Outcome.SCORED if value else Outcome.PLANNER_FAULT, score=value,
            sample_scores=scores,
        )  # fmt: skip
    return made
