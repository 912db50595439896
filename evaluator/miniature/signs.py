"""Signs: pictures with one to three words below each other, for reading.

Some words, by their digest, are held out from training and occur in the other splits, which distinguishes reading from
memorising.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from evaluator.miniature.grammar.words import BELONGINGS, DAYS, OPINIONS, PEOPLE, PLACES, WEATHER
from evaluator.miniature.rendering import empty_canvas
from evaluator.miniature.scenes import SIZE, uniform
from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.vocabulary import BACKGROUNDS, COLOURS, Appearance, Background, Colour, Shape

CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
WIDTH, HEIGHT = 5, 7
ADVANCE = WIDTH + 1
"""Points from the start of a character to the start of the next."""
_POINTS = {
    "abcdefghi": """
        ..... #.... ..... ....# ..... ..##. ..... #.... ..#..
        ..... #.... ..... ....# ..... .#..# .#### #.... .....
        .###. #.##. .###. .##.# .###. .#... #...# #.##. .##..
        ....# ##..# #...# #..## #...# ###.. #...# ##..# ..#..
        .#### #...# #.... #...# ##### .#... .#### #...# ..#..
        #...# #...# #...# #...# #.... .#... ....# #...# ..#..
        .#### ####. .###. .#### .###. .#... .###. #...# .###.
    """,
    "jklmnopqr": """
        ...#. #.... .##.. ..... ..... ..... ..... ..... .....
        ..... #.... ..#.. ..... ..... ..... ..... ..... .....
        ..##. #..#. ..#.. ##.#. #.##. .###. ####. .##.# #.##.
        ...#. #.#.. ..#.. #.#.# ##..# #...# #...# #..## ##..#
        ...#. ##... ..#.. #.#.# #...# #...# ####. .#### #....
        #..#. #.#.. ..#.. #...# #...# #...# #.... ....# #....
        .##.. #..#. .###. #...# #...# .###. #.... ....# #....
    """,
    "stuvwxyz0": """
        ..... .#... ..... ..... ..... ..... ..... ..... .###.
        ..... .#... ..... ..... ..... ..... ..... ..... #...#
        .#### ###.. #...# #...# #...# #...# #...# ##### #..##
        #.... .#... #...# #...# #...# .#.#. #...# ...#. #.#.#
        .###. .#... #...# #...# #.#.# ..#.. .#### ..#.. ##..#
        ....# .#..# #..## .#.#. #.#.# .#.#. ....# .#... #...#
        ####. ..##. .##.# ..#.. .#.#. #...# .###. ##### .###.
    """,
    "123456789": """
        ..#.. .###. ##### ...#. ##### ..##. ##### .###. .###.
        .##.. #...# ...#. ..##. #.... .#... ....# #...# #...#
        #.#.. ....# ..#.. .#.#. ####. #.... ...#. #...# #...#
        ..#.. ...#. ...#. #..#. ....# ####. ..#.. .###. .####
        ..#.. ..#.. ....# ##### ....# #...# .#... #...# ....#
        ..#.. .#... #...# ...#. #...# #...# .#... #...# ...#.
        ##### ##### .###. ...#. .###. .###. .#... .###. .##..
    """,
}
"""Rows of points, by the characters that they show from left to right."""


@cache
def points_of(character: str) -> npt.NDArray[np.bool_]:
    """The points of a character, shape (7, 5).

    Raises:
        LookupError: not a lower case letter or digit.
    """
    for characters, drawn in _POINTS.items():
        place = characters.find(character)
        if place >= 0 and len(character) == 1:
            rows = [line.split()[place] for line in drawn.strip().splitlines()]
            return np.array([[point == "#" for point in row] for row in rows], dtype=np.bool_)
    raise LookupError(f"no sign shows the character {character!r}; there are: {CHARACTERS}")


def width_of(word: str) -> int:
    """Width of a word in points."""
    return ADVANCE * len(word) - 1


@cache
def word_points(word: str) -> npt.NDArray[np.bool_]:
    """The points of a word, shape (7, 6 * letters - 1)."""
    gap = np.zeros((HEIGHT, ADVANCE - WIDTH), dtype=np.bool_)
    columns = [column for character in word for column in (points_of(character), gap)]
    return np.concatenate(columns[:-1], axis=1)


MOST_WORDS = 3
LONGEST_WORD = 8
"""In characters. Longer words would be too small to read."""
_SCALES = (1.2, 2.0)
"""Pixels per point."""
_MARGIN = 2.0
_GAP = 2.5
"""Minimum gap between lines in pixels."""
_NUMBER = 0.15
"""Share of words that are numbers of up to three digits."""
_BOARD = 0.5
"""Share of signs with a board behind the words."""
_CONTRAST = 80.0
"""Minimum difference of the luma of ink and ground."""
_BLACK, _WHITE = Appearance(20, 20, 20), Appearance(245, 245, 245)
_PAINTS = (_BLACK, _WHITE, *COLOURS.values())
_KEPT_FROM_TRAINING = 4
"""One in this many words is held out."""


@dataclass(frozen=True, slots=True)
class Line:
    """A written word."""

    word: str
    x: float
    """Left end of the word in pixels."""
    y: float
    """Upper end."""
    scale: float
    """Pixels per point of the letters."""

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom."""
        across, down = width_of(self.word) * self.scale, HEIGHT * self.scale
        return self.x, self.y, self.x + across, self.y + down


@dataclass(frozen=True, slots=True)
class Sign:
    """The content of a picture with words."""

    background: Background
    background_phase: tuple[float, float]
    background_shade: tuple[float, float]
    lines: tuple[Line, ...]
    """From top to bottom."""
    ink: Appearance
    board: Appearance | None
    """Colour of the board behind the words; None without a board."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words from top to bottom."""
        return tuple(line.word for line in self.lines)

    @property
    def text(self) -> str:
        """The words separated by spaces."""
        return " ".join(self.words)


@cache
def sign_words() -> tuple[str, ...]:
    """The words of signs in lower case: those of the grammar that are not too long."""
    things = (*BELONGINGS, *(place.thing for place in PLACES))
    nouns = [*(thing.noun.english for thing in things), *(opinion.noun.english for opinion in OPINIONS)]
    adjectives = [thing.adjective.english for thing in things]
    people = [word for person in PEOPLE for word in (person.name, person.trade)]
    others = [word.english for word in (*DAYS, *WEATHER)]
    words = (*nouns, *adjectives, *people, *others, *Colour, *Shape, *Background)
    return tuple(dict.fromkeys(word.lower() for word in words if len(word) <= LONGEST_WORD))


def is_kept_from_training(word: str) -> bool:
    """Whether a word is held out from signs of the training split."""
    return hashlib.sha256(word.encode()).digest()[0] % _KEPT_FROM_TRAINING == 0


@cache
def training_words() -> tuple[str, ...]:
    """The words of training signs."""
    return tuple(word for word in sign_words() if not is_kept_from_training(word))


def draw_words(*, split: Split, rng: np.random.Generator) -> tuple[str, ...]:
    """One to three distinct words."""
    words = training_words() if split is Split.TRAIN else sign_words()
    count = 1 + int(rng.integers(MOST_WORDS))
    chosen = [words[n] for n in rng.permutation(len(words))[:count]]
    return tuple(_number(split=split, rng=rng) if rng.random() < _NUMBER else word for word in chosen)


def _number(*, split: Split, rng: np.random.Generator) -> str:
    while True:
        number = str(int(rng.integers(10 ** int(rng.integers(1, 4)))))
        if split is not Split.TRAIN or not is_kept_from_training(number):
            return number


def draw_sign(*, split: Split, index: int, hidden_seed: str | None = None, words: Sequence[str] = ()) -> Sign:
    """Sign number `index` of a split.

    Args:
        split: training signs show no held-out word.
        index: of the sign.
        hidden_seed: the secret of the hidden split.
        words: replace the random ones.

    Raises:
        ValueError: the hidden split without its secret, or too many or too long words.
    """
    rng = generator(split=split, index=index, purpose="sign", hidden_seed=hidden_seed)
    return sign_of(words=words or draw_words(split=split, rng=rng), rng=rng)


def sign_of(*, words: Sequence[str], rng: np.random.Generator) -> Sign:
    """A sign with these words, and with random sizes, places and colours.

    Raises:
        ValueError: too many or too long words.
    """
    if not 1 <= len(words) <= MOST_WORDS or any(not 1 <= len(word) <= LONGEST_WORD for word in words):
        raise ValueError(f"a sign shows one to {MOST_WORDS} words of up to {LONGEST_WORD} characters, not {words}")
    background = list(Background)[rng.integers(len(Background))]
    board = _PAINTS[rng.integers(len(_PAINTS))] if rng.random() < _BOARD else None
    ground = board or BACKGROUNDS[background]
    inks = [paint for paint in _PAINTS if abs(paint.luma - ground.luma) >= _CONTRAST]
    top, bottom = (0.94 + 0.1 * float(rng.random()) for _ in range(2))
    return Sign(
        background=background,
        background_phase=(SIZE * float(rng.random()), SIZE * float(rng.random())),
        background_shade=(top, bottom),
        lines=_placed(words=words, rng=rng),
        ink=inks[rng.integers(len(inks))],
        board=board,
    )


def _placed(*, words: Sequence[str], rng: np.random.Generator) -> tuple[Line, ...]:
    """Lines below each other, in sizes that fit."""
    room = SIZE - 2 * _MARGIN
    tallest = (room - _GAP * (len(words) - 1)) / (HEIGHT * len(words))
    lines: list[Line] = []
    widest = [min(_SCALES[1], tallest, room / width_of(word)) for word in words]
    scales = [uniform(rng, _SCALES[0], widest_scale) for widest_scale in widest]
    free = room - sum(HEIGHT * scale for scale in scales) - _GAP * (len(words) - 1)
    y = _MARGIN
    for word, scale in zip(words, scales, strict=True):
        above = uniform(rng, 0, free)
        free -= above
        y += above
        x = uniform(rng, _MARGIN, SIZE - _MARGIN - width_of(word) * scale)
        lines.append(Line(word, x, y, scale))
        y += HEIGHT * scale + _GAP
    return tuple(lines)


def paint_sign(sign: Sign) -> npt.NDArray[np.uint8]:
    """The picture of a sign as 8-bit RGB of shape (64, 64, 3)."""
    canvas = empty_canvas(ground=sign)
    if sign.board is not None:
        boxes = np.array([line.box for line in sign.lines])
        left, top = np.floor(boxes[:, :2].min(axis=0) - _MARGIN).astype(int)
        right, bottom = np.ceil(boxes[:, 2:].max(axis=0) + _MARGIN).astype(int)
        canvas[max(0, top) : bottom, max(0, left) : right] = sign.board.rgb
    covered = np.maximum.reduce([_coverage(line) for line in sign.lines])[..., None]
    canvas += covered * (np.asarray(sign.ink.rgb, dtype=np.float32) - canvas)
    return np.clip(np.rint(canvas), 0, 255).astype(np.uint8)


def _coverage(line: Line) -> npt.NDArray[np.float32]:
    """The share of each pixel that a word covers, shape (64, 64)."""
    points = word_points(line.word).astype(np.float32)
    rows = _shares(start=line.y, scale=line.scale, count=points.shape[0])
    columns = _shares(start=line.x, scale=line.scale, count=points.shape[1])
    return np.asarray(rows @ points @ columns.T, dtype=np.float32)


def _shares(*, start: float, scale: float, count: int) -> npt.NDArray[np.float32]:
    """The share of each pixel of a row in each of `count` points, shape (64, count)."""
    pixels = np.arange(SIZE)[:, None]
    ends = start + scale * np.arange(count + 1)
    common = np.minimum(pixels + 1, ends[1:]) - np.maximum(pixels, ends[:-1])
    return np.asarray(np.clip(common, 0, 1), dtype=np.float32)
