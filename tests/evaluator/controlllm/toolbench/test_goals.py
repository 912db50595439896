"""Goals that differ from the gold decomposition, or that its words alone decide."""

import pytest

from evaluator.controlllm.toolbench.goals.derive import derive_goal
from evaluator.controlllm.toolbench.goals.goal import Matching
from evaluator.controlllm.toolbench.meaning.verdict import Verdict
from evaluator.controlllm.toolbench.mini.requests import Gold
from evaluator.controlllm.toolbench.terms import CallTerm, FileTerm, LiteralTerm
from evaluator.replies.decomposition import parse_decomposition


def goal_of(gold, instruction):
    return derive_goal(instruction=instruction, decomposition=parse_decomposition(gold.text()))


def recognising():
    gold = Gold()
    gold.add(description="Recognise the objects", domains=[], args={"image": "a.png"}, gives="category", calls=1)
    return gold


def asking(text):
    return CallTerm(
        tool="image_question_answering",
        output="text",
        args={"image": FileTerm("a.png"), "text": LiteralTerm(text)},
        known=True,
        number=0,
    )


@pytest.mark.parametrize(
    ("instruction", "is_enough"),
    [
        ("Identify all objects present in a.png, with a focus on the teapot.", False),
        ("What are the objects in a.png, including the teapot?", False),
        ("Identify the teapot and other objects in a.png", False),
        ("What is present in a.png, including the teapot?", False),
        ("Can you identify the teapot in a.png?", True),
        ("Identify every teapot in a.png", True),
        ("Is there a teapot in the object photo a.png?", True),
    ],
)
def test_asking_for_one_object_is_no_list_of_all(instruction, is_enough):
    goal = goal_of(recognising(), instruction)
    assert goal.parts[0].target == "teapot"
    matching = Matching(goal=goal)
    expected = Verdict.SAME if is_enough else Verdict.DIFFERENT
    assert matching.met_by(part=0, term=asking("Is there a teapot in the image?")) is expected
    assert matching.met_by(part=0, term=asking("List all objects in the image.")) is Verdict.SAME


@pytest.mark.parametrize(
    ("instruction", "counted"),
    [
        ("Provide the number of dogs in a.png", "dogs"),
        ("Can you count the total number of dogs in a.png?", "dogs"),
        ("Count all the dogs in a.png", "dogs"),
        ("How many ovens are in a.png?", "oven"),
        ("Count what is there in a.png", "oven"),
    ],
)
def test_the_object_that_the_request_counts_is_counted(instruction, counted):
    gold = Gold()
    gold.add(description="Count the oven", domains=[], args={"image": "a.png", "text": "oven"}, gives="text", calls=1)
    assert [part.target for part in goal_of(gold, instruction).parts] == [counted]
