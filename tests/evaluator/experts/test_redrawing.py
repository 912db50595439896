"""Variations of pictures and redrawn regions, by the shipped Stable Diffusion."""

import dataclasses

import numpy as np
import pytest
from PIL import Image

from evaluator.experts.profile import load_expert, load_profile
from evaluator.experts.protocol import ExpertError, InputError
from evaluator.training.experts.tableaux.data import tableaux_at
from evaluator.values import Mask, Masks
from evaluator.world.grammar.labels import BACKGROUNDS
from evaluator.world.seeds import Split
from evaluator.world.vocabulary import Background
from tests.evaluator.world.factories import clean_images

PROMPT = "A blue heart is on a sandy background."


@pytest.fixture(scope="module")
def profile():
    return load_profile("lilliput")


def load(spec, *, batch_size=3, **parameters):
    """With small batches, and fewer steps where what is drawn does not matter."""
    return load_expert(
        spec=dataclasses.replace(spec, batch_size=batch_size, parameters={**spec.parameters, **parameters})
    )


@pytest.fixture(scope="module")
def editor(profile):
    return load(profile.experts["partial_image_editing"], steps=2)


def masks_of(pixels):
    return Masks((pixels.shape[1], pixels.shape[0]), (Mask("star", pixels),))


def square(*, left=20, top=20, side=20, size=(64, 64)):
    pixels = np.zeros(size[::-1], dtype=np.bool_)
    pixels[top : top + side, left : left + side] = True
    return pixels


def request(image, **position):
    return {"image": image, "mask": masks_of(square(size=image.size, **position)), "prompt": PROMPT}


@pytest.mark.full
def test_a_variation_keeps_size_and_layout_but_not_the_pixels(profile):
    variations = load(profile.experts["image_to_image"], batch_size=8, steps=12)
    drawn = tableaux_at(split=Split.VALIDATION, indices=np.arange(24))
    results = variations.run([{"image": Image.fromarray(pixels)} for pixels in drawn.pixels])
    new = np.stack([np.asarray(result["image"]) for result in results]).astype(int)
    errors = np.abs(new - drawn.pixels).mean(axis=(1, 2, 3))
    others = np.abs(new - np.roll(drawn.pixels, 1, axis=0)).mean(axis=(1, 2, 3))
    assert (errors > 0.5).all()
    assert errors.mean() < 0.3 * others.mean()


def test_pixels_outside_the_mask_stay_as_they_are(editor):
    items = [request(image, left=3 * index, top=2 + index) for index, image in enumerate(clean_images(count=3))]
    for item, result in zip(items, editor.run(items), strict=True):
        old, new = np.asarray(item["image"]), np.asarray(result["image"])
        outside = ~item["mask"].union()
        assert np.array_equal(old[outside], new[outside])
        assert not np.array_equal(old, new)


@pytest.mark.full
def test_the_masked_region_shows_what_the_text_says(profile):
    editor = load(profile.experts["partial_image_editing"], batch_size=8, steps=8, repeats=1)
    classifier = load_expert(spec=profile.experts["Image Classification"])
    drawn = tableaux_at(split=Split.VALIDATION, indices=np.arange(2, 74, 3))
    items, colours = [], []
    for index, pixels in enumerate(drawn.pixels):
        background = drawn.tableaux[index].background
        colours.append("blue" if background in (Background.SKY, Background.SAND) else "yellow")
        prompt = f"A {colours[-1]} square is on a {BACKGROUNDS[background].english} background."
        sizes = [(drawn.owner[index] == part).sum() for part in range(len(drawn.tableaux[index].parts))]
        rows, columns = np.nonzero(drawn.owner[index] == int(np.argmax(sizes)))
        mask = np.zeros((64, 64), dtype=np.bool_)
        mask[rows.min() - 1 : rows.max() + 2, columns.min() - 1 : columns.max() + 2] = True
        items.append({"image": Image.fromarray(pixels), "mask": masks_of(mask), "prompt": prompt})
    answers = [str(answer["text"]).split()[0] for answer in classifier.run(editor.run(items))]
    assert np.mean([answer == colour for answer, colour in zip(answers, colours, strict=True)]) >= 0.8


def test_masks_of_another_picture_are_refused(editor):
    item = request(clean_images(count=1)[0])
    with pytest.raises(InputError, match="32x64 pixels, but the picture has 64x64"):
        editor.run([item | {"mask": masks_of(square(size=(32, 64)))}])
    with pytest.raises(ExpertError, match='"mask" must be masks, found str'):
        editor.run([item | {"mask": "star"}])
    with pytest.raises(ExpertError, match='"prompt" must be a text'):
        editor.run([{name: value for name, value in item.items() if name != "prompt"}])
