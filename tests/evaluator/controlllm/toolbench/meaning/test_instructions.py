"""What tells a model how to work and to answer, which changes nothing of what is asked."""

import pytest

from evaluator.controlllm.toolbench.meaning.intents import Intent, compare_intent
from evaluator.controlllm.toolbench.meaning.questions import compare_questions
from evaluator.controlllm.toolbench.meaning.sentences import without_instructions
from evaluator.controlllm.toolbench.meaning.verdict import Verdict


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("You are an expert in pictures. What is the boy holding?", "What is the boy holding?"),
        ("Your task is to count the dogs.", "count the dogs."),
        ("Task: count the dogs", "count the dogs"),
        ("I want you to name the painter.", "name the painter."),
        ("Carefully look through the whole image and count the dogs.", "count the dogs."),
        ("Count the dogs. Reply with a number only, without any explanation.", "Count the dogs."),
        ("Count the dogs.\nReturn the result as a JSON array.", "Count the dogs."),
        # Answers with content are what is asked for.
        ("Look at the dog. Answer with its colour.", "Look at the dog. Answer with its colour."),
        ("What is written there? Give the number of the bus.", "What is written there? Give the number of the bus."),
        ("Are you an expert? Is it a dog?", "Are you an expert? Is it a dog?"),
        # Nothing would remain.
        ("Answer with one word only.", "Answer with one word only."),
        ("", ""),
        ("?!", "?!"),
    ],
)
def test_only_what_says_how_to_answer_is_left_out(text, rest):
    assert without_instructions(text) == rest


LISTS = (
    "Which items can you spot in this picture? Name every one of them.",
    "Carefully look through the whole image and enumerate all of the objects that appear in it.",
    "Identify each object in the image",
    "Tell me everything that is in this photo",
    "Give an exhaustive list of the items in the scene",
    "Make an inventory of the picture",
    "Your task is to name all the objects in the image.",
)


@pytest.mark.parametrize("text", LISTS)
def test_a_list_of_all_objects_may_be_asked_for_in_many_ways(text):
    assert compare_intent(text, Intent.LIST, "")[0] is Verdict.SAME
    assert compare_intent(f"{text} Except for the cups.", Intent.LIST, "")[0] is not Verdict.SAME


@pytest.mark.parametrize(
    "text", ["Identify each dog in the image", "All dogs", "Everything that is red", "every person"]
)
def test_a_list_of_some_objects_is_no_list_of_all(text):
    assert compare_intent(text, Intent.LIST, "")[0] is not Verdict.SAME


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Can a dog be found anywhere in this picture?", Verdict.SAME),
        ("Verify the existence of a dog in the image.", Verdict.SAME),
        ("Is there any sign of a dog?", Verdict.SAME),
        ("Can the dog be found by the cat?", Verdict.UNDECIDED),
        ("Where can a dog be found?", Verdict.DIFFERENT),
        ("Can a cat be found anywhere in this picture?", Verdict.DIFFERENT),
    ],
)
def test_whether_something_is_there_may_be_asked_by_whether_it_can_be_found(text, verdict):
    assert compare_intent(text, Intent.PRESENCE, "dog")[0] is verdict


def test_questions_with_instructions_are_compared_without_them():
    wanted = "What is the boy holding?"
    assert compare_questions(wanted, f"You are a careful observer. {wanted} Respond briefly.")[0] is Verdict.SAME
    assert compare_questions(wanted, "You are a careful observer. What is the girl holding?")[0] is Verdict.DIFFERENT
