"""What is right to say about the texts of the world."""

import pytest

from evaluator.world import annotations


@pytest.mark.parametrize(
    ("words", "tags", "names"),
    [
        (("red", "star"), ("red star",), ()),
        (("star", "red"), ("star",), ()),
        (("blue", "cake", "anna"), ("cake",), ("Anna",)),
        (("friday", "42", "mill"), ("mill",), ("Friday",)),
        (("sharp",), (), ()),
    ],
)
def test_words_of_a_sign(words, tags, names):
    said = annotations.of_words(words)
    assert (said.text, said.tags, said.names) == (" ".join(words), tags, names)
