"""Ranks of planners across suites, without a database."""

from hypothesis import given
from hypothesis import strategies as st

from leaderboard.boards.across_suites import OpenRank, ranks_across

CERTAIN = {"a": OpenRank(1, 1, 1), "b": OpenRank(2, 2, 2), "c": OpenRank(3, 3, 3)}


def test_planners_need_two_suites_in_common():
    assert ranks_across({}) is None
    assert ranks_across({1: CERTAIN}) is None
    assert ranks_across({1: {"a": OpenRank(1, 1, 1)}, 2: {"b": OpenRank(1, 1, 1)}, 3: CERTAIN}) is None
    assert ranks_across({1: CERTAIN, 2: {"a": OpenRank(1, 1, 1), "x": OpenRank(2, 2, 2)}}) is None, "one planner"


def test_the_order_of_certain_ranks_is_certain():
    found = ranks_across({1: CERTAIN, 2: CERTAIN})
    assert found is not None
    assert found.suites == (1, 2)
    assert {name: (rank.rank, rank.low, rank.high, rank.mean) for name, rank in found.ranks.items()} == {
        "a": (1, 1, 1, 1.0), "b": (2, 2, 2, 2.0), "c": (3, 3, 3, 3.0),
    }  # fmt: skip


def test_planners_that_are_not_on_every_common_suite_are_not_ranked_and_take_no_rank():
    """On the second suite b is third, but second among those that both suites have."""
    other = {"a": OpenRank(1, 1, 1), "x": OpenRank(2, 2, 2), "b": OpenRank(3, 3, 3)}
    found = ranks_across({1: {"a": OpenRank(1, 1, 1), "b": OpenRank(2, 2, 2)}, 2: other})
    assert found is not None
    assert {name: rank.mean for name, rank in found.ranks.items()} == {"a": 1.0, "b": 2.0}


def test_opposite_orders_are_a_tie_whose_order_is_open():
    reverse = {"a": OpenRank(3, 3, 3), "b": OpenRank(2, 2, 2), "c": OpenRank(1, 1, 1)}
    found = ranks_across({1: CERTAIN, 2: reverse})
    assert found is not None
    assert {rank[:3] for rank in found.ranks.values()} == {(1, 1, 3)}


def test_ranks_that_tests_leave_open_are_open_across_suites_as_are_those_without_tests():
    for low, high in ((1, 2), (None, None)):
        board = {"a": OpenRank(1, low, high), "b": OpenRank(2, low, high)}
        found = ranks_across({1: board, 2: board})
        assert found is not None
        assert found.ranks["a"] == (1, 1, 2, 1.0, 1.0, 2.0)
        assert found.ranks["b"] == (2, 1, 2, 2.0, 1.0, 2.0)


def test_the_largest_complete_group_counts():
    many = {str(number): OpenRank(number, number, number) for number in range(1, 7)}
    few = {"1": OpenRank(1, 1, 1), "2": OpenRank(2, 2, 2)}
    found = ranks_across({1: many, 2: few, 3: many})
    assert found is not None
    assert found.suites == (1, 3), "six planners on two suites are more than two planners on three"
    assert len(found.ranks) == 6


@st.composite
def boards(draw: st.DrawFn) -> dict[int, dict[str, OpenRank]]:
    found = {}
    for suite in range(draw(st.integers(0, 4))):
        names = draw(st.permutations("abcdef"))[: draw(st.integers(0, 6))]
        found[suite] = {}
        for rank, name in enumerate(names, start=1):
            low, high = draw(st.integers(1, rank)), draw(st.integers(rank, len(names)))
            found[suite][name] = OpenRank(rank, low, high)
    return found


@given(boards())
def test_ranks_lie_in_their_ranges_and_ranges_on_the_list(given_boards: dict[int, dict[str, OpenRank]]):
    found = ranks_across(given_boards)
    if found is None:
        return
    count = len(found.ranks)
    assert len(found.suites) >= 2 <= count
    for name, rank in found.ranks.items():
        assert all(name in given_boards[suite] for suite in found.suites)
        assert 1 <= rank.low <= rank.rank <= rank.high <= count
        assert 1 <= rank.mean_low <= rank.mean <= rank.mean_high <= count
