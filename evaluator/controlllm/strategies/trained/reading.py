"""The input of the decomposer: a request as lower-case words, each after the marker of its position, and file slots.

The network refers to words by their markers and to files by their slots. It never spells a text or a name, so unknown
words are as easy to copy as any other.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.core.tools.types import ResourceType

MOST_WORDS = 160
"""Most words of a request that are read; the rest is cut off."""
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
    """A file of the request: its type and its number within the type."""

    type: ResourceType
    number: int

    @property
    def token(self) -> str:
        """Its token in the network's input and output."""
        return f"<{self.type}{self.number}>"


def all_slots() -> tuple[Slot, ...]:
    """All possible slots, by type and number."""
    return tuple(Slot(kind, number) for kind, count in _SLOTS.items() for number in range(count))


@dataclass(frozen=True, slots=True)
class Piece:
    """A word, a mark of punctuation or a file."""

    text: str
    """In lower case; or a slot."""
    start: int
    end: int
    """Its span in the request."""
    position: int | None = None
    """Its number; None for marks of punctuation, which have no marker."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A tokenised request."""

    request: str
    pieces: tuple[Piece, ...]
    files: Mapping[Slot, str]
    """File names by slot, in the order of the text; files that it does not name come last."""
    is_cut: bool = False
    """Whether it had more than `MOST_WORDS` words, or more files than slots."""

    @property
    def positions(self) -> tuple[Piece, ...]:
        """The pieces with a position, in order."""
        return tuple(piece for piece in self.pieces if piece.position is not None)

    def words(self, *, first: int, last: int, sentence: bool = False) -> str:
        """The request's own text from one position to another.

        Args:
            first: position of the first word.
            last: position of the last one, not before `first`.
            sentence: whether to include the mark that ends the sentence.
        """
        pieces = self.positions
        end = pieces[last].end
        if sentence and self.request[end : end + 1] in {".", "?", "!"}:
            end += 1
        return self.request[pieces[first].start : end]


def read_request(*, text: str, files: Mapping[str, ResourceType]) -> Reading:
    """Tokenise a request.

    Args:
        text: its words.
        files: type by name; files that the text does not name are appended to it.
    """
    mentions: list[tuple[int, str]] = []
    if files:
        # Of overlapping names the longest matches.
        names = "|".join(re.escape(name) for name in sorted(files, key=len, reverse=True))
        matches = re.finditer(rf"(?<![\w/.-])(?:{names})(?![\w-])", text)
        mentions = [(match.start(), match[0]) for match in matches]
    slots = _slots(names=[*dict.fromkeys(name for _, name in mentions), *files], files=files)
    by_name = {name: slot for slot, name in slots.items()}
    pieces: list[Piece] = []
    end = 0
    for start, name in mentions:
        pieces += _plain(text, start=end, end=start)
        end = start + len(name)
        word = by_name[name].token if name in by_name else "file"
        pieces.append(Piece(text=word, start=start, end=end))
    pieces += _plain(text, start=end, end=len(text))
    unmentioned = by_name.keys() - {name for _, name in mentions}
    appended = [Piece(text=slot.token, start=len(text), end=len(text)) for slot, name in slots.items()
                if name in unmentioned]  # fmt: skip
    numbered = _numbered(pieces)
    is_cut = len(numbered) < len(pieces) or len(slots) < len(files)
    return Reading(request=text, pieces=(*numbered, *appended), files=slots, is_cut=is_cut)


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
        Piece(text=match[0].lower()[:_LONGEST_WORD], start=match.start(), end=match.end())
        for match in _PIECE.finditer(text, start, end)
    ]


def _numbered(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces up to the last word that is read, with positions for words and files."""
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
