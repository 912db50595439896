"""Captions of tableaux and clips, in the words of the captions of scenes; a figure is one more noun."""

import numpy as np

from evaluator.miniature.grammar.captions import DIRECTIONS
from evaluator.miniature.grammar.german import capitalised, english_article
from evaluator.miniature.grammar.labels import BACKGROUND, BACKGROUNDS
from evaluator.miniature.scenes import direction_between
from evaluator.miniature.tableaux.clips import ClipRecord
from evaluator.miniature.tableaux.drawing import part_mask
from evaluator.miniature.tableaux.records import Figure, Part, Tableau, name_of
from evaluator.miniature.vocabulary import Direction


def tableau_caption(tableau: Tableau) -> str:
    """One sentence, for example `A red figure is above a blue ring on a green background.`

    It names the figure, or the largest part where there is none, then the largest part of another name if there is one,
    and the background.
    """
    parts = sorted(tableau.parts, key=lambda part: (not isinstance(part, Figure), -int(part_mask(part).sum())))
    first = parts[0]
    other = next((part for part in parts[1:] if name_of(part) != name_of(first)), None)
    beginning = f"{with_article(name_of(first))} is"
    if other is not None:
        direction = DIRECTIONS[_direction(subject=first, other=other)].english
        beginning += f" {direction} {with_article(name_of(other))}"
    colour = BACKGROUNDS[tableau.background].english
    caption = f"{beginning} on {with_article(f'{colour} {BACKGROUND.english}')}."
    return caption[0].upper() + caption[1:]


def with_article(noun: str) -> str:
    """For example `an orange star`."""
    return f"{english_article(noun)} {noun}"


def _direction(*, subject: Part, other: Part) -> Direction:
    if not isinstance(subject, Figure) and not isinstance(other, Figure):
        return direction_between(subject=subject, other=other)
    (x, y), (u, v) = (_middle(part) for part in (subject, other))
    if abs(x - u) >= abs(y - v):
        return Direction.RIGHT_OF if x > u else Direction.LEFT_OF
    return Direction.BELOW if y > v else Direction.ABOVE


def _middle(part: Part) -> tuple[float, float]:
    """Mean column and row of what a part covers, in pixels."""
    rows, columns = np.nonzero(part_mask(part))
    return float(columns.mean()), float(rows.mean())


def clip_caption(clip: ClipRecord) -> str:
    """What moves in a clip and how, for example `A red star is rising to the left on a green background.`"""
    name, ground = clip.mover.name, BACKGROUNDS[clip.background].english
    subject = capitalised(f"{english_article(name)} {name}")
    return f"{subject} is {clip.motion} on {english_article(ground)} {ground} background."
