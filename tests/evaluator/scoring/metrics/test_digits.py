"""Digits of means that their intervals allow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.scoring.metrics.digits import rounded


@pytest.mark.parametrize(
    ("mean", "low", "high", "text"),
    [
        (0.8712, 0.8412, 0.9012, "0.87 ± 0.03"),
        (0.8712, 0.8592, 0.8832, "0.871 ± 0.012"),
        (0.8712, 0.6212, 1.1212, "0.87 ± 0.25"),
        (0.8712, 0.8112, 0.9012, "0.87 (0.81 to 0.90)"),
        (1.0, 0.904, 1.0, "1.00 (0.90 to 1.00)"),
        (0.0, 0.0, 0.02, "0.00 (0.00 to 0.02)"),
        (0.5, 0.5, 0.5, "0.500 ± 0.001"),
        (0.87124, 0.87104, 0.87144, "0.871 ± 0.001"),
        (0.8712, None, None, "0.871"),
        (3.44, 2.24, 4.64, "3.4 ± 1.2"),
        (153.2, 107.9, 198.5, "153 ± 45"),
        (1532.4, 1302.4, 1762.4, "1532 ± 230"),
        (-0.0004, -0.0304, 0.0296, "0.00 ± 0.03"),
    ],
)
def test_a_mean_has_the_digits_that_its_interval_allows(mean, low, high, text):
    assert str(rounded({"mean": mean, "low": low, "high": high})) == text


def test_undecided_tasks_make_one_interval_in_words():
    value = {"mean": 0.4, "low": 0.35, "high": 0.55, "undecided": 0.1, "upper": 0.5}
    assert str(rounded(value)) == "0.40 (0.35 to 0.55), up to 0.50 if the undecided are right"
    assert str(rounded({**value, "low": None, "high": None})) == "0.400, up to 0.500 if the undecided are right"
    assert rounded({**value, "upper": 0.4001}).note == "", "less than the last digit"


@given(
    mean=st.floats(0, 1),
    below=st.floats(0, 0.5),
    above=st.floats(0, 0.5),
)
def test_rounding_moves_the_mean_and_the_ends_by_less_than_half_of_the_half_width(mean, below, above):
    text = rounded({"mean": mean, "low": mean - below, "high": mean + above})
    half = max(below, above, 0.001)
    assert abs(float(text.mean) - mean) <= max(half / 2, 0.00051)
    ends = text.ends or (float(text.mean) - float(text.margin), float(text.mean) + float(text.margin))
    for shown, exact in zip(ends, (mean - below, mean + above), strict=True):
        assert abs(float(shown) - exact) <= max(half, 0.0021)
