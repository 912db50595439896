"""The shipped weights on held-out scenes. Bounds lie a little below what was measured on many more scenes."""

import numpy as np
import pytest

from evaluator.execution.experts.profile import load_profile
from evaluator.miniature.seeds import Split
from evaluator.miniature.tableaux.drawing import Content, draw_tableau
from evaluator.studies.experts.quality.maps import edge_scores, joint_share, ordered_rightly
from evaluator.studies.experts.quality.measure import ALL, RESTORING_TOOLS, Workbench, ablation, restoration_quality
from evaluator.studies.experts.quality.vision import vision_quality
from evaluator.studies.experts.restoration import RESTORING_ORDER

# The digests of the weights are checked in every run. Drawing and describing 64 scenes takes minutes on busy machines.
pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]


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


def column(at):
    edges = np.zeros((1, 8, 8), dtype=np.bool_)
    edges[:, :, at] = True
    return edges


def test_edges_joints_and_depth_are_compared_as_their_figures_say():
    edges = [edge_scores(predicted=column(found), reference=column(4)) for found in (3, 2)]
    assert [one["F1 of edges within one pixel"] for one in edges] == [pytest.approx(1), 0]
    twice = edge_scores(predicted=column(1) | column(5), reference=column(1))
    assert [twice[f"{name} of edges within one pixel"] for name in ("precision", "recall")] == [0.5, 1]
    found, wanted = np.zeros((2, 2, 4, 4), dtype=np.bool_)
    found[0], wanted[1] = True, True
    assert edge_scores(predicted=found, reference=wanted)["precision of edges within one pixel"] == 0, (
        "the next picture's"
    )
    owner = np.asarray([[0, 0, 1, 1, 3, 3, -1]], dtype=np.int8)
    nearness = np.asarray([[0.4, 0.6, 0.3, 0.3, 0.9, 0.8, 0.0]])
    assert ordered_rightly(nearness=nearness, owner=owner, parts=4) == [False, True, True]
    figure = draw_tableau(split=Split.VALIDATION, index=0, content=Content.FIGURE).figure
    shifted = {joint: (x + 3.0, y) for joint, (x, y) in figure.joints.items()}
    assert [joint_share([(shifted, figure)], unit=lambda _, most=most: most) for most in (3.1, 2.9)] == [1, 0]
    assert joint_share([(shifted, figure), (None, figure)], unit=lambda _: 3.1) == 0.5
