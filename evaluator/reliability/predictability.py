"""Predictability: whether a planner's confidence says when it is right. Pure.

Confidences and successes are those of the same answers, in the same order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers of about one confidence, a bar of the reliability diagram."""

    low: float
    high: float
    answers: int
    confidence: float
    """Mean, in [low, high]."""
    success: float
    """Share of the answers, in [0, 1]."""


def diagram(*, confidences: Sequence[float], successes: Sequence[bool]) -> list[Bin]:
    """The bins of equal width that have an answer, from low to high confidence. A confidence of 1 is in the last."""
    found = []
    for number in range(BINS):
        own = [
            (one, is_right)
            for one, is_right in zip(confidences, successes, strict=True)
            if min(int(one * BINS), BINS - 1) == number
        ]
        if own:
            mean, share = (sum(values) / len(own) for values in zip(*own, strict=True))
            found.append(
                Bin(low=number / BINS, high=(number + 1) / BINS, answers=len(own), confidence=mean, success=share)
            )
    return found


def calibration_error(*, confidences: Sequence[float], successes: Sequence[bool]) -> float:
    """Expected calibration error, in [0, 1]: the mean distance of confidence and success, over the bins' answers.

    Guo et al., On Calibration of Modern Neural Networks (2017), equation 3, with ten bins.
    """
    bins = diagram(confidences=confidences, successes=successes)
    return sum(one.answers * abs(one.confidence - one.success) for one in bins) / len(confidences)


def brier_score(*, confidences: Sequence[float], successes: Sequence[bool]) -> float:
    """Mean squared distance of confidence and success, in [0, 1]; 0 is best."""
    pairs = zip(confidences, successes, strict=True)
    return sum((one - is_right) ** 2 for one, is_right in pairs) / len(confidences)


def auroc(*, confidences: Sequence[float], successes: Sequence[bool]) -> float | None:
    """The chance that a right answer has a higher confidence than a wrong one, in [0, 1]; equal ones count half.

    Returns:
        None if all answers are right, or all wrong.
    """
    right = [one for one, is_right in zip(confidences, successes, strict=True) if is_right]
    wrong = [one for one, is_right in zip(confidences, successes, strict=True) if not is_right]
    if not right or not wrong:
        return None
    wins = sum((one > other) + (one == other) / 2 for one in right for other in wrong)
    return wins / (len(right) * len(wrong))


def risk_coverage(*, confidences: Sequence[float], successes: Sequence[bool]) -> list[tuple[float, float]]:
    """Coverage and risk, both in (0, 1] and [0, 1]: the share of wrong answers among the so many most confident ones.

    Geifman and El-Yaniv, Selective Classification for Deep Neural Networks (2017), section 2. Answers of equal
    confidence come in every order, and the risk is the mean over these.
    """
    ordered = sorted(zip(confidences, successes, strict=True), key=lambda pair: -pair[0])
    curve, seen, errors = [], 0, 0.0
    for _, group in groupby(ordered, key=lambda pair: pair[0]):
        outcomes = [is_right for _, is_right in group]
        rate = outcomes.count(False) / len(outcomes)
        for _ in outcomes:
            seen, errors = seen + 1, errors + rate
            curve.append((seen / len(ordered), errors / seen))
    return curve


def selective_gain(*, confidences: Sequence[float], successes: Sequence[bool]) -> float | None:
    """1 minus the excess area under the risk-coverage curve over that of a random order: 1 if all wrong answers are the
    least confident ones, 0 if confidence says nothing, negative if it misleads.

    arXiv 2602.16666, risk-coverage.

    Returns:
        None if all answers are right, or all wrong: no order is better than another.
    """
    errors = [not is_right for is_right in successes]
    if all(errors) or not any(errors):
        return None
    found = _area(risk_coverage(confidences=confidences, successes=successes))
    best = _area(risk_coverage(confidences=[float(not wrong) for wrong in errors], successes=successes))
    random = sum(errors) / len(errors)
    return 1 - (found - best) / (random - best)


def _area(curve: Sequence[tuple[float, float]]) -> float:
    return sum(risk for _, risk in curve) / len(curve)
