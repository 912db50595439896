"""The things of the miniature world, their names in English and German, and their appearance.

Colours differ in luminance and texture as well as in hue, so that a grayscale picture still identifies them and
colorization has a unique answer.
"""

from dataclasses import dataclass
from enum import StrEnum


class Shape(StrEnum):
    """Outlines."""

    CIRCLE = "circle"
    SQUARE = "square"
    TRIANGLE = "triangle"
    HEXAGON = "hexagon"
    STAR = "star"
    CROSS = "cross"
    RING = "ring"
    HEART = "heart"


class Colour(StrEnum):
    """Colours of objects, from dark to light."""

    BLUE = "blue"
    PURPLE = "purple"
    RED = "red"
    GREEN = "green"
    ORANGE = "orange"
    TURQUOISE = "turquoise"
    PINK = "pink"
    YELLOW = "yellow"


class Texture(StrEnum):
    """Patterns on objects, a few pixels fine."""

    WAVY = "wavy"
    CHEQUERED = "chequered"
    STRIPED = "striped"
    DIAGONAL = "diagonal"
    DOTTED = "dotted"
    UPRIGHT = "upright"
    GRIDDED = "gridded"
    HATCHED = "hatched"


class Background(StrEnum):
    """Backgrounds of pictures."""

    NIGHT = "night"
    GRASS = "grass"
    STONE = "stone"
    SKY = "sky"
    SAND = "sand"


class Direction(StrEnum):
    """The direction of an object from another."""

    LEFT_OF = "left of"
    RIGHT_OF = "right of"
    ABOVE = "above"
    BELOW = "below"


@dataclass(frozen=True, slots=True)
class Appearance:
    """The 8-bit RGB of a colour or a background."""

    red: int
    green: int
    blue: int

    @property
    def rgb(self) -> tuple[int, int, int]:
        return self.red, self.green, self.blue

    @property
    def luma(self) -> float:
        """ITU-R BT.601 luma in [0, 255]."""
        return 0.299 * self.red + 0.587 * self.green + 0.114 * self.blue


COLOURS: dict[Colour, Appearance] = {
    Colour.BLUE: Appearance(25, 45, 190),
    Colour.PURPLE: Appearance(125, 40, 165),
    Colour.RED: Appearance(220, 55, 50),
    Colour.GREEN: Appearance(50, 180, 75),
    Colour.ORANGE: Appearance(245, 130, 30),
    Colour.TURQUOISE: Appearance(70, 215, 205),
    Colour.PINK: Appearance(250, 165, 205),
    Colour.YELLOW: Appearance(250, 232, 75),
}

TEXTURES: dict[Colour, Texture] = dict(zip(Colour, Texture, strict=True))
"""The texture of each colour."""

BACKGROUNDS: dict[Background, Appearance] = {
    Background.NIGHT: Appearance(20, 18, 52),
    Background.GRASS: Appearance(62, 112, 48),
    Background.STONE: Appearance(122, 122, 126),
    Background.SKY: Appearance(150, 196, 240),
    Background.SAND: Appearance(232, 212, 168),
}

GERMAN: dict[StrEnum, str] = {
    Shape.CIRCLE: "Kreis",
    Shape.SQUARE: "Quadrat",
    Shape.TRIANGLE: "Dreieck",
    Shape.HEXAGON: "Sechseck",
    Shape.STAR: "Stern",
    Shape.CROSS: "Kreuz",
    Shape.RING: "Ring",
    Shape.HEART: "Herz",
    Colour.BLUE: "blau",
    Colour.PURPLE: "violett",
    Colour.RED: "rot",
    Colour.GREEN: "grün",
    Colour.ORANGE: "orange",
    Colour.TURQUOISE: "türkis",
    Colour.PINK: "rosa",
    Colour.YELLOW: "gelb",
    Background.NIGHT: "Nacht",
    Background.GRASS: "Gras",
    Background.STONE: "Stein",
    Background.SKY: "Himmel",
    Background.SAND: "Sand",
    Direction.LEFT_OF: "links von",
    Direction.RIGHT_OF: "rechts von",
    Direction.ABOVE: "über",
    Direction.BELOW: "unter",
}
"""Dictionary forms, for the bilingual grammar."""

CLASS_LABELS: tuple[str, ...] = tuple(f"{colour} {shape}" for colour in Colour for shape in Shape)
"""The labels of Image Classification, colour first, in the order of the enums (index = colour * 8 + shape)."""
