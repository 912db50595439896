"""The table of LUMOS's comparison, on scores that were made up."""

import pytest

from evaluator.training.planners.causal.comparing import Measured, differences
from evaluator.training.planners.lumos.study import table
from evaluator.training.planners.lumos.variants import GROUPS

pytestmark = pytest.mark.full

TASKS = [f"{group}/{number}" for group in GROUPS for number in range(20)]


def scores(share):
    return {task: float(place % 10 < share * 10) for place, task in enumerate(TASKS)}


MEASURED = [
    Measured(variant="iterative", seed=0, scores=scores(0.8)),
    Measured(variant="iterative", seed=1, scores=scores(0.6)),
    Measured(variant="one-pass", seed=0, scores=scores(0.5)),
    Measured(variant="iterative, maths only", seed=0, scores={t: 1.0 for t in TASKS if t.startswith("maths/")}),
]


def test_a_row_has_the_mean_over_seeds_of_each_group():
    rows = {row[0]: row for row in table(MEASURED)}
    assert rows["iterative"][1].startswith("0.700 (")
    assert rows["iterative"][-1] == "0.800, 0.600"
    assert rows["iterative, maths only"][1].startswith("1.000")
    assert rows["iterative, maths only"][2:-1] == ("",) * 5


def test_differences_are_paired_by_task_and_seed():
    (found,) = differences(MEASURED, pairs=[("iterative", "one-pass")])
    assert found[0] == "iterative - one-pass"
    assert found[1].mean == pytest.approx(0.3)
    (group,) = differences(MEASURED, pairs=[("iterative", "iterative, maths only")])
    assert group[1].mean == pytest.approx(-0.2)
    assert differences(MEASURED, pairs=[("direct", "iterative")]) == []
