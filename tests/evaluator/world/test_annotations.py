"""What is right to say about the texts of the world."""

from dataclasses import replace

import numpy as np
import pytest

from evaluator.world import annotations
from evaluator.world.grammar import draw_document, draw_review
from evaluator.world.scenes import draw_scene
from evaluator.world.seeds import Split
from evaluator.world.tableaux import Motion, draw_clip

SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_everything_said_about_a_story_stands_in_it(seed):
    document = draw_document(np.random.default_rng(seed))
    said = annotations.of_story(document)
    first, second = document.events
    assert said.names == (first.day.english, first.person.name, second.day.english, second.person.name)
    assert said.tags[::2] == (first.thing.noun.english, second.thing.noun.english)
    assert all(word in said.text for word in (*said.names, *said.tags, said.place))
    assert said.title.lower() in f"{first.thing.full_object.english} and {second.thing.full_object.english}"
    assert said.summary == document.summary.english
    assert not said.mood


@pytest.mark.parametrize("seed", SEEDS)
def test_a_review_has_a_mood_and_one_place(seed):
    review = draw_review(np.random.default_rng(seed))
    said = annotations.of_review(review)
    assert said.mood == ("positive" if review.positive else "negative")
    assert said.place in said.text
    assert said.names == (review.day.english,)
    assert said.title == f"The {review.judgement.english} {review.opinion.noun.english}"


def test_the_title_of_a_caption_leaves_verb_and_background_away():
    for index in range(60):
        scene = draw_scene(split=Split.VALIDATION, index=index)
        main, full = annotations.of_caption(scene), annotations.of_full_caption(scene)
        assert main.tags == (scene.main.name,)
        assert main.title.split(" ", 1)[1] == scene.main.name
        assert full.title.startswith(main.title)
        assert "background" not in full.title
        assert " is " not in full.title
        assert len(full.tags) == min(2, len(scene.things))


def test_a_clip_is_tagged_by_what_moves_and_how():
    clip = replace(draw_clip(split=Split.VALIDATION, index=0), motion=Motion.UP_LEFT)
    said = annotations.of_clip(clip)
    assert said.tags == (clip.mover.name, "rising to the left")
    assert said.title.endswith(f"{clip.mover.name} rising to the left")


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
