"""How much two outputs of an expert differ."""

import random
from difflib import SequenceMatcher

import numpy as np
import pytest
from PIL import Image

from evaluator.core.values import Box, Boxes, Label, Labels, Mask, Masks
from evaluator.execution.experts.differences import difference


def test_differences_of_values_are_shares():
    black, white = (Image.new("RGB", (4, 4), level) for level in ("black", "white"))
    mask, none = np.ones((2, 2), dtype=np.bool_), np.zeros((2, 2), dtype=np.bool_)
    boxes = [Boxes((10, 20), (Box("cat", 0, 0, right, 9, score),)) for right, score in ((4, 0.9), (6, 0.8))]
    for first, second, share in (
        (black, white, 1.0),
        (black, black.resize((5, 5)), 1.0),
        (black, Image.new("RGB", (4, 4), (0, 0, 51)), 1 / 15),
        ("abcd", "abxd", 0.25),
        ("", "", 0.0),
        (Labels((Label("cat", 0.9),)), Labels((Label("cat", 0.8),)), 0.0),
        (boxes[0], boxes[1], 0.1),
        (boxes[0], Boxes((10, 20), ()), 1.0),
        (Masks((2, 2), (Mask("a", mask),)), Masks((2, 2), (Mask("a", none),)), 1.0),
        (Masks((2, 2), ()), Masks((2, 2), ()), 0.0),
        ("abc", black, 1.0),
    ):
        assert difference(first, second) == pytest.approx(share)


@pytest.mark.parametrize(
    ("first", "second", "share"),
    [
        ("", "", 0.0),
        ("", "abc", 1.0),
        ("abc", "cab", 1 / 3),
        ("a cat on a mat", "a cat on the mat", 1 - 2 * 13 / 30),
        ("a" * 20_000, "a" * 19_999 + "b", 1 / 20_000),
        ("a" * 20_001, "a" * 20_000 + "b", 1.0),
        ("a" * 30_000, "a" * 30_000, 0.0),
    ],
)
def test_texts_differ_by_the_letters_outside_the_longest_common_subsequence(first, second, share):
    assert difference(first, second) == pytest.approx(share)
    assert difference(second, first) == pytest.approx(share)


def test_a_subsequence_is_at_least_as_long_as_the_common_blocks():
    rng = random.Random(5)
    for _ in range(200):
        first, second = ("".join(rng.choices("abc ", k=rng.randrange(1, 30))) for _ in range(2))
        blocks = 1 - SequenceMatcher(None, first, second, autojunk=False).ratio()
        assert 0 <= difference(first, second) <= blocks + 1e-9
