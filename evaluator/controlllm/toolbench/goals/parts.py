"""The parts of a request's goal, and the patterns that a plan's results are matched with."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from evaluator.controlllm.toolbench.meaning.questions import Intent


class Kind(StrEnum):
    """What is to be produced."""

    COUNT = "count"
    """How many of an object there are."""
    LOCATE = "locate"
    """Where an object is; drawing it is optional."""
    HIGHLIGHT = "highlight"
    """The image with an object marked."""
    PRESENCE = "presence"
    """Whether an object is there."""
    RECOGNISE = "recognise"
    """What objects there are."""
    DETECT_ALL = "detect_all"
    """The boxes of all objects; drawing them is optional."""
    MASK = "mask"
    """The mask of an object."""
    SEGMENT_ALL = "segment_all"
    """An unlabelled segmentation map."""
    CUT_OUT = "cut_out"
    """The object alone."""
    REMOVE = "remove"
    """The image without an object."""
    DESCRIBE = "describe"
    """A description of an image."""
    ASK_IMAGE = "ask_image"
    """The answer to a question about an image."""
    ASK_TEXT = "ask_text"
    """The answer to a question without an image."""
    ACTION = "action"
    """Whether an action is in a video."""
    ACTIONS = "actions"
    """What happens in a video."""
    MAP = "map"
    """A map of an image, such as its edges or its pose."""
    GENERATE = "generate"
    """An image of a text."""
    GENERATE_LIKE = "generate_like"
    """An image that follows a map: a given one, or one made of an image."""
    SIMILAR = "similar"
    """An image similar to another, with or without a text."""
    READ = "read"
    """The writing in an image."""
    TITLE = "title"
    """The title of a text."""
    TAGS = "tags"
    """What a text is about, as a list."""
    NAMES = "names"
    """The names in a text."""
    SUMMARISE = "summarise"
    """A shorter text."""
    MOOD = "mood"
    """Whether a text is positive or negative."""
    PLACE = "place"
    """The place that a text is about."""


ANNOTATING: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.TITLE: "title_generation",
        Kind.TAGS: "text_to_tags",
        Kind.NAMES: "named_entity_recognition",
        Kind.SUMMARISE: "summarization",
        Kind.MOOD: "sentiment_analysis",
        Kind.PLACE: "extract_location",
    }
)
"""The tool for each kind. All take the argument `text`."""


@dataclass(frozen=True, slots=True)
class File:
    """The source is a file of the request."""

    name: str


@dataclass(frozen=True, slots=True)
class ResultOf:
    """The source is what another part produces."""

    part: int


Source = File | ResultOf


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One thing that a request wants."""

    number: int
    kind: Kind
    source: Source | None = None
    target: str = ""
    """Object, action, question or prompt; empty where any will do."""
    given: Source | None = None
    """A mask or map that the request gives."""
    named: str = ""
    """What the request calls the thing under a mask that it gives; empty where it does not say."""
    map_type: str = ""
    """For `map` and `generate_like`: edge, line, hed, scribble, pose, depth, normal, segmentation."""
    cutting_helps: bool = False
    """The decomposition crops although the words only ask to find or mark: cropping is then not irrelevant."""
    asked: bool = False
    """For `presence`: the decomposition asks the image; gold plans then do so too."""
    single_object: bool = False
    """For `recognise`: one object is asked about, so selecting it is not irrelevant. Its name is the target."""
    attributes: frozenset[str] = frozenset()
    """Base forms of the words that the request has next to the target; where it is a prompt, of all its words."""
    via: str = ""
    """For what is said about a text: the tool that makes the text of the source; empty where the target is the text."""
    only: str = ""
    """The tool that must make the result, where the request's words leave no other; else empty."""

    def sentence(self) -> str:
        """The part in words, for explanations."""
        of = ""
        if isinstance(self.source, File):
            of = f" in {self.source.name}"
        elif isinstance(self.source, ResultOf):
            of = f" in the result of part {self.source.part + 1}"
        if self.via:
            of = f" of the {self.via.replace('_', ' ')}{of}"
        what = f" {self.map_type}" if self.map_type else ""
        target = self.target if len(self.target) <= 60 else self.target[:57] + "..."
        about = f' "{target}"' if target else ""
        with_given = f", using {self.given.name}" if isinstance(self.given, File) else ""
        return f"{self.kind.value.replace('_', ' ')}{what}{about}{of}{with_given}"


@dataclass(frozen=True, slots=True)
class From:
    """Matches the resource of a part's source."""

    source: Source


@dataclass(frozen=True, slots=True)
class Object:
    """Matches a literal that names the object."""

    name: str
    attributes: frozenset[str] = frozenset()
    """Base forms of the words that the request has next to the object's name."""


@dataclass(frozen=True, slots=True)
class Action:
    """Matches a literal that names the action."""

    name: str


@dataclass(frozen=True, slots=True)
class Asking:
    """Matches a literal that asks for something about an object (any, if it is empty)."""

    intent: Intent
    about: str = ""
    attributes: frozenset[str] = frozenset()
    """As of an `Object`."""


class SayingKind(StrEnum):
    """What a sentence is."""

    QUESTION = "question"
    """A question about a picture."""
    PROMPT = "prompt"
    """What a picture is to show."""
    TEXT = "text"
    """Anything for a language model."""


@dataclass(frozen=True, slots=True)
class Saying:
    """Matches a literal with the meaning of a sentence, and not rather that of one of the `others`."""

    kind: SayingKind
    text: str
    others: tuple[str, ...] = ()
    asked: frozenset[str] = frozenset()
    """For a prompt: base forms of all words of the request, which it may say too."""


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Matches a literal with the same words."""

    text: str


@dataclass(frozen=True, slots=True)
class AnyText:
    """Matches any literal, and any text that a step made."""


@dataclass(frozen=True, slots=True)
class Using:
    """Matches an output of a tool whose arguments match."""

    tool: str
    args: tuple[tuple[str, "Pattern"], ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """Matches what one of the patterns matches."""

    patterns: tuple["Pattern", ...]


Literal = Object | Action | Asking | Saying | Verbatim
Pattern = From | Literal | AnyText | Using | OneOf


MAPS = ("edge", "line", "hed", "scribble", "pose", "depth", "normal")


TEXT_TOOLS = frozenset({"image_question_answering", "image_captioning", "openai_chat_model", "text_to_text_generation",
                        "summarization", "video_captioning"})  # fmt: skip


def use(tool: str, **args: Pattern) -> Using:
    """A call of `tool` with these arguments."""
    return Using(tool, tuple(args.items()))
