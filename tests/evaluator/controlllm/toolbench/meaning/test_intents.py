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
    ("Remove the purple circle.", Intent.REMOVE, "purple circle", SAME),
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
    ("Take inventory of the picture", CLOSELY, SAME),
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


RIGHT = [
    ("How many dogs are there in the image?", Intent.COUNT, "dog"),
    ("Count the number of dogs in the image.", Intent.COUNT, "dog"),
    ("What is the number of dogs?", Intent.COUNT, "dog"),
    ("How many dogs can be seen in this picture? Answer with a number.", Intent.COUNT, "dog"),
    ("Please count how many dogs appear in the photo.", Intent.COUNT, "dog"),
    ("Tell me the total count of dogs present in the image", Intent.COUNT, "dog"),
    ("Determine the quantity of dogs visible", Intent.COUNT, "dog"),
    ("How many puppies are there?", Intent.COUNT, "dog"),
    ("What's the dog count?", Intent.COUNT, "dog"),
    ("Number of dogs", Intent.COUNT, "dog"),
    ("How many canines are present?", Intent.COUNT, "dog"),
    ("Based on the image, how many individual dogs can you see?", Intent.COUNT, "dog"),
    ("How many instances of dog are in the image?", Intent.COUNT, "dog"),
    ("Count all the dogs. Provide only the number.", Intent.COUNT, "dog"),
    ("Give the exact number of dogs in the picture", Intent.COUNT, "dog"),
    ("Is there a dog in the image?", Intent.PRESENCE, "dog"),
    ("Does this picture contain a dog?", Intent.PRESENCE, "dog"),
    ("Is a dog present in the image?", Intent.PRESENCE, "dog"),
    ("Can you see a dog in the image?", Intent.PRESENCE, "dog"),
    ("Check if there's a dog in the image.", Intent.PRESENCE, "dog"),
    ("Determine whether the image contains a dog", Intent.PRESENCE, "dog"),
    ("Is there any dog visible in this image? Answer yes or no.", Intent.PRESENCE, "dog"),
    ("Are there any dogs in the picture?", Intent.PRESENCE, "dog"),
    ("Does a dog appear in the image?", Intent.PRESENCE, "dog"),
    ("Do you spot a dog?", Intent.PRESENCE, "dog"),
    ("Verify the presence of a dog in the picture", Intent.PRESENCE, "dog"),
    ("Is a dog depicted in the photo?", Intent.PRESENCE, "dog"),
    ("Look at the image: is there a dog?", Intent.PRESENCE, "dog"),
    ("Identify if a dog is present in the image", Intent.PRESENCE, "dog"),
    ("Is there at least one dog in the image?", Intent.PRESENCE, "dog"),
    ("Does the image include a dog?", Intent.PRESENCE, "dog"),
    ("Is the object 'dog' present in the image?", Intent.PRESENCE, "dog"),
    ("Describe the image in detail.", Intent.DESCRIBE, ""),
    ("Provide a detailed description of the image", Intent.DESCRIBE, ""),
    ("What is shown in the image? Describe it thoroughly.", Intent.DESCRIBE, ""),
    ("Can you give me a comprehensive description of this picture?", Intent.DESCRIBE, ""),
    ("Generate a caption for this image", Intent.DESCRIBE, ""),
    ("What does the image depict?", Intent.DESCRIBE, ""),
    ("Write a detailed paragraph describing the scene", Intent.DESCRIBE, ""),
    (
        "Describe everything you see in the image, including people, setting, colors, and mood.",
        Intent.DESCRIBE,
        "",
    ),
    ("What is going on in the picture?", Intent.DESCRIBE, ""),
    ("Analyze the image in a comprehensive and detailed manner.", Intent.DESCRIBE, ""),
    ("Summarize the content of the picture", Intent.DESCRIBE, ""),
    ("Describe the image, focusing on the main subjects and actions.", Intent.DESCRIBE, ""),
    ("Please describe the image in detail, including the dog.", Intent.DESCRIBE, ""),
    ("List all the objects in the image.", Intent.LIST, ""),
    ("What are all the objects visible in this image?", Intent.LIST, ""),
    ("Identify all objects present in the image", Intent.LIST, ""),
    ("Please list every object that you can see", Intent.LIST, ""),
    ("What items are shown in the picture?", Intent.LIST, ""),
    ("Enumerate all objects in the image", Intent.LIST, ""),
    ("What objects can be recognized in the image?", Intent.LIST, ""),
    ("Provide a list of all objects present in the image", Intent.LIST, ""),
    ("Name everything visible in the photo.", Intent.LIST, ""),
    ("Which things does the picture contain?", Intent.LIST, ""),
    ("Classify the objects in the image.", Intent.LIST, ""),
    ("Detect all objects", Intent.LIST, ""),
    ("What are the different objects in this image?", Intent.LIST, ""),
    ("What are the main objects in the image?", Intent.LIST, ""),
    ("Remove the dog from the image.", Intent.REMOVE, "dog"),
    ("Erase the dog", Intent.REMOVE, "dog"),
    ("Please remove the dog from this picture and fill in the background naturally", Intent.REMOVE, "dog"),
    ("Delete the dog so that the background remains", Intent.REMOVE, "dog"),
    ("Make the dog disappear", Intent.REMOVE, "dog"),
    ("Edit out the dog", Intent.REMOVE, "dog"),
    ("the image without the dog", Intent.REMOVE, "dog"),
    ("Take the dog out of the picture", Intent.REMOVE, "dog"),
    ("remove all dogs", Intent.REMOVE, "dog"),
    ("Remove the dog, keeping everything else unchanged", Intent.REMOVE, "dog"),
    ("Remove the dog but keep the background intact", Intent.REMOVE, "dog"),
    ("Remove dog and inpaint the area", Intent.REMOVE, "dog"),
    ("Clear the dog from the scene", Intent.REMOVE, "dog"),
    ("dog", Intent.GROUND, "dog"),
    ("the dog in the image", Intent.GROUND, "dog"),
    ("Where is the dog located?", Intent.GROUND, "dog"),
    ("Locate the dog", Intent.GROUND, "dog"),
    ("a dog.", Intent.GROUND, "dog"),
    ("Find all the dogs in the image", Intent.GROUND, "dog"),
    ("Highlight the location of the dog", Intent.GROUND, "dog"),
    ("Detect dogs in the picture.", Intent.GROUND, "dog"),
    ("What is the position of the dog in the image?", Intent.GROUND, "dog"),
    ("Identify the location of the dog", Intent.GROUND, "dog"),
]
DOUBTFUL = {
    "How many puppies are there?",
    "Based on the image, how many individual dogs can you see?",
    "Is the object 'dog' present in the image?",
    "Describe everything you see in the image, including people, setting, colors, and mood.",
    "Analyze the image in a comprehensive and detailed manner.",
    "Describe the image, focusing on the main subjects and actions.",
    "Please describe the image in detail, including the dog.",
    "Clear the dog from the scene",
}


def test_usual_wordings_of_an_intent_are_the_same_and_none_is_different(subtests):
    for text, intent, about in RIGHT:
        with subtests.test(case=text):
            assert compare_intent(text, intent, about)[0] is (UNDECIDED if text in DOUBTFUL else SAME)


WRONG = [
    ("How many dogs are on the couch?", Intent.COUNT, "dog"),
    ("Count everything except dogs", Intent.COUNT, "dog"),
    ("How many legs does the dog have?", Intent.COUNT, "dog"),
    ("How many dogs and cats are there?", Intent.COUNT, "dog"),
    ("How many animals are there?", Intent.COUNT, "dog"),
    ("How many black dogs?", Intent.COUNT, "dog"),
    ("How many times does the dog appear?", Intent.COUNT, "dog"),
    ("How many people have dogs?", Intent.COUNT, "dog"),
    ("How many puppies and cats are there?", Intent.COUNT, "dog"),
    ("How many sleeping puppies are there?", Intent.COUNT, "dog"),
    ("Is the number of dogs even?", Intent.COUNT, "dog"),
    ("Count the dogs that are only sleeping", Intent.COUNT, "dog"),
    ("Is there a dog on the couch?", Intent.PRESENCE, "dog"),
    ("Is there a dog or a cat?", Intent.PRESENCE, "dog"),
    ("Is there no dog?", Intent.PRESENCE, "dog"),
    ("Is the dog asleep in the image?", Intent.PRESENCE, "dog"),
    ("Is the dog's owner in the image?", Intent.PRESENCE, "dog"),
    ("Is the dog big?", Intent.PRESENCE, "dog"),
    ("Is there a poodle?", Intent.PRESENCE, "dog"),
    ("Is there an animal?", Intent.PRESENCE, "dog"),
    ("Check if the dog is the only animal", Intent.PRESENCE, "dog"),
    ("Is it a dog?", Intent.PRESENCE, "dog"),
    ("Identify the dog", Intent.PRESENCE, "dog"),
    ("Are there at least two dogs?", Intent.PRESENCE, "dog"),
    ("Is the dog not present?", Intent.PRESENCE, "dog"),
    ("Remove everything and leave the dog", Intent.REMOVE, "dog"),
    ("Remove the background but keep the dog", Intent.REMOVE, "dog"),
    ("Remove the dog and leave the cat", Intent.REMOVE, "dog"),
    ("Remove the dog's background", Intent.REMOVE, "dog"),
    ("Remove the dog and its background", Intent.REMOVE, "dog"),
    ("Remove the dog's leash", Intent.REMOVE, "dog"),
    ("Remove the background of the dog", Intent.REMOVE, "dog"),
    ("Remove the dog and the rest", Intent.REMOVE, "dog"),
    ("Remove the dog and everything else", Intent.REMOVE, "dog"),
    ("Remove all but the dog", Intent.REMOVE, "dog"),
    ("Remove the background", Intent.REMOVE, "dog"),
    ("remove the dog in the background", Intent.REMOVE, "dog"),
    ("Remove the dog and the background", Intent.REMOVE, "dog"),
    ("Keep the dog and remove the background", Intent.REMOVE, "dog"),
    ("Remove the dog, the background should be white", Intent.REMOVE, "dog"),
    ("Remove the dog and the rest of the image", Intent.REMOVE, "dog"),
    ("Remove the person without the dog", Intent.REMOVE, "dog"),
    ("do not remove the dog", Intent.REMOVE, "dog"),
    ("a man without the dog", Intent.REMOVE, "dog"),
    ("tell me what the dog is doing", Intent.GROUND, "dog"),
    ("find the dog's owner", Intent.GROUND, "dog"),
    ("the position of the cat", Intent.GROUND, "dog"),
    ("identify the dog breed", Intent.GROUND, "dog"),
    ("give the dog a bone", Intent.GROUND, "dog"),
    ("the dog on the left", Intent.GROUND, "dog"),
    ("outline of the dog", Intent.GROUND, "dog"),
    ("What is the dog?", Intent.GROUND, "dog"),
    ("box", Intent.GROUND, "dog"),
    ("find everything", Intent.GROUND, "dog"),
    ("the place for the dog", Intent.GROUND, "dog"),
    ("dog and cat", Intent.GROUND, "dog"),
    ("what be", Intent.GROUND, "dog"),
    ("What is the main object in the image?", Intent.LIST, ""),
    ("classify the dog", Intent.LIST, ""),
    ("Find the object", Intent.LIST, ""),
    ("Detect the object in the image", Intent.LIST, ""),
    ("What is the object?", Intent.LIST, ""),
    ("Which object is the biggest?", Intent.LIST, ""),
    ("What objects are missing?", Intent.LIST, ""),
    ("Find all the red objects", Intent.LIST, ""),
    ("How many objects are there?", Intent.LIST, ""),
    ("What objects are on the table?", Intent.LIST, ""),
    ("Is there any object?", Intent.LIST, ""),
    ("What material are the objects?", Intent.LIST, ""),
    ("Where are the objects?", Intent.LIST, ""),
    ("Describe the objects", Intent.LIST, ""),
    ("List the animals", Intent.LIST, ""),
    ("What is the object used for?", Intent.LIST, ""),
    ("Describe the objects in the image", Intent.DESCRIBE, ""),
    ("Describe the dog in the image", Intent.DESCRIBE, ""),
    ("Write a poem about the image", Intent.DESCRIBE, ""),
    ("What objects are in the image?", Intent.DESCRIBE, ""),
    ("Describe the image, focusing only on the dog", Intent.DESCRIBE, ""),
    ("Describe the mood", Intent.DESCRIBE, ""),
    ("What is this?", Intent.DESCRIBE, ""),
    ("Generate an image", Intent.DESCRIBE, ""),
    ("Create a title for the picture", Intent.DESCRIBE, ""),
    ("Write it", Intent.DESCRIBE, ""),
    ("Analyze the image for safety risks", Intent.DESCRIBE, ""),
    ("Describe the background", Intent.DESCRIBE, ""),
    ("Describe the weather", Intent.DESCRIBE, ""),
    ("Describe this image in one word", Intent.DESCRIBE, ""),
]


def test_a_question_may_use_another_name_of_several_words():
    for text in ("Is there toilet paper in the picture?", "Is there any toilet tissue visible?"):
        assert compare_intent(text, Intent.PRESENCE, "bathroom tissue")[0] is SAME
    assert compare_intent("How many sheets of toilet paper are there?", Intent.COUNT, "bathroom")[0] is not SAME
    assert compare_intent("Is there a bathroom?", Intent.PRESENCE, "bathroom tissue")[0] is not SAME


def test_near_misses_of_an_intent_are_not_the_same(subtests):
    for text, intent, about in WRONG:
        with subtests.test(case=text):
            assert compare_intent(text, intent, about)[0] is not SAME
