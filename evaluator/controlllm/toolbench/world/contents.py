"""What a request about the miniature world gives and wants: files, what each must show, and the results with their
scores.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from evaluator.core.tools.types import ResourceType
from evaluator.miniature.annotations import Annotated
from evaluator.miniature.scenes import SceneObject
from evaluator.miniature.tableaux.clips import Motion
from evaluator.miniature.vocabulary import Background, Colour, Direction, Shape
from evaluator.scoring.metrics import rule_names


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
"""By kind, the score and the type of the result; of maps, both depend on the map."""
TEXT_KINDS = frozenset({Want.READING, Want.TITLE, Want.TAGS, Want.NAMES, Want.PLACE, Want.SUMMARY, Want.MOOD})
"""Of a text: one that the request gives, the writing of a sign, or the caption of a picture or a clip."""
_MAP_SCORES = {
    "depth": rule_names.DEPTH,
    "normal": rule_names.NORMALS,
    "pose": rule_names.POSE,
    "segmentation": rule_names.SEGMENTS,
}
"""All other maps are outlines."""


class Asked(StrEnum):
    """What a question about a scene asks for."""

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
    """Of which file; empty where the request gives none."""
    thing: Demand | None = None
    """What it is about."""
    word: str = ""
    """The class or motion that is looked for, or the kind of map."""
    asked: Asked | None = None
    """For answers."""
    sketch: Sketch | None = None
    """For drawings."""
    said: Annotated | None = None
    """For annotations of a text in the request: the text with its reference annotations."""
    tool: str = ""
    """The required tool, where the wording allows no other although the kind of result would."""
    tags: tuple[str, ...] = field(default=())

    @property
    def metric(self) -> str:
        """Name of its score."""
        return _MAP_SCORES.get(self.word, rule_names.OUTLINES) if self.kind is Want.MAP else _RESULTS[self.kind][0]

    @property
    def type(self) -> ResourceType:
        """Of the result."""
        return ResourceType(self.word) if self.kind is Want.MAP else _RESULTS[self.kind][1]
