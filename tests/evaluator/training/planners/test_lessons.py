import dataclasses

import pytest

from evaluator.training.planners.lessons import NoLessonsError, gold_demonstrations, gold_lessons
from tests.evaluator.training.planners.models import SUITE

pytestmark = pytest.mark.full


def test_a_task_of_one_input_is_one_lesson():
    (lesson,) = gold_lessons(suite=SUITE, tasks=["0"])
    assert lesson.messages[0].content == SUITE.task("0").text
    assert lesson.answer == "Image Super Resolution, Image Denoising, Image Deblurring, Colorization"


def test_a_task_of_two_inputs_is_a_lesson_for_each_call():
    lessons = gold_lessons(suite=SUITE, tasks=["180"])
    document, query, joining, ending = [lesson.answer for lesson in lessons]
    assert (document, query) == ("Fill Mask", "")
    assert joining.startswith("Question Answering")
    assert ending == ""


def test_demonstrations_say_which_of_two_texts_a_repair_is_for():
    demonstration, image = gold_demonstrations(suite=SUITE, tasks=["177", "117"])
    assert demonstration.steps[:2] == ("Fill Mask on the document", "Fill Mask on the query")
    assert "Fill Mask" in image.steps


def test_a_task_without_gold_plan_is_refused():
    bare = dataclasses.replace(SUITE, tasks=(dataclasses.replace(SUITE.task("0"), gold=None),))
    with pytest.raises(NoLessonsError, match="task 0 has no gold plan"):
        gold_lessons(suite=bare, tasks=["0"])
