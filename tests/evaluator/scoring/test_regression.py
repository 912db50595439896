"""Verdicts of `gate`, and the number of tasks that would tell."""

import numpy as np
import pytest

from evaluator.core.suites.base import IntervalMethod
from evaluator.scoring.metrics.paired import paired_test
from evaluator.scoring.regression import GateVerdict, PairedDifference, judge


def difference(mean: float, half: float | None, p_value: float | None, **fields) -> PairedDifference:
    ends = (None, None) if half is None else (mean - half, mean + half)
    counts = {"tasks": 100, "wins": 3, "losses": 4} | fields
    return PairedDifference(mean=mean, low=ends[0], high=ends[1], p_value=p_value, **counts)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (difference(0.03, 0.02, 0.004), GateVerdict.BETTER),
        (difference(0.0, 0.005, 1.0), GateVerdict.NOT_WORSE),
        (difference(0.0, 0.02, 1.0), GateVerdict.CANNOT_TELL),
        (difference(0.0, 0.02, 1.0, wins=0, losses=0), GateVerdict.NOT_WORSE),
        (difference(0.0, 0.02, 1.0, wins=0, losses=0, undecided=1), GateVerdict.CANNOT_TELL),
        (difference(-0.005, 0.003, 0.001), GateVerdict.NOT_WORSE),
        (difference(-0.02, 0.015, 0.01), GateVerdict.WORSE),
        (difference(-0.2, 0.25, 0.1), GateVerdict.CANNOT_TELL),
        (difference(0.5, None, None), GateVerdict.CANNOT_TELL),
        (difference(-0.03, 0.02, 0.004, higher_is_better=False), GateVerdict.BETTER),
        (difference(0.03, 0.015, 0.004, higher_is_better=False), GateVerdict.WORSE),
        (difference(-0.002, 0.011, 0.7, higher_is_better=False), GateVerdict.NOT_WORSE),
    ],
)
def test_the_interval_and_the_test_decide(found, verdict):
    judged = judge(found, max_regression=0.01, label="Score")
    assert judged.verdict is verdict
    assert judged.verdict.in_words in judged.sentence or "cannot tell" in judged.sentence


def test_the_sentence_names_scenes_where_tasks_are_a_fixed_list():
    found = difference(0.0, 0.02, 1.0, samples=8, method=IntervalMethod.FIXED_TASKS)
    judged = judge(found, max_regression=0.01, label="Score")
    assert judged.needed == 66
    assert "About 66 scenes of each task would tell" in judged.sentence


def test_without_any_room_no_number_of_tasks_would_tell():
    judged = judge(difference(0.0, 0.02, 1.0), max_regression=0.0, label="Score")
    assert (judged.verdict, judged.needed) == (GateVerdict.CANNOT_TELL, None)


def test_so_many_tasks_tell_in_four_of_five_repetitions():
    """Graded differences with mean 0.02 and a spread of 0.2: what a first comparison over 60 tasks asks for."""
    rng = np.random.default_rng(3)

    def verdict(values: np.ndarray) -> tuple[GateVerdict, int | None]:
        estimate = paired_test(values[:, None], method=IntervalMethod.BOOTSTRAP, strata=())
        interval = estimate.interval
        found = PairedDifference(
            mean=interval.mean, low=interval.low, high=interval.high, p_value=estimate.p_value, tasks=len(values),
            wins=int((values > 0).sum()), losses=int((values < 0).sum()),
        )  # fmt: skip
        judged = judge(found, max_regression=0.01, label="Score")
        return judged.verdict, judged.needed

    first = rng.normal(0.0, 0.2, 60)
    first += 0.02 - first.mean()
    told, needed = verdict(first)
    assert told is GateVerdict.CANNOT_TELL
    assert needed is not None
    again = [verdict(rng.normal(0.02, first.std(ddof=1), needed))[0] for _ in range(400)]
    assert 0.74 < np.mean([one in (GateVerdict.BETTER, GateVerdict.NOT_WORSE) for one in again]) < 0.86
