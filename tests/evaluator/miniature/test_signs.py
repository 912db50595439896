"""Signs: their letters, words, places and colours."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.miniature import annotations, signs
from evaluator.miniature.scenes import SIZE
from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.signs import LONGEST_WORD, draw_sign, is_kept_from_training, paint_sign, sign_of

words_of_signs = st.lists(st.text(signs.CHARACTERS, min_size=1, max_size=LONGEST_WORD), min_size=1, max_size=3)


def test_every_character_looks_different():
    drawn = {signs.points_of(character).tobytes() for character in signs.CHARACTERS}
    assert len(drawn) == len(signs.CHARACTERS) == 36
    assert all(signs.points_of(character).shape == (7, 5) for character in signs.CHARACTERS)


def test_a_character_without_a_drawing_is_refused_with_those_there_are():
    for character in ("A", "ä", "", "ab"):
        with pytest.raises(LookupError, match="there are: abc"):
            signs.points_of(character)


@given(words=words_of_signs, seed=st.integers(0, 2**32))
def test_words_lie_inside_the_picture_and_below_one_another(words, seed):
    sign = sign_of(words=words, rng=np.random.default_rng(seed))
    assert sign.words == tuple(words)
    below = 0.0
    for line in sign.lines:
        left, top, right, bottom = line.box
        assert left >= 0
        assert right <= SIZE
        assert below <= top < bottom <= SIZE
        below = bottom


@given(words=words_of_signs, seed=st.integers(0, 2**32))
def test_ink_is_told_from_what_it_is_written_on(words, seed):
    sign = sign_of(words=words, rng=np.random.default_rng(seed))
    without = paint_sign(sign_of(words=words, rng=np.random.default_rng(seed))).astype(int)
    assert np.array_equal(without, paint_sign(sign))
    left, top, right, bottom = sign.lines[0].box
    inside = without[int(top) : int(bottom) + 1, int(left) : int(right) + 1] @ np.array([0.299, 0.587, 0.114])
    assert np.ptp(inside) > 40


def test_signs_of_training_show_no_word_that_is_kept_from_it():
    words = {word for index in range(400) for word in draw_sign(split=Split.TRAIN, index=index).words}
    assert not any(map(is_kept_from_training, words))
    others = [word for index in range(400) for word in draw_sign(split=Split.PUBLIC, index=index).words]
    assert 0.1 < np.mean([is_kept_from_training(word) for word in others]) < 0.4


def test_a_sign_is_always_the_same_and_hidden_signs_depend_on_their_secret():
    assert draw_sign(split=Split.PUBLIC, index=3) == draw_sign(split=Split.PUBLIC, index=3)
    hidden = [draw_sign(split=Split.HIDDEN, index=3, hidden_seed=secret) for secret in ("one", "two")]
    assert hidden[0] != hidden[1]
    with pytest.raises(ValueError, match="secret"):
        draw_sign(split=Split.HIDDEN, index=3)


@pytest.mark.parametrize("words", [(), ("a", "b", "c", "d"), ("turquoise",), ("",)])
def test_too_many_or_too_long_words_are_refused(words):
    with pytest.raises(ValueError, match="one to 3 words of up to 8 characters"):
        sign_of(words=words, rng=generator(split=Split.TRAIN, index=0, purpose="sign"))


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
