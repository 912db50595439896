"""Messages to language models, and prompts in other words."""

from evaluator.controlllm.toolbench.meaning.questions import compare_prompts, compare_texts
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
]


def test_a_prompt_in_other_words_is_told_apart_only_by_what_the_rules_know(subtests):
    for wanted, given, verdict in PROMPTS:
        with subtests.test(case=(wanted, given)):
            assert compare_prompts(wanted, given)[0] is verdict
