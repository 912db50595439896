"""Conditions match by head noun, with at most the attributes of the request."""

from evaluator.controlllm.toolbench.meaning.objects import compare_actions, compare_objects
from evaluator.controlllm.toolbench.meaning.questions import Intent, compare_intent, compare_prompts
from evaluator.controlllm.toolbench.meaning.sentences import next_to
from evaluator.controlllm.toolbench.meaning.verdict import Verdict

SAME, DIFFERENT, UNDECIDED = Verdict.SAME, Verdict.DIFFERENT, Verdict.UNDECIDED


OBJECTS = [
    ("car", "the cars", SAME),
    ("car", "car in the image", SAME),
    ("car", "automobile", SAME),
    ("tv", "television set", UNDECIDED),
    ("person", "people", SAME),
    ("baseball glove", "glove", SAME),
    ("prayer rug", "prayer rugs", SAME),
    ("prayer rug", "rug", UNDECIDED),
    ("sliding door", "door", UNDECIDED),
    ("car", "red car", DIFFERENT),
    ("car", "toy car", DIFFERENT),
    ("car", "police car", DIFFERENT),
    ("horse", "sea horse", DIFFERENT),
    ("dog", "hot dog", DIFFERENT),
    ("hot dog", "dog", DIFFERENT),
    ("bear", "teddy bear", DIFFERENT),
    ("dog", "dog and cat", DIFFERENT),
    ("dog", "dog, cat", DIFFERENT),
    ("train", "everything but the train", DIFFERENT),
    ("dog", "animal", DIFFERENT),
    ("dog", "object", DIFFERENT),
    ("dog", "cat", DIFFERENT),
    ("dog", "", DIFFERENT),
    ("dog", "Detect the dog in image_1.png", DIFFERENT),
    ("dog", "please detect the dog that you can see here", DIFFERENT),
    # Known other things, alone or with an attribute that nobody asked for.
    ("dog", "walrus", DIFFERENT),
    ("dog", "purple walrus", DIFFERENT),
    ("dog", "unicorn", DIFFERENT),
    ("dog", "purple flooble", DIFFERENT),
    ("walrus", "dog", DIFFERENT),
    ("zebra", "giraffe", DIFFERENT),
    ("bicycle", "unicorn", DIFFERENT),
    ("cat", "lion", DIFFERENT),
    ("toaster", "blender", DIFFERENT),
    ("pizza", "sushi", DIFFERENT),
    ("guitar", "cello", DIFFERENT),
    ("surfer", "astronaut", DIFFERENT),
    # Kinds of what is wanted, people in roles, and words that the lexicon does not have.
    ("dog", "puppy", UNDECIDED),
    ("dog", "poodle", UNDECIDED),
    ("car", "sedan", UNDECIDED),
    ("bear", "polar bear", UNDECIDED),
    ("bird", "penguin", UNDECIDED),
    ("animal", "walrus", UNDECIDED),
    ("fruit", "pineapple", UNDECIDED),
    ("vehicle", "helicopter", UNDECIDED),
    ("person", "surfer", UNDECIDED),
    ("man", "firefighter", UNDECIDED),
    ("surfer", "person", UNDECIDED),
    ("dog", "doggo", UNDECIDED),
    ("dog", "flooble", UNDECIDED),
    ("flooble", "doggo", UNDECIDED),
    # Synonyms.
    ("dog", "hound", SAME),
    ("moose", "elk", SAME),
    ("flashlight", "torch", SAME),
    ("bulldog", "bulldogs", SAME),
    ("light bulb", "lightbulb", SAME),
]


def test_a_condition_names_the_object_and_no_other(subtests):
    for wanted, given, verdict in OBJECTS:
        with subtests.test(case=wanted):
            assert compare_objects(wanted, given)[0] is verdict


def test_a_kind_with_an_attribute_of_the_request_stays_undecided():
    asked = next_to(text="Cut the brown dog out of a_1.png", name="dog")
    assert compare_objects("dog", "brown poodle", asked)[0] is UNDECIDED
    assert compare_objects("dog", "brown walrus", asked)[0] is DIFFERENT
    assert compare_objects("dog", "white poodle", asked)[0] is DIFFERENT


PROMPTS = [
    ("a dog on the beach", "a walrus on the beach", DIFFERENT),
    ("a dog on the beach", "a purple walrus", DIFFERENT),
    ("a dog", "a purple walrus", DIFFERENT),
    ("a man riding a horse", "a man riding a unicorn", DIFFERENT),
    ("a bowl of pineapples", "a bowl of mushrooms", DIFFERENT),
    ("a dog", "a puppy", UNDECIDED),
    ("a dog on the beach", "a poodle on the beach", UNDECIDED),
    ("a poodle on the beach", "a dog on the beach", UNDECIDED),
    ("a man on a wave", "a surfer on a wave", UNDECIDED),
    ("a dog on the beach", "a flooble on the beach", UNDECIDED),
    ("a dog on the beach", "a hound at the shore", SAME),
    ("a dog on the beach", "a hound on the beach", SAME),
]


def test_a_prompt_shows_another_thing_only_if_the_lexicon_knows_both(subtests):
    for wanted, given, verdict in PROMPTS:
        with subtests.test(case=wanted):
            assert compare_prompts(wanted, given)[0] is verdict


def test_an_attribute_of_the_request_may_be_in_the_condition():
    asked = next_to(text="Cut the red car out of a_1.png, please. Where is the old car in b.png?", name="car")
    assert compare_objects("car", "red car", asked)[0] is SAME
    assert compare_objects("car", "old car", asked)[0] is SAME
    assert compare_objects("car", "blue car", asked)[0] is DIFFERENT
    asked = next_to(text="Segment the person left of the train in a_1.png", name="person")
    assert compare_objects("person", "person left of the train", asked)[0] is SAME
    assert compare_objects("person", "person right of the train", asked)[0] is DIFFERENT


ACTIONS = [
    ("playing guitar", "plays the guitar", SAME),
    ("blowing glass", "glassblowing", SAME),
    ("blowing glass", "blow glass", SAME),
    ("blowing glass", "glass", DIFFERENT),
    ("archery", "practicing archery", SAME),
    ("brushing teeth", "tooth brushing", SAME),
    ("archery", "a person doing archery", SAME),
    ("archery", "Is there any archery in the video_1.mp4?", DIFFERENT),
    ("archery", "please tell me whether there is archery", DIFFERENT),
    ("archery", "not archery", DIFFERENT),
    ("archery", "swimming", DIFFERENT),
]


def test_a_condition_names_the_action_and_hardly_more(subtests):
    for wanted, given, verdict in ACTIONS:
        with subtests.test(case=wanted):
            assert compare_actions(wanted, given) is verdict


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
    ("find the dog", Intent.GROUND, "dog", SAME),
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
