"""Goals about texts: derived only where a decomposition names the tool, and folded where a step makes the text."""

import pytest

from evaluator.controlllm.toolbench.goals.derive import UncoveredError, derive_goal
from evaluator.controlllm.toolbench.goals.parts import File, Kind
from evaluator.controlllm.toolbench.meaning.questions import compare_verbatim
from evaluator.controlllm.toolbench.meaning.verdict import Verdict
from evaluator.controlllm.toolbench.mini.requests import Gold
from evaluator.replies.decomposition import parse_decomposition


def derived(gold, *, instruction="Do it."):
    return derive_goal(instruction=instruction, decomposition=parse_decomposition(gold.text())).parts


def subtask(*, description, gives, value="a text"):
    gold = Gold()
    gold.add(
        description=description, domains=["natural-language-processing"], args={"text": value}, gives=gives, calls=1
    )
    return gold


@pytest.mark.parametrize("gives", ["title", "tags", "location"])
def test_without_the_name_of_a_tool_no_goal_is_guessed(gives):
    with pytest.raises(UncoveredError):
        derived(subtask(description="Say something about the text", gives=gives))


def test_a_text_in_reply_to_a_text_is_still_asked_of_a_language_model():
    (part,) = derived(subtask(description="Summarize the text", gives="text"))
    assert part.kind is Kind.ASK_TEXT
    (part,) = derived(subtask(description="Use the `summarization` tool", gives="text"))
    assert (part.kind, part.target) == (Kind.SUMMARISE, "a text")


def test_reading_is_no_description():
    gold = Gold()
    gold.act("read", {"image": "a.png"})
    gold.add(description="Use the `image_captioning` tool", domains=[], args={"image": "b.png"}, gives="text", calls=1)
    assert [(part.kind, part.source) for part in derived(gold)] == [
        (Kind.READ, File("a.png")),
        (Kind.DESCRIBE, File("b.png")),
    ]


@pytest.mark.parametrize(
    ("act", "tool"),
    [
        ("annotate_sign", "optical_character_recognition"),
        ("annotate_caption", "image_captioning"),
        ("annotate_clip", "video_captioning"),
    ],
)
def test_a_text_that_is_made_for_it_is_no_part_of_its_own(act, tool):
    gold = Gold()
    gold.act(act, {"image": "a.png", "video": "a.png", "tool": "text_to_tags", "type": "tags"})
    (part,) = derived(gold)
    assert (part.kind, part.source, part.via, part.target) == (Kind.TAGS, File("a.png"), tool, "")
    assert part.sentence() == f"tags of the {tool.replace('_', ' ')} in a.png"


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ("Anna sold a cake.", Verdict.SAME),
        ('  "Anna sold\n a cake." ', Verdict.SAME),
        ("anna sold a cake.", Verdict.DIFFERENT),
        ("Anna sold a cake. Ben sold a book.", Verdict.DIFFERENT),
        ("Anna sold", Verdict.DIFFERENT),
        ("", Verdict.DIFFERENT),
    ],
)
def test_a_text_is_handed_on_with_the_same_words(given, verdict):
    assert compare_verbatim("Anna sold a cake.", given) is verdict
