"""The parts of a goal, and the patterns that match the results of plans."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from evaluator.controlllm.toolbench.meaning.intents import Intent


class Kind(StrEnum):
    """The result that a part requires."""

    COUNT = "count"
    """The number of instances of an object."""
    LOCATE = "locate"
    """The place of an object; drawing it is optional."""
    HIGHLIGHT = "highlight"
    """The image with an object marked."""
    PRESENCE = "presence"
    """Whether the image shows an object."""
    RECOGNISE = "recognise"
    """The objects in an image."""
    DETECT_ALL = "detect_all"
    """The boxes of all objects; drawing them is optional."""
    MASK = "mask"
    """The mask of an object."""
    SEGMENT_ALL = "segment_all"
    """An unlabelled segmentation map."""
    CUT_OUT = "cut_out"
    """An object without its background."""
    REMOVE = "remove"
    """The image without an object."""
    DESCRIBE = "describe"
    """A description of an image."""
    ASK_IMAGE = "ask_image"
    """The answer to a question about an image."""
    ASK_TEXT = "ask_text"
    """The answer to a question without an image."""
    ACTION = "action"
    """Whether a video shows an action."""
    ACTIONS = "actions"
    """The actions in a video."""
    MAP = "map"
    """A map of an image, such as its edges or its pose."""
    GENERATE = "generate"
    """An image from a text."""
    GENERATE_LIKE = "generate_like"
    """An image that follows a map, which the request gives or a step makes."""
    SIMILAR = "similar"
    """An image similar to another, with or without a text."""
    READ = "read"
    """The writing in an image."""
    TITLE = "title"
    """The title of a text."""
    TAGS = "tags"
    """The topics of a text."""
    NAMES = "names"
    """The names in a text."""
    SUMMARISE = "summarise"
    """A summary of a text."""
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
    """A file of the request, as a source."""

    name: str


@dataclass(frozen=True, slots=True)
class ResultOf:
    """The result of another part, as a source."""

    part: int


Source = File | ResultOf


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One result that a request wants."""

    number: int
    kind: Kind
    source: Source | None = None
    target: str = ""
    """Object, action, question or prompt; empty: any."""
    given: Source | None = None
    """A mask or map that the request gives."""
    named: str = ""
    """The request's name for the object under a given mask; empty if it has none."""
    map_type: str = ""
    """For `map` and `generate_like`: edge, line, hed, scribble, pose, depth, normal, segmentation."""
    cutting_helps: bool = False
    """Whether cropping is relevant because the decomposition crops, although the words only ask to locate or mark."""
    is_emphasised: bool = False
    """For `highlight` and `cut_out`: whether the object shall stand out, for which the other one is sufficient too."""
    asked: bool = False
    """For `presence`: whether the decomposition asks the image. Gold plans then do so too."""
    single_object: bool = False
    """For `recognise`: whether the request is about one object, the target, so that selecting it is relevant."""
    among_others: bool = False
    """For `recognise`: whether the request wants the other objects beside the target too."""
    attributes: frozenset[str] = frozenset()
    """Base forms of the words next to the target in the request; for a prompt, and for `recognise` without a target, of
    all words of the request or of its clause."""
    via: str = ""
    """For annotations: the tool that makes the text from the source; empty if the target is the text."""
    only: str = ""
    """The one tool that may make the result, where the wording allows no other; else empty."""

    def sentence(self) -> str:
        """The part in words, for explanations."""
        source = ""
        if isinstance(self.source, File):
            source = f" in {self.source.name}"
        elif isinstance(self.source, ResultOf):
            source = f" in the result of part {self.source.part + 1}"
        if self.via:
            source = f" of the {self.via.replace('_', ' ')}{source}"
        map_type = f" {self.map_type}" if self.map_type else ""
        target = self.target if len(self.target) <= 60 else self.target[:57] + "..."
        about = f' "{target}"' if target else ""
        guide = f", using {self.given.name}" if isinstance(self.given, File) else ""
        return f"{self.kind.value.replace('_', ' ')}{map_type}{about}{source}{guide}"


@dataclass(frozen=True, slots=True)
class From:
    """Matches the resource of a part's source."""

    source: Source


@dataclass(frozen=True, slots=True)
class Object:
    """Matches a literal that names the object."""

    name: str
    attributes: frozenset[str] = frozenset()
    """Base forms of the words next to the object's name in the request."""


@dataclass(frozen=True, slots=True)
class Action:
    """Matches a literal that names the action."""

    name: str


@dataclass(frozen=True, slots=True)
class Asking:
    """Matches a literal that asks for something about an object; any object if `about` is empty."""

    intent: Intent
    about: str = ""
    attributes: frozenset[str] = frozenset()
    """See `Object`."""


class SayingKind(StrEnum):
    """The use of a sentence."""

    QUESTION = "question"
    """A question about a picture."""
    PROMPT = "prompt"
    """A description of a picture to generate."""
    TEXT = "text"
    """A message to a language model."""


@dataclass(frozen=True, slots=True)
class Saying:
    """Matches a literal with the meaning of a sentence, unless it has that of one of the `others`."""

    kind: SayingKind
    text: str
    others: tuple[str, ...] = ()
    asked: frozenset[str] = frozenset()
    """For a prompt: base forms of all words of the request, which the prompt may use."""


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Matches a literal with the same words."""

    text: str


@dataclass(frozen=True, slots=True)
class AnyText:
    """Matches any literal and any text that a step made."""


@dataclass(frozen=True, slots=True)
class Using:
    """Matches an output of a tool whose arguments match."""

    tool: str
    args: tuple[tuple[str, "Pattern"], ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """Matches whatever one of the patterns matches."""

    patterns: tuple["Pattern", ...]


Literal = Object | Action | Asking | Saying | Verbatim
Pattern = From | Literal | AnyText | Using | OneOf


MAPS = ("edge", "line", "hed", "scribble", "pose", "depth", "normal")
TEXT_TOOLS = frozenset({"image_question_answering", "image_captioning", "openai_chat_model", "text_to_text_generation",
                        "summarization", "video_captioning"})  # fmt: skip


def use(tool: str, **args: Pattern) -> Using:
    """A call of `tool` with these arguments."""
    return Using(tool, tuple(args.items()))
