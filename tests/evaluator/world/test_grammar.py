"""Texts of the world: answers, masked words and opinions can be told from what is written."""

import numpy as np
import pytest

from evaluator.world.grammar import (
    MASK,
    draw_document,
    draw_document_question,
    mask_word,
)
from evaluator.world.grammar.words import BELONGINGS, OPINIONS, PEOPLE, PLACES


def documents(count=200):
    return [draw_document(np.random.default_rng(index)) for index in range(count)]


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
