import numpy as np
import pytest

from evaluator.world.rendering import render
from evaluator.world.scenes import draw_scene
from evaluator.world.seeds import Split, generator
from evaluator.world.vocabulary import COLOURS, Shape


def scenes(count: int = 60):
    return [draw_scene(split=Split.VALIDATION, index=index) for index in range(count)]


def test_splits_share_no_scenes():
    drawn = {
        (split, index): draw_scene(split=split, index=index, hidden_seed="a secret" if split is Split.HIDDEN else None)
        for split in Split
        for index in range(50)
    }
    assert len(set(drawn.values())) == len(drawn)


def test_the_hidden_split_depends_on_its_secret_and_needs_one():
    one = draw_scene(split=Split.HIDDEN, index=0, hidden_seed="one")
    other = draw_scene(split=Split.HIDDEN, index=0, hidden_seed="other")
    assert one != other
    for secret in (None, ""):
        with pytest.raises(ValueError, match="needs its secret"):
            draw_scene(split=Split.HIDDEN, index=0, hidden_seed=secret)


def test_an_open_split_refuses_a_secret():
    with pytest.raises(ValueError, match="open split"):
        draw_scene(split=Split.PUBLIC, index=0, hidden_seed="secret")


def test_a_crafted_secret_cannot_reach_another_stream():
    """Secret, number and purpose in a row are the same text."""
    plain = generator(split=Split.HIDDEN, index=11, purpose="noise", hidden_seed="a").random()
    for secret, index, purpose in (("a1", 1, "noise"), ("a", 1, "1noise")):
        assert generator(split=Split.HIDDEN, index=index, purpose=purpose, hidden_seed=secret).random() != plain


def test_a_negative_index_is_refused():
    with pytest.raises(ValueError, match="starts at 0"):
        draw_scene(split=Split.TRAIN, index=-1)


def test_the_picture_shows_the_colour_of_the_main_object():
    for scene in scenes(20):
        main = scene.main
        if main.shape is Shape.RING:
            continue
        x, y = round(main.x), round(main.y)
        patch = render(scene)[y - 4 : y + 5, x - 4 : x + 5].reshape(-1, 3).astype(float).mean(axis=0)
        hue = patch / np.linalg.norm(patch)
        expected = np.asarray(COLOURS[main.colour].rgb) / np.linalg.norm(COLOURS[main.colour].rgb)
        assert hue @ expected > 0.99
