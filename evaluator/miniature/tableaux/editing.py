"""Instructions to edit a picture, with the exact results."""

import dataclasses
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from evaluator.miniature.grammar.german import with_article
from evaluator.miniature.grammar.labels import BACKGROUND, BACKGROUNDS
from evaluator.miniature.scenes import SceneObject, contrasting_colour
from evaluator.miniature.tableaux.drawing import part_mask
from evaluator.miniature.tableaux.records import Figure, Part, Tableau
from evaluator.miniature.vocabulary import BACKGROUNDS as BACKGROUND_COLOURS
from evaluator.miniature.vocabulary import COLOURS, Background, Shape

_LUMA_CONTRAST = 36.0
"""Least difference of luma between the parts and a new background, as in scenes."""
_ATTEMPTS = 20
_PAINTED = 0.8
"""Brightness of a textured part relative to its plain colour."""


class EditKind(StrEnum):
    """The kind of an edit."""

    RECOLOUR = "recolour"
    REMOVE = "remove"
    BACKGROUND = "background"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Edit:
    """An instruction and its result."""

    kind: EditKind
    instruction: str
    """For example `Make the star red.`"""
    before: Tableau
    after: Tableau
    part: int | None
    """Index in `before` of the changed part; None for the background."""


def draw_edit(*, tableau: Tableau, rng: np.random.Generator) -> Edit | None:
    """A random unambiguous edit; None if no attempt succeeded."""
    kinds = list(EditKind)
    for _ in range(_ATTEMPTS):
        edit = edit_of(kind=kinds[rng.integers(len(kinds))], tableau=tableau, rng=rng)
        if edit is not None:
            return edit
    return None


def edit_of(*, kind: EditKind, tableau: Tableau, rng: np.random.Generator) -> Edit | None:
    """A random edit of a kind; None if the attempt failed. Only parts with a unique noun are changed."""
    if kind is EditKind.BACKGROUND:
        return _background_edit(tableau=tableau, rng=rng)
    nouns = Counter(noun_of(part) for part in tableau.parts)
    possible = [index for index, part in enumerate(tableau.parts) if nouns[noun_of(part)] == 1]
    if kind is EditKind.REPLACE:
        possible = [index for index in possible if isinstance(tableau.parts[index], SceneObject)]
    if not possible or (kind is EditKind.REMOVE and len(tableau.parts) == 1):
        return None
    index = possible[rng.integers(len(possible))]
    part = tableau.parts[index]
    if kind is EditKind.REMOVE:
        after, instruction = None, f"Remove the {noun_of(part)}."
    else:
        # No part that touches it may have the new colour.
        own = part_mask(part)
        taken = {other.colour for other in tableau.parts if (part_mask(other) & own).any()}
        colour = contrasting_colour(rng=rng, background=tableau.background)
        if colour in taken:
            return None
        if kind is EditKind.RECOLOUR:
            after, instruction = dataclasses.replace(part, colour=colour), f"Make the {noun_of(part)} {colour}."
        else:
            assert isinstance(part, SceneObject)
            shapes = [shape for shape in Shape if shape is not part.shape]
            after = dataclasses.replace(part, colour=colour, shape=shapes[rng.integers(len(shapes))])
            instruction = f"Turn the {part.name} into {with_article(after.name)}."
    parts = [*tableau.parts[:index], *([] if after is None else [after]), *tableau.parts[index + 1 :]]
    return Edit(kind, instruction, tableau, dataclasses.replace(tableau, parts=tuple(parts)), index)


def noun_of(part: Part) -> str:
    """The noun for a part, for example `star` or `figure`."""
    return "figure" if isinstance(part, Figure) else str(part.shape)


def background_instruction(background: Background) -> str:
    """The instruction, for example `Put everything on a sandy background.`"""
    return f"Put everything on {with_article(f'{BACKGROUNDS[background].english} {BACKGROUND.english}')}."


def _background_edit(*, tableau: Tableau, rng: np.random.Generator) -> Edit | None:
    possible = [
        background
        for background in Background
        if background is not tableau.background
        and all(
            abs(_PAINTED * COLOURS[part.colour].luma - BACKGROUND_COLOURS[background].luma) >= _LUMA_CONTRAST
            for part in tableau.parts
        )
    ]
    if not possible:
        return None
    background = possible[rng.integers(len(possible))]
    after = dataclasses.replace(tableau, background=background)
    return Edit(EditKind.BACKGROUND, background_instruction(background), tableau, after, None)
