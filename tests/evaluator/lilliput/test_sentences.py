import numpy as np

from evaluator.lilliput.scenes import draw_scene
from evaluator.lilliput.seeds import Split
from evaluator.lilliput.sentences import (
    english_caption,
    german_caption,
    german_noun_phrase,
    say_something,
    word_pieces,
)
from evaluator.lilliput.vocabulary import GERMAN


def scene(index: int = 0):
    return draw_scene(split=Split.VALIDATION, index=index)


def test_captions_name_the_main_object_in_both_languages():
    for index in range(20):
        main = scene(index).main
        assert main.name in english_caption(scene(index))
        assert german_noun_phrase(main) in german_caption(scene(index))


def test_german_adjectives_agree_with_their_nouns():
    phrases = {german_noun_phrase(thing) for index in range(200) for thing in scene(index).things}
    assert {"ein roter Stern", "ein rotes Herz", "ein grüner Ring", "ein rosa Kreis"} <= phrases
    assert {"ein oranger Stern", "ein oranges Kreuz"} <= phrases


def test_the_same_stream_says_the_same():
    assert say_something(scene=scene(), rng=np.random.default_rng(3)) == say_something(
        scene=scene(), rng=np.random.default_rng(3)
    )


def test_the_vocabulary_has_whole_words_and_letters_once_each():
    pieces = word_pieces([english_caption(scene()), GERMAN[scene().main.colour]])
    assert len(set(pieces)) == len(pieces)
    assert pieces[0] == "[PAD]"
    assert scene().main.shape in pieces
    assert {"q", "##q"} <= set(pieces)
