"""What confidences are worth, against counts of pairs and values made by hand."""

import numpy as np
import pytest

from evaluator.reliability.predictability import (
    auroc,
    brier_score,
    calibration_error,
    diagram,
    risk_coverage,
    selective_gain,
)


def drawn(seed: int):
    rng = np.random.default_rng(seed)
    confidences = rng.random(200).round(2).tolist()
    successes = [bool(one) for one in rng.random(200) < np.array(confidences)]
    return {"confidences": confidences, "successes": successes}


@pytest.mark.parametrize("seed", range(5))
def test_auroc_counts_pairs(seed):
    given = drawn(seed)
    right = np.array(given["confidences"])[np.array(given["successes"])]
    wrong = np.array(given["confidences"])[~np.array(given["successes"])]
    difference = right[:, None] - wrong[None, :]
    assert auroc(**given) == pytest.approx(((difference > 0) + 0.5 * (difference == 0)).mean())
    assert auroc(confidences=[0.9, 0.1], successes=[True, True]) is None


def test_the_diagram_has_every_answer_once():
    bins = diagram(**drawn(0))
    assert sum(one.answers for one in bins) == 200
    assert all(one.low <= one.confidence <= one.high for one in bins)
    (last,) = diagram(confidences=[1.0], successes=[False])
    assert (last.low, last.success) == (0.9, 0.0)


def test_calibration_error_is_the_distance_of_confidence_and_success():
    confidences = [0.95] * 10
    successes = [True] * 9 + [False]
    assert calibration_error(confidences=confidences, successes=successes) == pytest.approx(0.05)
    assert calibration_error(confidences=[0.25, 0.75], successes=[True, False]) == pytest.approx(0.75)


def test_brier_score_is_the_mean_squared_distance():
    assert brier_score(confidences=[1.0, 0.5], successes=[True, False]) == pytest.approx(0.125)


def test_the_risk_rises_with_coverage_where_confidence_is_right():
    curve = risk_coverage(confidences=[0.2, 0.9, 0.8, 0.1], successes=[False, True, True, False])
    assert curve == [(0.25, 0.0), (0.5, 0.0), (0.75, pytest.approx(1 / 3)), (1.0, 0.5)]


def test_equal_confidences_have_the_mean_risk_of_all_their_orders():
    given = {"confidences": [0.5] * 4, "successes": [True, False, True, True]}
    assert [risk for _, risk in risk_coverage(**given)] == [pytest.approx(0.25)] * 4
    assert selective_gain(**given) == pytest.approx(0.0)


def test_selective_gain_is_1_for_a_perfect_order_and_negative_for_the_opposite():
    successes = [True, True, True, False]
    assert selective_gain(confidences=[0.9, 0.8, 0.7, 0.1], successes=successes) == pytest.approx(1.0)
    assert selective_gain(confidences=[0.1, 0.2, 0.3, 0.9], successes=successes) < 0
    assert selective_gain(confidences=[0.1, 0.2], successes=[True, True]) is None
