"""Artefacts and values on the task page, by media type: pictures, texts, JSON, boxes, masks, sound and films.

Boxes and masks are findings (`evaluator.core.values`). The boxes that OpenAGI's detector reports beside its text are
texts, identified by the name of their output (`execution/experts/detection.py`).
"""

import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from evaluator.core.marks import Mark
from evaluator.core.records import ArtefactReference
from evaluator.core.sounds import Sound, stored_sound
from evaluator.core.values import (
    Artefact,
    Box,
    Boxes,
    FindingError,
    Findings,
    Labels,
    Mask,
    Masks,
    MediaType,
    findings_from_json,
    sound_of_clip,
)
from evaluator.core.web_pages import PageError, elements_of
from evaluator.execution.engine.store import ObjectDamagedError, ObjectMissingError
from leaderboard.evaluations.web.tasks.marks_shown import MarkedPicture, marked

MOST_DRAWN = 100
"""Maximum number of boxes or masks."""
_LONGEST_PATH = 40_000
"""Maximum length of all outlines of one picture."""


class Drawn(NamedTuple):
    """One box or mask, in pixels of its picture."""

    number: int
    label: str
    score: str
    path: str
    """SVG path to fill: the pixels of a mask; empty for a box."""
    border: str
    """SVG path to stroke: the border of a mask or box."""


class Outlines(NamedTuple):
    """Boxes or masks of a picture."""

    width: int
    height: int
    items: tuple[Drawn, ...]
    left_out: int
    """Number of boxes or masks that are not drawn."""


def read_findings(data: bytes | None) -> Findings | None:
    """The findings of an artefact; None if it has another format."""
    try:
        return findings_from_json(json.loads((data or b"").decode("utf-8")))
    except (FindingError, ValueError, RecursionError):
        return None


def as_text(findings: Findings) -> str:
    """The name and score of each finding."""
    names = (
        [(label.name, label.score) for label in findings.items]
        if isinstance(findings, Labels)
        else [(item.label, item.score) for item in findings.items]
    )
    return ", ".join(f"{name or 'unnamed'} ({score:.2f})" for name, score in names) or "(nothing)"


def drawn(findings: Boxes | Masks) -> Outlines:
    """Boxes and masks as outlines, as many as a page can show."""
    items: list[Drawn] = []
    length = 0
    outlined: Sequence[Box | Mask] = findings.items
    for number, item in enumerate(outlined, start=1):
        path = ""
        if isinstance(item, Box):
            border = f"M{item.left:g} {item.top:g}H{item.right:g}V{item.bottom:g}H{item.left:g}Z"
        else:
            path = "".join(f"M{start} {row}h{size}v1h-{size}z" for row, start, size in _stretches(item.pixels))
            border = _border(item.pixels)
        length += len(path) + len(border)
        if number > MOST_DRAWN or length > _LONGEST_PATH:
            break
        items.append(Drawn(number, item.label[:80] or "unnamed", f"{item.score:.2f}", path, border))
    width, height = findings.size
    return Outlines(width, height, tuple(items), left_out=len(findings.items) - len(items))


def _border(pixels: npt.NDArray[np.bool_]) -> str:
    padded = np.pad(pixels, 1)
    horizontal = _stretches((padded[:-1] != padded[1:])[:, 1:-1])
    vertical = _stretches((padded[:, :-1] != padded[:, 1:])[1:-1].T)
    return "".join(
        [
            *(f"M{start} {row}h{length}" for row, start, length in horizontal),
            *(f"M{column} {start}v{length}" for column, start, length in vertical),
        ]
    )


def _stretches(flags: npt.NDArray[np.bool_]) -> list[tuple[int, int, int]]:
    """Row, start and length of each run of flags in a row."""
    runs = []
    for row in np.flatnonzero(flags.any(axis=1)).tolist():
        changes = np.flatnonzero(np.diff(np.concatenate([[False], flags[row], [False]]).astype(np.int8))).tolist()
        runs += [(row, start, stop - start) for start, stop in zip(changes[::2], changes[1::2], strict=True)]
    return runs


MAX_TEXT = 2000
"""Characters of a text artefact that the page shows; a link leads to the whole text."""
MOST_BOXES = 100
OVERLAY_WIDTH = 256
"""Width of an overlay in its own units; the height follows from the picture."""
BOXES = "boxes"
"""Name of an output that holds boxes."""
_GONE = "(not in the store any more)"
_PNG_SIZE = struct.Struct(">II")


class DetectedBox(NamedTuple):
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
    """Boxes or a mask over a picture."""

    picture: str
    """URL of the picture; empty if it is unknown."""
    width: int
    height: int
    mask: str = ""
    """URL of the mask picture, if any."""
    boxes: tuple[DetectedBox, ...] = ()
    left_out: int = 0
    """Number of boxes that are not drawn."""
    outlines: Outlines | None = None
    """Boxes or masks of an artefact with findings."""


_WAVE_COLUMNS, _WAVE_HEIGHT = 120, 32
MOST_LINES = 4
LONGEST_LINE = 300
"""Characters of a line of a transcript."""


class Heard(NamedTuple):
    """The sound of an artefact."""

    url: str
    """URL of the wav file."""
    seconds: float
    width: int
    """Of the waveform, in its own units."""
    height: int
    path: str
    """SVG path of the waveform."""
    lines: tuple[str, ...]
    """What steps say about it in words: the text that it was made from, or what was recognised in it."""


class Shown(NamedTuple):
    """An artefact on the page."""

    kind: str
    """`image`, `marked`, `text`, `overlay`, `audio`, `film`, `page`, `video` or `file`. A film is a clip with a sound,
    a page one that a tool made."""
    name: str
    url: str
    alt: str
    text: str = ""
    characters: int = 0
    """Length of the whole text if only its beginning is shown."""
    overlay: Overlay | None = None
    heard: Heard | None = None
    """For sounds and films that can be read."""
    marked: MarkedPicture | None = None
    """For pictures of a request with marks in them."""

    @property
    def is_image(self) -> bool:
        return self.kind == "image"


class Artefacts(Protocol):
    """Where artefacts are read from, such as a `Store`."""

    def get(self, digest: str) -> Artefact:
        """The artefact with this digest.

        Raises:
            ObjectMissingError: there is none.
            ObjectDamagedError: its bytes have another digest.
        """
        ...


class Reading:
    """Reads artefacts for one page, each at most once."""

    def __init__(self, *, store: Artefacts, url_of: Callable[[str], str]) -> None:
        """Args:
        store: of the artefacts.
        url_of: gives the URL of the artefact with a digest.
        """
        self._store = store
        self._url_of = url_of
        self._read: dict[str, bytes | None] = {}
        self._lines: dict[str, list[str]] = {}
        """By the digest of a sound or film, its transcript."""

    def has(self, reference: ArtefactReference) -> bool:
        """Whether the artefact can be read."""
        return self._bytes(reference) is not None

    def url(self, reference: ArtefactReference) -> str:
        """URL of the artefact."""
        return self._url_of(reference.digest)

    def listen(
        self, *, tool: str, inputs: Mapping[str, ArtefactReference], outputs: Mapping[str, ArtefactReference]
    ) -> None:
        """Take the transcripts of sounds from a step that turns text into sound or sound into text. Call it for all
        steps, in their order, before `show`."""
        heard = [value for value in inputs.values() if kind_of(value.media_type) in _SOUNDING]
        made = [value for value in outputs.values() if kind_of(value.media_type) in _SOUNDING]
        for sound in made:
            lines = [f"{tool} made it from: {self.text(value)}" for value in inputs.values() if _is_text(value)]
            self._note(sound, [*lines, *(line for other in heard for line in self._lines.get(other.digest, []))])
        for sound in heard:
            self._note(sound, [f"{tool} heard: {self.text(value)}" for value in outputs.values() if _is_text(value)])

    def _note(self, sound: ArtefactReference, lines: Sequence[str]) -> None:
        """Add to a transcript. A step may give back the film that it got, so that lines would double with each step."""
        together = [*self._lines.get(sound.digest, []), *(line[:LONGEST_LINE] for line in lines)]
        self._lines[sound.digest] = list(dict.fromkeys(together))[:MOST_LINES]

    def show(
        self, *, name: str, reference: ArtefactReference, alt: str, over: ArtefactReference | None = None
    ) -> Shown:
        """Present an artefact by its media type, with boxes and masks over their picture if it is known."""
        kind = kind_of(reference.media_type)
        shown = Shown(kind=kind, name=name, url=self.url(reference), alt=alt)
        if kind == "findings":
            return self._findings(shown, reference=reference, over=over)
        if kind in _SOUNDING:
            return shown._replace(heard=self._heard(reference, url=shown.url))
        if kind != "text":
            return shown
        text = self.text(reference)
        if len(text) <= MAX_TEXT:
            return shown._replace(text=text)
        return shown._replace(text=text[:MAX_TEXT] + " …", characters=len(text))

    def with_marks(self, shown: Shown, *, file: str, reference: ArtefactReference, marks: Mapping[str, Mark]) -> Shown:
        """A file of a request with the marks in it, if it is a picture that has some.

        Args:
            shown: the file without marks.
            file: its name in the request.
            reference: the file.
            marks: of the request, by name.
        """
        if not shown.is_image or all(mark.picture != file for mark in marks.values()):
            return shown
        width, height = png_size(self._bytes(reference) or b"")
        drawn = marked(url=shown.url, picture=file, size=(width, height), marks=marks)
        return shown._replace(kind="marked", marked=drawn)

    def show_output(
        self, *, name: str, kind: str, reference: ArtefactReference, over: ArtefactReference | None, alt: str
    ) -> Shown:
        """Present an output of a step, with boxes and masks over the step's input picture.

        Args:
            kind: the output's type in the catalogue; empty if that is unknown.
            over: the picture.
        """
        shown = self.show(name=name, reference=reference, alt=alt, over=over)
        if kind == "html" and shown.kind == "text":
            return self.page(shown, reference=reference)
        overlay = None
        if over is not None and name == BOXES and shown.kind == "text":
            overlay = self._boxes(text=self.text(reference), over=over)
        elif over is not None and kind == "mask" and shown.is_image:
            width, height = self._size(over)
            overlay = Overlay(picture=self.url(over), width=width, height=height, mask=shown.url)
        return shown if overlay is None else shown._replace(kind="overlay", overlay=overlay)

    def page(self, shown: Shown, *, reference: ArtefactReference) -> Shown:
        """A page for a sandboxed frame, with what it says as text; one that is not passive only as text."""
        try:
            elements = elements_of(self.text(reference))
        except PageError as error:
            return shown._replace(text=f"(not shown as a page: {error})\n{shown.text}")
        said = (f"{element.kind}: {element.content}" for element in elements if element.kind != "picture")
        return shown._replace(kind="page", text="\n".join(said)[:MAX_TEXT], characters=0)

    def _findings(self, shown: Shown, *, reference: ArtefactReference, over: ArtefactReference | None) -> Shown:
        findings = read_findings(self._bytes(reference))
        if findings is None:
            return shown._replace(kind="file")
        if isinstance(findings, Labels):
            return shown._replace(kind="text", text=as_text(findings))
        width, height = findings.size
        overlay = Overlay(
            picture="" if over is None else self.url(over),
            width=OVERLAY_WIDTH,
            height=max(1, round(OVERLAY_WIDTH * height / width)),
            outlines=drawn(findings),
        )
        return shown._replace(kind="overlay", overlay=overlay)

    def _heard(self, reference: ArtefactReference, *, url: str) -> Heard | None:
        data = self._bytes(reference) or b""
        is_film = reference.media_type == MediaType.SOUNDING_CLIP
        try:
            sound = stored_sound(sound_of_clip(data) if is_film else data)
        except ValueError:
            return None
        return Heard(
            url=f"{url}?part=sound" if is_film else url, seconds=sound.seconds, width=_WAVE_COLUMNS,
            height=_WAVE_HEIGHT, path=waveform(sound), lines=tuple(self._lines.get(reference.digest, ())),
        )  # fmt: skip

    def text(self, reference: ArtefactReference) -> str:
        """A text artefact, or a placeholder if the store has lost it."""
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
        entries = read_boxes(text)
        if entries is None:
            return None
        width, height = self._size(over)
        boxes = tuple(_box(number, entry, width=width, height=height) for number, entry in enumerate(entries, start=1))
        return Overlay(
            picture=self.url(over),
            width=width,
            height=height,
            boxes=boxes[:MOST_BOXES],
            left_out=max(0, len(boxes) - MOST_BOXES),
        )


def kind_of(media_type: str) -> str:
    """The kind of presentation of a media type."""
    if media_type == MediaType.FINDINGS:
        return "findings"
    if media_type == MediaType.SOUNDING_CLIP:
        return "film"
    kind = media_type.split("/", 1)[0]
    return kind if kind in {"image", "text", "audio", "video"} else "file"


_SOUNDING = frozenset({"audio", "film"})


def _is_text(reference: ArtefactReference) -> bool:
    return kind_of(reference.media_type) == "text"


def waveform(sound: Sound) -> str:
    """An SVG path with the highest and lowest level of each column."""
    middle = _WAVE_HEIGHT / 2
    parts = np.array_split(sound.levels(), min(_WAVE_COLUMNS, len(sound.samples)))
    ends = [(middle - float(part.max()) * middle, middle - float(part.min()) * middle) for part in parts]
    return "".join(f"M{column} {top:.1f}V{max(bottom, top + 0.5):.1f}" for column, (top, bottom) in enumerate(ends))


def png_size(data: bytes) -> tuple[int, int]:
    """Width and height of a PNG in pixels; (1, 1) for other data."""
    if data[:8] != b"\x89PNG\r\n\x1a\n" or len(data) < 24:
        return 1, 1
    width, height = _PNG_SIZE.unpack(data[16:24])
    return (width, height) if width and height else (1, 1)


def read_boxes(text: str) -> list[Mapping[str, Any]] | None:
    """Parse `[{"label", "score", "box": [left, top, right, bottom]}]` with sides as shares of the picture's size; None
    for any other text."""
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
    return all(isinstance(number, int | float) and not isinstance(number, bool) for number in numbers)


def _box(number: int, entry: Mapping[str, Any], *, width: int, height: int) -> DetectedBox:
    left, top, right, bottom = (min(max(float(side), 0.0), 1.0) for side in entry["box"])
    return DetectedBox(
        number=number,
        label=entry["label"][:80],
        score=f"{float(entry['score']):.2f}",
        x=round(left * width, 1),
        y=round(top * height, 1),
        width=round(max(right - left, 0.0) * width, 1),
        height=round(max(bottom - top, 0.0) * height, 1),
    )


_INDENT = "  "
_CLOSING = {"{": "}", "[": "]"}


def readable(text: str) -> str | None:
    """Format a JSON object with grids of letters as readable lines; None for any other text.

    A truncated text is read up to its last complete value.
    """
    if not text.startswith('{"'):
        return None
    try:
        value = json.loads(text if text.endswith("}") else _closed(text))
    except (ValueError, RecursionError):
        return None
    return "\n".join(_lines(value, depth=0)) if _has_grid(value) else None


def _closed(text: str) -> str:
    """A JSON text up to its last comma outside a string, with all open brackets closed."""
    is_open: list[str] = []
    in_text = is_escaped = False
    end, closing = 0, ""
    for place, letter in enumerate(text):
        if in_text:
            in_text = is_escaped or letter != '"'
            is_escaped = letter == "\\" and not is_escaped
        elif letter == '"':
            in_text = True
        elif letter in _CLOSING:
            is_open.append(_CLOSING[letter])
        elif letter in _CLOSING.values() and is_open:
            is_open.pop()
        elif letter == ",":
            end, closing = place, "".join(reversed(is_open))
    return text[:end] + closing


def _has_grid(value: Any) -> bool:
    if _is_grid(value):
        return True
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(map(_has_grid, inner))


def _is_grid(value: Any) -> bool:
    return (
        bool(value)
        and isinstance(value, list)
        and all(
            bool(row) and isinstance(row, list) and all(isinstance(cell, str) and len(cell) == 1 for cell in row)
            for row in value
        )
    )


def _lines(value: Any, *, depth: int) -> Iterable[str]:
    named = value.items() if isinstance(value, Mapping) else enumerate(value, start=1)
    for name, item in named:
        label = f"{_INDENT * depth}{str(name).replace('_', ' ')}:"
        if _is_grid(item):
            yield label
            yield from (_INDENT * (depth + 1) + " ".join(row) for row in item)
        elif _is_short(item):
            yield f"{label} {json.dumps(item, ensure_ascii=False)}"
        else:
            yield label
            yield from _lines(item, depth=depth + 1)


def _is_short(value: Any) -> bool:
    """Whether a value fits in one line: a scalar, a list of scalars, or of pairs of them."""
    if isinstance(value, Mapping):
        return not value
    if not isinstance(value, list):
        return True
    return all(
        not isinstance(item, Mapping | list)
        or (isinstance(item, list) and len(item) == 2 and not any(isinstance(part, Mapping | list) for part in item))
        for item in value
    )


MOST_ROWS = 20
MOST_COLUMNS = 24
_START = '{"columns": '
_BEFORE_ROWS = ', "rows": ['
_decoder = json.JSONDecoder()


class Cell(NamedTuple):
    """One value of a row."""

    text: str
    is_number: bool = False
    is_null: bool = False


class ShownTable(NamedTuple):
    """Rows with their columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left_out: int
    """Number of known rows that are not shown."""
    is_partial: bool
    """Whether the text was truncated, so that the number of rows is unknown."""
    columns_left_out: int


class ShownValue(NamedTuple):
    """A result on the page."""

    text: str
    table: ShownTable | None


def shown_value(text: str) -> ShownValue:
    """Present a result: rows as a table, JSON with grids of letters as readable lines."""
    return ShownValue(text=readable(text) or text, table=table_of(text))


def table_of(text: str) -> ShownTable | None:
    """Parse a table; None for any other text."""
    if not text.startswith(_START):
        return None
    try:
        table = _whole(text) if text.endswith("}") else _beginning(text)
    except (ValueError, RecursionError):
        return None
    if table is None:
        return None
    columns, rows, is_partial = table
    if not columns or any(not isinstance(name, str) for name in columns):
        return None
    if any(not isinstance(row, list) or len(row) != len(columns) for row in rows):
        return None
    return ShownTable(
        columns=tuple(columns[:MOST_COLUMNS]),
        rows=tuple(tuple(map(_cell, row[:MOST_COLUMNS])) for row in rows[:MOST_ROWS]),
        left_out=max(0, len(rows) - MOST_ROWS),
        is_partial=is_partial,
        columns_left_out=max(0, len(columns) - MOST_COLUMNS),
    )


def _whole(text: str) -> tuple[list[Any], list[Any], bool] | None:
    value = json.loads(text)
    if not {"columns", "rows"} <= value.keys() <= {"columns", "rows", "is_cut"}:
        return None
    columns, rows = value["columns"], value["rows"]
    return (columns, rows, bool(value.get("is_cut"))) if isinstance(columns, list) and isinstance(rows, list) else None


def _beginning(text: str) -> tuple[list[Any], list[Any], bool] | None:
    """The complete rows of a truncated text."""
    columns, at = _decoder.raw_decode(text, len(_START))
    if not isinstance(columns, list) or not text.startswith(_BEFORE_ROWS, at):
        return None
    at += len(_BEFORE_ROWS)
    rows: list[Any] = []
    while True:
        try:
            row, at = _decoder.raw_decode(text, at)
        except ValueError:
            return columns, rows, True
        rows.append(row)
        if not text.startswith(", ", at):
            return columns, rows, True
        at += 2


def _cell(value: Any) -> Cell:
    if value is None:
        return Cell("NULL", is_null=True)
    if isinstance(value, bool | int | float):
        return Cell(str(value), is_number=True)
    return Cell(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
