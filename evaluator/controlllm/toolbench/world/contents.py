"""The files of a request about the miniature world, with their contents, and its results, with their scores."""

from dataclasses import dataclass
from enum import StrEnum

from evaluator.core.tools.types import ResourceType
from evaluator.miniature.annotations import Annotated
from evaluator.miniature.scenes import SceneObject
from evaluator.miniature.tableaux.clips import Motion
from evaluator.miniature.vocabulary import Background, Colour, Direction, Shape
from evaluator.scoring.metrics import rule_names


class Material(StrEnum):
    """The content of a file."""

    SCENE = "scene"
    """A scene of separate objects with distinct shapes."""
    THINGS = "things"
    """A tableau of objects that may overlap and repeat."""
    FIGURE = "figure"
    """A tableau with a stick figure."""
    LAYOUT = "layout"
    """A scene with the objects of a `Sketch` in other colours on another background, or only its map."""
    CLIP = "clip"
    """A clip of one moving object."""
    SIGN = "sign"
    """One to three written words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """The number of objects with a name in a picture: a range, from which each sample draws."""

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
        """Whether an object has the name."""
        return self.colour in (None, part.colour) and self.shape in (None, part.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """A picture in words, without exact positions."""

    background: Background
    colour: Colour
    shape: Shape | None
    """Of the main object; None for a stick figure."""
    direction: Direction | None = None
    """Of the main object relative to the other one; None if there is only one."""
    other_colour: Colour = Colour.RED
    other_shape: Shape = Shape.STAR
    text: str = ""
    """The description."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A file of a request."""

    name: str
    type: ResourceType
    """An image, a video, a mask, or a map."""
    material: Material
    demands: tuple[Demand, ...] = ()
    motion: Motion | None = None
    """For clips: the motion that a random half of the samples shows."""
    always: bool = False
    """Whether all samples show the motion."""
    sketch: Sketch | None = None
    """For layouts."""
    writes: str = ""
    """For signs: the kind of at least one word, `name` or `tag`; empty: any."""
    masked: str = ""
    """For masks: the file to which they apply."""


class Want(StrEnum):
    """Kinds of results."""

    COUNT = "count"
    BOXES = "boxes"
    HIGHLIGHT = "highlight"
    CROP = "crop"
    MASK = "mask"
    SEGMENTS = "segments"
    CUT_OUT = "cut out"
    REMOVAL = "removal"
    MAP = "map"
    ANSWER = "answer"
    CAPTION = "caption"
    CLASS = "class"
    SELECTED_CLASS = "selected class"
    MOTION = "motion"
    SELECTED_MOTION = "selected motion"
    STORY = "story of a clip"
    DRAWING = "drawing"
    GUIDED_DRAWING = "guided drawing"
    VARIATION = "variation"
    READING = "reading"
    TITLE = "title"
    TAGS = "tags"
    NAMES = "names"
    PLACE = "place"
    SUMMARY = "summary"
    MOOD = "mood"


_RESULTS: dict[Want, tuple[str, ResourceType]] = {
    Want.COUNT: (rule_names.ANSWER, ResourceType.TEXT),
    Want.BOXES: (rule_names.BOXES, ResourceType.BBOX),
    Want.HIGHLIGHT: (rule_names.EDIT, ResourceType.IMAGE),
    Want.CROP: ("ViT", ResourceType.IMAGE),
    Want.MASK: (rule_names.MASKS, ResourceType.MASK),
    Want.SEGMENTS: (rule_names.SEGMENTS, ResourceType.SEGMENTATION),
    Want.CUT_OUT: (rule_names.EDIT, ResourceType.IMAGE),
    Want.REMOVAL: (rule_names.EDIT, ResourceType.IMAGE),
    Want.ANSWER: (rule_names.ANSWER, ResourceType.TEXT),
    Want.CAPTION: ("BERT", ResourceType.TEXT),
    Want.CLASS: (rule_names.LABELS, ResourceType.CATEGORY),
    Want.SELECTED_CLASS: (rule_names.LABELS, ResourceType.CATEGORY),
    Want.MOTION: (rule_names.LABELS, ResourceType.CATEGORY),
    Want.SELECTED_MOTION: (rule_names.LABELS, ResourceType.CATEGORY),
    Want.STORY: ("BERT", ResourceType.TEXT),
    Want.DRAWING: ("CLIP", ResourceType.IMAGE),
    Want.GUIDED_DRAWING: ("ViT", ResourceType.IMAGE),
    Want.VARIATION: (rule_names.VARIATION, ResourceType.IMAGE),
    Want.READING: (rule_names.READING, ResourceType.TEXT),
    Want.TITLE: (rule_names.ANSWER, ResourceType.TITLE),
    Want.TAGS: (rule_names.LABELS, ResourceType.TAGS),
    Want.NAMES: (rule_names.LABELS, ResourceType.TAGS),
    Want.PLACE: (rule_names.ANSWER, ResourceType.LOCATION),
    Want.SUMMARY: ("BERT", ResourceType.TEXT),
    Want.MOOD: (rule_names.ANSWER, ResourceType.TEXT),
}
"""Score and type of the result by kind; those of maps depend on the map."""
TEXT_KINDS = frozenset({Want.READING, Want.TITLE, Want.TAGS, Want.NAMES, Want.PLACE, Want.SUMMARY, Want.MOOD})
"""Results about a text: one in the request, the writing of a sign, or the caption of a picture or a clip."""
_MAP_SCORES = {
    "depth": rule_names.DEPTH,
    "normal": rule_names.NORMALS,
    "pose": rule_names.POSE,
    "segmentation": rule_names.SEGMENTS,
}
"""All other maps are outlines."""


class Asked(StrEnum):
    """The subject of a question about a scene."""

    COLOUR = "colour"
    SHAPE = "shape"
    NUMBER = "number"
    BACKGROUND = "background"
    EXISTENCE = "existence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One result."""

    kind: Want
    file: str = ""
    """The source file; empty if there is none."""
    thing: Demand | None = None
    """The objects that it is about."""
    word: str = ""
    """The class, the motion, or the kind of map."""
    asked: Asked | None = None
    """For answers."""
    sketch: Sketch | None = None
    """For drawings."""
    said: Annotated | None = None
    """For annotations of a text in the request: the text with its reference annotations."""
    tool: str = ""
    """The one tool that the wording allows, although the kind of result would allow others; empty: any."""

    @property
    def metric(self) -> str:
        """Name of its score."""
        return _MAP_SCORES.get(self.word, rule_names.OUTLINES) if self.kind is Want.MAP else _RESULTS[self.kind][0]

    @property
    def type(self) -> ResourceType:
        """Of the result."""
        return ResourceType(self.word) if self.kind is Want.MAP else _RESULTS[self.kind][1]
