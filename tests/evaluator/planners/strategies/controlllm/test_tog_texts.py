"""Decomposition by rules of requests about texts and writing."""

import pytest

from evaluator.planners.strategies.controlllm.offline_decomposing import decompose_offline
from evaluator.planners.strategies.controlllm.planning import plan_offline
from evaluator.planners.strategies.controlllm.search import adaptive
from tests.evaluator.planners.strategies.controlllm.tog_factories import ALL, TOOLBOX, request

TEXT = "It rained all day. Then Ann left. Nobody came home."


def planned(text: str, **files: str) -> list[tuple[list[str], tuple[str, ...]]]:
    """Arguments and tools of each subtask."""
    subtasks = decompose_offline(request=request(text, **files), tools=ALL, lexicon=TOOLBOX.lexicon)
    found = plan_offline(subtasks=subtasks, toolbox=TOOLBOX, choose=adaptive)
    return [
        ([arg.value for arg in subtask.args], one.candidates[0].path if one.candidates else ())
        for subtask, one in zip(subtasks, found, strict=True)
    ]


@pytest.mark.parametrize(
    ("wording", "tool"),
    [
        ('Find a headline for "{}"', "title_generation"),
        ('Which keywords suit the following? "{}"', "text_to_tags"),
        ('"{}" List the people mentioned in this story.', "named_entity_recognition"),
        ("Condense \u201c{}\u201d, please.", "summarization"),
        ('Is the tone of this paragraph happy or sad? "{}"', "sentiment_analysis"),
        ('Where does this take place? "{}"', "extract_location"),
        ('Read this aloud: "{}"', "text_to_speech"),
        ('Shorten this: "{}', "summarization"),
    ],
)
def test_a_quoted_text_is_passed_on_whole_to_the_tool_that_is_asked_for(wording, tool):
    assert planned(wording.format(TEXT)) == [([TEXT], (tool,))]


@pytest.mark.parametrize(
    "wording",
    [
        "Could you read a.png to me?",
        "What does the label on the bottle in a.png read?",
        "Transcribe the handwriting in a.png.",
        "Which letters are written on the board in a.png? Give me the letters.",
    ],
)
def test_writing_is_read_once(wording):
    assert planned(wording, a_png="image") == [(["a.png"], ("optical_character_recognition",))]


@pytest.mark.parametrize(
    "text", ['"', '""', '"a', "\u201c", "'''", '"" ""', 'a" b" c"', "<QUOTE>-0", '"<QUOTE>-1"', '".']
)
def test_odd_quotations_do_not_break_the_rules(text):
    planned(text)
    planned(text, a_png="image", b_wav="audio")
