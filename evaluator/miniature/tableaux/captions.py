"""Captions of tableaux and clips, worded like the captions of scenes."""

import numpy as np

from evaluator.miniature.grammar.captions import DIRECTIONS
from evaluator.miniature.grammar.german import capitalised, with_article
from evaluator.miniature.grammar.labels import BACKGROUND, BACKGROUNDS
from evaluator.miniature.scenes import direction_between
from evaluator.miniature.tableaux.clips import ClipRecord
from evaluator.miniature.tableaux.drawing import part_mask
from evaluator.miniature.tableaux.records import Figure, Part, Tableau
from evaluator.miniature.vocabulary import Direction


def tableau_caption(tableau: Tableau) -> str:
    """One sentence, for example `A red figure is above a blue ring on a green background.`

    It names the figure, or else the largest part, then the largest part with another name, and the background.
    """
    parts = sorted(tableau.parts, key=lambda part: (not isinstance(part, Figure), -int(part_mask(part).sum())))
    first = parts[0]
    other = next((part for part in parts[1:] if part.name != first.name), None)
    beginning = f"{with_article(first.name)} is"
    if other is not None:
        direction = DIRECTIONS[_direction(subject=first, other=other)].english
        beginning += f" {direction} {with_article(other.name)}"
    colour = BACKGROUNDS[tableau.background].english
    return capitalised(f"{beginning} on {with_article(f'{colour} {BACKGROUND.english}')}.")


def _direction(*, subject: Part, other: Part) -> Direction:
    if not isinstance(subject, Figure) and not isinstance(other, Figure):
        return direction_between(subject=subject, other=other)
    (x, y), (u, v) = (_middle(part) for part in (subject, other))
    if abs(x - u) >= abs(y - v):
        return Direction.RIGHT_OF if x > u else Direction.LEFT_OF
    return Direction.BELOW if y > v else Direction.ABOVE


def _middle(part: Part) -> tuple[float, float]:
    """Mean column and row of the pixels that a part covers."""
    rows, columns = np.nonzero(part_mask(part))
    return float(columns.mean()), float(rows.mean())


def clip_caption(clip: ClipRecord) -> str:
    """The mover and its motion, for example `A red star is rising to the left on a green background.`"""
    ground = BACKGROUNDS[clip.background].english
    return f"{capitalised(with_article(clip.mover.name))} is {clip.motion} on {with_article(ground)} background."
