"""The records of tableaux."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from evaluator.miniature.scenes import SceneObject
from evaluator.miniature.vocabulary import CLASS_LABELS, Background, Colour

TABLEAU_LABELS: tuple[str, ...] = (*CLASS_LABELS, *(f"{colour} figure" for colour in Colour))
"""Names of all possible parts: the 64 classes of things, then the figures in eight colours."""


class Joint(StrEnum):
    """The joints of a stick figure. Figures are seen from behind, so right and left are also the viewer's."""

    HEAD = "head"
    NECK = "neck"
    HIP = "hip"
    RIGHT_ELBOW = "right elbow"
    RIGHT_HAND = "right hand"
    LEFT_ELBOW = "left elbow"
    LEFT_HAND = "left hand"
    RIGHT_KNEE = "right knee"
    RIGHT_FOOT = "right foot"
    LEFT_KNEE = "left knee"
    LEFT_FOOT = "left foot"


LIMBS: tuple[tuple[Joint, Joint], ...] = (
    (Joint.HEAD, Joint.NECK),
    (Joint.NECK, Joint.HIP),
    (Joint.NECK, Joint.RIGHT_ELBOW),
    (Joint.RIGHT_ELBOW, Joint.RIGHT_HAND),
    (Joint.NECK, Joint.LEFT_ELBOW),
    (Joint.LEFT_ELBOW, Joint.LEFT_HAND),
    (Joint.HIP, Joint.RIGHT_KNEE),
    (Joint.RIGHT_KNEE, Joint.RIGHT_FOOT),
    (Joint.HIP, Joint.LEFT_KNEE),
    (Joint.LEFT_KNEE, Joint.LEFT_FOOT),
)
"""Pairs of joints connected by a bone."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A stick figure."""

    colour: Colour
    joints: Mapping[Joint, tuple[float, float]]
    """x and y of each joint in pixels, in the order of `Joint`."""
    shade: float
    """Brightness factor, near 1."""

    @property
    def name(self) -> str:
        """The English name, for example `red figure`."""
        return f"{self.colour} figure"

    @property
    def torso(self) -> float:
        """Distance between neck and hip in pixels, the unit for errors of joints."""
        (x, y), (u, v) = self.joints[Joint.NECK], self.joints[Joint.HIP]
        return float(((x - u) ** 2 + (y - v) ** 2) ** 0.5)


Part = SceneObject | Figure
"""A thing or figure of a tableau."""


@dataclass(frozen=True, slots=True)
class Tableau:
    """The content of a tableau. Names may repeat."""

    background: Background
    background_phase: tuple[float, float]
    background_shade: tuple[float, float]
    """Brightness factor at the top and at the bottom."""
    parts: tuple[Part, ...]
    """In drawing order, the farthest first. Parts lower in the picture are nearer."""

    @property
    def figure(self) -> Figure | None:
        """The figure, if there is one."""
        return next((part for part in self.parts if isinstance(part, Figure)), None)
