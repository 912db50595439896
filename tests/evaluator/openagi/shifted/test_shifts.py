"""Shifted inputs: what changes, what stays, and how strong it is."""

import numpy as np
import pytest
from PIL import Image

from evaluator.core.suites.registry import suite_of
from evaluator.miniature.degradations import BLUR_SIGMA, NOISE_SIGMA
from evaluator.openagi.shifted.samples import released_samples, shifted_samples
from evaluator.openagi.shifted.shifts import channel_mean, impulses, motion, shifted_text, skipped_pixels
from evaluator.openagi.shifted.tasks import Shift, possible_shifts

SHIFTED, RELEASED = suite_of("openagi-shifted"), suite_of("openagi")
FIRST = 8
"""Samples in which a shift has to show."""


def sources(*, split="public", hidden_seed=None):
    asked = {"profile": "lilliput", "split": split, "hidden_seed": hidden_seed}
    return shifted_samples(**asked), released_samples(**asked)


def rng(seed=0):
    return np.random.default_rng(seed)


def test_requests_gold_plans_and_references_are_the_released_ones():
    shifted, released = sources()
    for task, other in zip(SHIFTED.tasks, RELEASED.tasks, strict=True):
        assert (task.key, task.text, task.gold, task.resources) == (other.key, other.text, other.gold, other.resources)
        assert shifted.reference(task=task, index=3) == released.reference(task=other, index=3)


def test_every_task_has_an_input_that_its_shift_changes():
    shifted, released = sources()
    for task in SHIFTED.tasks:
        assert any(
            shifted.inputs(task=task, index=index) != released.inputs(task=task, index=index) for index in range(FIRST)
        ), f"{task.key}: {task.shift}"


def test_a_shift_changes_the_defect_that_it_is_about_and_nothing_else():
    shifted, released = sources()
    for task in SHIFTED.tasks:
        here, there = shifted.inputs(task=task, index=0), released.inputs(task=task, index=0)
        about_texts = task.shift in {Shift.SPELLING, Shift.CAPITALS, Shift.GERMAN_NOUNS}
        for name, value in here.items():
            if isinstance(value, str) is not about_texts:
                assert value == there[name]
            elif isinstance(value, Image.Image):
                assert value.size == there[name].size


def test_every_shift_occurs_with_every_domain_task_that_can_have_it():
    has = {(task.base, task.shift) for task in SHIFTED.tasks}
    can = {(task.base, shift) for task in SHIFTED.tasks for shift in possible_shifts(task)}
    # Five bases have fewer requests than shifts.
    few = {"sentiment", "summarization", "translation", "text_to_image"}
    assert {pair for pair in can - has if pair[0] not in few} == set()
    counts = [sum(task.shift is shift for task in SHIFTED.tasks) for shift in Shift]
    assert min(counts) >= 15


def test_impulses_are_as_strong_as_the_noise_that_the_experts_know():
    values = rng().integers(0, 256, (256, 256, 3), dtype=np.uint8)
    made = impulses(values, rng=rng(1))
    changed = (made != values).any(axis=-1)
    assert set(np.unique(made[changed])) == {0, 255}
    error = (made.astype(float) - values) / 255
    assert np.sqrt((error**2).mean()) == pytest.approx(NOISE_SIGMA, rel=0.02)


def test_motion_smears_along_one_line_with_the_variance_of_the_blur():
    dot = np.zeros((65, 65, 3), dtype=np.uint8)
    dot[32, 32] = 255
    smeared = motion(dot, rng=rng()).astype(float)[..., 0]
    rows, columns = np.nonzero(smeared)
    places = np.stack([rows, columns]) - 32
    spread = np.linalg.eigvalsh(np.cov(places, bias=True))
    assert spread[0] < 0.3
    assert spread[1] == pytest.approx(2 * BLUR_SIGMA**2, rel=0.15)


def test_skipped_pixels_are_pixels_of_the_picture_and_a_channel_mean_is_grey():
    picture = rng().integers(0, 256, (64, 64, 3), dtype=np.uint8)
    assert (skipped_pixels(picture) == picture[::4, ::4]).all()
    grey = channel_mean(picture)
    assert (grey[..., 0] == grey[..., 2]).all()
    assert grey[0, 0, 0] == round(picture[0, 0].mean())


def test_texts_keep_their_masks_and_the_words_of_an_english_answer():
    text = "Clara found a fast bicycle. Ida found a [MASK] shirt."
    made = {shift: shifted_text(text, shift=shift, kept="a shirt", rng=rng(3)) for shift in Shift}
    assert all("[MASK]" in changed for changed in made.values())
    assert made[Shift.CAPITALS] == "CLARA FOUND A FAST BICYCLE. IDA FOUND A [MASK] SHIRT."
    assert made[Shift.GERMAN_NOUNS] == "Clara found a fast Fahrrad. Ida found a [MASK] shirt."
    spelled = made[Shift.SPELLING].split()
    assert [sorted(word) for word in spelled] == [sorted(word) for word in text.split()]
    assert spelled != text.split()
    assert made[Shift.MOTION] == text


def test_hidden_data_follow_from_the_secret_and_requests_are_paraphrases():
    task = next(task for task in SHIFTED.tasks if task.shift is Shift.IMPULSES)
    one, other = (sources(split="hidden", hidden_seed=seed)[0] for seed in ("a", "b"))
    assert one.inputs(task=task, index=0) != other.inputs(task=task, index=0)
    hidden = SHIFTED.hidden_requests(SHIFTED, "a")
    assert {task.text for task in hidden}.isdisjoint(task.text for task in SHIFTED.tasks)
    assert [task.text for task in hidden] != [task.text for task in RELEASED.hidden_requests(RELEASED, "a")]


def test_tasks_that_share_inputs_have_equal_inputs():
    shifted, _ = sources()
    by_key = {}
    for task in SHIFTED.tasks:
        inputs = shifted.inputs(task=task, index=1)
        assert by_key.setdefault(shifted.inputs_key(task=task), inputs) == inputs


@pytest.mark.parametrize(
    ("asked", "error", "says"),
    [
        ({"profile": "paper", "split": "public"}, LookupError, "only under lilliput"),
        ({"profile": "lilliput", "split": "test"}, ValueError, "no split 'test'"),
    ],
)
def test_a_source_refuses_what_it_has_no_data_for(asked, error, says):
    with pytest.raises(error, match=says):
        shifted_samples(hidden_seed=None, **asked)
