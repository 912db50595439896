"""Maps levelled within the regions of their picture."""

import numpy as np

HALVES = np.zeros((64, 64, 3), dtype=np.uint8)
HALVES[:, 32:] = (220, 40, 40)


def test_a_soft_step_becomes_one_at_the_edge_of_the_picture():
    from evaluator.pictures.levelling import levelled

    across = np.arange(64, dtype=np.float32)
    soft = np.tile(1 / (1 + np.exp(-(across - 29) / 3)), (64, 1)).astype(np.float32)
    found = levelled(soft, pixels=HALVES, scale=10)
    steps = np.flatnonzero(np.abs(np.diff(found[0])) > 0.01)
    assert steps.tolist() == [31]
    assert np.flatnonzero(np.abs(np.diff(soft[0])) > 0.01).size > 10
    assert found.dtype == np.float32
    assert found[0, 0] < 0.2 < 0.8 < found[0, -1]


def test_an_even_picture_has_one_level():
    from evaluator.pictures.levelling import levelled

    values = np.random.default_rng(0).random((32, 48), dtype=np.float32)
    found = levelled(values, pixels=np.full((32, 48, 3), 90, dtype=np.uint8), scale=10)
    assert found.shape == (32, 48)
    assert np.unique(found).tolist() == [np.float32(np.median(values))]
