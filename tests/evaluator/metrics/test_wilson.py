"""The Wilson interval has the published values, and behaves at the ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics.statistics import wilson


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    [
        # Newcombe, Two-sided confidence intervals for the single proportion, Statistics in Medicine 17 (1998), Table I,
        # method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_published_intervals(successes, total, low, high):
    found = wilson(successes=successes, total=total)
    assert (found.low, found.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))
    assert found.mean == successes / total
    assert found.count == total


@given(st.integers(10, 400).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_the_interval_holds_the_share_within_0_and_1_and_mirrors(drawn):
    successes, total = drawn
    found = wilson(successes=successes, total=total)
    assert 0.0 <= found.low <= found.mean <= found.high <= 1.0
    mirrored = wilson(successes=total - successes, total=total)
    assert found.low == pytest.approx(1 - mirrored.high)


def test_more_trials_are_narrower():
    widths = [found.high - found.low for n in (10, 100, 1000) if (found := wilson(successes=n // 2, total=n))]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize(("successes", "total"), [(0, 0), (-1, 5), (6, 5)])
def test_what_is_no_share_is_refused(successes, total):
    with pytest.raises(ValueError, match="are no share"):
        wilson(successes=successes, total=total)
