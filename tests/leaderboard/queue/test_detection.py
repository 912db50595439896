"""How often a verification detects forged plans, and how often it rejects honest results: the table of
docs/install.md, "Verification". Both samples as `verification` draws them, of plans that are judged once per task."""

import re
from pathlib import Path

import numpy as np
import pytest

from evaluator.scoring.metrics import statistics
from evaluator.scoring.metrics.statistics import paired_permutation
from leaderboard.platform.settings.evaluations import VERIFY_TASKS
from leaderboard.queue.comparing import LEVEL, Comparison
from leaderboard.queue.verification import CLOSER_LOOK
from tests.rings import usual

TASKS = 185
EVALUATIONS = 1000
"""Simulated for each figure."""
DOCUMENT = Path(__file__).parents[3] / "docs" / "install.md"
FORGED = (0.0, 0.02, 0.05, 0.1, 0.2)
DIFFERS = (0.0, 0.1, 0.5)


def is_rejected(better: np.ndarray, *, rng: np.random.Generator) -> bool:
    """Whether a verification rejects an evaluation.

    Args:
        better: (tasks,) by how much the owner's score is better; 0 where plans are equal.
        rng: draws the samples.
    """

    def compared(count: int) -> Comparison:
        chosen = rng.choice(TASKS, min(count, TASKS), replace=False)
        return Comparison(tasks=(), p_value=paired_permutation(better[chosen].tolist()))

    found = compared(VERIFY_TASKS)
    if found.leans:
        found = compared(VERIFY_TASKS * CLOSER_LOOK)
    return not found.agrees


def share_rejected(*, forged: float, differs: float) -> float:
    """Share of evaluations that are rejected.

    Args:
        forged: share of the tasks with a plan that the planner did not make; it scores 0.1 to 0.4 more.
        differs: share of the tasks on which the planner makes another plan each time, with any score up to 0.5.
    """
    rng = np.random.default_rng(12)
    rejected = 0
    for _ in range(EVALUATIONS):
        scores = rng.random((2, TASKS)) * 0.5
        better = np.where(rng.random(TASKS) < differs, scores[0] - scores[1], 0.0)
        chosen = rng.choice(TASKS, round(forged * TASKS), replace=False)
        better[chosen] = 0.1 + 0.3 * rng.random(len(chosen))
        rejected += is_rejected(better, rng=rng)
    return rejected / EVALUATIONS


def documented() -> dict[tuple[float, float], float]:
    """The shares of the document's table, by forged share and share that differs."""
    rows = re.findall(
        r"^ *\| (none|\d+ %)[^|]* \| (\d+) % \| (\d+) % \| (\d+) % \|$", DOCUMENT.read_text(), re.MULTILINE
    )
    return {
        (0.0 if forged == "none" else int(forged.split()[0]) / 100, differs): int(share) / 100
        for forged, *shares in rows
        for differs, share in zip(DIFFERS, shares, strict=True)
    }


@pytest.mark.parametrize("differs", usual(DIFFERS, of=[0.5]))
@pytest.mark.parametrize("forged", usual(FORGED, of=[0.0, 0.1]))
def test_the_document_states_how_often_forged_and_honest_results_are_rejected(forged, differs, monkeypatch):
    # Fewer random sign changes than a verification tries: as valid, and fast.
    monkeypatch.setattr(statistics, "PERMUTATIONS", 3999)
    assert share_rejected(forged=forged, differs=differs) == pytest.approx(documented()[forged, differs], abs=0.00501)


def test_honest_results_are_rejected_in_one_of_sixteen_cases_at_most():
    by_chance = 1.5 * (LEVEL * (1 - LEVEL) / EVALUATIONS) ** 0.5
    assert all(share <= LEVEL + by_chance for (forged, _), share in documented().items() if not forged)
