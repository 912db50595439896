"""German is checked against expectations written by hand, in every gender and case that occurs."""

import numpy as np
import pytest

from evaluator.world.grammar import (
    MASK,
    caption,
    draw_document,
    draw_document_question,
    label_of,
    mask_word,
    object_names,
)
from evaluator.world.grammar.german import Adjective, Article, Case, Gender, Noun, noun_phrase
from evaluator.world.grammar.labels import thing_phrase
from evaluator.world.grammar.words import BELONGINGS, OPINIONS, PEOPLE, PLACES
from evaluator.world.scenes import Scene, SceneObject, draw_scene
from evaluator.world.seeds import Split
from evaluator.world.vocabulary import Background, Colour, Shape


def thing(colour, shape, x=32.0, y=32.0):
    return SceneObject(shape=shape, colour=colour, x=x, y=y, radius=5, angle=0, shade=1, phase=(0, 0))


def scene_of(*things, background=Background.GRASS):
    return Scene(background=background, background_phase=(0, 0), background_shade=(1, 1), things=things)


def scenes(count=200):
    return [draw_scene(split=Split.VALIDATION, index=index) for index in range(count)]


def documents(count=200):
    return [draw_document(np.random.default_rng(index)) for index in range(count)]


LABELS = [
    (Colour.RED, Shape.STAR, "roter Stern"),
    (Colour.BLUE, Shape.CIRCLE, "blauer Kreis"),
    (Colour.GREEN, Shape.RING, "grüner Ring"),
    (Colour.YELLOW, Shape.SQUARE, "gelbes Quadrat"),
    (Colour.PURPLE, Shape.TRIANGLE, "violettes Dreieck"),
    (Colour.ORANGE, Shape.HEXAGON, "orangefarbenes Sechseck"),
    (Colour.TURQUOISE, Shape.CROSS, "türkisfarbenes Kreuz"),
    (Colour.PINK, Shape.HEART, "rosa Herz"),
    (Colour.PINK, Shape.STAR, "rosa Stern"),
]


def test_labels_agree_in_gender(subtests):
    for colour, shape, german in LABELS:
        with subtests.test(case=colour):
            assert label_of(colour=colour, shape=shape).german == german
            assert label_of(colour=colour, shape=shape).english == f"{colour} {shape}"


@pytest.mark.parametrize(
    ("colour", "shape", "german"),
    [
        (Colour.BLUE, Shape.RING, "einem blauen Ring"),
        (Colour.RED, Shape.HEART, "einem roten Herzen"),
        (Colour.PINK, Shape.CROSS, "einem rosa Kreuz"),
        (Colour.ORANGE, Shape.STAR, "einem orangefarbenen Stern"),
        (Colour.GREEN, Shape.SQUARE, "einem grünen Quadrat"),
    ],
)
def test_prepositions_take_the_dative(colour, shape, german):
    assert thing_phrase(thing(colour, shape), case=Case.DATIVE).german == german


ENDINGS = [
    (Article.INDEFINITE, Case.NOMINATIVE, ("ein alter Tisch", "eine alte Uhr", "ein altes Buch")),
    (Article.INDEFINITE, Case.ACCUSATIVE, ("einen alten Tisch", "eine alte Uhr", "ein altes Buch")),
    (Article.INDEFINITE, Case.DATIVE, ("einem alten Tisch", "einer alten Uhr", "einem alten Buch")),
    (Article.DEFINITE, Case.NOMINATIVE, ("der alte Tisch", "die alte Uhr", "das alte Buch")),
    (Article.DEFINITE, Case.ACCUSATIVE, ("den alten Tisch", "die alte Uhr", "das alte Buch")),
    (Article.DEFINITE, Case.DATIVE, ("dem alten Tisch", "der alten Uhr", "dem alten Buch")),
    (Article.NONE, Case.NOMINATIVE, ("alter Tisch", "alte Uhr", "altes Buch")),
    (Article.NONE, Case.ACCUSATIVE, ("alten Tisch", "alte Uhr", "altes Buch")),
    (Article.NONE, Case.DATIVE, ("altem Tisch", "alter Uhr", "altem Buch")),
]


def test_endings_follow_article_gender_and_case(subtests):
    for article, case, forms in ENDINGS:
        with subtests.test(case=article):
            nouns = (
                Noun("table", "Tisch", Gender.MASCULINE),
                Noun("watch", "Uhr", Gender.FEMININE),
                Noun("book", "Buch", Gender.NEUTER),
            )
            old = Adjective("old", "alt")
            assert tuple(noun_phrase(noun=n, case=case, article=article, adjective=old) for n in nouns) == forms


@pytest.mark.parametrize(
    ("scene", "english", "german"),
    [
        (
            scene_of(thing(Colour.RED, Shape.STAR, x=20), thing(Colour.BLUE, Shape.RING, x=50)),
            "A red star is to the left of a blue ring on a green background.",
            "Ein roter Stern ist links von einem blauen Ring auf grünem Hintergrund.",
        ),
        (
            scene_of(
                thing(Colour.ORANGE, Shape.HEART, y=50), thing(Colour.PINK, Shape.HEART, y=10),
                background=Background.NIGHT,
            ),
            "An orange heart is below a pink heart on a dark blue background.",
            "Ein orangefarbenes Herz ist unter einem rosa Herzen auf dunkelblauem Hintergrund.",
        ),
    ],
)  # fmt: skip
def test_captions_in_both_languages(scene, english, german):
    assert caption(scene).english == english
    assert caption(scene).german == german


def test_object_lists_begin_with_the_main_object_and_go_from_left_to_right():
    main, right, left = (
        thing(Colour.RED, Shape.STAR, x=32), thing(Colour.BLUE, Shape.RING, x=60), thing(Colour.PINK, Shape.CROSS, x=5)
    )  # fmt: skip
    names = object_names(scene_of(main, right, left))
    assert names.english == "red star, pink cross, blue ring"
    assert names.german == "roter Stern, rosa Kreuz, blauer Ring"


def test_every_answer_is_a_span_of_its_document():
    for index, document in enumerate(documents()):
        question = draw_document_question(document=document, rng=np.random.default_rng(index)).question
        assert question.answer.english in document.text.english


def test_what_is_masked_has_a_partner_that_belongs_to_nothing_else():
    things = [*BELONGINGS, *(place.thing for place in PLACES)]
    for field in ("adjective", "noun"):
        words = [getattr(thing, field).english for thing in things]
        assert len(set(words)) == len(words)
    for field in ("name", "trade"):
        assert len({getattr(person, field) for person in PEOPLE}) == len(PEOPLE)


def test_noun_and_adverb_together_determine_the_opinion_but_neither_alone_the_sentiment():
    keys = {(o.noun.english, o.adverb(positive=p).english) for o in OPINIONS for p in (True, False)}
    assert len(keys) == 2 * len(OPINIONS)
    by_adverb = {(o.adverb(positive=p).english, p) for o in OPINIONS for p in (True, False)}
    assert len(by_adverb) == 4


def test_masking_replaces_one_whole_word():
    masked = mask_word(text="The shirt is a clean shirt.", recoverable=("shirt",), rng=np.random.default_rng(0))
    assert masked == f"The {MASK} is a clean shirt."
    with pytest.raises(ValueError, match="recoverable"):
        mask_word(text="Nothing.", recoverable=("shirt",), rng=np.random.default_rng(0))
