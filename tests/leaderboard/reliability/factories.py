"""Reliability profiles for tests: rows past the services, with figures computed from made-up records."""

import random
from collections.abc import Hashable, Sequence
from copy import deepcopy
from typing import Any

from django.utils import timezone

from evaluator.core.records import Outcome, PlannerCall, ResultRecord
from evaluator.reliability.perturbations import PERTURBATIONS
from evaluator.reliability.profile import profile_of
from leaderboard.evaluations.models import Evaluation
from leaderboard.reliability.models import RUNS, Condition, ReliabilityProfile

TASKS = 30
_PLAN = {
    "steps": [{"id": "s1", "tool": "Image Denoising", "inputs": {"image": "$image"}}],
    "answers": ["s1.image"],
    "subgoals": None,
}


def make_profile(
    evaluation: Evaluation, *, state: str = "completed", has_confidence: bool = True, missing: Sequence[Condition] = ()
) -> ReliabilityProfile:
    """The profile of an evaluation, with all members in this state; measured if it is final."""
    wanted = [
        *(Condition("", number) for number in range(2, RUNS + 1)),
        *(Condition(name, 1) for name in PERTURBATIONS),
    ]
    for condition in wanted:
        _member(evaluation, condition=condition, state="failed" if condition in missing else state)
    measured = None if state == "running" else timezone.now()
    keys = list(evaluation.suite.tasks.order_by("position").values_list("key", flat=True)[:TASKS])
    figures = _figures(evaluation, keys=keys, has_confidence=has_confidence, missing=missing)
    return ReliabilityProfile.objects.create(
        evaluation=evaluation,
        requested_by=evaluation.submission.submitted_by,
        requested_at=timezone.now(),
        wanted=[list(one) for one in wanted],
        measured_at=measured,
        figures=figures if measured else None,
        gaps=[{**one._asdict(), "why": "No worker took its tasks."} for one in missing],
    )


def _member(evaluation: Evaluation, *, condition: Condition, state: str) -> None:
    names = ("submission_id", "suite_id", "profile", "profile_digest", "split", "samples", "data_digest", "tasks_total")
    summary = {"metrics": {}, "outcomes": {}}
    done = {"summary": summary, "finished": timezone.now()} if state == "completed" else {}
    Evaluation.runs.create(
        **{name: getattr(evaluation, name) for name in names},
        **done,
        state=state,
        state_since=timezone.now(),
        member_of=evaluation,
        **condition._asdict(),
    )


def _figures(
    evaluation: Evaluation, *, keys: Sequence[str], has_confidence: bool, missing: Sequence[Condition]
) -> dict[str, Any]:
    def run(seed: str, *, kept: float = 1.0) -> dict[str, ResultRecord]:
        rng = random.Random(seed)
        return {key: _record(evaluation, key=key, rng=rng, kept=kept, has_confidence=has_confidence) for key in keys}

    suite = evaluation.suite
    key = (suite.slug, repr(suite.metrics), tuple(keys), has_confidence, tuple(missing))
    if key in _KEPT:
        return deepcopy(_KEPT[key])
    names = [name for name in PERTURBATIONS if Condition(name, 1) not in missing]
    runs = [number for number in range(1, RUNS + 1) if Condition("", number) not in missing]
    found = profile_of(
        column=evaluation.suite.ranking_column,
        plain_runs=[run(f"plain {number}") for number in runs],
        perturbed={name: run(name, kept=0.4 + 0.09 * number) for number, name in enumerate(names)},
    )
    _KEPT[key] = found.to_json()
    return deepcopy(_KEPT[key])


_KEPT: dict[Hashable, dict[str, Any]] = {}
"""Figures, which are computed once in a process: their intervals take a second."""


def _record(evaluation: Evaluation, *, key: str, rng: random.Random, kept: float, has_confidence: bool) -> ResultRecord:
    easy = 0.3 + 0.7 * (sum(map(ord, key)) % 10) / 10
    score = 1.0 if rng.random() < easy * kept else 0.2
    steps = _PLAN["steps"] * (1 if rng.random() < easy else 2)
    return ResultRecord(
        suite=evaluation.suite.slug,
        task=key,
        request="What is it?",
        metric="vit",
        outcome=Outcome.SCORED,
        score=score,
        indicators={} if evaluation.suite.runs_experts else {column.key: score for column in evaluation.suite.columns},
        plan={**_PLAN, "steps": [{**step, "id": f"s{number}"} for number, step in enumerate(steps, start=1)]},
        planner=PlannerCall(
            seconds=0.5 + rng.random(),
            completion_tokens=rng.randint(80, 120),
            confidence=round(min(1.0, easy * 0.8 + rng.random() * 0.4), 2) if has_confidence else None,
        ),
    )
