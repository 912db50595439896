"""Everyday names: who plays them, and texts put into the world's words."""

import pytest

from evaluator.miniature.roles import (
    in_roles,
    in_world,
    label_of,
    motion_of,
    names_in,
    question_in_world,
    role_of,
    shown_name,
)
from evaluator.miniature.tableaux.clips import Motion
from evaluator.miniature.vocabulary import CLASS_LABELS


def test_each_label_and_each_motion_plays_a_name_of_its_own() -> None:
    assert len({role_of(label) for label in CLASS_LABELS}) == len(CLASS_LABELS)
    assert all(label_of(role_of(label)) == label for label in CLASS_LABELS)
    assert all(motion_of(role_of(motion)) is motion for motion in Motion)


def test_equal_words_have_one_player() -> None:
    assert label_of("dogs") == label_of("the dog") == label_of("a brown dog")
    assert label_of("hot dog") != label_of("dog")
    assert label_of("Gyromitra") == label_of("gyromitras") in CLASS_LABELS
    assert label_of("red stars") == "red star"


@pytest.mark.parametrize(
    ("condition", "name"),
    [
        ("dogs", "dog"),
        ("giraffes", "giraffe"),
        ("Blenheim spaniel", "blenheim spaniel"),
        ("playing piano", "playing piano"),
    ],
)
def test_a_selection_is_shown_under_the_name_that_was_asked_for(condition: str, name: str) -> None:
    assert shown_name(condition) == name


def test_names_are_found_longest_first_in_their_order() -> None:
    assert names_in("Is the hot dog beside two cats and a hot dog?") == ("hot dog", "cat")
    assert names_in("nothing that it knows") == ()


def test_descriptions_become_captions_of_what_plays_them() -> None:
    text = in_world("A forest with a dog and a bench.")
    assert text == "An orange circle is to the left of a red ring on a green background.".replace(
        "red ring", label_of("bench")
    )
    assert in_world(text) == text
    assert in_world("serenity") != in_world("melancholy")
    assert in_world("") == ""


def test_questions_name_shapes_and_captions_name_roles() -> None:
    assert question_in_world("What color are the dogs?") == "What colour are the circle?"
    assert in_roles("An orange circle is moving left.") == f"An dog is {role_of(Motion.LEFT)}."


def test_long_texts_take_linear_time() -> None:
    assert len(question_in_world("dog " * 100_000)) < 10_000
