"""The files of a request: what each must show, so that the request makes sense on every sample."""

from dataclasses import dataclass
from enum import StrEnum

from evaluator.core.tools.types import ResourceType
from evaluator.miniature.scenes import SceneObject
from evaluator.miniature.tableaux.clips import Motion
from evaluator.miniature.vocabulary import Background, Colour, Direction, Shape


class Material(StrEnum):
    """What a file shows."""

    SCENE = "scene"
    """A scene whose things stand apart, each of another shape."""
    THINGS = "things"
    """A tableau of things that may overlap and repeat."""
    FIGURE = "figure"
    """A tableau with a stick figure."""
    LAYOUT = "layout"
    """A scene with the things of a `Sketch`, in other colours and on another background; or only its map."""
    CLIP = "clip"
    """A clip of one moving thing."""
    SIGN = "sign"
    """One to three written words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """The range of the number of things with a name in a picture; each sample draws a number from it."""

    colour: Colour | None
    """None: any."""
    shape: Shape | None
    least: int = 1
    most: int = 1

    @property
    def name(self) -> str:
        """In English, for example `red star`, `star` or `red thing`."""
        return " ".join([*([str(self.colour)] if self.colour else []), str(self.shape or "thing")])

    def means(self, part: SceneObject) -> bool:
        """Whether a thing has the name."""
        return self.colour in (None, part.colour) and self.shape in (None, part.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """A picture in words: what to draw, without exact places."""

    background: Background
    colour: Colour
    shape: Shape | None
    """Of the main thing; None for a stick figure."""
    direction: Direction | None = None
    """Where the main thing lies as seen from its companion; None where there is none."""
    other_colour: Colour = Colour.RED
    other_shape: Shape = Shape.STAR
    text: str = ""
    """The words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A file of a request."""

    name: str
    type: ResourceType
    """An image, a video, a mask, or a map."""
    material: Material
    demands: tuple[Demand, ...] = ()
    motion: Motion | None = None
    """For clips: shown on half of the samples, drawn for each."""
    always: bool = False
    """Whether the motion is shown on all samples."""
    sketch: Sketch | None = None
    """For layouts."""
    writes: str = ""
    """For signs: what at least one of the words is, a `name` or a `tag`; empty: anything."""
    masked: str = ""
    """For masks: the file that they are of."""
