"""Ranks of planners across suites, from the ranks of each board. No database access.

Scores of different suites are not on one scale, so they are never averaged. The planners that are ranked on all of the
same suites are ranked again among themselves on each of them, and their ranks are averaged. The ranges of these
averages follow from the range of each rank by the paired tests of its board.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import combinations
from operator import and_
from typing import Generic, NamedTuple, TypeVar

Planner = TypeVar("Planner", bound=Hashable)
LEAST_SUITES = 2
LEAST_PLANNERS = 2
MOST_SUITES = 12
"""Number of boards among which common suites are searched, those with most planners first."""
_SAME = 1e-9


class OpenRank(NamedTuple):
    """A rank on a board, and its range by paired tests."""

    rank: int
    low: int | None
    """None, as is `high`, if the row was not tested: every rank is open."""
    high: int | None


class AverageRank(NamedTuple):
    """The position of a planner across suites."""

    rank: int
    """By `mean`; equal means share a rank."""
    low: int
    """1 plus the number of planners that are ahead whatever the open ranks are."""
    high: int
    """The number of planners less those that are behind whatever the open ranks are."""
    mean: float
    """Average rank over the common suites, among the common planners."""
    mean_low: float
    mean_high: float


class AcrossSuites(NamedTuple, Generic[Planner]):
    """The planners that are ranked on all of the same suites."""

    suites: tuple[int, ...]
    """Primary keys of the common suites, in the order of the boards."""
    ranks: Mapping[Planner, AverageRank]


def ranks_across(boards: Mapping[int, Mapping[Planner, OpenRank]]) -> AcrossSuites[Planner] | None:
    """Rank planners over the largest group that has a rank on all of the same suites: as many planners times suites
    as possible, of equal groups the one with more suites.

    Args:
        boards: by the suite's primary key, the ranks of its planners.

    Returns:
        None if no two planners are ranked on two suites in common.
    """
    largest = sorted(boards, key=lambda suite: -len(boards[suite]))[:MOST_SUITES]
    places = {
        planner: place for place, planner in enumerate({planner for board in boards.values() for planner in board})
    }
    # Bitmaps of planners: thousands of combinations of suites are intersected.
    members = {suite: sum(1 << places[planner] for planner in boards[suite]) for suite in boards if suite in largest}
    groups = (
        (suites, reduce(and_, (members[suite] for suite in suites)))
        for size in range(len(members), LEAST_SUITES - 1, -1)
        for suites in combinations(members, size)
    )
    fitting = (group for group in groups if group[1].bit_count() >= LEAST_PLANNERS)
    suites, bits = max(fitting, key=lambda group: len(group[0]) * group[1].bit_count(), default=((), 0))
    if not suites:
        return None
    planners = [planner for planner, place in places.items() if bits >> place & 1]
    by_suite = [_among(planners=planners, board=boards[suite]) for suite in suites]
    means = {planner: _means([ranks[planner] for ranks in by_suite]) for planner in planners}
    return AcrossSuites(suites, _ranked(means))


class _Ranks(NamedTuple):
    """A rank among the common planners, and the range that is open."""

    rank: int
    low: int
    high: int


def _among(*, planners: Iterable[Planner], board: Mapping[Planner, OpenRank]) -> dict[Planner, _Ranks]:
    """The ranks of these planners among themselves. One is surely ahead of another if its worst open rank is better
    than the other's best one."""
    spans = {planner: _span(board[planner], planners=len(board)) for planner in planners}
    ranks, lows, highs = (sorted(span[field] for span in spans.values()) for field in range(3))
    return {
        planner: _Ranks(
            rank=1 + bisect_left(ranks, span.rank),
            low=1 + bisect_left(highs, span.low),
            high=bisect_right(lows, span.high),
        )
        for planner, span in spans.items()
    }


def _span(rank: OpenRank, *, planners: int) -> _Ranks:
    if rank.low is None or rank.high is None:
        return _Ranks(rank.rank, 1, planners)
    # Ranks follow the means of all tasks, paired tests the tasks that two rows have in common.
    return _Ranks(rank.rank, min(rank.low, rank.rank), max(rank.high, rank.rank))


class _Means(NamedTuple):
    """Average ranks over the common suites."""

    rank: float
    low: float
    high: float


def _means(ranks: Sequence[_Ranks]) -> _Means:
    return _Means(*(sum(values) / len(ranks) for values in zip(*ranks, strict=True)))


def _ranked(means: Mapping[Planner, _Means]) -> dict[Planner, AverageRank]:
    ranks, lows, highs = (sorted(mean[field] for mean in means.values()) for field in range(3))
    return {
        planner: AverageRank(
            rank=1 + bisect_left(ranks, mean.rank - _SAME),
            low=1 + bisect_left(highs, mean.low - _SAME),
            high=bisect_right(lows, mean.high + _SAME),
            mean=mean.rank,
            mean_low=mean.low,
            mean_high=mean.high,
        )
        for planner, mean in means.items()
    }
