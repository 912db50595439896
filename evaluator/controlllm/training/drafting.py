"""Builder of a request with its files and subtasks, and marks on the words that subtasks take."""

from dataclasses import dataclass, field

import numpy as np

from evaluator.controlllm.strategies.trained.kinds import KINDS, Form
from evaluator.controlllm.strategies.trained.linear import LinearSubtask, Text
from evaluator.controlllm.strategies.trained.reading import Reading, read_request
from evaluator.controlllm.training.wording import WORDS, invented, pick
from evaluator.core.tools.types import ResourceType

_OPEN, _CLOSE = "\ue000", "\ue001"
_FIRST_NAME = 0xE100
_ENDINGS = {ResourceType.VIDEO: ("mp4", "avi", "mov", "webm")}
_PICTURES = ("png", "jpg", "jpeg", "png")


class UnreadableError(ValueError):
    """A draft is longer than the input of the network; draw another one."""


@dataclass(frozen=True, slots=True)
class Said:
    """A text argument before positions are known: a form, and the mark of its words if it has any."""

    form: Form
    mark: int | None = None


Source = str | int
"""A file name, or the number of the subtask that makes the source."""


@dataclass(slots=True)
class Draft:
    """An unfinished request."""

    rng: np.random.Generator
    files: dict[str, ResourceType] = field(default_factory=dict)
    subtasks: list[tuple[str, tuple[Source | Said, ...]]] = field(default_factory=list)
    marks: int = 0

    def file(self, kind: ResourceType) -> str:
        """Give a new file of a type, and return its name."""
        rng = self.rng
        while True:
            stem = pick(rng, (*WORDS["nouns"], invented(rng), "img", "photo", "file", "input", "data", "frame", "clip"))
            serial = f"{int(rng.integers(10 ** int(rng.integers(1, 7)))):x}"
            parts = [part for part in (stem.replace(" ", "_"), serial) if part]
            suffix = f"_{kind}" if kind not in {ResourceType.IMAGE, ResourceType.VIDEO} else ""
            name = f"{pick(rng, ('_', '-', ''))}".join(parts) + suffix
            folder = pick(rng, ("", "", "", "data/", "my_files/", "/home/ann/"))
            name = f"{folder}{name}.{pick(rng, _ENDINGS.get(kind, _PICTURES))}"
            if not any(name in other or other in name for other in self.files):
                self.files[name] = kind
                return name

    def marked(self, words: str) -> tuple[str, int]:
        """Words with a mark, and the mark's number."""
        number = self.marks
        self.marks += 1
        return f"{_OPEN}{chr(_FIRST_NAME + number)}{words}{_CLOSE}", number

    def add(self, kind: str, *arguments: Source | Said) -> int:
        """Add a subtask; returns its number."""
        assert len(arguments) == len(KINDS[kind].takes)
        self.subtasks.append((kind, arguments))
        return len(self.subtasks) - 1


@dataclass(frozen=True, slots=True)
class Pair:
    """A request with its decomposition."""

    reading: Reading
    subtasks: tuple[LinearSubtask, ...]


def finished(*, draft: Draft, text: str) -> Pair:
    """The pair of a draft and its text with marks.

    Raises:
        UnreadableError: the text is too long, or a mark does not match word boundaries.
    """
    plain, spans = _without_marks(text)
    reading = read_request(text=plain, files=draft.files)
    if reading.is_cut:
        raise UnreadableError(plain)
    places = {mark: _positions(reading=reading, start=start, end=end) for mark, (start, end) in spans.items()}
    slots = {name: slot.token for slot, name in reading.files.items()}
    subtasks = []
    for number, (kind, arguments) in enumerate(draft.subtasks):
        own: list[str | int | Text] = []
        for argument in arguments:
            if isinstance(argument, Said):
                own.append(Text(argument.form, *(() if argument.mark is None else places[argument.mark])))
            else:
                own.append(number - argument if isinstance(argument, int) else slots[argument])
        subtasks.append(LinearSubtask(kind=kind, arguments=tuple(own)))
    return Pair(reading=reading, subtasks=tuple(subtasks))


def _without_marks(text: str) -> tuple[str, dict[int, tuple[int, int]]]:
    plain: list[str] = []
    opened: list[tuple[int, int]] = []
    spans: dict[int, tuple[int, int]] = {}
    names = iter(text)
    for character in names:
        if character == _OPEN:
            opened.append((ord(next(names)) - _FIRST_NAME, len(plain)))
        elif character == _CLOSE:
            mark, start = opened.pop()
            spans[mark] = (start, len(plain))
        else:
            plain.append(character)
    return "".join(plain), spans


def _positions(*, reading: Reading, start: int, end: int) -> tuple[int, int]:
    inside = [piece.position for piece in reading.positions if start <= piece.start and piece.end <= end]
    if not inside or inside[0] is None or inside[-1] is None:
        raise UnreadableError(reading.request[start:end])
    return inside[0], inside[-1]
