"""Whether 95 % intervals over scenes cover what they estimate, and whether paired tests err as rarely as they say.

`scores.npz` has the measured scores of the gold plans and of empty plans on OpenAGI's 185 requests and 64 scenes of the
public split, profile `lilliput`, in thousandths. These stand for all tasks and scenes; evaluations draw 32 of the
scenes, and where tasks are sampled also tasks, with replacement. Other planners mix these rows.
"""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluator.core.suites.base import IntervalMethod
from evaluator.scoring.metrics.crossed import Estimate, fixed_tasks, normalised, sampled_tasks

pytestmark = pytest.mark.full
SCENES = 32
REPLICATIONS = 500
TASKS = 300
"""Of a sampled board, where there are 2,000 in use: fewer make the interval depend on tasks and scenes alike."""
Table = NDArray[np.float64]


@pytest.fixture(scope="module")
def measured() -> SimpleNamespace:
    with np.load(Path(__file__).with_name("scores.npz")) as file:
        return SimpleNamespace(
            gold=file["gold"] / 1000, noop=file["noop"] / 1000, strata=np.asarray(file["metric"], dtype=str)
        )


def planner(*, name: str, measured: SimpleNamespace) -> Table:
    """(tasks, scenes) of a planner. The random one answers each task with a gold plan, an empty one or none at all."""
    rng = np.random.default_rng(7)
    kind = rng.random(len(measured.gold))[:, None]
    return {
        "gold": measured.gold,
        "no-op": measured.noop,
        "80 % right": np.where(kind < 0.8, measured.gold, measured.noop),
        "random": np.where(kind < 1 / 3, measured.gold, np.where(kind < 2 / 3, measured.noop, 0.0)),
    }[name]


def drawn_tasks(*, strata: NDArray[np.str_], rng: np.random.Generator, count: int = TASKS) -> NDArray[np.intp]:
    """Rows of a sampled board: each stratum keeps its share."""
    parts = []
    for name in np.unique(strata):
        members = np.flatnonzero(strata == name)
        parts.append(rng.choice(members, max(2, round(count * len(members) / len(strata)))))
    return np.concatenate(parts)


def covered(*, truth: float, estimates: Callable[[np.random.Generator], Estimate]) -> float:
    rng = np.random.default_rng(11)
    ends = [estimates(rng).interval.ends for _ in range(REPLICATIONS)]
    return float(np.mean([low <= truth <= high for low, high in filter(None, ends)]))


PLANNERS = ["gold", "80 % right", "random", "no-op"]


@pytest.mark.parametrize("name", PLANNERS)
def test_on_a_fixed_list_the_intervals_cover_the_mean_over_all_scenes(measured, name):
    scores = planner(name=name, measured=measured)
    share = covered(
        truth=float(scores.mean()),
        estimates=lambda rng: fixed_tasks(scores[:, rng.integers(0, scores.shape[1], SCENES)]),
    )
    assert 0.93 <= share <= 0.97


@pytest.mark.parametrize(
    ("name", "share"), [("gold", 0.947), ("80 % right", 0.944), ("random", 0.942), ("no-op", 0.938)]
)
def test_five_scenes_of_a_fixed_list_cover_as_often_as_the_document_says(measured, name, share):
    """docs/validity.md, "Intervals over few scenes", has 4,000 draws; 500 are within 2.5 standard errors of them."""
    scores = planner(name=name, measured=measured)
    found = covered(
        truth=float(scores.mean()), estimates=lambda rng: fixed_tasks(scores[:, rng.integers(0, scores.shape[1], 5)])
    )
    assert found == pytest.approx(share, abs=2.5 * (share * (1 - share) / REPLICATIONS) ** 0.5)


@pytest.mark.parametrize("name", PLANNERS)
def test_of_sampled_requests_the_intervals_cover_the_mean_over_all_requests_and_scenes(measured, name):
    scores, strata = planner(name=name, measured=measured), measured.strata
    shares = strata[drawn_tasks(strata=strata, rng=np.random.default_rng(0))]
    truth = sum(scores[strata == one].mean() * (shares == one).mean() for one in np.unique(strata))

    def one(rng: np.random.Generator) -> Estimate:
        rows = drawn_tasks(strata=strata, rng=rng)
        scenes = rng.integers(0, scores.shape[1], SCENES)
        return sampled_tasks(scores[np.ix_(rows, scenes)], strata=strata[rows].tolist())

    assert 0.93 <= covered(truth=float(truth), estimates=one) <= 0.97


def significant(
    *, better: Table, worse: Table, strata: NDArray[np.str_], tasks: int, replications: int = REPLICATIONS
) -> float:
    """How often a paired test over drawn tasks and scenes finds a difference at 5 %."""
    rng, found = np.random.default_rng(5), 0
    for _ in range(replications):
        rows = drawn_tasks(strata=strata, rng=rng, count=tasks)
        scenes = rng.integers(0, better.shape[1], SCENES)
        difference = (better - worse)[np.ix_(rows, scenes)]
        p_value = sampled_tasks(difference, strata=strata[rows].tolist()).p_value
        found += p_value is not None and p_value < 0.05
    return found / replications


def test_planners_that_are_equal_on_average_are_rarely_told_apart(measured):
    rng = np.random.default_rng(3)
    # A difference of no size on average, between tasks and between scenes.
    effect = (measured.gold - measured.noop) * rng.choice([-1, 1], len(measured.gold))[:, None]
    for one in np.unique(measured.strata):
        effect[measured.strata == one] -= effect[measured.strata == one].mean()
    zero = np.zeros_like(effect)
    share = significant(better=effect, worse=zero, strata=measured.strata, tasks=TASKS, replications=4000)
    assert share <= 0.06


def right_in(share: float, *, rng: np.random.Generator, tasks: int) -> NDArray[np.bool_]:
    """(tasks, 1): which tasks a planner plans right."""
    return (rng.permutation(tasks) < share * tasks)[:, None]


@pytest.mark.parametrize("nested", [True, False], ids=["nested", "independent"])
def test_planners_that_are_right_in_80_and_85_of_a_hundred_requests_are_told_apart(measured, nested):
    rows = drawn_tasks(strata=measured.strata, rng=np.random.default_rng(9), count=2000)
    gold, noop, strata = measured.gold[rows], measured.noop[rows], measured.strata[rows]
    first, second = np.random.default_rng(10), np.random.default_rng(10 if nested else 11)
    worse = np.where(right_in(0.80, rng=first, tasks=len(rows)), gold, noop)
    better = np.where(right_in(0.85, rng=second, tasks=len(rows)), gold, noop)
    assert significant(better=better, worse=worse, strata=strata, tasks=2000) >= 0.9


@pytest.mark.parametrize("method", [IntervalMethod.FIXED_TASKS, IntervalMethod.SAMPLED_TASKS], ids=str)
@pytest.mark.parametrize("name", ["80 % right", "random"])
def test_intervals_of_normalised_scores_cover_the_ratio_over_everything(measured, name, method):
    scores, strata = planner(name=name, measured=measured), measured.strata
    every = np.arange(len(strata))
    drawn = every if method is IntervalMethod.FIXED_TASKS else drawn_tasks(strata=strata, rng=np.random.default_rng(0))
    weights = {one: (strata[drawn] == one).mean() for one in np.unique(strata)}

    def mean(table: Table) -> float:
        return float(sum(weight * table[strata == one].mean() for one, weight in weights.items()))

    truth = (mean(scores) - mean(measured.noop)) / (mean(measured.gold) - mean(measured.noop))
    rng, covering = np.random.default_rng(11), 0
    for _ in range(REPLICATIONS):
        rows = every if method is IntervalMethod.FIXED_TASKS else drawn_tasks(strata=strata, rng=rng)
        place = np.ix_(rows, rng.integers(0, scores.shape[1], SCENES))
        found = normalised(
            scores=scores[place], gold=measured.gold[place], floor=measured.noop[place], method=method,
            strata=strata[rows].tolist(),
        )  # fmt: skip
        assert found.ends is not None
        covering += found.ends[0] <= truth <= found.ends[1]
    assert 0.93 <= covering / REPLICATIONS <= 0.97
