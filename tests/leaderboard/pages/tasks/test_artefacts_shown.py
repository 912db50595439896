"""Artefacts by their media type, without a database."""

import json

import pytest

from evaluator.engine.store import MemoryStore
from evaluator.records import ArtefactReference
from evaluator.values import Value, array_to_image, encode
from leaderboard.pages.tasks.artefacts_shown import MAX_TEXT, MOST_BOXES, Reading, kind_of, png_size, read_boxes

BOXES = '[{"box":[0.1,0.2,0.5,0.6],"label":"red circle","score":0.93}]'
"""As `evaluator.experts.detection.boxes_as_text` writes them."""


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def keep(store: MemoryStore, value: Value) -> ArtefactReference:
    artefact = encode(value)
    return ArtefactReference(digest=store.put(artefact), media_type=artefact.media_type)


def picture(store: MemoryStore, *, height: int, width: int) -> ArtefactReference:
    import numpy as np

    return keep(store, array_to_image(np.zeros((height, width, 3), dtype=np.float32)))


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [
        ("image/png", "image"),
        ("text/plain; charset=utf-8", "text"),
        ("audio/wav", "audio"),
        ("video/mp4", "video"),
        ("application/octet-stream", "file"),
        ("", "file"),
    ],
)
def test_what_an_artefact_is_shown_as_follows_from_its_media_type(media_type: str, kind: str):
    assert kind_of(media_type) == kind


def test_a_long_text_is_cut_and_says_how_long_it_is(store: MemoryStore):
    reading = Reading(store=store, split="public")
    long, short = keep(store, "ä" * 5000), keep(store, "ä" * MAX_TEXT)
    shown = reading.show(name="text", reference=long, alt="A text")
    assert (len(shown.text), shown.characters) == (MAX_TEXT + 2, 5000)
    assert reading.show(name="text", reference=short, alt="A text").characters == 0


def test_a_text_that_the_store_lost_is_said(store: MemoryStore):
    gone = ArtefactReference(digest="0" * 64, media_type="text/plain; charset=utf-8")
    assert "not in the store" in Reading(store=store, split="public").show(name="a", reference=gone, alt="").text


def test_boxes_that_a_detector_wrote_are_drawn_over_its_picture_in_its_shape(store: MemoryStore):
    reading = Reading(store=store, split="public")
    shown = reading.show_output(
        name="boxes",
        kind="",
        reference=keep(store, BOXES),
        over=picture(store, width=64, height=32),
        alt="Boxes",
    )
    assert shown.kind == "overlay"
    assert (shown.overlay.width, shown.overlay.height) == (256, 128)
    (box,) = shown.overlay.boxes
    assert (box.number, box.label, box.score) == (1, "red circle", "0.93")
    assert (box.x, box.y, box.width, box.height) == (25.6, 25.6, 102.4, 51.2)


def test_sides_outside_the_picture_end_at_its_edge_and_turned_ones_have_no_size(store: MemoryStore):
    entries = [
        {"label": "a", "score": 1, "box": [-0.5, 0.5, 1.5, 2]},
        {"label": "b", "score": 0, "box": [0.9, 0.9, 0.1, 0.1]},
    ]
    overlay = _overlay(store, json.dumps(entries))
    first, second = overlay.boxes
    assert (first.x, first.y, first.width, first.height) == (0, 128, 256, 128)
    assert (second.width, second.height) == (0, 0)


def test_of_too_many_boxes_the_others_are_counted(store: MemoryStore):
    entries = [{"label": "a", "score": 0.5, "box": [0, 0, 1, 1]}] * (MOST_BOXES + 7)
    overlay = _overlay(store, json.dumps(entries))
    assert (len(overlay.boxes), overlay.left_out) == (MOST_BOXES, 7)


def _overlay(store: MemoryStore, text: str):
    over = picture(store, width=8, height=8)
    reading = Reading(store=store, split="public")
    return reading.show_output(name="boxes", kind="", reference=keep(store, text), over=over, alt="").overlay


@pytest.mark.parametrize(
    "text",
    [
        "a red circle",
        "{}",
        '[{"label": "a"}]',
        '[{"label": "a", "score": 1, "box": [0, 0, 1]}]',
        '[{"label": "a", "score": true, "box": [0, 0, 1, 1]}]',
        '[{"label": 1, "score": 1, "box": [0, 0, 1, 1]}]',
        "[[1]]",
    ],
)
def test_what_is_no_list_of_boxes_stays_a_text(store: MemoryStore, text: str):
    assert read_boxes(text) is None
    assert _overlay(store, text) is None


def test_a_mask_lies_over_the_picture_that_it_was_made_of(store: MemoryStore):
    over, mask = picture(store, width=10, height=10), picture(store, width=10, height=11)
    reading = Reading(store=store, split="public")
    shown = reading.show_output(name="mask", kind="mask", reference=mask, over=over, alt="A mask")
    assert (shown.overlay.picture, shown.overlay.mask) == (f"/objects/{over.digest}", f"/objects/{mask.digest}")
    plain = reading.show_output(name="image", kind="image", reference=mask, over=over, alt="A picture")
    assert plain.kind == "image"
    assert reading.show_output(name="mask", kind="mask", reference=mask, over=None, alt="").kind == "image"


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n\x1a\n", b"GIF89a" + b"\0" * 40])
def test_what_is_no_png_counts_as_a_square(data: bytes):
    assert png_size(data) == (1, 1)


def test_artefacts_of_the_hidden_split_have_addresses_for_staff(store: MemoryStore):
    shown = Reading(store=store, split="hidden").show(name="text", reference=keep(store, "secret"), alt="")
    assert shown.url.startswith("/hidden-objects/")
