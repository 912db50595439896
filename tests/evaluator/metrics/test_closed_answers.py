"""When a closed answer is right."""

import pytest

from evaluator.metrics.closed_answers import is_right


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("Red  Star", "red star"),
        (" red star.\n", "red star"),
        ("the red star", "a red star"),
        ("Ein roter Stern", "roter Stern"),
        ("GRÜN", "grün"),
        ("gru\u0308n", "grün"),
        ("positive!", "POSITIVE"),
        ("", ""),
    ],
)
def test_case_punctuation_white_space_and_articles_do_not_matter(answer, reference):
    assert is_right(answer=answer, reference=reference)
    assert is_right(answer=reference, reference=answer)


@pytest.mark.parametrize(
    ("answer", "reference"),
    [("blue star", "red star"), ("red star", "roter Stern"), ("star red", "red star"), ("red", "red star"),
     ("", "red"), ("the", "a"), ("grun", "grün")],
)  # fmt: skip
def test_other_words_another_order_or_another_language_do(answer, reference):
    assert not is_right(answer=answer, reference=reference)
