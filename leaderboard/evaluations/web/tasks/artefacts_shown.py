"""Artefacts as the task page shows them, by their media type: pictures, texts, boxes, masks, sound and films.

Boxes and masks are findings (`evaluator.core.values`). The boxes that OpenAGI's detector tells beside its text are
texts, known by the name of their output (`execution/experts/detection.py`).
"""

import json
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from evaluator.core.records import ArtefactReference
from evaluator.core.values import Labels, MediaType
from evaluator.execution.engine.store import ObjectDamagedError, ObjectMissingError, Store
from leaderboard.evaluations.results.objects import object_url
from leaderboard.evaluations.web.tasks.findings_shown import Found, as_text, drawn, read_findings

MAX_TEXT = 2000
"""Characters of a text artefact that the page shows; the whole text is behind its link."""
MOST_BOXES = 100
OVERLAY_WIDTH = 256
"""Width of a picture that something is drawn over, in its own units; its height follows from the picture."""
BOXES = "boxes"
"""Name of an output that holds boxes."""
_GONE = "(not in the store any more)"
_PNG_SIZE = struct.Struct(">II")


class Box(NamedTuple):
    """One detected object, in the units of its overlay."""

    number: int
    label: str
    score: str
    x: float
    y: float
    width: float
    height: float

    @property
    def text_x(self) -> float:
        return self.x + 3

    @property
    def text_y(self) -> float:
        """Baseline of the number, inside the box."""
        return self.y + 12


class Overlay(NamedTuple):
    """Something drawn over a picture: boxes, or a mask."""

    picture: str
    """Address of the picture below; empty where it is not known."""
    width: int
    height: int
    mask: str = ""
    """Address of the mask above, if it is one."""
    boxes: tuple[Box, ...] = ()
    left_out: int = 0
    """How many boxes are not drawn."""
    found: Found | None = None
    """Boxes or masks with their names, which the artefact itself gives."""


class Shown(NamedTuple):
    """One artefact as the page shows it."""

    kind: str
    """`image`, `text`, `overlay`, `audio`, `video` or `file`."""
    name: str
    url: str
    alt: str
    text: str = ""
    characters: int = 0
    """Length of the whole text, if only its beginning is shown."""
    overlay: Overlay | None = None

    @property
    def is_image(self) -> bool:
        return self.kind == "image"


class Reading:
    """Reads artefacts of one split for one page, each once."""

    def __init__(self, *, store: Store, split: str) -> None:
        self._store = store
        self._split = split
        self._read: dict[str, bytes | None] = {}

    def url(self, reference: ArtefactReference) -> str:
        return object_url(digest=reference.digest, split=self._split)

    def show(
        self, *, name: str, reference: ArtefactReference, alt: str, over: ArtefactReference | None = None
    ) -> Shown:
        """An artefact by its media type; boxes and masks over a picture, if it is known."""
        kind = kind_of(reference.media_type)
        shown = Shown(kind=kind, name=name, url=self.url(reference), alt=alt)
        if kind == "findings":
            return self._findings(shown, reference=reference, over=over)
        if kind != "text":
            return shown
        text = self.text(reference)
        if len(text) <= MAX_TEXT:
            return shown._replace(text=text)
        return shown._replace(text=text[:MAX_TEXT] + " …", characters=len(text))

    def show_output(
        self, *, name: str, kind: str, reference: ArtefactReference, over: ArtefactReference | None, alt: str
    ) -> Shown:
        """An output of a step: boxes and masks are drawn over the picture that the step was given.

        Args:
            kind: the output's type in the catalogue; nothing if that is unknown.
            over: the picture.
        """
        shown = self.show(name=name, reference=reference, alt=alt, over=over)
        overlay = None
        if over is not None and name == BOXES and shown.kind == "text":
            overlay = self._boxes(text=self.text(reference), over=over)
        elif over is not None and kind == "mask" and shown.is_image:
            width, height = self._size(over)
            overlay = Overlay(picture=self.url(over), width=width, height=height, mask=shown.url)
        return shown if overlay is None else shown._replace(kind="overlay", overlay=overlay)

    def _findings(self, shown: Shown, *, reference: ArtefactReference, over: ArtefactReference | None) -> Shown:
        found = read_findings(self._bytes(reference))
        if found is None:
            return shown._replace(kind="file")
        if isinstance(found, Labels):
            return shown._replace(kind="text", text=as_text(found))
        width, height = found.size
        overlay = Overlay(
            picture="" if over is None else self.url(over),
            width=OVERLAY_WIDTH,
            height=max(1, round(OVERLAY_WIDTH * height / width)),
            found=drawn(found),
        )
        return shown._replace(kind="overlay", overlay=overlay)

    def text(self, reference: ArtefactReference) -> str:
        """A text artefact; a sentence in its place if the store has lost it."""
        data = self._bytes(reference)
        return _GONE if data is None else data.decode("utf-8", errors="replace")

    def _bytes(self, reference: ArtefactReference) -> bytes | None:
        if reference.digest not in self._read:
            try:
                self._read[reference.digest] = self._store.get(reference.digest).data
            except (ObjectMissingError, ObjectDamagedError):
                self._read[reference.digest] = None
        return self._read[reference.digest]

    def _size(self, picture: ArtefactReference) -> tuple[int, int]:
        width, height = png_size(self._bytes(picture) or b"")
        return OVERLAY_WIDTH, max(1, round(OVERLAY_WIDTH * height / width))

    def _boxes(self, *, text: str, over: ArtefactReference) -> Overlay | None:
        found = read_boxes(text)
        if found is None:
            return None
        width, height = self._size(over)
        boxes = tuple(_box(number, entry, width=width, height=height) for number, entry in enumerate(found, start=1))
        return Overlay(
            picture=self.url(over),
            width=width,
            height=height,
            boxes=boxes[:MOST_BOXES],
            left_out=max(0, len(boxes) - MOST_BOXES),
        )


def kind_of(media_type: str) -> str:
    """How a media type is shown."""
    if media_type == MediaType.FINDINGS:
        return "findings"
    kind = media_type.split("/", 1)[0]
    return kind if kind in {"image", "text", "audio", "video"} else "file"


def png_size(data: bytes) -> tuple[int, int]:
    """Width and height of a PNG in pixels; a square for what is none."""
    if data[:8] != b"\x89PNG\r\n\x1a\n" or len(data) < 24:
        return 1, 1
    width, height = _PNG_SIZE.unpack(data[16:24])
    return (width, height) if width and height else (1, 1)


def read_boxes(text: str) -> list[Mapping[str, Any]] | None:
    """The entries of a text of boxes, `[{"label", "score", "box": [left, top, right, bottom]}]` with the sides as
    shares of the picture's; None if it is something else."""
    try:
        entries = json.loads(text)
    except ValueError:
        return None
    return entries if isinstance(entries, list) and all(map(_is_box, entries)) else None


def _is_box(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("label"), str):
        return False
    sides = entry.get("box")
    numbers = [entry.get("score"), *(sides if isinstance(sides, list) and len(sides) == 4 else [None])]
    return all(isinstance(one, int | float) and not isinstance(one, bool) for one in numbers)


def _box(number: int, entry: Mapping[str, Any], *, width: int, height: int) -> Box:
    left, top, right, bottom = (min(max(float(side), 0.0), 1.0) for side in entry["box"])
    return Box(
        number=number,
        label=entry["label"][:80],
        score=f"{float(entry['score']):.2f}",
        x=round(left * width, 1),
        y=round(top * height, 1),
        width=round(max(right - left, 0.0) * width, 1),
        height=round(max(bottom - top, 0.0) * height, 1),
    )
