"""The shipped weights on held-out scenes. Bounds lie a little below what was measured on many more scenes."""

import pytest

from evaluator.experts.profile import load_profile
from evaluator.training.experts.data.states import RESTORING_ORDER
from evaluator.training.experts.quality.measure import (
    ALL,
    RESTORING_TOOLS,
    Workbench,
    ablation,
    restoration_quality,
)
from evaluator.training.experts.quality.vision import vision_quality

# The digests of the weights are checked in every run.
pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def bench():
    return Workbench.of(profile=load_profile("lilliput"), count=64)


@pytest.fixture(scope="module")
def restoration(bench):
    return restoration_quality(bench)


@pytest.fixture(scope="module")
def all_four(bench):
    return ablation(bench=bench, present=ALL)


@pytest.mark.parametrize(("model", "gain"), [("super-resolution", 1.5), ("denoising", 8.0), ("deblurring", 2.5)])
def test_restoration_gains_decibels_over_doing_nothing(restoration, model, gain):
    before, after = restoration[model]
    assert after - before >= gain


def test_colorization_at_least_halves_the_chroma_error(restoration):
    before, after = restoration["colorization"]
    assert after <= before / 2


@pytest.fixture(scope="module")
def vision(bench):
    return vision_quality(experts=bench.experts, scorers=bench.scorers, count=64)


@pytest.mark.parametrize(
    ("model", "measure", "least"),
    [
        ("captioning", "captions that are exactly right", 0.8),
        ("object-detection", "F1 at IoU 0.5", 0.85),
        ("visual-questions", "answers that are exactly right", 0.9),
        ("text-to-image", "main shape is the right one to the classifier", 0.8),
        ("text-to-image", "main colour is the right one to the classifier", 0.8),
        ("clip-score", "right text among 32 for an image", 0.9),
        ("clip-score", "right image among 32 for a text", 0.9),
    ],
)
def test_what_lies_between_pictures_and_words_reaches_its_bar(vision, model, measure, least):
    assert vision[model][measure] >= least


@pytest.mark.parametrize("left_out", RESTORING_ORDER)
def test_the_gold_plan_beats_leaving_out_a_step(all_four, left_out):
    assert all_four["gold"][0] > all_four[f"without {RESTORING_TOOLS[left_out]}"][0]
