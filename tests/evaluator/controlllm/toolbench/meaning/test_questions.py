"""Remarks around questions, messages to language models, and prompts in other words."""

from evaluator.controlllm.toolbench.meaning.questions import compare_prompts, compare_questions, compare_texts
from evaluator.controlllm.toolbench.meaning.verdict import Verdict

SAME, DIFFERENT, UNDECIDED = Verdict.SAME, Verdict.DIFFERENT, Verdict.UNDECIDED

SHORT = "Which river flows through Basel?"
LONG = (
    "Translate the letter of the mayor from English into Spanish, keep the names of all streets, and do not shorten "
    "the part about the bridge, the harbour and the market hall, which the council wants to rebuild."
)
TEXTS = [
    (SHORT, SHORT, SAME),
    (SHORT, f"Please answer this question: {SHORT}", SAME),
    (SHORT, f"{SHORT} Thanks!", SAME),
    (SHORT, f"Translate into French: {SHORT}", UNDECIDED),
    (SHORT, f"Do not answer the question: {SHORT}", UNDECIDED),
    (SHORT, "Why do tides come later each day?", UNDECIDED),
    (LONG, LONG, SAME),
    (LONG, LONG.replace("English into Spanish", "Spanish into English"), UNDECIDED),
    (LONG, LONG.replace("do not shorten", "do shorten"), UNDECIDED),
    (LONG, LONG.replace("mayor", "teacher"), UNDECIDED),
    (LONG, "Translate the letter.", DIFFERENT),
    (LONG, SHORT, DIFFERENT),
]


def test_a_message_keeps_its_content_its_order_and_its_denials(subtests):
    for wanted, given, verdict in TEXTS:
        with subtests.test(case=given):
            assert compare_texts(wanted, given)[0] is verdict


PROMPTS = [
    ("a lighthouse on a cliff at sunset", "a cliff with a lighthouse at dusk", UNDECIDED),
    ("the sun setting over the sea", "a sunset above the ocean", UNDECIDED),
    ("a kitten asleep in a basket", "a baby cat sleeping in a basket", UNDECIDED),
    ("a knight with a sword", "a sword with a knight", UNDECIDED),
    ("a stone castle with a dragon", "a castle with a stone dragon", UNDECIDED),
    ("a castle and a dragon under the moon", "a dragon and a castle under the moon", SAME),
    ("a dog and a cat on a beach at night", "a dog on a beach at night", DIFFERENT),
    ("a dog and a cat on a beach at night", "a dog on a beautiful beach at night", DIFFERENT),
    ("a vase of roses", "a vase of tulips", DIFFERENT),
    ("a red car", "a blue car", DIFFERENT),
    ("two dogs on a lawn", "three dogs on a lawn", DIFFERENT),
    ("a wolf howling at the moon", "a fox howling at the moon", DIFFERENT),
    ("a violin on a chair", "a cello on a chair", DIFFERENT),
    ("a bakery next to a canal", "tell me a joke", DIFFERENT),
    ("a dog", "a couch", DIFFERENT),
    ("The new image should be a magical garden with a bunny.", "Please draw a magical garden with a bunny.", SAME),
    ("a magical garden with a bunny", "A beautiful illustration of a magical garden with a bunny", SAME),
    ("a magical garden with a bunny", "a magical garden with a bunny in watercolor style", UNDECIDED),
]


def test_a_prompt_in_other_words_is_told_apart_only_by_what_the_rules_know(subtests):
    for wanted, given, verdict in PROMPTS:
        with subtests.test(case=(wanted, given)):
            assert compare_prompts(wanted, given)[0] is verdict


ASKED = [
    "What color is the bear?",
    "Is the man on the skateboard airborne?",
    "What are the risks of feeding the monkeys?",
    "How many dogs are there?",
    "Can you list the items that are on the wooden surface?",
]
REMARKS = [
    "Based on the image, {}", "Looking at the picture, {}", "According to the photo, {}",
    "In the context of this image, {}",
    "Please look closely at the image and tell me: {}", "Considering the scene, {}", "{} Answer briefly.",
    "{} Give a short answer.", "{} Please explain your answer.", "{} Be concise.", "{} Answer in one sentence.",
]  # fmt: skip
PLACES = ["{} in the image?", "{} as shown in this photo?", "{}, judging from what is visible in the picture?"]


def test_remarks_on_the_picture_and_on_the_answer_change_no_question(subtests):
    for question in ASKED:
        for remark in REMARKS:
            with subtests.test(case=remark.format(question)):
                assert compare_questions(question, remark.format(question))[0] is SAME
        for place in PLACES:
            with subtests.test(case=place.format(question)):
                assert compare_questions(question, place.format(question.rstrip("?")))[0] is SAME


NO_REMARKS = [
    ("What color is the bear?", "Based on the picture on the wall, what color is the bear?"),
    ("What color is the bear?", "What color is the bear in the mirror?"),
    ("What color is the bear?", "What color is the bear? Give a short explanation of the cave."),
    ("Is the man airborne?", "Looking at the picture, what is the man doing?"),
    ("What is visible on the table?", "What is visible in the picture?"),
]


def test_what_says_more_than_a_remark_counts(subtests):
    for wanted, given in NO_REMARKS:
        with subtests.test(case=given):
            assert compare_questions(wanted, given)[0] is not SAME


def test_colours_of_a_prompt_do_not_change_places():
    wanted = "change the red front door to green"
    assert compare_prompts(wanted, "Change the green front door to red.")[0] is UNDECIDED
    assert compare_prompts(wanted, "Please change the red front doors to green.")[0] is SAME
