"""The goal algebra: what a request wants, and every way that is sufficient to get it.

A goal is a tuple of parts. A part says what must be produced (`kind`), from which resource (`source`), and about what
(`target`). Rewrite rules turn a part into patterns, one for each sufficient alternative; a plan meets the part if some
output's term matches one of them. Tool quality is not judged: counting with a question to the image is as good as
detecting, selecting and counting (ControlLLM, section 4.2: any solution that solves the task counts).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import product

from evaluator.suites.toolbench import words
from evaluator.suites.toolbench.intents import Intent, asks, same_request
from evaluator.suites.toolbench.terms import CallTerm, FileTerm, LiteralTerm, Term


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
    map_type: str = ""
    """For `map` and `generate_like`: edge, line, hed, scribble, pose, depth, normal, segmentation."""
    cutting_helps: bool = False
    """The decomposition crops although the words only ask to find or mark: cropping is then not irrelevant."""
    asked: bool = False
    """For `presence`: the decomposition asks the image; gold plans then do so too."""
    single_object: bool = False
    """For `recognise`: one object is asked about, so selecting it is not irrelevant."""

    def sentence(self) -> str:
        """The part in words, for explanations."""
        of = ""
        if isinstance(self.source, File):
            of = f" in {self.source.name}"
        elif isinstance(self.source, ResultOf):
            of = f" in the result of part {self.source.part + 1}"
        what = f" {self.map_type}" if self.map_type else ""
        target = self.target if len(self.target) <= 60 else self.target[:57] + "..."
        about = f' "{target}"' if target else ""
        with_given = f", using {self.given.name}" if isinstance(self.given, File) else ""
        return f"{self.kind.value.replace('_', ' ')}{what}{about}{of}{with_given}"


# --- patterns -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class From:
    """Matches the resource of a part's source."""

    source: Source


@dataclass(frozen=True, slots=True)
class Object:
    """Matches a literal that names the object."""

    name: str


@dataclass(frozen=True, slots=True)
class Action:
    """Matches a literal that names the action."""

    name: str


@dataclass(frozen=True, slots=True)
class Asking:
    """Matches a literal that asks for something about an object (any, if it is empty)."""

    intent: Intent
    about: str = ""


@dataclass(frozen=True, slots=True)
class Saying:
    """Matches a literal with the meaning of a sentence, and not rather that of one of the `others`."""

    text: str
    others: tuple[str, ...] = ()


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


Pattern = From | Object | Action | Asking | Saying | AnyText | Using | OneOf

MAPS = ("edge", "line", "hed", "scribble", "pose", "depth", "normal")
TEXT_TOOLS = frozenset({"image_question_answering", "image_captioning", "openai_chat_model", "text_to_text_generation",
                        "summarization", "video_captioning"})  # fmt: skip


def use(tool: str, **args: Pattern) -> Using:
    """A call of `tool` with these arguments."""
    return Using(tool, tuple(args.items()))


@dataclass(frozen=True)
class Goal:
    """Everything that a request wants, with the files that it gives."""

    parts: tuple[Part, ...]

    @cached_property
    def alternatives(self) -> tuple[tuple[Pattern, ...], ...]:
        """For each part the sufficient patterns; the first is the one that gold plans use."""
        return tuple(_alternatives(part=part, goal=self) for part in self.parts)

    @cached_property
    def chains(self) -> tuple[tuple[frozenset[str], ...], ...]:
        """For each part the sets of tools that are sufficient for it, arguments aside."""
        return tuple(
            tuple(dict.fromkeys(chain for pattern in patterns for chain in _tool_sets(pattern)))
            for patterns in self.alternatives
        )

    @cached_property
    def relevant(self) -> frozenset[str]:
        """Tools that are in some sufficient chain of some part, or are an optional addition to it."""
        tools = {tool for chains in self.chains for chain in chains for tool in chain}
        for part in self.parts:
            tools |= _optional(part)
        return frozenset(tools)

    def met_by(self, *, part: int, term: Term) -> bool:
        """Whether a term is a result that meets a part."""
        return any(self._matches(term, pattern) for pattern in self.alternatives[part])

    def _matches(self, term: Term, pattern: Pattern) -> bool:
        if isinstance(pattern, Using):
            if not isinstance(term, CallTerm) or term.tool != pattern.tool or not term.known:
                return False
            return all(name in term.args and self._matches(term.args[name], wanted) for name, wanted in pattern.args)
        if isinstance(pattern, OneOf):
            return any(self._matches(term, one) for one in pattern.patterns)
        if isinstance(pattern, From):
            if isinstance(pattern.source, File):
                return isinstance(term, FileTerm) and term.name == pattern.source.name
            return self.met_by(part=pattern.source.part, term=term)
        if isinstance(pattern, AnyText):
            return isinstance(term, LiteralTerm) or (isinstance(term, CallTerm) and term.tool in TEXT_TOOLS)
        return isinstance(term, LiteralTerm) and _says(term.text, pattern)


def _says(text: str, pattern: Object | Action | Asking | Saying) -> bool:
    text = text[: words.LONGEST]
    if isinstance(pattern, Object):
        return words.same_object(pattern.name, text)
    if isinstance(pattern, Action):
        return words.same_action(pattern.name, text)
    if isinstance(pattern, Asking):
        return asks(text, pattern.intent, pattern.about)
    own = words.overlap(pattern.text, text)
    return same_request(pattern.text, text) and all(words.overlap(other, text) <= own for other in pattern.others)


# --- rewrite rules ------------------------------------------------------------------------------------------------


def _alternatives(*, part: Part, goal: Goal) -> tuple[Pattern, ...]:
    """The sufficient ways to meet a part."""
    source = From(part.source) if part.source is not None else AnyText()
    rule = _RULES.get(part.kind)
    if rule is not None:
        return tuple(rule(source, part))
    others = tuple(
        other.target
        for other in goal.parts
        if other.kind is part.kind and other.number != part.number and other.target != part.target
    )
    return tuple(_asking(source=source, part=part, others=others))


def _boxes(source: Pattern, name: str) -> OneOf:
    selected = use("select_bbox", bbox_list=use("object_detection", image=source), condition=Object(name))
    return OneOf((selected, use("visual_grounding", image=source, query=Asking(Intent.GROUND, name))))


def _masks(source: Pattern, name: str) -> Using:
    segmented = use("image_instance_segmentation", image=source)
    return use("select_mask", mask_list=segmented, condition=Object(name))


def _count(source: Pattern, part: Part) -> Iterator[Pattern]:
    selected = use("select_bbox", bbox_list=use("object_detection", image=source), condition=Object(part.target))
    yield use("count_objects", bbox_list=selected)
    yield use("count_masks", mask_list=_masks(source, part.target))
    yield use("image_question_answering", image=source, text=Asking(Intent.COUNT, part.target))


def _locate(source: Pattern, part: Part) -> Iterator[Pattern]:
    yield _boxes(source, part.target)


def _highlight(source: Pattern, part: Part) -> Iterator[Pattern]:
    yield use("highlight_object_on_image", image=source, bbox=_boxes(source, part.target))
    if part.cutting_helps:
        yield use("image_cropping", image=source, object=_boxes(source, part.target))


def _presence(source: Pattern, part: Part) -> Iterator[Pattern]:
    classified = use("image_classification", image=source)
    question = use("image_question_answering", image=source, text=Asking(Intent.PRESENCE, part.target))
    if part.asked:
        yield question
    yield use("select_category", category_list=classified, condition=Object(part.target))
    yield _boxes(source, part.target)
    if not part.asked:
        yield question


def _recognise(source: Pattern, part: Part) -> Iterator[Pattern]:
    yield use("image_classification", image=source)
    yield use("object_detection", image=source)
    if part.single_object:
        yield use("visual_grounding", image=source, query=AnyText())
    asked = Asking(Intent.LIST)
    text = OneOf((asked, Asking(Intent.PRESENCE))) if part.single_object else asked
    yield use("image_question_answering", image=source, text=text)


def _detect_all(source: Pattern, part: Part) -> Iterator[Pattern]:
    detected = use("object_detection", image=source)
    yield use("highlight_object_on_image", image=source, bbox=detected) if part.single_object else detected


def _mask(source: Pattern, part: Part) -> Iterator[Pattern]:
    yield _masks(source, part.target)


def _segment_all(source: Pattern, part: Part) -> Iterator[Pattern]:
    del part
    yield use("segment_anything", image=source)


def _cut_out(source: Pattern, part: Part) -> Iterator[Pattern]:
    if part.given is not None:
        yield use("mask_image", image=source, mask=From(part.given))
        return
    yield use("mask_image", image=source, mask=_masks(source, part.target))
    yield use("image_cropping", image=source, object=_boxes(source, part.target))


def _remove(source: Pattern, part: Part) -> Iterator[Pattern]:
    if part.given is not None:
        yield use("image_inpainting", image=source, mask=From(part.given))
        return
    yield use("image_inpainting", image=source, mask=_masks(source, part.target))
    yield use("text_image_editing", image=source, text=Asking(Intent.REMOVE, part.target))


def _describe(source: Pattern, part: Part) -> Iterator[Pattern]:
    said = (Saying(part.target),) if part.target else ()
    text = OneOf((*said, Asking(Intent.DESCRIBE)))
    yield use("image_question_answering", image=source, text=text)
    yield use("image_captioning", image=source)


def _action(source: Pattern, part: Part) -> Iterator[Pattern]:
    classified = use("video_classification", video=source)
    yield use("select_category", category_list=classified, condition=Action(part.target))


def _actions(source: Pattern, part: Part) -> Iterator[Pattern]:
    del part
    yield use("video_classification", video=source)
    yield use("video_captioning", video=source)


def _map(source: Pattern, part: Part) -> Iterator[Pattern]:
    yield map_of(source=source, map_type=part.map_type)


def map_of(*, source: Pattern, map_type: str) -> Using:
    """The call that makes a map of an image."""
    return use("segment_anything" if map_type == "segmentation" else f"image_to_{map_type}", image=source)


def _following(map_type: str, guide: Pattern, text: Pattern) -> Using:
    return Using(f"{map_type}_text_to_image", (("text", text), (map_type, guide)))


def _generate_like(source: Pattern, part: Part) -> Iterator[Pattern]:
    guide = From(part.given) if part.given is not None else map_of(source=source, map_type=part.map_type)
    yield _following(part.map_type, guide, Saying(part.target))


def _similar(source: Pattern, part: Part) -> Iterator[Pattern]:
    told = OneOf((use("image_captioning", image=source), use("image_question_answering", image=source, text=AnyText())))
    text = OneOf((Saying(part.target), told)) if part.target else AnyText()
    if not part.target:
        yield use("image_to_image", image=source)
    for map_type in (*MAPS, "segmentation"):
        yield _following(map_type, map_of(source=source, map_type=map_type), text)
    yield use("text_to_image", text=told)
    if part.target:
        yield use("image_to_image", image=source)


def _asking(*, source: Pattern, part: Part, others: tuple[str, ...]) -> Iterator[Pattern]:
    said = Saying(part.target, others)
    if part.kind is Kind.ASK_IMAGE:
        yield use("image_question_answering", image=source, text=said)
    elif part.kind is Kind.GENERATE:
        yield use("text_to_image", text=said)
    else:
        yield use("openai_chat_model", input_msg=said)
        yield use("text_to_text_generation", text=said)


_RULES = {
    Kind.COUNT: _count, Kind.LOCATE: _locate, Kind.HIGHLIGHT: _highlight, Kind.PRESENCE: _presence,
    Kind.RECOGNISE: _recognise, Kind.DETECT_ALL: _detect_all, Kind.MASK: _mask, Kind.SEGMENT_ALL: _segment_all,
    Kind.CUT_OUT: _cut_out, Kind.REMOVE: _remove, Kind.DESCRIBE: _describe, Kind.ACTION: _action,
    Kind.ACTIONS: _actions, Kind.MAP: _map, Kind.GENERATE_LIKE: _generate_like, Kind.SIMILAR: _similar,
}  # fmt: skip


def _optional(part: Part) -> frozenset[str]:
    """Tools that a plan may add for a part without being irrelevant."""
    if part.kind in {Kind.LOCATE, Kind.PRESENCE, Kind.DETECT_ALL}:
        return frozenset({"highlight_object_on_image", *(("image_cropping",) if part.cutting_helps else ())})
    if part.kind is Kind.RECOGNISE and part.single_object:
        return frozenset({"select_category", "select_bbox", "visual_grounding", "highlight_object_on_image"})
    return frozenset()


def _tool_sets(pattern: Pattern) -> Sequence[frozenset[str]]:
    """The sets of tools with which a pattern can be matched."""
    if isinstance(pattern, OneOf):
        return [chain for one in pattern.patterns for chain in _tool_sets(one)]
    if not isinstance(pattern, Using):
        return [frozenset()]
    inner = [_tool_sets(argument) for _, argument in pattern.args]
    return [frozenset({pattern.tool}).union(*chosen) for chosen in product(*inner)]


def describe_goal(goal: Goal) -> Mapping[int, str]:
    """The parts in words, by their number counted from 1."""
    return {part.number + 1: part.sentence() for part in goal.parts}
