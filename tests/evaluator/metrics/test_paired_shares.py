"""The interval of a difference of paired shares covers what it should, also where all pairs agree."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics.statistics import paired_shares


def test_ten_differences_of_one_by_hand():
    # With one pair added to each kind: (11 - 1) / 12, give or take 1.96 sqrt((1 - (10 / 12)^2) / 12).
    found = paired_shares([1.0] * 10)
    assert (found.mean, found.count, found.high) == (1.0, 10, 1.0)
    assert found.low == pytest.approx(0.8333 - 0.3127, abs=1e-3)


@pytest.mark.parametrize(("more", "less"), [(0.3, 0.1), (0.2, 0.2), (0.6, 0.0), (0.05, 0.05), (0.9, 0.02)])
def test_it_covers_the_difference_in_about_95_of_100_samples(more, less):
    total, covered = 30, 0.0
    for first in range(total + 1):
        for second in range(total + 1 - first):
            rest = total - first - second
            chance = comb(total, first) * comb(total - first, second) * more**first * less**second
            chance *= (1 - more - less) ** rest
            found = paired_shares([1] * first + [-1] * second + [0] * rest)
            covered += chance * (found.low <= more - less <= found.high)
    assert 0.93 < covered <= 1.0


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=10, max_size=60))
def test_the_other_direction_mirrors_it_and_it_always_has_a_width(values):
    found, mirrored = paired_shares(values), paired_shares([-value for value in values])
    assert (found.low, found.high) == (pytest.approx(-mirrored.high), pytest.approx(-mirrored.low))
    assert -1 <= found.low < found.high <= 1


@pytest.mark.parametrize("values", [[], [0.5], [1.0, 2.0]])
def test_what_is_no_difference_of_shares_is_refused(values):
    with pytest.raises(ValueError, match="each must be -1, 0 or 1"):
        paired_shares(values)
