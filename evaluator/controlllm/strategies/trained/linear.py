"""The linear form of decompositions, a sequence of tokens, and its grammar.

    decomposition = subtask {subtask} end
    subtask       = kind argument ...                 one argument for each type that the kind takes, in order
    argument      = slot | result                     a file of the request, or the result of an earlier subtask
                  | form [first last]                 a text: words of the request from one position to another
    result        = "<back1>" | "<back2>" ...         of the subtask before, of the one before that ...

`Grammar.allowed` gives the tokens that may follow in one request: existing files, earlier results of the right type,
positions of the request, and for names of objects and actions only words that can be names. A sequence that follows it
ends after at most `MOST_SUBTASKS` subtasks and has a text form (`written`). If a request was cut, a question up to its
last word that was read extends to the end of the request.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from evaluator.controlllm.strategies.trained.kinds import KINDS, THINGS, Form, Kind
from evaluator.controlllm.strategies.trained.reading import MOST_WORDS, Reading, all_slots
from evaluator.core.canonical_json import JsonValue
from evaluator.core.tools.types import ResourceType

_IRREGULAR = {
    "people": "person", "men": "man", "women": "woman", "children": "child", "mice": "mouse", "geese": "goose",
    "feet": "foot", "teeth": "tooth", "knives": "knife", "wolves": "wolf", "leaves": "leaf", "shelves": "shelf",
    "loaves": "loaf", "calves": "calf", "scarves": "scarf", "oxen": "ox", "skis": "skis", "buses": "bus",
    "movies": "movie", "cookies": "cookie", "ties": "tie", "pies": "pie", "horses": "horse", "vases": "vase",
    "houses": "house", "roses": "rose", "noses": "nose", "cases": "case", "suitcases": "suitcase",
    "toothbrushes": "toothbrush", "axes": "axe", "sunglasses": "sunglasses", "scissors": "scissors",
    "zombies": "zombie", "selfies": "selfie", "mouses": "mouse", "geniuses": "genius",
}  # fmt: skip
_KEPT = ("ss", "us", "is")
_LEAST = 3


def singular(words: str) -> str:
    """A noun phrase in the singular; words that are no plural are unchanged."""
    modifiers, _, noun = words.rpartition(" ")
    return f"{modifiers} {_single(noun)}" if modifiers else _single(noun)


def _single(word: str) -> str:
    lower = word.lower()
    if lower in _IRREGULAR:
        return _IRREGULAR[lower]
    if len(word) <= _LEAST or not lower.endswith("s") or lower.endswith(_KEPT):
        return word
    if lower.endswith("ies"):
        return f"{word[:-3]}y"
    if lower.endswith(("ches", "shes", "sses", "xes", "zzes", "oes")):
        return word[:-2]
    return word[:-1]


END = "</s>"
MOST_SUBTASKS = 16
_TEXT = ResourceType.TEXT
_SENTENCES = frozenset({"ask", "answer", "generate", *(name for name in KINDS if name.startswith("follow-"))})
"""Kinds whose texts may be sentences, with their final mark."""


def marker(position: int) -> str:
    """The marker of a position."""
    return f"<w{position}>"


def kind_token(name: str) -> str:
    """The token of a kind of subtask."""
    return f"<{name}>"


def form_token(form: Form) -> str:
    """The token of a form of texts."""
    return f"<text-{form}>"


def back(distance: int) -> str:
    """The result of the subtask at this distance before."""
    return f"<back{distance}>"


def tokens() -> tuple[str, ...]:
    """All special tokens except `END`, in a fixed order."""
    return (
        *(kind_token(name) for name in KINDS),
        *(form_token(form) for form in Form),
        *(back(distance) for distance in range(1, MOST_SUBTASKS)),
        *(slot.token for slot in all_slots()),
        *(marker(position) for position in range(MOST_WORDS)),
    )


_KIND_OF = {kind_token(name): kind for name, kind in KINDS.items()}
_FORM_OF = {form_token(form): form for form in Form}
_DISTANCE_OF = {back(distance): distance for distance in range(1, MOST_SUBTASKS)}
_POSITION_OF = {marker(position): position for position in range(MOST_WORDS)}


@dataclass(frozen=True, slots=True)
class Text:
    """A text argument: a form with the positions of its first and last word, if it has words."""

    form: Form
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class LinearSubtask:
    """A kind with its arguments: names of slots, distances to earlier subtasks, or texts, one for each type."""

    kind: str
    arguments: tuple[str | int | Text, ...]


def linear_tokens(subtasks: Iterable[LinearSubtask]) -> list[str]:
    """The sequence of a decomposition, with its end."""
    sequence: list[str] = []
    for subtask in subtasks:
        sequence.append(kind_token(subtask.kind))
        for argument in subtask.arguments:
            if isinstance(argument, Text):
                sequence.append(form_token(argument.form))
                sequence += [marker(place) for place in (argument.first, argument.last) if place is not None]
            else:
                sequence.append(back(argument) if isinstance(argument, int) else argument)
    return [*sequence, END]


def parsed(sequence: Sequence[str]) -> tuple[LinearSubtask, ...]:
    """The subtasks of a sequence that follows the grammar to its end."""
    subtasks: list[LinearSubtask] = []
    rest = iter(sequence)
    while (token := next(rest)) != END:
        kind = _KIND_OF[token]
        arguments = [_argument(wanted, rest=rest) for wanted in kind.takes]
        subtasks.append(LinearSubtask(kind=kind.name, arguments=tuple(arguments)))
    return tuple(subtasks)


def _argument(wanted: ResourceType, *, rest: Iterator[str]) -> str | int | Text:
    token = next(rest)
    if wanted is not _TEXT:
        return _DISTANCE_OF.get(token, token)
    form = _FORM_OF[token]
    if form is Form.DESCRIBE:
        return Text(form)
    return Text(form, _POSITION_OF[next(rest)], _POSITION_OF[next(rest)])


_NAMES = frozenset({"action", *(name for name, kind in KINDS.items() if kind.forms == THINGS)})
"""Kinds whose texts are names of objects or actions."""
_LONGEST_NAME = 8
_WITHIN_NAMES = frozenset("'/&-")
"""Marks that may occur within a name."""
_NO_NAME = frozenset({
    "a", "an", "the", "this", "that", "these", "those", "any", "all", "some", "every", "each", "of", "in", "on", "at",
    "from", "to", "with", "for", "within", "and", "or", "is", "are", "was", "were", "there", "please", "me", "my",
    "you", "it", "its", "them", "they", "image", "images", "picture", "pictures", "photo", "photos", "photograph",
    "photographs", "video", "videos", "clip", "clips", "film", "films", "file", "files",
})  # fmt: skip
"""Words with which a name neither begins nor ends."""


class Grammar:
    """The tokens that may follow in the decomposition of one request."""

    def __init__(self, reading: Reading) -> None:
        self._names = _name_ends(reading)
        self._slots: dict[ResourceType, list[str]] = {}
        for slot in reading.files:
            self._slots.setdefault(slot.type, []).append(slot.token)
        self._positions = len(reading.positions)

    def allowed(self, sequence: Sequence[str]) -> list[str]:
        """The tokens that may follow a valid prefix; never empty."""
        made: list[ResourceType] = []
        place = 0
        while place < len(sequence):
            kind = _KIND_OF[sequence[place]]
            place += 1
            for wanted in kind.takes:
                step = self._within(wanted=wanted, kind=kind, rest=sequence[place:], made=made)
                if isinstance(step, list):
                    return step
                place += step
            made.append(kind.gives)
        if len(made) == MOST_SUBTASKS:
            return [END]
        possible = [kind_token(kind.name) for kind in KINDS.values() if self._is_possible(kind, made=made)]
        return [*possible, END] if made or not possible else possible

    def _within(
        self, *, wanted: ResourceType, kind: Kind, rest: Sequence[str], made: Sequence[ResourceType]
    ) -> list[str] | int:
        """The tokens that may follow in an incomplete argument, or the number of tokens of a complete one."""
        if wanted is not _TEXT:
            return 1 if rest else self._sources(wanted, made=made)
        if not rest:
            return [form_token(form) for form in kind.forms if form is Form.DESCRIBE or self._positions]
        if _FORM_OF[rest[0]] is Form.DESCRIBE:
            return 1
        if len(rest) == 1:
            firsts = self._names if kind.name in _NAMES and self._names else range(self._positions)
            return [marker(position) for position in firsts]
        if len(rest) == 2:
            first = _POSITION_OF[rest[1]]
            lasts = self._names.get(first) if kind.name in _NAMES else None
            return [marker(position) for position in lasts or range(first, self._positions)]
        return 3

    def _sources(self, wanted: ResourceType, *, made: Sequence[ResourceType]) -> list[str]:
        results = [back(len(made) - index) for index, kind in enumerate(made) if kind is wanted]
        return [*self._slots.get(wanted, ()), *results]

    def _is_possible(self, kind: Kind, *, made: Sequence[ResourceType]) -> bool:
        for wanted in kind.takes:
            if wanted is _TEXT:
                if not self._positions and Form.DESCRIBE not in kind.forms:
                    return False
            elif not self._sources(wanted, made=made):
                return False
        return True


def _name_ends(reading: Reading) -> dict[int, list[int]]:
    """For each possible first position of a name its possible last positions.

    A name has no file and no punctuation, and neither begins nor ends with a function word.
    """
    ends: dict[int, list[int]] = {}
    firsts: list[int] = []
    for piece in reading.pieces:
        position = piece.position
        if position is None or piece.text.startswith("<"):
            firsts = firsts if piece.text in _WITHIN_NAMES else []
            continue
        firsts = [first for first in firsts if position - first < _LONGEST_NAME]
        if piece.text not in _NO_NAME:
            firsts.append(position)
            for first in firsts:
                ends.setdefault(first, []).append(position)
    return ends


def written(*, subtasks: Sequence[LinearSubtask], reading: Reading) -> str:
    """A decomposition in the protocol of Table 1, `<Solution>[...]</Solution>`."""
    by_token = {slot.token: name for slot, name in reading.files.items()}
    rows: list[JsonValue] = []
    for number, subtask in enumerate(subtasks):
        kind = KINDS[subtask.kind]
        args: dict[str, str] = {}
        makers: list[JsonValue] = []
        for taken, argument in zip(kind.takes, subtask.arguments, strict=True):
            if isinstance(argument, Text):
                image = next(iter(args.values()), "")
                args[str(taken)] = _text_value(argument, kind=subtask.kind, reading=reading, image=image)
            elif isinstance(argument, int):
                makers.append(number - argument)
                args[str(taken)] = f"<GENERATED>-{number - argument}"
            else:
                args[str(taken)] = by_token[argument]
        rows.append(
            {
                "description": kind.description.format(**args),
                "task": list(kind.domains),
                "id": number,
                "dep": makers or [-1],
                "args": [{"type": name, "value": value} for name, value in args.items()],
                "returns": [{"type": str(kind.gives), "value": f"<GENERATED>-{number}"}],
            }
        )
    return f"<Solution>{json.dumps(rows, ensure_ascii=False)}</Solution>"


def _text_value(text: Text, *, kind: str, reading: Reading, image: str) -> str:
    if text.first is None or text.last is None:
        return "Describe this image in detail."
    is_sentence = kind in _SENTENCES and text.form is Form.SAY
    if kind == "answer" and reading.is_cut and text.last == MOST_WORDS - 1:
        return reading.request[reading.positions[text.first].start :].strip()
    words = reading.words(first=text.first, last=text.last, sentence=is_sentence)
    if text.form is Form.ONE:
        return singular(words)
    if text.form is Form.HOW_MANY:
        return f"How many {words} are there in {image}?"
    if text.form is Form.IS_THERE:
        return f"Is there a {words} in this image?"
    return f"The new image shows {words}." if text.form is Form.SHOWS else words
