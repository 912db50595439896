"""Labels, boxes and masks on task pages, without a database."""

import json

import numpy as np
import pytest

from evaluator.engine.store import MemoryStore
from evaluator.records import ArtefactReference, SampleResult, StepRun
from evaluator.values import (
    Artefact,
    Box,
    Boxes,
    Label,
    Labels,
    Mask,
    Masks,
    MediaType,
    Value,
    array_to_image,
    encode,
)
from leaderboard.pages.tasks.artefacts_shown import Reading
from leaderboard.pages.tasks.findings_shown import MOST_DRAWN
from leaderboard.pages.tasks.samples_shown import samples_page

PIXELS = np.zeros((32, 64), dtype=np.bool_)
PIXELS[4:6, 10:14] = True
PIXELS[5, 20] = True


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def keep(store: MemoryStore, value: Value) -> ArtefactReference:
    artefact = encode(value)
    return ArtefactReference(digest=store.put(artefact), media_type=artefact.media_type)


def picture(store: MemoryStore) -> ArtefactReference:
    return keep(store, array_to_image(np.zeros((32, 64, 3), dtype=np.float32)))


def reading(store: MemoryStore) -> Reading:
    return Reading(store=store, split="public")


def test_labels_are_shown_as_text_with_their_scores(store: MemoryStore):
    found = Labels((Label("red star", 0.875), Label("ring", 0.1)))
    shown = reading(store).show(name="category", reference=keep(store, found), alt="Classes")
    assert (shown.kind, shown.text) == ("text", "red star (0.88), ring (0.10)")
    nothing = reading(store).show(name="category", reference=keep(store, Labels(())), alt="Classes")
    assert nothing.text == "(nothing)"


def test_boxes_are_frames_over_the_picture_in_its_shape(store: MemoryStore):
    over = picture(store)
    found = keep(store, Boxes((64, 32), (Box("red star", 1.5, 2, 20, 30, 0.9),)))
    shown = reading(store).show(name="object", reference=found, alt="Boxes", over=over)
    assert shown.overlay is not None
    assert (shown.kind, shown.overlay.width, shown.overlay.height) == ("overlay", 256, 128)
    assert over.digest in shown.overlay.picture
    drawn = shown.overlay.found
    assert drawn is not None
    assert (drawn.width, drawn.height, drawn.left_out) == (64, 32, 0)
    assert [tuple(one) for one in drawn.items] == [(1, "red star", "0.90", "", "M1.5 2H20V30H1.5Z")]


def test_masks_are_regions_of_exactly_their_pixels(store: MemoryStore):
    found = keep(store, Masks((64, 32), (Mask("red star", PIXELS), Mask("", PIXELS & False))))
    shown = reading(store).show(name="mask", reference=found, alt="Masks")
    assert shown.overlay is not None
    assert shown.overlay.picture == ""
    drawn = shown.overlay.found
    assert drawn is not None
    assert drawn.items[0].border.count("M") == 8  # two rectangles, and none between the rows of the first
    assert "M10 4h4" in drawn.items[0].border
    assert "M14 4v2" in drawn.items[0].border
    assert [one.path for one in drawn.items] == ["M10 4h4v1h-4zM10 5h4v1h-4zM20 5h1v1h-1z", ""]
    assert drawn.items[1].label == "unnamed"


def test_a_page_draws_a_limited_number(store: MemoryStore):
    many = Boxes((64, 32), (Box("a", 0, 0, 1, 1),) * (MOST_DRAWN + 7))
    shown = reading(store).show(name="object", reference=keep(store, many), alt="Boxes")
    assert shown.overlay is not None
    assert shown.overlay.found is not None
    assert (len(shown.overlay.found.items), shown.overlay.found.left_out) == (MOST_DRAWN, 7)
    chequered = (np.indices((400, 400)).sum(axis=0) % 2).astype(np.bool_)
    shown = reading(store).show(
        name="mask", reference=keep(store, Masks((400, 400), (Mask("a", chequered),))), alt="Masks"
    )
    assert shown.overlay is not None
    assert shown.overlay.found is not None
    assert (len(shown.overlay.found.items), shown.overlay.found.left_out) == (0, 1)


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff\xfe", b"[" * 50_000, json.dumps({"kind": "boxes"}).encode()])
def test_what_a_worker_sent_that_is_no_findings_is_a_file(store: MemoryStore, data: bytes):
    artefact = Artefact(data=data, media_type=MediaType.FINDINGS)
    reference = ArtefactReference(digest=store.put(artefact), media_type=artefact.media_type)
    shown = reading(store).show(name="object", reference=reference, alt="Boxes")
    assert (shown.kind, shown.overlay, shown.text) == ("file", None, "")


def test_what_was_selected_is_drawn_over_the_picture_that_it_was_found_in(store: MemoryStore):
    first, second = picture(store), keep(store, array_to_image(np.ones((32, 64, 3), dtype=np.float32)))
    found = keep(store, Boxes((64, 32), (Box("red star", 1, 2, 20, 30), Box("ring", 3, 3, 9, 9))))
    left = keep(store, Boxes((64, 32), (Box("ring", 3, 3, 9, 9),)))

    def run(
        step: str, tool: str, inputs: dict[str, ArtefactReference], outputs: dict[str, ArtefactReference]
    ) -> StepRun:
        return StepRun(
            step=step, tool=tool, expert="", key="", inputs=inputs, outputs=outputs, cached=False, seconds=0
        )  # fmt: skip

    condition = keep(store, "ring")
    sample = SampleResult(
        index=0,
        score=1,
        inputs={"a.png": first, "b.png": second},
        reference=left,
        answer=left,
        steps=[
            run("s1", "object_detection", {"image": second}, {"object": found}),
            run("s2", "select_bbox", {"bbox_list": found, "condition": condition}, {"result": left}),
        ],
    )
    page = samples_page(samples=[sample], number=None, reading=reading(store), catalogue=None)
    (shown,) = page.samples
    over = [output.overlay.picture for step in shown.steps for output in step.outputs if output.overlay]
    assert len(over) == 2
    assert all(second.digest in address for address in over)
    answer = shown.answers[0].answer
    assert answer is not None
    assert answer.overlay is not None
    assert second.digest in answer.overlay.picture
