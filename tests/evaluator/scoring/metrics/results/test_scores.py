"""Scores by rules: 1 for the right value, less the more is wrong, and 0 for what was not changed at all."""

from collections.abc import Sequence

import numpy as np
import pytest
from PIL import Image as PillowImage

from evaluator.core.values import Box, Boxes, Clip, Label, Labels, Mask, Masks, Value
from evaluator.miniature.pictures.maps import normal_map
from evaluator.miniature.pictures.skeleton import draw_skeleton
from evaluator.miniature.seeds import Split
from evaluator.miniature.tableaux.drawing import Content, draw_tableau, paint
from evaluator.scoring.metrics.pointing import POINTING_SCORES
from evaluator.scoring.metrics.results.pictures import (
    box_score,
    depth_score,
    edit_score,
    label_score,
    mask_score,
    normal_score,
    outline_score,
    pose_score,
    segment_score,
)
from evaluator.scoring.metrics.results.rules import RULE_SCORES
from evaluator.scoring.metrics.results.texts import answer_score, is_right, reading_score
from evaluator.scoring.metrics.rule_names import READING, RULE_NAMES
from evaluator.scoring.metrics.sounds import SOUND_SCORES
from evaluator.scoring.metrics.web_pages import PAGE_SCORES

SIZE = (64, 64)


def square(left: int, top: int, side: int = 16) -> np.ndarray:
    found = np.zeros((64, 64), dtype=np.bool_)
    found[top : top + side, left : left + side] = True
    return found


def picture(pixels: np.ndarray) -> PillowImage.Image:
    shown = pixels if pixels.ndim == 3 else np.repeat(pixels.astype(np.uint8)[..., None] * 255, 3, axis=2)
    return PillowImage.fromarray(shown.astype(np.uint8))


ANSWERS = [
    ("2", "2", 1), ("two", "2", 1), ("There are two.", "2", 1), ("2", "two", 1), ("3", "2", 0), ("12", "2", 0),
    ("2 or 3", "2", 0), ("no", "yes", 0), ("Yes.", "yes", 1), ("a red star", "Red star", 1), ("", "0", 0),
    ("star", "red star", 0),
]  # fmt: skip


def test_answers(subtests: pytest.Subtests) -> None:
    for answer, reference, score in ANSWERS:
        with subtests.test(case=answer):
            assert answer_score(answer, reference) == score


def test_labels() -> None:
    right = Labels((Label("red star"),))
    assert label_score(Labels((Label("Red star", 0.3),)), right) == 1
    assert label_score(Labels((Label("red star"), Label("ring"))), right) == pytest.approx(2 / 3)
    assert label_score(Labels(()), right) == 0
    assert label_score(Labels(()), Labels(())) == 1
    assert label_score(right, Labels(())) == 0


def test_boxes_need_the_name_and_half_of_the_overlap() -> None:
    right = Boxes(SIZE, (Box("red star", 10, 10, 20, 20), Box("red star", 30, 30, 40, 40)))
    assert box_score(right, right) == 1
    assert box_score(Boxes(SIZE, (Box("the red star", 10, 10, 20, 24), right.items[1])), right) == 1
    assert box_score(Boxes(SIZE, (Box("red star", 10, 10, 20, 31), right.items[1])), right) == pytest.approx(0.5)
    assert box_score(Boxes(SIZE, (Box("star", 10, 10, 20, 20), right.items[1])), right) == pytest.approx(0.5)
    assert box_score(Boxes(SIZE, right.items[:1] * 3), right) == pytest.approx(2 / 5)
    assert box_score(Boxes(SIZE, ()), right) == 0
    assert box_score(Boxes(SIZE, ()), Boxes(SIZE, ())) == 1


def test_masks_are_matched_once_and_extra_ones_count() -> None:
    right = Masks(SIZE, (Mask("star", square(0, 0)), Mask("star", square(40, 40))))
    assert mask_score(right, right) == 1
    shifted = Masks(SIZE, (Mask("star", square(0, 8)), right.items[1]))
    assert mask_score(shifted, right) == pytest.approx((1 / 3 + 1) / 2)
    assert mask_score(Masks(SIZE, (*right.items, Mask("star", square(20, 20)))), right) == pytest.approx(2 / 3)
    assert mask_score(Masks(SIZE, right.items[:1] * 2), right) == pytest.approx(0.5)
    assert mask_score(Masks(SIZE, (Mask("ring", square(0, 0)), right.items[1])), right) == pytest.approx(0.5)
    assert mask_score(Masks((32, 32), ()), right) == 0
    assert mask_score(Masks(SIZE, ()), Masks(SIZE, ())) == 1


def test_segments_are_regions_of_one_colour_whatever_the_colour() -> None:
    def drawn(*colours: tuple[int, int, int]) -> PillowImage.Image:
        pixels = np.zeros((64, 64, 3), dtype=np.uint8)
        for place, colour in enumerate(colours):
            pixels[square(20 * place, 10)] = colour
        return picture(pixels)

    right = drawn((255, 0, 0), (0, 255, 0))
    assert segment_score(drawn((9, 9, 200), (200, 0, 200)), right) == 1
    assert segment_score(drawn((9, 9, 200), (9, 9, 200)), right) == pytest.approx(0.25)
    assert segment_score(drawn(), right) == 0
    noisy = PillowImage.fromarray(np.random.default_rng(0).integers(256, size=(64, 64, 3), dtype=np.uint8))
    assert segment_score(noisy, right) == 0


def test_outlines_may_be_two_pixels_away_but_not_three() -> None:
    def line(column: int) -> PillowImage.Image:
        return picture(np.arange(64)[None, :].repeat(64, axis=0) == column)

    assert outline_score(line(30), line(32)) == 1
    assert outline_score(line(30), line(33)) == 0
    everything = picture(np.ones((64, 64), dtype=np.bool_))
    assert outline_score(everything, line(30)) < 0.2
    nothing = picture(np.zeros((64, 64), dtype=np.bool_))
    assert outline_score(nothing, line(30)) == 0
    assert outline_score(nothing, nothing) == 1


def test_depth_and_normals_compare_order_and_direction() -> None:
    ramp = np.linspace(0, 1, 64, dtype=np.float32)[None, :].repeat(64, axis=0)
    near, far = (picture(np.repeat((255 * one)[..., None], 3, axis=2)) for one in (ramp, 1 - ramp))
    faint = picture(np.repeat((100 + 50 * ramp)[..., None], 3, axis=2))
    assert depth_score(near, near) == pytest.approx(1)
    assert depth_score(faint, near) > 0.99
    assert depth_score(far, near) == 0
    assert depth_score(picture(np.full((64, 64, 3), 90)), near) == 0
    step = square(20, 20).astype(np.float32)
    assert normal_score(picture(normal_map(step)), picture(normal_map(step))) == pytest.approx(1)
    assert normal_score(picture(normal_map(-step)), picture(normal_map(step))) == 0


def test_a_pose_counts_joints_in_their_place() -> None:
    figure = draw_tableau(split=Split.VALIDATION, index=1, content=Content.FIGURE).figure
    assert figure is not None
    right = picture(draw_skeleton(joints=figure.joints, size=SIZE))
    assert pose_score(right, right) == 1
    moved = {joint: (x + (30 if number < 3 else 0), y) for number, (joint, (x, y)) in enumerate(figure.joints.items())}
    moved = {joint: (min(x, 62), y) for joint, (x, y) in moved.items()}
    assert 0.4 < pose_score(picture(draw_skeleton(joints=moved, size=SIZE)), right) < 0.9
    black = picture(np.zeros((64, 64, 3)))
    assert pose_score(black, right) == 0
    assert pose_score(black, black) == 1


def test_an_edit_counts_the_change_that_was_made() -> None:
    painted = paint(draw_tableau(split=Split.VALIDATION, index=2, content=Content.THINGS)).pixels
    after = painted.copy()
    after[square(20, 20)] = (255, 255, 255)
    wanted = Clip(np.stack([painted, after]))
    half = painted.copy()
    half[20:28, 20:36] = 255
    assert edit_score(picture(after), wanted) == 1
    assert edit_score(picture(painted), wanted) == 0
    assert 0.4 < edit_score(picture(half), wanted) < 0.6
    spoilt = 255 - after
    assert edit_score(picture(spoilt), wanted) == 0
    assert edit_score(picture(after[:32]), wanted) == 0


def test_every_name_has_a_score_that_refuses_other_values() -> None:
    assert {*RULE_SCORES, *SOUND_SCORES, *POINTING_SCORES, *PAGE_SCORES} == RULE_NAMES
    for rule in RULE_SCORES.values():
        wrong = "text" if rule.output is not str else Labels(())
        with pytest.raises(TypeError, match=rule.name):
            rule.score(outputs=[wrong], references=[wrong])
        with pytest.raises(ValueError, match="argument 2"):
            rule.score(outputs=[wrong], references=[])


def test_a_copy_is_no_variation() -> None:
    from evaluator.scoring.metrics.scorers.vit import VariationScore

    class Likeness:
        def score(self, *, outputs: Sequence[Value], references: Sequence[Value]) -> list[float]:
            return [0.75] * len(outputs)

    painted = paint(draw_tableau(split=Split.VALIDATION, index=2, content=Content.THINGS)).pixels
    nearly = painted.copy()
    nearly[:2] = np.clip(nearly[:2].astype(np.int64) + 9, 0, 255)
    other = paint(draw_tableau(split=Split.VALIDATION, index=3, content=Content.THINGS)).pixels
    found = [picture(one) for one in (painted, nearly, other, other[:32])]
    scores = VariationScore(Likeness()).score(outputs=found, references=[picture(painted)] * 4)
    assert scores == [0, 0, 0.75, 0.75]


@pytest.mark.parametrize(
    ("text", "reference", "score"),
    [
        ("old mill", "old mill", 1),
        ("  OLD\nmill ", "old mill", 1),
        ("", "", 1),
        ("", "mill", 0),
        ("mall", "mill", 0.75),
        ("old mil", "old mill", 0.875),
        ("mill old", "old mill", 0.25),
        ("the sign says mill", "mill", 4 / 18),
    ],
)
def test_the_share_of_the_longer_text_that_is_right(text, reference, score):
    assert reading_score(text, reference) == pytest.approx(score)


def test_only_texts_are_compared():
    rule = RULE_SCORES[READING]
    assert rule is not None
    assert rule.score(outputs=["a"], references=["a"]) == [1]
    with pytest.raises(TypeError, match="compares str"):
        rule.score(outputs=["a"], references=[None])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("Red  Star", "red star"),
        (" red star.\n", "red star"),
        ("the red star", "a red star"),
        ("Ein roter Stern", "roter Stern"),
        ("GRÜN", "grün"),
        ("gru\u0308n", "grün"),
        ("positive!", "POSITIVE"),
        ("", ""),
    ],
)
def test_case_punctuation_white_space_and_articles_do_not_matter(answer, reference):
    assert is_right(answer=answer, reference=reference)
    assert is_right(answer=reference, reference=answer)


@pytest.mark.parametrize(
    ("answer", "reference"),
    [("blue star", "red star"), ("red star", "roter Stern"), ("star red", "red star"), ("red", "red star"),
     ("", "red"), ("the", "a"), ("grun", "grün")],
)  # fmt: skip
def test_other_words_another_order_or_another_language_do(answer, reference):
    assert not is_right(answer=answer, reference=reference)
