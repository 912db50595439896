from collections import Counter

import pytest

from evaluator.core.suites.registry import suite_of
from evaluator.openagi.training.splits import draw_split, modality

SUITE = suite_of("openagi")


def modalities(keys):
    return Counter(modality(SUITE.task(key)) for key in keys)


def test_a_tenth_of_every_modality_is_for_training_and_another_for_each_test():
    split = draw_split(suite=SUITE, seed=0)
    expected = {
        (("image",), "image"): 2,
        (("image",), "text"): 9,
        (("text",), "image"): 1,
        (("text",), "text"): 1,
        (("image", "text"), "text"): 6,
        (("text", "text"), "text"): 1,
    }
    assert modalities(split.train) == expected
    assert [modalities(test) for test in split.tests] == [expected] * 5


@pytest.mark.parametrize("seed", range(20))
def test_training_and_test_never_overlap(seed):
    split = draw_split(suite=SUITE, seed=seed, draws=8)
    assert not set(split.train) & split.held_out
    assert all(len(set(test)) == len(test) == len(split.train) for test in split.tests)


def test_a_seed_always_draws_the_same_and_more_draws_change_none_of_the_others():
    few, many = draw_split(suite=SUITE, seed=3, draws=2), draw_split(suite=SUITE, seed=3, draws=6)
    assert few.train == many.train
    assert few.tests == many.tests[:2]
    assert len({draw_split(suite=SUITE, seed=seed).train for seed in range(10)}) == 10
