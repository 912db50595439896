"""Floors: constant answers and untouched images, with scorers that can be worked out by hand."""

from collections import Counter

import pytest
from PIL import Image

from evaluator.core.suites.registry import suite_of
from evaluator.openagi.data import sample_source
from evaluator.studies.validity.floors import measure_floors

SUITE = suite_of("openagi")
SCENES = 6


class SharedWords:
    """The share of words of the reference that the answer has; of images, how bright the answer is."""

    def score(self, *, outputs, references):
        return [self._one(output, reference) for output, reference in zip(outputs, references, strict=True)]

    def _one(self, output, reference):
        if isinstance(output, Image.Image):
            assert isinstance(reference, Image.Image)
            return 1 / output.width
        words = reference.split()
        return sum(word in output.split() for word in words) / len(words)


@pytest.fixture(scope="module")
def world():
    return sample_source(profile="lilliput", split="public")


def floors(world, *, tasks):
    return measure_floors(suite=SUITE, tasks=tasks, samples=world, count=SCENES, scorer=lambda _: SharedWords())


def test_the_constant_answer_is_the_reference_that_scores_highest_over_all_scenes(world):
    # Tasks 19 and 25 ask for the same kind of answer about other degradations.
    labels = [task for task in SUITE.tasks if task.base == "image_classification" and task.language == "en"]
    (found,) = floors(world, tasks=[task.key for task in labels[:3]]).constants
    references = [world.reference(task=labels[0], index=index) for index in range(SCENES)]
    worth = {text: sum(SharedWords()._one(text, reference) for reference in references) / SCENES for text in references}
    assert found.text in references
    assert found.score == pytest.approx(max(worth.values()))
    assert found.right == pytest.approx(max(Counter(references).values()) / SCENES)
    assert (found.kind, found.tasks) == ("image classification in English", 3)


def test_open_answers_have_no_share_of_right_ones_and_kinds_are_weighted_by_their_tasks(world):
    captions = [task.key for task in SUITE.tasks if task.base == "image_captioning" and task.language == "de"][:1]
    labels = [task.key for task in SUITE.tasks if task.base == "image_classification" and task.language == "en"][:3]
    found = floors(world, tasks=[*captions, *labels])
    by_kind = {one.kind: one for one in found.constants}
    assert by_kind["image captioning in German"].right is None
    wanted = (by_kind["image captioning in German"].score + 3 * by_kind["image classification in English"].score) / 4
    assert found.constant_score == pytest.approx(wanted)


def test_untouched_images_are_grouped_by_the_number_of_their_degradations(world):
    tasks = [task for task in SUITE.tasks if task.metric == "ViT"]
    found = floors(world, tasks=[task.key for task in tasks])
    assert {one.degradations: one.tasks for one in found.untouched} == {1: 4, 2: 6, 3: 4, 4: 1}
    # An image of low resolution has 16 pixels across, any other 64; one in four single degradations is that.
    assert found.untouched[0].score == pytest.approx((1 / 16 + 3 / 64) / 4)
    assert found.untouched[3].score == pytest.approx(1 / 16)
    assert found.constants == ()
    assert found.constant_score is None
