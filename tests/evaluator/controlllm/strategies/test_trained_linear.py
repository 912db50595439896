"""Requests as the trained decomposer reads them, and the grammar of its linear decompositions."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.controlllm.strategies.subtasks import typed_subtasks
from evaluator.controlllm.strategies.trained.kinds import KINDS, Form
from evaluator.controlllm.strategies.trained.linear import (
    END,
    MOST_SUBTASKS,
    Grammar,
    LinearSubtask,
    Text,
    kind_token,
    linear_tokens,
    parsed,
    singular,
    written,
)
from evaluator.controlllm.strategies.trained.reading import MOST_WORDS, Slot, read_request
from evaluator.controlllm.toolbench.mini.requests import Gold
from evaluator.core.tools.types import ResourceType
from evaluator.replies.decomposition import parse_decomposition
from evaluator.scoring.metrics.decomposition import judge_decomposition

FILES = {"a.png": ResourceType.IMAGE, "b.mp4": ResourceType.VIDEO, "m.png": ResourceType.MASK}
REQUEST = "Remove the teddy bears from a.png. How many are left?"


def reading_of(text=REQUEST, files=FILES):
    return read_request(text=text, files=files)


def walk(reading, seed):
    """A random sequence by the grammar."""
    rng, grammar, sequence = random.Random(seed), Grammar(reading), []
    while not sequence or sequence[-1] != END:
        allowed = grammar.allowed(sequence)
        assert allowed, f"nothing may follow {sequence}"
        sequence.append(rng.choice(allowed))
    return sequence


@given(
    text=st.text(max_size=200),
    names=st.dictionaries(st.sampled_from(["a.png", "b.png", "c.mp4", "m.png"]), st.sampled_from(list(ResourceType))),
    seed=st.integers(min_value=0, max_value=2**31),
)
@settings(max_examples=150, deadline=None)
def test_whatever_follows_the_grammar_is_a_decomposition_of_the_requests_files_and_words(text, names, seed):
    names = {name: kind for name, kind in names.items() if kind is not ResourceType.TEXT}
    reading = read_request(text=f"{text} {' '.join(names)}", files=names)
    subtasks = parsed(walk(reading, seed))
    read = parse_decomposition(written(subtasks=subtasks, reading=reading))
    typed_subtasks(read)
    assert not read.tolerated
    assert len(read.subtasks) <= MOST_SUBTASKS
    results = [result.value for subtask in read.subtasks for result in subtask.returns]
    for linear, subtask in zip(subtasks, read.subtasks, strict=True):
        for source, argument in zip(linear.arguments, subtask.args, strict=True):
            if argument.type != "text":
                assert argument.value in {*names, *results[: subtask.id]}
            elif source.form is Form.SAY:
                assert argument.value in reading.request


def test_a_request_without_words_and_files_has_no_subtask():
    reading = reading_of("", {})
    assert Grammar(reading).allowed([]) == [END]
    assert parsed([END]) == ()


def test_without_a_video_nothing_may_be_asked_of_one():
    allowed = Grammar(reading_of(files={"a.png": ResourceType.IMAGE})).allowed([])
    assert kind_token("recognise") in allowed
    assert kind_token("action") not in allowed
    assert kind_token("erase") not in allowed
    assert END not in allowed


def test_a_sequence_is_read_back_as_it_was_written():
    subtasks = (
        LinearSubtask("mask", ("<image0>", Text(Form.ONE, 2, 3))),
        LinearSubtask("erase", ("<image0>", 1)),
        LinearSubtask("ask", (1, Text(Form.SAY, 6, 9))),
        LinearSubtask("ask", (2, Text(Form.DESCRIBE))),
    )
    assert parsed(linear_tokens(subtasks)) == subtasks
    read = parse_decomposition(written(subtasks=subtasks, reading=reading_of()))
    assert [[one.value for one in subtask.args] for subtask in read.subtasks] == [
        ["a.png", "teddy bear"],
        ["a.png", "<GENERATED>-0"],
        ["<GENERATED>-1", "How many are left?"],
        ["<GENERATED>-1", "Describe this image in detail."],
    ]
    assert [subtask.dependencies for subtask in read.subtasks] == [(), (0,), (1,), (1,)]


PICTURE = "a.png"
ACTS = {
    "draw-boxes": "locate", "crop": "crop", "recognise": "recognise", "recognise-one": "recognise_one",
    "action": "action", "actions": "actions", "mask": "mask", "segment": "segment_all", "erase": "remove_masked",
    "similar": "similar", "ask": "ask", "answer": "answer", "edge-map": "make_map",
}  # fmt: skip
SLOTS = dict.fromkeys(("thing", "category", "action", "question", "said"), "teddy bears")


@pytest.mark.parametrize("name", ACTS)
def test_a_kind_is_written_as_the_gold_of_our_own_suite_writes_it(name):
    """Including its description, by the rule of DeAcc."""
    slots = {ResourceType.IMAGE: "<image0>", ResourceType.VIDEO: "<video0>", ResourceType.MASK: "<mask0>"}
    arguments = tuple(slots.get(kind, Text(Form.SAY, 2, 3)) for kind in KINDS[name].takes)
    gold = Gold()
    gold.act(ACTS[name], {**SLOTS, "image": PICTURE, "video": "b.mp4", "mask_file": "m.png", "map": "edge"})
    text = written(subtasks=[LinearSubtask(name, arguments)], reading=reading_of())
    verdict = judge_decomposition(predicted=text, gold=parse_decomposition(gold.text()))
    assert verdict.right, verdict.why


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
