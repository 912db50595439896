"""The reward, computed by hand and by its properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.lumos.sql.environment import FAILED, kendall_tau, reward, row_text
from evaluator.lumos.sql.outcome import Failure, Reason, Result

FAILURE = Failure(reason=Reason.SYNTAX, message="x")


def result(*values, is_cut=False):
    """A result of one column."""
    return Result(columns=("a",), rows=tuple((value,) for value in values), is_cut=is_cut)


BY_HAND = [
    # The same rows in the same order.
    ("abc", "abc", 1.0, 1.0, 1.0),
    # Reversed: all three pairs are discordant.
    ("cba", "abc", 1.0, -1.0, -1.0),
    # Two neighbours swapped: two pairs concordant, one discordant.
    ("bac", "abc", 1.0, 1 / 3, 1 / 3),
    # Paired by place: (a, b), (b, c), (c, a) has one concordant and two discordant pairs.
    ("abc", "bca", 1.0, -1 / 3, -1 / 3),
    # Two of three shared, one more in the answer: 2 of 4 rows, in the right order.
    ("axb", "abc", 0.5, 1.0, 0.5),
    # One shared row has no order.
    ("ax", "ab", 1 / 3, None, 1 / 3),
    # No shared row.
    ("xy", "ab", 0.0, None, 0.0),
    # Duplicates: 2 of 3 rows shared, all equal, so without an order.
    ("aa", "aaa", 2 / 3, None, 2 / 3),
    # Ties: of 6 pairs, (a, b) (a, a) (b, a) (b, b) has 1 tie in each and no surplus of concordant pairs.
    ("aabb", "abab", 1.0, 0.0, 0.0),
    # The first two of three equal rows are the shared ones, so `a a b` meets `a b a`: 1 tie each, 1 : 1 pairs of 2.
    ("aaba", "aba", 0.75, -0.5, -0.375),
    # Paired by place: (a, a) twice, which are tied in both, then (b, c), (c, b): 4 concordant, 1 discordant of 5.
    ("aabc", "aacb", 1.0, 0.6, 0.6),
    # Both empty, and one of them.
    ("", "", 1.0, None, 1.0),
    ("", "a", 0.0, None, 0.0),
    ("a", "", 0.0, None, 0.0),
]


def test_rewards_computed_by_hand(subtests):
    for answer, gold, overlap, order, value in BY_HAND:
        with subtests.test(case=answer):
            found = reward(answer=result(*answer), gold=result(*gold))
            assert found.overlap == pytest.approx(overlap, abs=1e-15)
            assert found.order == (None if order is None else pytest.approx(order, abs=1e-15))
            assert found.value == pytest.approx(value, abs=1e-15)
            assert found.is_success == (answer == gold)
            assert found.is_success_unordered == (sorted(answer) == sorted(gold))


def test_failures_have_no_reward_even_against_failures():
    for answer, gold in ((FAILURE, result()), (result(), FAILURE), (FAILURE, FAILURE)):
        assert reward(answer=answer, gold=gold) == FAILED


def test_a_result_that_was_cut_off_is_no_success():
    found = reward(answer=result("a", is_cut=True), gold=result("a"))
    assert (found.value, found.is_success, found.is_success_unordered) == (1.0, False, False)


def test_one_wrong_row_of_many_is_no_success():
    """The released code rounds 0.9975 to 1."""
    rows = [f"{number:03}" for number in range(400)]
    found = reward(answer=result(*rows[:-1]), gold=result(*rows))
    assert found.value == pytest.approx(0.9975)
    assert not found.is_success_unordered


@pytest.mark.parametrize(
    ("row", "other", "is_same"),
    [
        ((0.1 + 0.2,), (0.3,), True),
        ((1.0,), (1,), False),
        (("1",), (1,), False),
        ((None,), ("None",), False),
        ((-0.0,), (0.0,), True),
        ((1e15,), (1e15 + 1,), True),
        ((1, 2), (12,), False),
        (("a', 'b",), ("a", "b"), False),
    ],
)
def test_rows_are_equal_by_their_text(row, other, is_same):
    assert (row_text(row) == row_text(other)) is is_same


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), max_size=9))
def test_tau_counts_all_pairs(pairs):
    """Against the definition, pair by pair."""
    surplus = untied = other_untied = 0
    for place, (first, second) in enumerate(pairs):
        for other_first, other_second in pairs[:place]:
            one = (first > other_first) - (first < other_first)
            two = (second > other_second) - (second < other_second)
            surplus, untied, other_untied = surplus + one * two, untied + abs(one), other_untied + abs(two)
    expected = None if not untied or not other_untied else surplus / (untied * other_untied) ** 0.5
    found = kendall_tau([first for first, _ in pairs], [second for _, second in pairs])
    assert found == (None if expected is None else pytest.approx(expected))
