"""The letters of signs: small letters and digits, five points wide and seven high."""

from functools import cache

import numpy as np
import numpy.typing as npt

CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
WIDTH, HEIGHT = 5, 7
ADVANCE = WIDTH + 1
"""Points from the beginning of one character to that of the next."""
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
"""Rows of points, by the characters that they show side by side."""


@cache
def points_of(character: str) -> npt.NDArray[np.bool_]:
    """Where a character has ink, shape (7, 5).

    Raises:
        LookupError: it is no small letter and no digit.
    """
    for characters, drawn in _POINTS.items():
        place = characters.find(character)
        if place >= 0 and len(character) == 1:
            rows = [line.split()[place] for line in drawn.strip().splitlines()]
            return np.array([[point == "#" for point in row] for row in rows], dtype=np.bool_)
    raise LookupError(f"no sign shows the character {character!r}; there are: {CHARACTERS}")


def width_of(word: str) -> int:
    """Points from the first to the last ink of a word, at most."""
    return ADVANCE * len(word) - 1


@cache
def word_points(word: str) -> npt.NDArray[np.bool_]:
    """Where a word has ink, shape (7, 6 * letters - 1)."""
    gap = np.zeros((HEIGHT, ADVANCE - WIDTH), dtype=np.bool_)
    columns = [column for character in word for column in (points_of(character), gap)]
    return np.concatenate(columns[:-1], axis=1)
