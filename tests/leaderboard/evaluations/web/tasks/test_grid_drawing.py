"""Grids as pictures, and their colours as readers without red or green cones see them."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings

from leaderboard.evaluations.web.tasks.grids_shown import COLOURS, difference_in_words, draw_grid, grid_of

STYLES = Path(settings.BASE_DIR) / "frontend" / "src" / "styles" / "grids.css"
LEAST = 30.0
"""CIE76 difference; about 2.3 is just noticeable."""
# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
SIGHTS = {
    "trichromat": np.eye(3),
    "deuteranope": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
    "protanope": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
}
_XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]])


def lab(colour, *, sight):
    """CIELAB of a colour `#rrggbb` (white point D65) after the simulation of a sight."""
    channels = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    parts = _XYZ @ np.clip(SIGHTS[sight] @ linear, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    x, y, z = np.where(parts > 216 / 24389, np.cbrt(parts), (24389 / 27 * parts + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def palette():
    found = dict(re.findall(r"--grid-(\d): (#[0-9a-f]{6});", STYLES.read_text()))
    assert sorted(map(int, found)) == list(range(COLOURS))
    return found


@pytest.mark.parametrize("sight", SIGHTS)
def test_all_colours_can_be_told_apart(sight):
    labs = {number: lab(colour, sight=sight) for number, colour in palette().items()}
    differences = {pair: float(np.linalg.norm(labs[pair[0]] - labs[pair[1]])) for pair in combinations(labs, 2)}
    assert len(differences) == 45
    assert min(differences.values()) >= LEAST, min(differences, key=differences.__getitem__)


def test_the_simulation_makes_red_and_green_alike():
    """Else the test above could not fail where it should."""
    red, green = "#c86464", "#968c50"
    seen = [np.linalg.norm(lab(red, sight=sight) - lab(green, sight=sight)) for sight in ("trichromat", "deuteranope")]
    assert seen[0] > LEAST > seen[1]


def test_cells_of_a_colour_are_one_path_of_runs():
    drawn = draw_grid(((0, 2, 2), (2, 0, 1)))
    assert drawn.size == "2 \N{MULTIPLICATION SIGN} 3"
    assert {one.colour: one.path for one in drawn.paths} == {1: "M2 1h1v1h-1z", 2: "M1 0h2v1h-2zM0 1h1v1h-1z"}
    assert drawn.text == ".bb\nb.a"
    assert drawn.lines == "M0 1h3M1 0v2M2 0v2"


@pytest.mark.parametrize(("side", "width"), [(1, 28), (3, 84), (30, 240), (25, 225)])
def test_cells_have_whole_pixels(side, width):
    drawn = draw_grid(((0,) * side,) * side)
    assert (drawn.width, drawn.height, drawn.width % side) == (width, width, 0)


def test_crosses_mark_the_cells_that_differ():
    right, found = ((1, 2), (3, 4)), ((1, 2), (3, 5))
    assert draw_grid(found, against=right).crosses == "M1.25 1.25l.5 .5m0 -.5l-.5 .5"
    assert draw_grid(right, against=right).crosses == ""
    assert difference_in_words(found, expected=right) == "1 of 4 cells differs, marked with a cross."
    assert difference_in_words(right, expected=right) == ""
    found = ((1, 2),)
    assert draw_grid(found, against=right).crosses == "", "grids of other sizes have none"
    sizes = "1 \N{MULTIPLICATION SIGN} 2 instead of 2 \N{MULTIPLICATION SIGN} 2"
    assert difference_in_words(found, expected=right) == f"The size is {sizes}."


def test_letters_and_integers_are_the_same_grid_and_other_values_are_none():
    assert grid_of([".a", "i."]) == grid_of([[0, 1], [9, 0]]) == grid_of([[".", "a"], ["i", "."]]) == ((0, 1), (9, 0))
    others = [None, [], [[]], "ab", [[1, 2], [3]], [[10]], [[-1]], [[True]], ["az"], [["ab"]], [[1]] * 61, {"a": 1}]
    assert [value for value in others if grid_of(value) is not None] == []
