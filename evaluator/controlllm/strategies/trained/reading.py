"""A request as the decomposer reads it: lower-case words, each behind a marker of its position, and slots for files.

The network points at words by their markers and at files by their slots, so it never spells a text or a name, and a
word that it has never seen is as easy to copy as any other.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.core.tools.types import ResourceType

MOST_WORDS = 160
"""Words of a request that are read. Whatever follows them is left out."""
_SLOTS = {
    ResourceType.IMAGE: 12, ResourceType.VIDEO: 12, ResourceType.MASK: 3, ResourceType.BBOX: 2, ResourceType.AUDIO: 2,
    ResourceType.EDGE: 2, ResourceType.LINE: 2, ResourceType.HED: 2, ResourceType.SCRIBBLE: 2, ResourceType.POSE: 2,
    ResourceType.DEPTH: 2, ResourceType.NORMAL: 2, ResourceType.SEGMENTATION: 2,
}  # fmt: skip
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_PIECE = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*|[^\w\s]|_")
_LONGEST_WORD = 40


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a file: the nth of its type in the request."""

    type: ResourceType
    number: int

    @property
    def token(self) -> str:
        """As the network reads and writes it."""
        return f"<{self.type}{self.number}>"


def all_slots() -> tuple[Slot, ...]:
    """Every slot that a request can have, by type and number."""
    return tuple(Slot(kind, number) for kind, count in _SLOTS.items() for number in range(count))


@dataclass(frozen=True, slots=True)
class Piece:
    """A word, a mark of punctuation or a file."""

    text: str
    """As it is read: in lower case, or a slot."""
    start: int
    end: int
    """Its position in the request."""
    position: int | None = None
    """Its number if it can be pointed at; marks of punctuation cannot."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A request, read."""

    request: str
    pieces: tuple[Piece, ...]
    files: Mapping[Slot, str]
    """File names by slot, those that the text names first, in its order."""
    is_cut: bool = False
    """Whether there was more than `MOST_WORDS`, or more files than slots."""

    @property
    def positions(self) -> tuple[Piece, ...]:
        """The pieces that can be pointed at, by their numbers."""
        return tuple(piece for piece in self.pieces if piece.position is not None)

    def words(self, *, first: int, last: int, sentence: bool = False) -> str:
        """The request's own text from one position to another.

        Args:
            first: position of the first word.
            last: position of the last one, not before `first`.
            sentence: whether the mark that ends a sentence belongs to it.
        """
        pieces = self.positions
        end = pieces[last].end
        if sentence and self.request[end : end + 1] in {".", "?", "!"}:
            end += 1
        return self.request[pieces[first].start : end]


def read_request(*, text: str, files: Mapping[str, ResourceType]) -> Reading:
    """Read a request.

    Args:
        text: its words.
        files: type by name; those that the text does not name are put behind it.
    """
    named = _named(text=text, files=files)
    slots = _slots(names=[*dict.fromkeys(name for _, name in named), *files], files=files)
    by_name = {name: slot for slot, name in slots.items()}
    pieces: list[Piece] = []
    end = 0
    for start, name in named:
        pieces += _plain(text, start=end, end=start)
        end = start + len(name)
        word = by_name[name].token if name in by_name else "file"
        pieces.append(Piece(text=word, start=start, end=end))
    pieces += _plain(text, start=end, end=len(text))
    spoken = {name for _, name in named}
    unsaid = [Piece(text=slot.token, start=len(text), end=len(text)) for slot, name in slots.items()
              if name not in spoken]  # fmt: skip
    numbered = _numbered(pieces)
    is_cut = len(numbered) < len(pieces) or len(slots) < len(files)
    return Reading(request=text, pieces=(*numbered, *unsaid), files=slots, is_cut=is_cut)


def _named(*, text: str, files: Mapping[str, ResourceType]) -> list[tuple[int, str]]:
    """Where the text names files; of two names that overlap the longer."""
    if not files:
        return []
    listed = "|".join(re.escape(name) for name in sorted(files, key=len, reverse=True))
    return [(found.start(), found[0]) for found in re.finditer(rf"(?<![\w/.-])(?:{listed})(?![\w-])", text)]


def _slots(*, names: Sequence[str], files: Mapping[str, ResourceType]) -> dict[Slot, str]:
    slots: dict[Slot, str] = {}
    for name in dict.fromkeys(names):
        kind = files[name]
        number = sum(slot.type is kind for slot in slots)
        if number < _SLOTS.get(kind, 0):
            slots[Slot(kind, number)] = name
    return slots


def _plain(text: str, *, start: int, end: int) -> list[Piece]:
    return [
        Piece(text=found[0].lower()[:_LONGEST_WORD], start=found.start(), end=found.end())
        for found in _PIECE.finditer(text, start, end)
    ]


def _numbered(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces up to the last word that is read, with numbers for what can be pointed at."""
    numbered: list[Piece] = []
    position = 0
    for piece in pieces:
        if (piece.text.startswith("<") and len(piece.text) > 1) or _WORD.fullmatch(piece.text):
            if position == MOST_WORDS:
                break
            numbered.append(Piece(text=piece.text, start=piece.start, end=piece.end, position=position))
            position += 1
        elif len(numbered) < 3 * MOST_WORDS:
            numbered.append(piece)
    return numbered
