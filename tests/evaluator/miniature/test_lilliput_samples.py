import numpy as np
import pytest

from evaluator.miniature.grammar.captions import MASK, mask_word
from evaluator.miniature.grammar.documents import draw_document, draw_document_question
from evaluator.miniature.grammar.words import BELONGINGS, OPINIONS, PEOPLE, PLACES
from evaluator.miniature.lilliput_samples import LilliputSamples
from tests.evaluator.miniature.factories import Task


def test_restoration_gives_the_degraded_and_the_clean_image():
    samples = LilliputSamples("public")
    task = Task(degradations=("low_resolution", "noise"))
    image, reference = samples.inputs(task=task, index=2)["image"], samples.reference(task=task, index=2)
    assert image.size == (16, 16)
    assert reference.size == (64, 64)


@pytest.mark.parametrize("base", ["summarization", "translation", "sentiment"])
def test_tasks_on_one_text_get_it_whole_or_with_one_word_masked(base):
    samples = LilliputSamples("public")
    whole = Task(base=base, language="de", resources=("text",))
    masked = Task(base=base, language="de", resources=("text",), clozed=("text",))
    for index in range(20):
        text, cloze = (samples.inputs(task=task, index=index)["text"] for task in (whole, masked))
        assert MASK not in text
        assert cloze.count(MASK) == 1
        before, after = cloze.split(MASK)
        assert text.startswith(before)
        assert text.endswith(after)
        assert samples.reference(task=whole, index=index) == samples.reference(task=masked, index=index)


@pytest.mark.parametrize("clozed", [(), ("query",), ("document",), ("document", "query")])
def test_question_answering_masks_exactly_the_inputs_that_are_clozed(clozed):
    task = Task(base="qa", language="en", resources=("document", "query"), clozed=clozed)
    samples = LilliputSamples("public")
    for index in range(20):
        inputs = samples.inputs(task=task, index=index)
        assert {name for name, text in inputs.items() if MASK in text} == set(clozed)
        if "document" not in clozed:
            assert samples.reference(task=task, index=index) in inputs["document"]


def test_splits_tell_different_stories():
    task = Task(base="qa", language="en", resources=("document", "query"))
    sources = [LilliputSamples(split) for split in ("train", "validation", "public")]
    sources += [LilliputSamples("hidden", hidden_seed=seed) for seed in ("one", "two")]
    stories = {samples.inputs(task=task, index=0)["document"] for samples in sources}
    assert len(stories) == len(sources)


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (Task(base="speech_recognition", language="en"), "speech_recognition"),
        (Task(base="segmentation", language="de"), "segmentation"),
    ],
)
def test_tasks_without_data_say_so(task, words):
    samples = LilliputSamples("public")
    assert words in samples.missing(task=task)
    with pytest.raises(LookupError):
        samples.inputs(task=task, index=0)
    with pytest.raises(LookupError):
        samples.reference(task=task, index=0)


def test_the_digest_tells_splits_apart_but_not_secrets():
    digests = {LilliputSamples(split).digest for split in ("train", "validation", "public")}
    hidden = {LilliputSamples("hidden", hidden_seed=seed).digest for seed in ("one", "two")}
    assert len(digests) == 3
    assert len(hidden) == 1
    assert not digests & hidden


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
