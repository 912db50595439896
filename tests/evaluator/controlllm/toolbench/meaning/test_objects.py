"""Conditions match by head noun, with at most the attributes of the request."""

from evaluator.controlllm.toolbench.meaning.objects import compare_actions, compare_objects
from evaluator.controlllm.toolbench.meaning.questions import compare_prompts
from evaluator.controlllm.toolbench.meaning.sentences import next_to
from evaluator.controlllm.toolbench.meaning.verdict import Verdict

SAME, DIFFERENT, UNDECIDED = Verdict.SAME, Verdict.DIFFERENT, Verdict.UNDECIDED


OBJECTS = [
    ("car", "the cars", SAME),
    ("car", "car in the image", SAME),
    ("car", "automobile", SAME),
    ("tv", "television set", SAME),
    ("scissors", "a pair of scissors", SAME),
    ("luggage", "piece of luggage", SAME),
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
    ("chainsaw", "chain saw", SAME),
    ("vase", "vase that is found in garden_009.png", SAME),
    ("dog", "the dog in the kitchen_002.png picture", SAME),
    ("dog", "the cat in kitchen_002.png", DIFFERENT),
    ("dog", "everything in a.png except the dog in b.png", DIFFERENT),
    ("bathroom tissue", "toilet paper", SAME),
    ("trash can", "the dustbins", SAME),
    ("polar bear", "ice bear", SAME),
    ("polar bear", "brown bear", DIFFERENT),
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
    ("riding unicycle", "unicycling", SAME),
    ("skateboarding", "riding a skateboard", SAME),
    ("playing drums", "drumming", SAME),
    ("eating fish", "fishing", DIFFERENT),
    ("riding scooter", "skateboarding", DIFFERENT),
    ("throwing axe", "axing", DIFFERENT),
    ("blowing glass", "glass", DIFFERENT),
    ("archery", "practicing archery", SAME),
    ("brushing teeth", "tooth brushing", SAME),
    ("archery", "a person doing archery", SAME),
    ("archery", "Is there any archery in the video_1.mp4?", DIFFERENT),
    ("archery", "please tell me whether there is archery", DIFFERENT),
    ("archery", "not archery", DIFFERENT),
    # In other words.
    ("playing guitar", "strumming a guitar", UNDECIDED),
    ("riding a bike", "biking", SAME),
    ("riding a bike", "cycling", UNDECIDED),
    ("archery", "shooting arrows", UNDECIDED),
    ("archery", "swimming", UNDECIDED),
    ("hugging", "embracing", UNDECIDED),
    ("washing hair", "shampooing", UNDECIDED),
    ("flipping pancake", "flooble", UNDECIDED),
    # Another object, or another doing with the same object.
    ("playing guitar", "playing violin", DIFFERENT),
    ("kicking ball", "throwing ball", DIFFERENT),
    ("feeding birds", "feeding fish", DIFFERENT),
    ("playing guitar", "guitar", DIFFERENT),
]


def test_a_condition_names_the_action_and_hardly_more(subtests):
    for wanted, given, verdict in ACTIONS:
        with subtests.test(case=wanted):
            assert compare_actions(wanted, given)[0] is verdict


def test_the_place_of_a_name_is_looked_for_in_short_texts_with_single_spaces_only():
    assert compare_objects("dog", f"the dog{' ' * 1900}in a.png") == compare_objects("dog", "the dog in a.png")
    # Of a longer text nothing is read after that.
    assert compare_objects("dog", f"the dog{' ' * 100_000}in a.png")[0] is SAME
