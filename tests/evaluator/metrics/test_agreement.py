"""Krippendorff's alpha has the published values, and the properties that define it."""

import pytest

from evaluator.metrics.agreement import krippendorff_alpha

_ = None
# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example D: four observers, twelve units, gaps.
OBSERVERS = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3),
    (_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _),
)
UNITS = list(zip(*OBSERVERS, strict=True))


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_the_published_example(level, alpha):
    assert krippendorff_alpha(UNITS, level=level) == pytest.approx(alpha, abs=5e-4)


def test_perfect_agreement_is_1_and_systematic_disagreement_negative():
    assert krippendorff_alpha([(1, 1, 1), (9, 9, 9)], level="ordinal") == 1
    assert krippendorff_alpha([(1, 9), (9, 1), (1, 9)], level="interval") < 0


@pytest.mark.parametrize("votes", [[], [(1,), (2,)], [(None, 3), (4, None)], [(7, 7), (7, 7)]])
def test_it_is_not_defined_without_pairs_or_without_differences(votes):
    assert krippendorff_alpha(votes, level="ordinal") is None
