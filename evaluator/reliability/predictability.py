"""Predictability: how well a planner's confidence predicts its success. Pure and seeded functions.

Confidences and successes are parallel sequences over answers. Intervals resample tasks with all their answers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from evaluator.scoring.metrics.statistics import LEAST_VALUES, RESAMPLES, SEED, Interval, interval, unseen_share

BINS = 10
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers of similar confidence, a bar of the reliability diagram."""

    low: float
    high: float
    answers: int
    confidence: float
    """Mean, in [low, high]."""
    success: float
    """Share of the answers, in [0, 1]."""


def diagram(*, confidences: Sequence[float], successes: Sequence[bool]) -> list[Bin]:
    """The nonempty bins of equal width, from low to high confidence. A confidence of 1 is in the last."""
    bins = []
    for number in range(BINS):
        pairs = [
            (confidence, is_right)
            for confidence, is_right in zip(confidences, successes, strict=True)
            if min(int(confidence * BINS), BINS - 1) == number
        ]
        if pairs:
            mean, share = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
            bins.append(
                Bin(low=number / BINS, high=(number + 1) / BINS, answers=len(pairs), confidence=mean, success=share)
            )
    return bins


def calibration_error(*, confidences: Sequence[float], successes: Sequence[bool]) -> float:
    """Expected calibration error, in [0, 1]: the mean distance of the bins' confidence and success, weighted by
    answers.

    Guo et al., On Calibration of Modern Neural Networks (2017), equation 3, with ten bins.
    """
    bins = diagram(confidences=confidences, successes=successes)
    return sum(bar.answers * abs(bar.confidence - bar.success) for bar in bins) / len(confidences)


def brier_score(*, confidences: Sequence[float], successes: Sequence[bool]) -> float:
    """Mean squared distance of confidence and success, in [0, 1]; 0 is best."""
    pairs = zip(confidences, successes, strict=True)
    return sum((confidence - is_right) ** 2 for confidence, is_right in pairs) / len(confidences)


def auroc(*, confidences: Sequence[float], successes: Sequence[bool]) -> float | None:
    """The probability that a right answer has a higher confidence than a wrong one, in [0, 1]; ties count half.

    Returns:
        None if all answers are right, or all wrong.
    """
    right = [confidence for confidence, is_right in zip(confidences, successes, strict=True) if is_right]
    wrong = [confidence for confidence, is_right in zip(confidences, successes, strict=True) if not is_right]
    if not right or not wrong:
        return None
    wins = sum((first > second) + (first == second) / 2 for first in right for second in wrong)
    return wins / (len(right) * len(wrong))


def risk_coverage(*, confidences: Sequence[float], successes: Sequence[bool]) -> list[tuple[float, float]]:
    """Coverage, in (0, 1], and risk, in [0, 1]: the share of wrong answers among the most confident ones.

    Geifman and El-Yaniv, Selective Classification for Deep Neural Networks (2017), section 2. The risk is the mean over
    all orders of answers with equal confidence.
    """
    ordered = sorted(zip(confidences, successes, strict=True), key=lambda pair: -pair[0])
    curve, count, errors = [], 0, 0.0
    for _, group in groupby(ordered, key=lambda pair: pair[0]):
        outcomes = [is_right for _, is_right in group]
        rate = outcomes.count(False) / len(outcomes)
        for _ in outcomes:
            count, errors = count + 1, errors + rate
            curve.append((count / len(ordered), errors / count))
    return curve


def selective_gain(*, confidences: Sequence[float], successes: Sequence[bool]) -> float | None:
    """1 minus the excess area under the risk-coverage curve relative to a random order: 1 if the wrong answers have the
    lowest confidence, 0 if confidence is uninformative, negative if it misleads.

    arXiv 2602.16666, risk-coverage.

    Returns:
        None if all answers are right, or all wrong.
    """
    errors = [not is_right for is_right in successes]
    if all(errors) or not any(errors):
        return None
    ideal = [float(not wrong) for wrong in errors]
    area, best = (
        sum(risk for _, risk in risk_coverage(confidences=order, successes=successes)) / len(errors)
        for order in (confidences, ideal)
    )
    random = sum(errors) / len(errors)
    return 1 - (area - best) / (random - best)


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers with a confidence."""

    confidences: Array
    successes: Array
    """0 or 1."""
    tasks: NDArray[np.intp]
    """Index of each answer's task."""

    @classmethod
    def of(cls, by_task: Sequence[Sequence[tuple[float, bool]]]) -> "Answers":
        """From confidence and success of each answer, grouped by task; at least one."""
        rows = [(confidence, float(is_right), task) for task, own in enumerate(by_task) for confidence, is_right in own]
        confidences, successes, tasks = zip(*rows, strict=True)
        return cls(np.array(confidences), np.array(successes), np.array(tasks))

    def draws(self) -> NDArray[np.int64]:
        """(resamples, answers): the multiplicity of each answer in each resample of tasks."""
        count = int(self.tasks.max()) + 1
        clusters = np.random.default_rng(SEED).integers(0, count, size=(RESAMPLES, count))
        clusters += np.arange(RESAMPLES)[:, None] * count
        weights = np.bincount(clusters.ravel(), minlength=RESAMPLES * count).reshape(RESAMPLES, count)
        return np.asarray(weights[:, self.tasks])

    @property
    def places(self) -> NDArray[np.intp]:
        """The bin of each answer."""
        return np.minimum((self.confidences * BINS).astype(np.intp), BINS - 1)


def calibration_interval(answers: Answers) -> Interval:
    """Calibration error with a 95 % interval over tasks.

    The error of a finite sample is biased upwards, and so is that of a resample. The lower end is therefore that of the
    basic bootstrap, which corrects this bias, and the upper end that of the percentile bootstrap, which is conservative
    (Davison and Hinkley, Bootstrap Methods and their Application, sections 5.2 and 5.3). Near 0 the bootstrap fails,
    since an absolute value has a corner there: the lower end is 0 unless the error exceeds 97.5 % of those of
    calibrated planners.
    """
    gaps = answers.confidences - answers.successes
    bins = np.eye(BINS)[answers.places] * gaps[:, None]
    mean = float(np.abs(bins.sum(axis=0)).sum() / len(gaps))
    draws = answers.draws()
    errors = np.abs(draws @ bins).sum(axis=1) / draws.sum(axis=1)
    _, high = np.quantile(errors, [0.025, 0.975])
    is_calibrated = mean <= np.quantile(_errors_by_chance(answers), 0.975)
    low = 0.0 if is_calibrated else max(0.0, 2 * mean - float(high))
    count = int(answers.tasks.max()) + 1
    # A sample without errors may miss this share of tasks.
    most = min(1.0, max(float(high), unseen_share(count)))
    return interval(mean=mean, low=low, high=most, count=count, enough=count >= LEAST_VALUES)


def calibration_floor(answers: Answers) -> float:
    """The mean calibration error of a perfectly calibrated planner with these confidences by chance, in [0, 1]."""
    return float(_errors_by_chance(answers).mean())


def _errors_by_chance(answers: Answers) -> Array:
    """Calibration errors of simulated, perfectly calibrated planners with these confidences.

    Answers of one task are maximally correlated, as for a planner that repeats its answers; otherwise errors are
    smaller.
    """
    rng = np.random.default_rng(SEED)
    luck = rng.random((RESAMPLES, int(answers.tasks.max()) + 1))[:, answers.tasks]
    gaps = answers.confidences - (luck < answers.confidences)
    return np.asarray(np.abs(gaps @ np.eye(BINS)[answers.places]).sum(axis=1) / len(answers.tasks))


def auroc_interval(answers: Answers) -> Interval | None:
    """AUROC with a 95 % percentile bootstrap interval over tasks.

    It has no ends for fewer than ten tasks with a right, or with a wrong answer. If the confidences of right and wrong
    answers are separated, `unseen_share` of the rarer kind determines the width.

    Returns:
        None if all answers are right, or all wrong.
    """
    right = answers.successes == 1
    mean = auroc(confidences=answers.confidences.tolist(), successes=right.tolist())
    if mean is None:
        return None
    first, second = answers.confidences[right][:, None], answers.confidences[~right][None, :]
    wins = (first > second) + (first == second) / 2

    def of(draws: NDArray[np.int64]) -> Array:
        of_right, of_wrong = draws[:, right].astype(np.float64), draws[:, ~right].astype(np.float64)
        pairs = of_right.sum(axis=1) * of_wrong.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(((of_right @ wins) * of_wrong).sum(axis=1) / pairs)

    return _ends(answers, mean=mean, resampled=of, lowest=0.0)


def selective_gain_interval(answers: Answers) -> Interval | None:
    """Selective gain with a 95 % percentile bootstrap interval over tasks, under the conditions of `auroc_interval`."""
    right = answers.successes == 1
    mean = selective_gain(confidences=answers.confidences.tolist(), successes=right.tolist())
    if mean is None:
        return None
    order = np.argsort(-answers.confidences, kind="stable")
    confidences, wrong = answers.confidences[order], 1 - answers.successes[order]
    starts = np.flatnonzero(np.concatenate([[True], confidences[1:] != confidences[:-1]]))

    def gain(weights: NDArray[np.int64]) -> float:
        counts = np.add.reduceat(weights, starts)
        errors = np.add.reduceat(weights * wrong, starts)
        rates = np.repeat(np.divide(errors, counts, out=np.zeros(len(counts)), where=counts > 0), counts)
        places = np.arange(1, len(rates) + 1)
        share = errors.sum() / len(rates)
        best = (np.maximum(places - (len(rates) - errors.sum()), 0) / places).mean()
        if share == best:
            return float("nan")
        return float(1 - ((np.cumsum(rates) / places).mean() - best) / (share - best))

    return _ends(
        answers, mean=mean, resampled=lambda draws: np.array([gain(row) for row in draws[:, order]]), lowest=-1.0
    )


def _ends(answers: Answers, *, mean: float, resampled: Callable[[NDArray[np.int64]], Array], lowest: float) -> Interval:
    """The interval of a measure that compares right and wrong answers; `lowest` is its lower bound."""
    right, wrong = (len(np.unique(answers.tasks[answers.successes == kind])) for kind in (1, 0))
    values = resampled(answers.draws())
    low, high = np.nanquantile(values, [0.025, 0.975])
    if high - low <= 1e-12:
        share = unseen_share(min(right, wrong))
        low, high = mean - share * (mean - lowest), mean + share * (1 - mean)
    count = int(answers.tasks.max()) + 1
    enough = min(right, wrong) >= LEAST_VALUES
    return interval(mean=mean, low=float(low), high=float(high), count=count, enough=enough)
