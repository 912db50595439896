import dataclasses
from collections import defaultdict

import pytest

from evaluator.execution.experts.profile import load_profile
from evaluator.execution.experts.weights import WeightsError
from evaluator.miniature.degradations import Degradation
from evaluator.scoring.metrics.scorers.encoders import EmbeddingCache
from evaluator.scoring.metrics.scorers.loading import load_scorer
from tests.evaluator.miniature.factories import clean_images, degraded_images


@pytest.fixture(scope="module")
def vit():
    return load_scorer(name="ViT", profile=load_profile("lilliput"))


@pytest.fixture(scope="module")
def bert():
    return load_scorer(name="BERT", profile=load_profile("lilliput"))


def test_what_is_equal_scores_one_and_empty_texts_by_definition(vit, bert):
    images, texts = clean_images(count=3), ["red star", "a blue ring on the grass", "ein grüner Kreis"]
    assert vit.score(outputs=images, references=images) == pytest.approx([1, 1, 1])
    assert bert.score(outputs=texts, references=texts) == pytest.approx([1, 1, 1], abs=1e-5)
    assert bert.score(outputs=["", " \n"], references=["", ""]) == [1.0, 1.0]
    assert bert.score(outputs=["", "  \n", "red star"], references=["red star", "red star", ""]) == [0.0, 0.0, 0.0]
    assert vit.score(outputs=[], references=[]) == bert.score(outputs=[], references=[]) == []


def test_a_score_does_not_depend_on_the_others(vit, bert):
    images, clean = degraded_images(Degradation.NOISE, count=5), clean_images(count=5)
    together = vit.score(outputs=images, references=clean)
    alone = [vit.score(outputs=[one], references=[other])[0] for one, other in zip(images, clean, strict=True)]
    assert alone == together
    texts, labels = ["red star", "a blue ring on the sand", "", " red star"], ["red ring", "blue ring", "x", "red star"]
    together = bert.score(outputs=texts, references=labels)
    assert [bert.score(outputs=[t], references=[label])[0] for t, label in zip(texts, labels, strict=True)] == together


def test_scores_are_symmetric(vit, bert):
    clean, noisy = clean_images(count=4), degraded_images(Degradation.NOISE, count=4)
    assert vit.score(outputs=clean, references=noisy) == vit.score(outputs=noisy, references=clean)
    some, others = ["red star", "a ring"], ["blue star on the sand", "a heart"]
    assert bert.score(outputs=some, references=others) == pytest.approx(bert.score(outputs=others, references=some))


def test_another_picture_scores_lower_than_a_spoilt_one_than_the_same(vit):
    clean, other = clean_images(count=6), clean_images(count=6, start=100)
    blurred = degraded_images(Degradation.BLUR, count=6)
    same, spoilt, different = (sum(vit.score(outputs=images, references=clean)) for images in (clean, blurred, other))
    assert same > spoilt > different


def test_a_closer_label_scores_higher(bert):
    right, shape, neither = bert.score(
        outputs=["red star", "blue star", "blue ring"], references=["red star", "red star", "red star"]
    )
    assert right > shape > neither


def test_pictures_that_point_in_opposite_directions_score_zero(vit, monkeypatch):
    import torch

    one, other = clean_images(count=2)
    opposite = torch.nn.functional.normalize(torch.ones(4, dtype=torch.float64), dim=0)
    monkeypatch.setattr(vit, "_cache", EmbeddingCache())
    monkeypatch.setattr(vit, "_embed", lambda images: [opposite * (-1) ** n for n in range(len(images))])
    assert vit.score(outputs=[one], references=[other]) == [0.0]


def test_a_reference_is_embedded_once_however_often_it_occurs():
    vit, embedded = load_scorer(name="ViT", profile=load_profile("lilliput")), []
    original = vit._embed
    vit._embed = lambda images: embedded.append(len(images)) or original(images)
    clean = clean_images(count=1)[0]
    first = vit.score(outputs=clean_images(count=5), references=[clean] * 5)
    assert embedded == [5]
    assert vit.score(outputs=clean_images(count=5), references=[clean] * 5) == first
    assert embedded == [5, 4]


def test_wrong_kinds_and_numbers_are_refused(vit, bert):
    image = clean_images(count=1)[0]
    with pytest.raises(TypeError, match="compares images"):
        vit.score(outputs=["red star"], references=[image])
    with pytest.raises(TypeError, match="compares texts"):
        bert.score(outputs=[image], references=["red star"])
    with pytest.raises(ValueError, match="2 outputs"):
        bert.score(outputs=["a", "b"], references=["a"])


def test_an_unknown_scorer_is_refused():
    with pytest.raises(LookupError, match="it has: ViT, BERT"):
        load_scorer(name="ROUGE", profile=load_profile("lilliput"))


def test_a_scorer_checks_its_weights():
    from types import MappingProxyType

    profile = load_profile("lilliput")
    wrong = dataclasses.replace(profile.scorers["ViT"], weights_digest="0" * 64)
    with pytest.raises(WeightsError):
        load_scorer(name="ViT", profile=dataclasses.replace(profile, scorers=MappingProxyType({"ViT": wrong})))


def test_bert_scores_are_those_of_the_package_to_the_last_bit(bert):
    from bert_score.utils import get_bert_embedding, greedy_cos_idf

    texts = ["red star", "???", "a blue ring on the grass", "x " * 400, "a"]
    model, tokenizer = bert._model, bert._tokenizer
    weights = defaultdict(lambda: 1.0, {tokenizer.cls_token_id: 0.0, tokenizer.sep_token_id: 0.0})

    def embedded(text):
        return get_bert_embedding([text], model, tokenizer, weights, device="cpu")

    pairs = [(output, reference) for output in texts for reference in texts if output != reference]
    expected = [greedy_cos_idf(*embedded(reference), *embedded(output))[2].item() for output, reference in pairs]
    outputs, references = ([pair[side] for pair in pairs] for side in (0, 1))
    assert bert.score(outputs=outputs, references=references) == expected


def test_bert_scores_in_batches_are_those_one_by_one_and_do_not_depend_on_the_others(bert):
    profile = load_profile("lilliput")
    scorers = {**profile.scorers, "BERT": dataclasses.replace(profile.scorers["BERT"], batch_size=2)}
    batched = load_scorer(name="BERT", profile=dataclasses.replace(profile, scorers=scorers))
    shapes = []
    original = batched._encoded
    batched._encoded = lambda rows, length: shapes.append((len(rows), length)) or original(rows, length)
    outputs = [
        "red star",
        "???",
        "a blue ring on the grass",
        "x " * 400,
        "",
        *(f"a ring {'near ' * n}" for n in range(9)),
    ]
    references = ["a green heart beside the water"] * len(outputs)
    scores = batched.score(outputs=outputs, references=references)
    assert scores == pytest.approx(bert.score(outputs=outputs, references=references), abs=1e-9)
    assert [batched.score(outputs=[one], references=references[:1])[0] for one in outputs] == scores
    assert all(rows * length <= 64 or rows == 1 for rows, length in shapes)
    assert len({length for _, length in shapes}) > 2


def test_images_of_different_sizes_can_be_compared(vit):
    clean = clean_images(count=2)
    (half, double) = vit.score(outputs=[clean[0].resize((32, 32)), clean[1].resize((128, 128))], references=clean)
    assert half < 1
    assert double > 0.9


def upper(digests):
    return [digest.upper() for digest in digests]


def test_what_is_kept_is_not_computed_again():
    kept, asked = EmbeddingCache(), []
    for _ in range(2):
        found = kept.all_of(digests="abc", references="ab", compute=lambda new: asked.append(new) or upper(new))
        assert found == {"a": "A", "b": "B", "c": "C"}
    assert asked == [["a", "b", "c"], ["c"]]


def test_only_references_are_kept():
    kept = EmbeddingCache()
    kept.all_of(digests="abc", references="b", compute=upper)
    assert len(kept) == 1


def test_each_is_computed_once_however_often_it_occurs():
    asked = []
    EmbeddingCache().all_of(digests="aba", references="aa", compute=lambda new: asked.append(new) or upper(new))
    assert asked == [["a", "b"]]


def test_what_was_not_asked_for_longest_goes_first():
    kept, asked = EmbeddingCache(maxsize=2), []
    for digests in ("a", "b", "a", "c", "a", "b"):
        kept.all_of(digests=digests, references=digests, compute=lambda new: asked.extend(new) or upper(new))
    assert len(kept) == 2
    assert asked == ["a", "b", "c", "b"]


def test_more_at_once_than_can_be_kept_are_all_found():
    assert len(EmbeddingCache(maxsize=2).all_of(digests="abcd", references="abcd", compute=upper)) == 4
