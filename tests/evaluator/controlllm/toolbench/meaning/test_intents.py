"""Texts that ask a model for something about an object: counting, finding, removing, listing, describing."""

from evaluator.controlllm.toolbench.meaning.intents import Intent, compare_intent
from evaluator.controlllm.toolbench.meaning.sentences import base_forms
from evaluator.controlllm.toolbench.meaning.verdict import Verdict

SAME, DIFFERENT, UNDECIDED = Verdict.SAME, Verdict.DIFFERENT, Verdict.UNDECIDED


INTENTS = [
    ("How many dogs can you see?", Intent.COUNT, "dog", SAME),
    ("Count the dogs.", Intent.COUNT, "dog", SAME),
    ("How many brown dogs are there?", Intent.COUNT, "dog", DIFFERENT),
    ("How many cats are there?", Intent.COUNT, "dog", DIFFERENT),
    ("Is there a dog?", Intent.COUNT, "dog", DIFFERENT),
    ("Is there a dog in the picture?", Intent.PRESENCE, "dog", SAME),
    ("Does the image contain any dogs?", Intent.PRESENCE, "dog", SAME),
    ("Can you check whether a dog is visible?", Intent.PRESENCE, "dog", SAME),
    ("How many dogs are there?", Intent.PRESENCE, "dog", DIFFERENT),
    ("What colour is the dog?", Intent.PRESENCE, "dog", DIFFERENT),
    ("Is there a bicycle?", Intent.PRESENCE, "prayer rug", DIFFERENT),
    ("Is there a dog in a_1.png?", Intent.PRESENCE, "dog", SAME),
    ("Remove the dog from the image.", Intent.REMOVE, "dog", SAME),
    ("get rid of the dog", Intent.REMOVE, "dog", SAME),
    ("Erase the dog and fill in the background.", Intent.REMOVE, "dog", SAME),
    ("Remove everything except the dog.", Intent.REMOVE, "dog", DIFFERENT),
    ("Remove the dog and add a cat.", Intent.REMOVE, "dog", DIFFERENT),
    ("Remove the cat.", Intent.REMOVE, "dog", DIFFERENT),
    ("take the dog out", Intent.REMOVE, "dog", SAME),
    ("add another dog", Intent.REMOVE, "dog", DIFFERENT),
    ("keep only the dog", Intent.REMOVE, "dog", DIFFERENT),
    ("make the dog blue", Intent.REMOVE, "dog", DIFFERENT),
    ("remove the zebra, not the dog", Intent.REMOVE, "dog", DIFFERENT),
    ("dog", Intent.REMOVE, "dog", DIFFERENT),
    ("paint the dog", Intent.REMOVE, "dog", DIFFERENT),
    ("Photoshop the dog away", Intent.REMOVE, "dog", UNDECIDED),
    ("Photoshop the cat away", Intent.REMOVE, "dog", DIFFERENT),
    ("photoshop the red dog away", Intent.REMOVE, "dog", DIFFERENT),
    ("find the dog", Intent.GROUND, "dog", SAME),
    ("pinpoint the dog", Intent.GROUND, "dog", SAME),
    ("draw a bounding box around the dog", Intent.GROUND, "dog", SAME),
    ("delineate the dog", Intent.GROUND, "dog", UNDECIDED),
    ("delineate the cat", Intent.GROUND, "dog", DIFFERENT),
    ("the red dog", Intent.GROUND, "dog", DIFFERENT),
    ("everything but the dog", Intent.GROUND, "dog", DIFFERENT),
    ("person standing left of the dog", Intent.GROUND, "dog", DIFFERENT),
    ("What objects are in the image?", Intent.LIST, "", SAME),
    ("What do you see?", Intent.LIST, "", SAME),
    ("Which objects are there, including the plane?", Intent.LIST, "plane", SAME),
    ("Which colours are there?", Intent.LIST, "", DIFFERENT),
    ("Describe the image in detail.", Intent.DESCRIBE, "", SAME),
    ("What is happening in this picture?", Intent.DESCRIBE, "", SAME),
    ("Describe the dog.", Intent.DESCRIBE, "", DIFFERENT),
    ("How many dogs are there?", Intent.DESCRIBE, "", DIFFERENT),
]  # fmt: skip


def test_a_text_asks_for_this_about_an_object(subtests):
    for text, intent, about, verdict in INTENTS:
        with subtests.test(case=text):
            assert compare_intent(text, intent, about)[0] is verdict


BESIDE = "What other objects are present in a_1.png besides the school bus?"
CLOSELY = "What objects are present in a_1.png, with a special emphasis on the balloon?"
LISTINGS = [
    ("Besides the school bus, what else is there?", BESIDE, SAME),
    ("What other objects are there besides the school bus?", BESIDE, SAME),
    ("Aside from the bus, which items can be seen?", BESIDE, SAME),
    ("Are there any other objects besides the school bus?", BESIDE, UNDECIDED),
    ("Besides the fire truck, what else is there?", BESIDE, UNDECIDED),
    ("What else is next to the school bus?", BESIDE, DIFFERENT),
    ("What things are in it? Look closely at the balloon.", CLOSELY, SAME),
    ("What objects are in the image, with a special emphasis on the balloon?", CLOSELY, SAME),
    ("List everything you can see. Pay particular attention to the balloon.", CLOSELY, SAME),
    ("Name the things in the picture, focusing on the balloon", CLOSELY, SAME),
    ("Name the things in the picture, focusing on the dog", CLOSELY, DIFFERENT),
    ("What objects are there besides the balloon?", CLOSELY, UNDECIDED),
    ("What colour is the balloon? Look closely at it.", CLOSELY, DIFFERENT),
    ("Take inventory of the picture", CLOSELY, UNDECIDED),
]


def test_a_listing_may_mention_or_exclude_what_the_request_mentions_or_excludes(subtests):
    for text, request, verdict in LISTINGS:
        with subtests.test(case=text):
            assert compare_intent(text, Intent.LIST, "", frozenset(base_forms(request)))[0] is verdict


MENTIONS = [
    ("What things are in it? Look closely at the plane.", SAME),
    ("Which objects are there? Pay attention to the aeroplane.", SAME),
    ("Which objects are there? Pay attention to the dog.", DIFFERENT),
    ("Besides the plane, what else is there?", UNDECIDED),
    ("What is on the plane?", DIFFERENT),
    ("Which objects are on the plane?", UNDECIDED),
]


def test_a_listing_may_mention_the_object_that_the_request_is_about(subtests):
    for text, verdict in MENTIONS:
        with subtests.test(case=text):
            assert compare_intent(text, Intent.LIST, "plane")[0] is verdict
