"""Requests as the trained decomposer reads them, and the words that it points at."""

import pytest

from evaluator.planners.strategies.controlllm.trained.plurals import singular
from evaluator.planners.strategies.controlllm.trained.reading import MOST_WORDS, Slot, read_request
from evaluator.tools.types import ResourceType

IMAGE, VIDEO = ResourceType.IMAGE, ResourceType.VIDEO


def texts(reading):
    return [piece.text for piece in reading.pieces]


def test_files_become_slots_by_type_in_the_order_of_the_text_and_words_are_numbered():
    files = {"b.png": IMAGE, "a.png": IMAGE, "c.mp4": VIDEO}
    reading = read_request(text="Compare a.png, b.png with C.mp4 and c.mp4.", files=files)
    assert texts(reading) == ["compare", "<image0>", ",", "<image1>", "with", "c", ".", "mp4", "and", "<video0>", "."]
    assert reading.files == {Slot(IMAGE, 0): "a.png", Slot(IMAGE, 1): "b.png", Slot(VIDEO, 0): "c.mp4"}
    assert [piece.position for piece in reading.pieces if piece.position is not None] == list(range(8))
    assert not reading.is_cut


def test_a_file_that_the_text_does_not_name_stands_behind_it_and_is_no_word():
    reading = read_request(text="Describe it", files={"a.png": IMAGE})
    assert texts(reading) == ["describe", "it", "<image0>"]
    assert len(reading.positions) == 2


@pytest.mark.parametrize(
    ("first", "last", "sentence", "said"),
    [(3, 4, False, "Teddy Bear"), (3, 6, True, "Teddy Bear in a.png?"), (3, 6, False, "Teddy Bear in a.png")],
)
def test_words_are_the_requests_own_with_its_capitals(first, last, sentence, said):
    reading = read_request(text="Where is the Teddy Bear in a.png?", files={"a.png": IMAGE})
    assert reading.words(first=first, last=last, sentence=sentence) == said


def test_a_request_of_ten_thousand_words_is_cut_and_says_so():
    reading = read_request(text="word " * 10_000, files={})
    assert len(reading.positions) == MOST_WORDS
    assert reading.is_cut


def test_more_files_than_slots_are_left_out_and_it_says_so():
    files = {f"{number}.png": IMAGE for number in range(20)}
    reading = read_request(text=" ".join(files), files=files)
    assert len(reading.files) == 12
    assert texts(reading)[-1] == "file"
    assert reading.is_cut


@pytest.mark.parametrize(
    ("several", "one"),
    [
        ("buses", "bus"), ("dining tables", "dining table"), ("people", "person"), ("wine glasses", "wine glass"),
        ("berries", "berry"), ("knives", "knife"), ("bus", "bus"), ("grass", "grass"), ("Horses", "horse"), ("", ""),
    ],
)  # fmt: skip
def test_the_singular_of_nouns(several, one):
    assert singular(several) == one
