"""What confidences are worth, against counts of pairs and values made by hand."""

import numpy as np
import pytest

from evaluator.reliability.predictability import (
    Answers,
    auroc,
    auroc_interval,
    brier_score,
    calibration_error,
    calibration_floor,
    calibration_interval,
    diagram,
    risk_coverage,
    selective_gain,
    selective_gain_interval,
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


def test_calibration_error_and_brier_score_measure_the_distance_of_confidence_and_success():
    successes = [True] * 9 + [False]
    assert calibration_error(confidences=[0.95] * 10, successes=successes) == pytest.approx(0.05)
    assert calibration_error(confidences=[0.25, 0.75], successes=[True, False]) == pytest.approx(0.75)
    assert brier_score(confidences=[1.0, 0.5], successes=[True, False]) == pytest.approx(0.125)


def test_risk_grows_with_coverage_and_equal_confidences_have_the_mean_risk():
    curve = risk_coverage(confidences=[0.2, 0.9, 0.8, 0.1], successes=[False, True, True, False])
    assert curve == [(0.25, 0.0), (0.5, 0.0), (0.75, pytest.approx(1 / 3)), (1.0, 0.5)]
    given = {"confidences": [0.5] * 4, "successes": [True, False, True, True]}
    assert [risk for _, risk in risk_coverage(**given)] == [pytest.approx(0.25)] * 4
    assert selective_gain(**given) == pytest.approx(0.0)


def test_selective_gain_is_1_for_a_perfect_order_and_negative_for_the_opposite():
    successes = [True, True, True, False]
    assert selective_gain(confidences=[0.9, 0.8, 0.7, 0.1], successes=successes) == pytest.approx(1.0)
    assert selective_gain(confidences=[0.1, 0.2, 0.3, 0.9], successes=successes) < 0
    assert selective_gain(confidences=[0.1, 0.2], successes=[True, True]) is None


def answers_of(confidences: np.ndarray, chances: np.ndarray, rng: np.random.Generator) -> Answers:
    """Two answers for each task, with the same confidence."""
    rights = rng.random((len(confidences), 2)) < chances[:, None]
    return Answers.of(
        [[(float(one), bool(right)) for right in own] for one, own in zip(confidences, rights, strict=True)]
    )


@pytest.mark.full
@pytest.mark.parametrize(("off", "truth"), [(0.0, 0.0), (0.2, 0.2)])
def test_the_interval_of_the_calibration_error_covers_it(off, truth):
    """Confidences that are the chance of success, or 0.2 above it."""
    rng = np.random.default_rng(8)
    covered = 0
    for _ in range(100):
        confidences = rng.choice([0.25, 0.45, 0.65, 0.85], 120)
        result = calibration_interval(answers_of(confidences, confidences - off, rng))
        covered += result.low <= truth <= result.high
    assert covered >= 92


def test_the_floor_is_the_mean_error_of_a_calibrated_planner():
    rng = np.random.default_rng(9)
    confidences = rng.choice([0.25, 0.45, 0.65, 0.85], 120)
    rights = [rng.random(120) < confidences for _ in range(300)]
    errors = [calibration_error(confidences=confidences.tolist(), successes=one.tolist()) for one in rights]
    floor = calibration_floor(Answers.of([[(float(one), True)] for one in confidences]))
    assert floor == pytest.approx(np.mean(errors), abs=0.004)
    assert floor > 0.04


@pytest.mark.full
def test_intervals_of_auroc_and_selective_gain_cover_them():
    rng = np.random.default_rng(10)
    # Of many answers: the chance that a right one has a higher confidence.
    many = rng.random(4000)
    given = {"confidences": many.tolist(), "successes": (rng.random(4000) < many).tolist()}
    truth, gain = auroc(**given), selective_gain(**given)
    covered = np.zeros(2)
    for _ in range(60):
        confidences = rng.random(120)
        answers = Answers.of([[(float(one), bool(rng.random() < one))] for one in confidences])
        for place, (result, wanted) in enumerate(
            ((auroc_interval(answers), truth), (selective_gain_interval(answers), gain))
        ):
            covered[place] += result.low <= wanted <= result.high
    assert (covered >= 53).all()


def test_perfect_separation_is_not_certain_and_few_wrong_answers_are_too_few():
    right, wrong = [[(0.9, True)]] * 80, [[(0.1, False)]]
    result = auroc_interval(Answers.of(right + wrong * 20))
    assert (result.mean, result.low, result.high) == (1.0, pytest.approx(0.025 ** (1 / 20)), 1.0)
    assert auroc_interval(Answers.of(right + wrong * 9)).ends is None
    assert selective_gain_interval(Answers.of(right + wrong * 20)).low < 1.0
    assert auroc_interval(Answers.of(right)) is None
