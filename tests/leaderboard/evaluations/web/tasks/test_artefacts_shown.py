"""Artefacts and values by their media type, and findings in them, without a database."""

import json

import numpy as np
import pytest

from evaluator.core.records import ArtefactReference, SampleResult, StepRun
from evaluator.core.sounds import sound_of
from evaluator.core.transcripts import ActionRun
from evaluator.core.values import (  # fmt: skip
    Artefact,
    Box,
    Boxes,
    Clip,
    Label,
    Labels,
    Mask,
    Masks,
    MediaType,
    Value,
    array_to_image,
    encode,
)
from evaluator.core.web_pages import page_of
from evaluator.execution.engine.store import MemoryStore
from evaluator.lumos.sql.environment import text_of
from evaluator.lumos.sql.outcome import Result
from leaderboard.evaluations.web.tasks.artefacts_shown import (
    MAX_TEXT,
    MOST_BOXES,
    MOST_COLUMNS,
    MOST_DRAWN,
    MOST_ROWS,
    Reading,
    kind_of,
    png_size,
    read_boxes,
    readable,
    shown_value,
    table_of,
)
from leaderboard.evaluations.web.tasks.samples_shown import samples_page
from leaderboard.evaluations.web.tasks.stored_tasks import url_on

BOXES = '[{"box":[0.1,0.2,0.5,0.6],"label":"red circle","score":0.93}]'
"""As `evaluator.execution.experts.detection.boxes_as_text` writes them."""


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def keep(store: MemoryStore, value: Value) -> ArtefactReference:
    artefact = encode(value)
    return ArtefactReference(digest=store.put(artefact), media_type=artefact.media_type)


def picture(store: MemoryStore, *, height: int, width: int) -> ArtefactReference:
    return keep(store, array_to_image(np.zeros((height, width, 3), dtype=np.float32)))


def test_what_an_artefact_is_shown_as_follows_from_its_media_type():
    kinds = {
        "image/png": "image", "text/plain; charset=utf-8": "text", "audio/wav": "audio", "video/mp4": "video",
        "image/apng; sound=wav": "film", "image/apng": "image",
        "application/octet-stream": "file", "": "file",
    }  # fmt: skip
    assert {media_type: kind_of(media_type) for media_type in kinds} == kinds


def test_texts_are_cut_said_to_be_lost_or_at_addresses_for_staff(store: MemoryStore):
    reading = Reading(store=store, url_of=url_on("public"))
    long, short = keep(store, "ä" * 5000), keep(store, "ä" * MAX_TEXT)
    shown = reading.show(name="text", reference=long, alt="A text")
    assert (len(shown.text), shown.characters) == (MAX_TEXT + 2, 5000)
    assert reading.show(name="text", reference=short, alt="A text").characters == 0
    gone = ArtefactReference(digest="0" * 64, media_type="text/plain; charset=utf-8")
    assert "not in the store" in reading.show(name="a", reference=gone, alt="").text
    hidden = Reading(store=store, url_of=url_on("hidden")).show(name="text", reference=keep(store, "secret"), alt="")
    assert hidden.url.startswith("/hidden-objects/")


def test_boxes_that_a_detector_wrote_are_drawn_over_its_picture_in_its_shape(store: MemoryStore):
    shown = reading(store).show_output(
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
    entries = [{"label": "a", "score": 0.5, "box": [0, 0, 1, 1]}] * (MOST_BOXES + 7)
    overlay = _overlay(store, json.dumps(entries))
    assert (len(overlay.boxes), overlay.left_out) == (MOST_BOXES, 7)


def _overlay(store: MemoryStore, text: str):
    over = picture(store, width=8, height=8)
    reading = Reading(store=store, url_of=url_on("public"))
    return reading.show_output(name="boxes", kind="", reference=keep(store, text), over=over, alt="").overlay


def test_what_is_no_list_of_boxes_stays_a_text_and_what_is_no_png_counts_as_a_square(store: MemoryStore):
    for text in (
        "a red circle",
        "{}",
        '[{"label": "a"}]',
        '[{"label": "a", "score": 1, "box": [0, 0, 1]}]',
        '[{"label": "a", "score": true, "box": [0, 0, 1, 1]}]',
        '[{"label": 1, "score": 1, "box": [0, 0, 1, 1]}]',
        "[[1]]",
    ):
        assert (read_boxes(text), _overlay(store, text)) == (None, None), text
    for data in (b"", b"\x89PNG\r\n\x1a\n", b"GIF89a" + b"\0" * 40):
        assert png_size(data) == (1, 1)


def test_a_mask_lies_over_the_picture_that_it_was_made_of(store: MemoryStore):
    over, mask = picture(store, width=10, height=10), picture(store, width=10, height=11)
    shown = reading(store).show_output(name="mask", kind="mask", reference=mask, over=over, alt="A mask")
    assert (shown.overlay.picture, shown.overlay.mask) == (f"/objects/{over.digest}", f"/objects/{mask.digest}")
    plain = reading(store).show_output(name="image", kind="image", reference=mask, over=over, alt="A picture")
    assert plain.kind == "image"
    assert reading(store).show_output(name="mask", kind="mask", reference=mask, over=None, alt="").kind == "image"


PIXELS = np.zeros((32, 64), dtype=np.bool_)
PIXELS[4:6, 10:14] = True
PIXELS[5, 20] = True


def reading(store: MemoryStore) -> Reading:
    return Reading(store=store, url_of=url_on("public"))


def test_labels_are_shown_as_text_with_their_scores(store: MemoryStore):
    found = Labels((Label("red star", 0.875), Label("ring", 0.1)))
    shown = reading(store).show(name="category", reference=keep(store, found), alt="Classes")
    assert (shown.kind, shown.text) == ("text", "red star (0.88), ring (0.10)")
    nothing = reading(store).show(name="category", reference=keep(store, Labels(())), alt="Classes")
    assert nothing.text == "(nothing)"


def test_boxes_are_frames_over_the_picture_in_its_shape(store: MemoryStore):
    over = picture(store, height=32, width=64)
    found = keep(store, Boxes((64, 32), (Box("red star", 1.5, 2, 20, 30, 0.9),)))
    shown = reading(store).show(name="object", reference=found, alt="Boxes", over=over)
    assert (shown.kind, shown.overlay.width, shown.overlay.height) == ("overlay", 256, 128)
    assert over.digest in shown.overlay.picture
    drawn = shown.overlay.outlines
    assert (drawn.width, drawn.height, drawn.left_out) == (64, 32, 0)
    assert [tuple(one) for one in drawn.items] == [(1, "red star", "0.90", "", "M1.5 2H20V30H1.5Z")]


def test_masks_are_regions_of_exactly_their_pixels(store: MemoryStore):
    found = keep(store, Masks((64, 32), (Mask("red star", PIXELS), Mask("", PIXELS & False))))
    shown = reading(store).show(name="mask", reference=found, alt="Masks")
    assert shown.overlay.picture == ""
    drawn = shown.overlay.outlines
    assert drawn.items[0].border.count("M") == 8  # two rectangles, and none between the rows of the first
    assert "M10 4h4" in drawn.items[0].border
    assert "M14 4v2" in drawn.items[0].border
    assert [one.path for one in drawn.items] == ["M10 4h4v1h-4zM10 5h4v1h-4zM20 5h1v1h-1z", ""]
    assert drawn.items[1].label == "unnamed"


def test_a_page_draws_a_limited_number(store: MemoryStore):
    many = Boxes((64, 32), (Box("a", 0, 0, 1, 1),) * (MOST_DRAWN + 7))
    shown = reading(store).show(name="object", reference=keep(store, many), alt="Boxes")
    assert (len(shown.overlay.outlines.items), shown.overlay.outlines.left_out) == (MOST_DRAWN, 7)
    chequered = (np.indices((400, 400)).sum(axis=0) % 2).astype(np.bool_)
    shown = reading(store).show(
        name="mask", reference=keep(store, Masks((400, 400), (Mask("a", chequered),))), alt="Masks"
    )
    assert (len(shown.overlay.outlines.items), shown.overlay.outlines.left_out) == (0, 1)


def test_what_a_worker_sent_that_is_no_findings_is_a_file(store: MemoryStore):
    for data in (b"", b"[]", b"\xff\xfe", b"[" * 50_000, json.dumps({"kind": "boxes"}).encode()):
        artefact = Artefact(data=data, media_type=MediaType.FINDINGS)
        reference = ArtefactReference(digest=store.put(artefact), media_type=artefact.media_type)
        shown = reading(store).show(name="object", reference=reference, alt="Boxes")
        assert (shown.kind, shown.overlay, shown.text) == ("file", None, "")


def test_what_was_selected_is_drawn_over_the_picture_that_it_was_found_in(store: MemoryStore):
    first, second = (
        picture(store, height=32, width=64),
        keep(store, array_to_image(np.ones((32, 64, 3), dtype=np.float32))),
    )
    found = keep(store, Boxes((64, 32), (Box("red star", 1, 2, 20, 30), Box("ring", 3, 3, 9, 9))))
    left = keep(store, Boxes((64, 32), (Box("ring", 3, 3, 9, 9),)))

    def run(step: str, tool: str, inputs, outputs) -> StepRun:
        unused = {"expert": "", "key": "", "cached": False, "seconds": 0}
        return StepRun(step=step, tool=tool, inputs=inputs, outputs=outputs, **unused)

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
    assert second.digest in answer.overlay.picture


def test_sounds_have_a_waveform_and_what_steps_say_about_them(store: MemoryStore):
    levels = np.concatenate([np.zeros(8000), 0.5 * np.sin(np.arange(8000))])
    sound = sound_of(levels)
    speech, film = keep(store, sound), keep(store, Clip(np.zeros((7, 4, 4, 3), dtype=np.uint8), sound=sound))
    shown_by = reading(store)
    shown_by.listen(tool="text_to_speech", inputs={"text": keep(store, "a red star")}, outputs={"speech": speech})
    shown_by.listen(tool="speech_to_text", inputs={"speech": speech}, outputs={"text": keep(store, "a red")})
    shown_by.listen(tool="dub_video", inputs={"audio": speech}, outputs={"video": film})
    alone, dubbed = (shown_by.show(name="s", reference=one, alt="A sound") for one in (speech, film))

    assert (alone.kind, dubbed.kind) == ("audio", "film")
    lines = ("text_to_speech made it from: a red star", "speech_to_text heard: a red")
    assert alone.heard.lines == dubbed.heard.lines == lines
    assert alone.heard.url == alone.url
    assert dubbed.heard.url == f"{dubbed.url}?part=sound"
    assert (alone.heard.seconds, alone.heard.width) == (1.0, 120)
    for _ in range(100):  # dubbed with its own sound, a film stays the same
        shown_by.listen(tool="dub_video", inputs={"video": film, "audio": speech}, outputs={"video": film})
    assert shown_by.show(name="s", reference=film, alt="A sound").heard.lines == lines
    columns = alone.heard.path.split("M")[1:]
    assert len(columns) == 120
    assert columns[0] == "0 16.0V16.5", "silence is a flat line"
    assert columns[-1].startswith("119 8.0V24.0")


def test_a_web_page_is_framed_and_one_that_is_not_passive_stays_text(store: MemoryStore):
    page = page_of(title="A film", description="Dogs.", tags=("dog",), picture=b"\x89PNG", media_type="image/png")
    hostile = page.replace("<ul>", "<script>alert(1)</script><ul>")
    shown, refused = (
        reading(store).show_output(name="html_code", kind="html", reference=keep(store, text), over=None, alt="A page")
        for text in (page, hostile)
    )
    assert (shown.kind, shown.text) == ("page", "title: A film\nheading: A film\ntext: Dogs.\ntag: dog")
    assert refused.kind == "text"
    assert refused.text.startswith("(not shown as a page: it has a <script>)")


def test_bytes_that_are_no_sound_have_no_player(store: MemoryStore):
    for media_type in (MediaType.SOUND, MediaType.SOUNDING_CLIP):
        artefact = Artefact(b"RIFF no sound", media_type=media_type)
        reference = ArtefactReference(digest=store.put(artefact), media_type=media_type)
        assert reading(store).show(name="s", reference=reference, alt="A sound").heard is None


def written(rows: int, *, columns: int = 2, is_cut: bool = False) -> str:
    names = tuple(f"c{number}" for number in range(columns))
    found = tuple((*range(columns - 1), f"row {number}") for number in range(rows))
    return text_of(Result(columns=names, rows=found, is_cut=is_cut))


def test_rows_are_a_table_with_numbers_nulls_and_texts():
    found = table_of(text_of(Result(columns=("name", "age"), rows=(("Ann", 3), (None, 2.5)))))
    assert found.columns == ("name", "age")
    assert [[cell.text for cell in row] for row in found.rows] == [["Ann", "3"], ["NULL", "2.5"]]
    assert [cell.is_number for cell in found.rows[0]] == [False, True]
    assert found.rows[1][0].is_null
    assert (found.left_out, found.is_partial) == (0, False)


def test_many_rows_are_cut_and_it_says_so():
    found = table_of(written(MOST_ROWS + 5, columns=MOST_COLUMNS + 3, is_cut=True))
    assert (len(found.rows), found.left_out, found.columns_left_out, found.is_partial) == (MOST_ROWS, 5, 3, True)


def test_what_the_record_cut_shows_its_whole_rows():
    kept = ActionRun(tool="SQL", arguments="", outputs={"R1": written(1000)}).outputs["R1"]
    assert kept.endswith("…")
    found = table_of(kept)
    assert found.is_partial
    assert found.rows[-1][1].text == f"row {MOST_ROWS - 1}"
    assert found.left_out > 10


OTHERS = [
    "", "7", "{", '{"columns": ', '{"columns": 3, "rows": []}', '{"columns": [], "rows": []}',
    '{"columns": ["a"], "rows": [[1, 2]]}', '{"columns": [1], "rows": [[1]]}', '{"columns": ["a"], "rows": 3}',
    '{"columns": ["a"], "rows": [], "more": 1}', '{"columns": ["a"], "rows": [3, …',
    '{"columns": ' + "[" * 3900 + "…", '{"columns": ["a"], "rows": [' + "[" * 3900,
    '{"columns": ["a"], "rows": ' + json.dumps({"a": 1}) + "}",
    '{"a": 1}', '{"rows": [["Ann"]]}', "[[1]]", "plain", '{"', '{"a": [[]]}',
]  # fmt: skip


def test_other_texts_stay_texts():
    assert [text for text in OTHERS if shown_value(text) != (text, None)] == []


VIEW = {
    "test": [{"input": [[".", "a"]], "input_grid_size": [1, 2]}],
    "train": [{"input_pixel_coords": {"a": [[0, 1], [2, 3]]}}],
}
LINES = """test:
  1:
    input:
      . a
    input grid size: [1, 2]
train:
  1:
    input pixel coords:
      a: [[0, 1], [2, 3]]"""


def test_grids_of_a_view_become_lines_and_names_words_up_to_the_last_whole_value():
    text = json.dumps(VIEW, separators=(",", ":"))
    assert readable(text) == LINES
    assert readable(text[: text.index("train") + 3] + "…") == LINES.partition("\ntrain")[0]
    for end in range(len(text)):
        found = shown_value(text[:end] + "…").text
        assert found.startswith("test:") or found == text[:end] + "…"
