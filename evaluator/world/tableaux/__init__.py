"""Tableaux: scenes in which things overlap and repeat, stick figures pose, and clips in which one thing moves.

Scenes (`evaluator.world.scenes`) keep their objects apart, so that one name means one object. Tableaux are for what
needs more: counting, masks, depth, poses and motion.
"""

from evaluator.world.tableaux.clips import ClipRecord, Motion, draw_clip, frames_of
from evaluator.world.tableaux.drawing import Content, draw_tableau
from evaluator.world.tableaux.painting import Painting, paint
from evaluator.world.tableaux.records import TABLEAU_LABELS, Figure, Joint, Part, Tableau, name_of

__all__ = [
    "TABLEAU_LABELS",
    "ClipRecord",
    "Content",
    "Figure",
    "Joint",
    "Motion",
    "Painting",
    "Part",
    "Tableau",
    "draw_clip",
    "draw_tableau",
    "frames_of",
    "name_of",
    "paint",
]
