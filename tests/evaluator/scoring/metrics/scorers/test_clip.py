"""The CLIP score, on a network as it is before training."""

import dataclasses

import pytest

from evaluator.execution.experts.profile import load_profile
from evaluator.execution.experts.weights import weights_digest
from tests.evaluator.miniature.factories import clean_images

TEXTS = ("A red star is on a green background.", "a blue ring", "", "Zebras? 東京!", "red star " * 40)


@pytest.fixture(scope="module")
def scorer(tmp_path_factory):
    import torch

    from evaluator.scoring.metrics.scorers.clip import CLIPScore
    from evaluator.studies.experts import contrastive

    torch.manual_seed(3)
    folder = tmp_path_factory.mktemp("weights") / contrastive.NAME
    contrastive.export(contrastive.build(), folder)
    spec = dataclasses.replace(load_profile("lilliput").scorers["ViT"], name="CLIP", path=folder)
    assert weights_digest(folder)
    return CLIPScore(spec=spec)


def test_a_score_is_the_cosine_of_the_embeddings_or_0(scorer):
    import torch

    images, texts = clean_images(count=4), TEXTS[:4]
    for image, text, score in zip(images, texts, scorer.score(outputs=images, references=texts), strict=True):
        pixels = scorer._images([image], return_tensors="pt")["pixel_values"]
        words = scorer._words([text], return_tensors="pt")
        with torch.no_grad():
            output = scorer._clip(pixel_values=pixels.to(scorer._clip.dtype), **words)
        cosine = (output.image_embeds * output.text_embeds).sum().item()
        assert score == pytest.approx(max(cosine, 0.0), abs=1e-5)


def test_a_score_does_not_depend_on_the_others(scorer):
    images = clean_images(count=5)
    together = scorer.score(outputs=images, references=TEXTS)
    assert scorer.score(outputs=images[::-1], references=TEXTS[::-1]) == together[::-1]
    alone = [scorer.score(outputs=[image], references=[text])[0] for image, text in zip(images, TEXTS, strict=True)]
    assert alone == together


def test_texts_are_cut_after_the_last_position_and_keep_their_end(scorer):
    from evaluator.studies.experts import contrastive

    images = clean_images(count=1)
    long = " ".join(["red"] * (contrastive.LENGTH - 2))
    cut, longer, shorter = (
        scorer.score(outputs=images, references=[text])[0] for text in (long, f"{long} blue ring", long[:-4])
    )
    assert cut == longer
    assert cut != shorter


def test_wrong_kinds_and_numbers_are_refused(scorer):
    (image,) = clean_images(count=1)
    with pytest.raises(TypeError, match="output is no image"):
        scorer.score(outputs=["red star"], references=["red star"])
    with pytest.raises(TypeError, match="reference is no text"):
        scorer.score(outputs=[image], references=[image])
    with pytest.raises(ValueError, match="1 outputs"):
        scorer.score(outputs=[image], references=[])
    assert scorer.score(outputs=[], references=[]) == []
