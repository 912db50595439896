"""Quotations of requests: where they begin and end, and that no mark, however odd, breaks or loses a text."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluator.planners.strategies.controlllm.quotations import read_quotations, without_marks


def quoted(text: str, *files: str) -> list[str]:
    return [one.text for one in read_quotations(text, files=files).quotations]


@pytest.mark.parametrize(
    ("request_text", "texts"),
    [
        ('Tag this: "It rained. We left."', ["It rained. We left."]),
        ("Tag this: \u201cIt rained. We left.\u201d", ["It rained. We left."]),
        ("Tag this: \u201eEs regnete. Wir gingen.\u201c", ["Es regnete. Wir gingen."]),
        ("Tag this: «Il pleut. On part.»", ["Il pleut. On part."]),
        ("Tag this: \u2018Ann\u2019s dog ran. We left.\u2019", ["Ann\u2019s dog ran. We left."]),
        ("Tag this: 'The dogs' bowl fell. We left.'", ["The dogs' bowl fell. We left."]),
        ('Tag this: "She said \u2018no\u2019. We left."', ["She said \u2018no\u2019. We left."]),
        ("Mark the 'red star' and the 'blue ring'.", ["red star", "blue ring"]),
        ('Title "One. Two." and ("Three. Four.").', ["One. Two.", "Three. Four."]),
    ],
)
def test_texts_between_marks_are_found_word_for_word(request_text, texts):
    assert quoted(request_text) == texts


@pytest.mark.parametrize(
    "request_text",
    [
        "Don't crop the dogs' bowl.",
        'A 5" pipe and a 6\'2" man.',
        "'Tis late, and rock 'n' roll is dead",
        'Describe "a.png".',
        'They wrote: "Crop a.png to the dog. Then count the cats."',
        '"Paint a lighthouse. Then trace its edges."',
        'Nothing here: "" or " " or \u201c\u201d.',
        "",
    ],
)
def test_apostrophes_inches_empty_marks_and_instructions_are_no_quotations(request_text):
    found = read_quotations(request_text, files=["a.png"])
    assert (found.quotations, found.text) == ((), request_text)


def test_a_mark_that_is_never_closed_reaches_to_the_end_or_to_a_sentence_with_a_file():
    assert quoted('Tag this: "It rained. We left') == ["It rained. We left"]
    assert quoted("Tag this: \u201cIt rained. We left. Then crop a.png.", "a.png") == ["It rained. We left."]
    assert quoted('Mark the "red star in a.png.', "a.png") == []


_MARKS = st.text(alphabet="ab.:, ?\"'\u201c\u201d\u201e\u2018\u2019«»5\nA", max_size=60)


@given(text=_MARKS)
@example(text='"5"5A')
def test_any_order_of_marks_can_be_read_and_written_back(text):
    found = read_quotations(text, files=["a.b"])
    for one in found.quotations:
        assert one.text.strip()
        assert one.text in text
        assert one.written in text
    assert len(without_marks(found.text)) <= len(text) + len(found.quotations)
    letters = [char for char in found.whole(found.text) if char != "."]
    assert letters == [char for char in text if char != "."]
