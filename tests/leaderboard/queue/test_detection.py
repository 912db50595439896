"""How often a verification detects forged plans, and how often it rejects honest results: the figures of
docs/operating.md, "Verification". Two stages as `verification` has them, on plans that are judged once per task."""

import numpy as np
import pytest

from evaluator.records import Outcome
from leaderboard.queue.comparing import Comparison, Measured, compare
from leaderboard.queue.verification import CLOSER_LOOK
from leaderboard.site.settings.evaluations import VERIFY_TASKS

TASKS = 185


def passes(*, own: np.ndarray, again: np.ndarray, other_plan: np.ndarray, rng: np.random.Generator) -> bool:
    """Whether an evaluation on a self-hosted worker reaches the board.

    Args:
        own: (tasks,) scores that the owner sent.
        again: scores that the operator measures.
        other_plan: on which tasks the plans differ.
        rng: draws the sample.
    """

    def stage(count: int) -> Comparison:
        chosen = rng.choice(TASKS, min(count, TASKS), replace=False)
        pairs = [
            [measured(task, score=scores[task], plan=side if other_plan[task] else "same") for task in chosen]
            for side, scores in (("own", own), ("again", again))
        ]
        return compare(own=pairs[0], again=pairs[1], repeatable=False)

    found = stage(VERIFY_TASKS)
    if found.agrees and found.leans:
        found = stage(VERIFY_TASKS * CLOSER_LOOK)
    return found.agrees


def measured(task: int, *, score: float, plan: str) -> Measured:
    return Measured(task=str(task), outcome=Outcome.SCORED, score=float(score), plan={"steps": [plan]})


def share_of_passes(*, forged: float, differs: float, draws: int) -> float:
    """Share of evaluations that pass.

    Args:
        forged: share of the tasks with a plan that the planner did not make and that scores better.
        differs: share of the tasks on which the planner decides differently each time.
        draws: evaluations.
    """
    rng = np.random.default_rng(12)
    passed = 0
    for _ in range(draws):
        score = rng.random(TASKS) * 0.5
        again = score.copy()
        own = score.copy()
        other = rng.random(TASKS) < differs
        own[other], again[other] = rng.random((2, int(other.sum()))) * 0.5
        better = rng.choice(TASKS, round(forged * TASKS), replace=False)
        own[better] = again[better] + 0.1 + 0.3 * rng.random(len(better))
        other[better] = True
        passed += passes(own=own, again=again, other_plan=other, rng=rng)
    return passed / draws


@pytest.mark.parametrize(("forged", "most"), [(0.05, 0.25), (0.1, 0.03), (0.2, 0.005)])
def test_plans_that_a_repeating_planner_did_not_make_are_detected(forged, most):
    assert share_of_passes(forged=forged, differs=0.0, draws=300) <= most


@pytest.mark.parametrize("differs", [0.0, 0.1, 0.5])
def test_honest_results_are_rarely_rejected(differs):
    assert share_of_passes(forged=0.0, differs=differs, draws=150) >= (1.0 if differs == 0 else 0.9)
