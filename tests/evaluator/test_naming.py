"""Whether a condition in words means a thing."""

import pytest

from evaluator.naming import is_named, words_of


@pytest.mark.parametrize(
    ("name", "condition", "is_meant"),
    [
        ("red star", "red star", True),
        ("red star", "the red stars", True),
        ("red star", "star", True),
        ("red star", "Red", True),
        ("red star", "red things", True),
        ("red star", "all objects", True),
        ("red star", "blue star", False),
        ("red star", "red ring", False),
        ("star", "red star", False),
        ("red star", "", False),
        ("red star", "the", False),
        ("purple cross", "crosses", True),
        ("purple cross", "cros", False),
        ("red star", "red star ring", False),
    ],
)
def test_a_condition_means_a_thing_with_all_of_its_words(name: str, condition: str, is_meant: bool) -> None:
    assert is_named(name, condition=condition) is is_meant


def test_plurals_of_all_shapes_mean_the_shape() -> None:
    for one, several in (("cross", "crosses"), ("hexagon", "hexagons"), ("heart", "hearts"), ("box", "boxes")):
        assert words_of(one) == words_of(several)
