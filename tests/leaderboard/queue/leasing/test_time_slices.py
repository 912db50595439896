"""When a planner gives its worker to others' work, and in which order workers lease. No database."""

from itertools import product
from uuid import UUID, uuid4

import pytest

from leaderboard.queue.leasing.time_slices import Holding, Standing, Waiting, lease_tiers, patience, set_aside
from leaderboard.queue.leasing.turns import tiers

PROVEN, NEW, SLOW = Standing.PROVEN, Standing.NEW, Standing.SLOW
SLICE = 15.0
HOSTILE, OTHER, HONEST = 1, 2, 3


def holding(*, user: int = HOSTILE, standing: Standing = NEW, held: float = SLICE, **more) -> Holding:
    return Holding(attempt=uuid4(), user=user, standing=standing, held_seconds=held, **more)


def given(holdings: list[Holding], *waiting: Waiting, workers: int | None = None) -> frozenset[UUID]:
    count = len(holdings) if workers is None else workers
    return set_aside(holdings=holdings, waiting=waiting, workers=count, slice_seconds=SLICE)


@pytest.mark.parametrize("standing", [PROVEN, NEW, SLOW])
@pytest.mark.parametrize("waits", [PROVEN, NEW])
def test_a_foreign_planner_on_the_only_worker_gives_way_after_its_slice(standing, waits):
    one = holding(standing=standing)
    assert given([one], Waiting(HONEST, waits)) == {one.attempt}


@pytest.mark.parametrize(
    ("holdings", "waiting"),
    [
        ([holding(held=1000)], []),
        ([holding(held=SLICE - 1)], [Waiting(HONEST, PROVEN)]),
        # Its own user's work waits.
        ([holding(held=1000)], [Waiting(HOSTILE, PROVEN)]),
        # Bundled planners and the execution of plans.
        ([holding(held=1000, is_sliced=False)], [Waiting(HONEST, PROVEN)]),
        # Of several workers a slow planner keeps one from users who have one, or as many.
        ([holding(standing=SLOW, held=600), holding(user=HONEST, standing=PROVEN, held=2)], [Waiting(HONEST, PROVEN)]),
    ],
)
def test_nobody_gives_way(holdings, waiting):
    assert given(holdings, *waiting) == frozenset()


def test_one_attempt_gives_way_for_each_user_who_waits_the_slowest_first():
    new, slow, slower = holding(held=50), holding(standing=SLOW, held=20), holding(standing=SLOW, held=30)
    assert given([new, slow, slower], Waiting(HONEST, NEW)) == {slow.attempt}
    assert given([new, slow, slower], Waiting(HONEST, NEW), Waiting(OTHER, PROVEN)) == {slow.attempt, new.attempt}


def test_a_slow_planner_leaves_its_worker_to_a_user_who_has_none():
    """As when plans are executed on all other workers, which takes minutes."""
    slow = holding(standing=SLOW, held=600)
    busy = holding(user=OTHER, standing=PROVEN, held=600, is_sliced=False)
    assert given([slow, busy], Waiting(HONEST, PROVEN)) == {slow.attempt}


def test_a_worker_that_is_about_to_ask_counts_as_one():
    slow = holding(user=HOSTILE, standing=SLOW, held=600)
    mine = holding(user=HONEST, standing=PROVEN, held=1)
    assert given([slow, mine], Waiting(HONEST, NEW), workers=2) == frozenset()
    assert given([slow], Waiting(HOSTILE, NEW), Waiting(HONEST, NEW), workers=1) == {slow.attempt}


def test_slow_planners_take_turns_and_their_slices_double():
    def is_given(*, held: float, times: int) -> bool:
        return bool(given([holding(standing=SLOW, held=held, times_set_aside=times)], Waiting(HONEST, SLOW)))

    assert [is_given(held=29, times=1), is_given(held=30, times=1)] == [False, True]
    assert [is_given(held=59, times=2), is_given(held=60, times=2)] == [False, True]
    assert patience(times_set_aside=99, slice_seconds=SLICE) == 480


def test_a_slow_planner_does_not_give_way_to_a_user_with_as_many_workers():
    mine, other = holding(standing=SLOW, held=600), holding(user=HONEST, standing=SLOW, held=1)
    assert given([mine, other], Waiting(HONEST, SLOW)) == frozenset()
    second = holding(standing=SLOW, held=500)
    assert given([mine, second, other], Waiting(HONEST, SLOW)) == {second.attempt}


def test_fair_share_alone_decides_while_a_proven_planner_has_a_worker():
    assert set(lease_tiers(others=[PROVEN, NEW], lately_set_aside=True).values()) == {0}


@pytest.mark.parametrize("others", [[NEW], [SLOW], [NEW, NEW, SLOW]])
def test_the_last_worker_is_for_proven_planners(others):
    tiers = lease_tiers(others=others, lately_set_aside=False)
    assert tiers[PROVEN] < tiers[NEW] < tiers[SLOW]


def test_slow_planners_have_one_worker_while_other_work_waits():
    assert lease_tiers(others=[PROVEN, NEW], lately_set_aside=False)[SLOW] == 0
    assert lease_tiers(others=[PROVEN, SLOW], lately_set_aside=False)[SLOW] > 0


def test_a_single_worker_prefers_proven_planners_for_a_while_after_one_was_set_aside():
    assert set(lease_tiers(others=[], lately_set_aside=False).values()) == {0}
    tiers = lease_tiers(others=[], lately_set_aside=True)
    assert tiers[PROVEN] < tiers[NEW] < tiers[SLOW]


def test_the_table_of_tiers_says_what_the_function_says():
    all_others = [others for count in range(3) for others in product(Standing, repeat=count)]
    for others, lately in product(all_others, [False, True]):
        facts = bool(others), Standing.PROVEN in others, Standing.SLOW in others, lately
        row = 3 * sum(value * bit for value, bit in zip(facts, (8, 4, 2, 1), strict=True))
        found = {standing: tiers(slices=True)[row + standing] for standing in Standing}
        assert found == lease_tiers(others=others, lately_set_aside=lately), (others, lately)


def test_without_slices_all_are_in_one_tier():
    assert set(tiers(slices=False)) == {0}
