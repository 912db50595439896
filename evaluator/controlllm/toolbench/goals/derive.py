"""Derives the goal of a request from its gold task decomposition.

The types of a subtask show what it takes and returns. Its description and the request's words show what is meant:
whether a detected object is counted, drawn, cropped or only located. A subtask with an intermediate result (a mask, box
or map that a later subtask takes) is folded into the part that takes it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from evaluator.controlllm.toolbench.goals.goal import Goal
from evaluator.controlllm.toolbench.goals.parts import ANNOTATING, MAPS, File, Kind, Part, ResultOf, Source
from evaluator.controlllm.toolbench.meaning.sentences import base_forms, mentions, next_to, shares_word
from evaluator.replies.decomposition import Argument, Decomposition, Subtask

COUNTING = re.compile(r"\b(how many|number of|count|counts|counting|quantity|total|tally|amount of)\b")
COUNTED = re.compile(r"\b(?:how many|(?:number|count|amount) of|count all)(?: of)?(?: the)? (?P<word>[a-z]+)\b")
DESCRIBING = re.compile(
    r"\b(describe|description|descriptive|elaborate|depict|depiction|portray|narrate|characterize|rundown|caption"
    r"|visual content|key elements|(this|the) (photo|image|picture) about|summar\w+ (the|this) (image|picture|photo)"
    r"|(happening|going on) in (this|the)|do you see)\b"
)
SPECIFIC = re.compile(r"\b(why|how (might|can|does|do|did|would|could)|which|who|reason|benefit|purpose)\b")
DRAWING = re.compile(
    r"\b(highlight\w*|mark(s|ed|ing)?|border\w*|outline\w*|draw\w*|annotat\w+|encircl\w+|circle[sd]?|pinpoint\w*"
    r"|point(ed|ing)? out|bounding box\w*|box(es)? around|show (me|us|where)|you show|label(s|l?ed|l?ing)?)\b"
)
PRESENCE = re.compile(
    r"\b(is|are|was|were) (there|any|an?|the)\b|\bif\b|\bwhether\b|\bcontain\w*|\bpresen(t|ce)\b|\bexist\w*"
    r"|\bvisible\b|\bverify\b|\bconfirm\b|\bcheck\b|\b(has|have|having) (an?|any)\b|\bshowing\b|\bincludes?\b"
    r"|\bfeatures?\b|\bappears?\b|\bspot any\b"
)
LISTING = re.compile(
    r"\b(all|every|what|which|list|complete|everything|different|various|other)\b[^.?!]*\b(objects?|items?|things|elements"
    r"|entit\w+|contents?)\b|\b(objects?|items?|things)\b[^.?!]*\b(present|visible|see|find|depicted|list)\b"
    r"|\b(perform|do|conduct|carry out)\b[^.?!]*\b(recognition|classification)\b|\bclassif\w+\b"
)
ONE_OBJECT = re.compile(
    r"\b(including|include|such as|specifically|focus\w*|particular\w*|especially|along with|as well as)\b"
    r"|\b(identify|recognize|recognise|find|detect|locate)\b (any |the |an? |all the |all )?(?!all\b|objects?\b|every)"
)
OTHERS = re.compile(
    r"\b(all|any|every|complete|entire|list|different|various|other|what|which)\b[^.?!]*"
    r"\b(objects|items|things|elements|entities|contents)\b|\beverything\b|\bwhat (is|are) (present|visible|shown)\b"
)
"""A request that wants all objects, whichever it names beside them."""
PLACE = re.compile(r"\b(location|position|coordinates?)\b")
"""A request for a place is answered by boxes, whatever its other words; drawing them is then optional."""
CUTTING = re.compile(
    r"\b(crop|cut|extract|isolat|separat|only|background|clip|keep|rest of|trim|remov|except|focus|zoom|segment)"
)
EMPHASISING = re.compile(
    r"\b(stand(s|ing)? out|more (prominent|visible|noticeable|conspicuous|striking|eye-catching|obvious)"
    r"|emphasi[sz](e|es|ed|ing)|bring(s|ing)? out|call(s|ing)? attention to|accentuat\w+"
    r"|draw(s|ing)? (\w+ )?attention to|spotlight\w*"
    r"|(make|let) [^.?!]*\bpop)\b"
)
"""A request that an object stands out is met by marking it as well as by cutting it out."""
FINDING = re.compile(r"\b(locat\w*|position|where|find|detect\w*|identify|is there|are there|contain\w*|present)\b")
_NAME = (
    r"(?: (?:any|the|an?|all|each|every|there|is|and|name|label|classify|are|of|provided|one|if))*"
    r" (?P<word>[a-z][\w' -]*?)(?= (?:in|from|within|on|and|present|visible|is|are|for|of|that|using|by|file|depicted"
    r"|shown|located|any)\b|\s*[.,?!:;]|\s*$)"
)
_EMPHASISED_OBJECT = re.compile(
    r"\b(?:including|include|such as|specifically|focus(?:ing|ed)?(?: \w+)? on|especially|particularly|along with"
    rf"|(?:focus|emphasis|attention|interest) (?:on|to|in)|as well as|in addition to){_NAME}"
)
_REQUESTED_OBJECT = re.compile(
    r"\b(?:(?:is|are) there|contains?|has|have|shows?|identify|recogni[sz]e|find|detect|locate|spot|see|determine"
    rf"|classify|presence of|label|whether){_NAME}"
)
_NO_OBJECT = re.compile(
    r"^(?:(?:the |any |all |other |different |what |which |visible )*"
    r"(?:objects?|items?|things?|images?|elements?|what|which|it|its|other)\b.*)$"
)
_UNDER_MASK = re.compile(
    r"\b(?:remove|erase|delete|eliminate|take out|cut out|isolate|extract|separate|clear|get rid of|crop|keep)"
    r"(?: only)? (?:the |an? |any )?(?P<word>[a-z]+(?: [a-z]+){0,2}?) (?:in|from|of|within|on|at|by|with|using|out)\b"
)
_PLACES_IN_IMAGES = frozenset(
    {"part", "area", "region", "section", "object", "mask", "everything", "it", "what", "background"}
)


_QUOTED_TOOL = re.compile(r"`([a-z_]+)`")
_ANNOTATION_OF = {tool: kind for kind, tool in ANNOTATING.items()}


def _tool_of(subtask: Subtask) -> str:
    """The first tool that a description names in backquotes, or an empty string."""
    match = _QUOTED_TOOL.search(subtask.description)
    return match[1] if match is not None else ""


def _annotation_of(subtask: Subtask) -> Kind | None:
    """The annotation of a text that a subtask makes; None if it does something else or names no tool."""
    return _ANNOTATION_OF.get(_tool_of(subtask))


GENERATED = re.compile(r"<(?:GEN|GENERATED)>-(\d+)")
_INTERMEDIATE = frozenset({"mask", "bbox", "category", "segmentation", *MAPS})
"""Types of results that are no part of the goal when a later subtask takes them."""
_ABOUT_OBJECTS = frozenset(
    {Kind.COUNT, Kind.LOCATE, Kind.HIGHLIGHT, Kind.PRESENCE, Kind.RECOGNISE, Kind.MASK, Kind.CUT_OUT, Kind.REMOVE}
)
_PICTURES = frozenset({Kind.GENERATE, Kind.GENERATE_LIKE, Kind.SIMILAR})
_DETECTED = re.compile(r"\bdetect (?:all |the |an? )?(?P<word>.+?) in\b", re.IGNORECASE)
_THERE = re.compile(
    r"(?:is|are) there (?:an? |any )?(?P<word>\w+(?: \w+){0,2}?)"
    r"(?: (?:visible |present )?in (?:the|this) (?:image|picture|photo))?\s*\??"
)
_CLAUSE_END = re.compile(r"(?<=[.?!])\s+|(?<=[!?])")
_MAP_WORD = re.compile(r"\b(" + "|".join([*MAPS, "segmentation"]) + r")\b", re.IGNORECASE)


class UncoveredError(Exception):
    """No goal can be derived; the message names the subtask and the reason."""


def derive_goal(*, instruction: str, decomposition: Decomposition, said: str = "") -> Goal:
    """Derive the goal of a request.

    Args:
        instruction: the request in words that the rules know.
        decomposition: its gold decomposition.
        said: the request as planners get it, whose words their texts may use; empty: the instruction.

    Raises:
        UncoveredError: a subtask has a form for which there is no rule.
    """
    derivation = _Derivation(instruction=instruction, subtasks=decomposition.subtasks, said=said or instruction)
    return Goal(parts=tuple(derivation.run()), request=base_forms(said or instruction))


@dataclass(slots=True)
class _Derivation:
    instruction: str
    subtasks: Sequence[Subtask]
    said: str
    """The request as planners get it."""
    parts: list[Part] = field(default_factory=list)
    part_of: dict[int, int] = field(default_factory=dict)
    """Subtask id to the number of its part."""

    def run(self) -> list[Part]:
        for subtask in self.subtasks:
            if self._is_intermediate(subtask) or self._is_second_count(subtask):
                continue
            takes = tuple(sorted(_type(argument) for argument in subtask.args))
            gives = _type(subtask.returns[0]) if subtask.returns else ""
            rule = _RULES.get((takes, gives))
            if rule is None:
                raise UncoveredError(f"subtask {subtask.id}: no rule for {' + '.join(takes)} -> {gives}")
            part = rule(self, subtask)
            if part.kind in _PICTURES:
                part = replace(part, attributes=frozenset(base_forms(self.said)))
            elif part.kind in _ABOUT_OBJECTS and part.target:
                part = replace(part, attributes=next_to(text=self.said, name=part.target))
            equal = (number for number, known in enumerate(self.parts) if replace(part, number=number) == known)
            self.part_of[subtask.id] = next(equal, part.number)
            if self.part_of[subtask.id] == len(self.parts):
                self.parts.append(part)
        if not self.parts:
            raise UncoveredError("the decomposition holds no subtask")
        return self.parts

    def _is_intermediate(self, subtask: Subtask) -> bool:
        if any(self.text_maker(other) is subtask for other in self.subtasks):
            return True
        if not {_type(result) for result in subtask.returns} <= _INTERMEDIATE:
            return False
        return any(subtask.id in self._needs(other) for other in self.subtasks if other.id > subtask.id)

    def text_maker(self, subtask: Subtask) -> Subtask | None:
        """The subtask that makes the text that this one annotates; None where the request gives the text."""
        match = GENERATED.fullmatch(self.value(subtask, "text") or "") if _annotation_of(subtask) else None
        return None if match is None else next((other for other in self.subtasks if other.id == int(match[1])), None)

    def _needs(self, subtask: Subtask) -> set[int]:
        makers = {int(match[1]) for argument in subtask.args if (match := GENERATED.fullmatch(argument.value))}
        return makers | set(subtask.dependencies)

    def _is_second_count(self, subtask: Subtask) -> bool:
        """Whether it asks the image for a count that another subtask makes. Either is sufficient: they are one part."""
        if "visual-question-answering" not in subtask.domains:
            return False
        image = self.value(subtask, "image")
        return any(
            other.id != subtask.id and _is_count(other) and self.value(other, "image") == image
            for other in self.subtasks
        ) and bool(COUNTING.search((self.value(subtask, "text") or "").lower()))

    def new(self, kind: Kind, **facts: object) -> Part:
        """A part with the next number."""
        return replace(Part(number=len(self.parts), kind=kind), **facts)  # type: ignore[arg-type]

    def source(self, subtask: Subtask, kind: str = "image") -> Source:
        """The resource of a type that a subtask takes, through boxes and masks to the image they are of."""
        value = self.value(subtask, kind)
        if value is None:
            predecessor = self._predecessor(subtask)
            if predecessor is None:
                raise UncoveredError(f"subtask {subtask.id}: it has no {kind}, and takes nothing that has one")
            return self.source(predecessor, kind)
        match = GENERATED.fullmatch(value)
        if match is None:
            return File(value)
        number = int(match[1])
        if number in self.part_of:
            return ResultOf(self.part_of[number])
        # Some decompositions name boxes where they mean the image that the boxes are of.
        maker = next((other for other in self.subtasks if other.id == number < subtask.id), None)
        if maker is None:
            raise UncoveredError(f"subtask {subtask.id}: it takes {value}, which no earlier subtask gives")
        return self.source(maker)

    def request_file(self, subtask: Subtask, kind: str) -> Source | None:
        """The file of this type that the request gives, or None if a step makes it."""
        value = self.value(subtask, kind)
        return File(value) if value is not None and not GENERATED.fullmatch(value) else None

    def _predecessor(self, subtask: Subtask) -> Subtask | None:
        """The subtask whose result this one takes. Dependencies come first: arguments are often wrong."""
        by_id = {other.id: other for other in self.subtasks}
        numbers = [*subtask.dependencies, *sorted(self._needs(subtask))]
        earlier = [by_id[number] for number in numbers if number in by_id and number < subtask.id]
        # If it takes a new image and a mask of an object in it, the mask names the object.
        intermediate = [other for other in earlier if {_type(result) for result in other.returns} <= _INTERMEDIATE]
        return next(iter([*intermediate, *earlier]), None)

    def target(self, subtask: Subtask) -> str:
        """The object or action that a subtask is about: its own text, or that of its predecessor."""
        text = self.value(subtask, "text")
        if text is not None:
            return text
        detected = _DETECTED.search(subtask.description)
        predecessor = self._predecessor(subtask)
        if detected is not None and predecessor is None:
            return "" if base_forms(detected["word"]) == ("object",) else detected["word"]
        return self.target(predecessor) if predecessor is not None else ""

    def counted(self, name: str) -> str:
        """The object to count: the one that the request counts, if it does not name that of the decomposition."""
        match = COUNTED.search(self.instruction.lower())
        return name if match is None or shares_word(text=self.instruction, name=name) else match["word"]

    def value(self, subtask: Subtask, kind: str) -> str | None:
        """The argument of a type."""
        return next((argument.value for argument in subtask.args if _type(argument) == kind), None)

    def clause(self, *, about: str, source: Source | None) -> str:
        """The part of the request that mentions an object, in lower case; the whole request if no part does.

        It is a sentence, or where a sentence joins several requests by commas, a part of it.
        """
        text = self.instruction
        sentences = [part for part in _CLAUSE_END.split(text) if part.strip()]
        if len(sentences) >= 2:
            matches = [part for part in sentences if about and mentions(text=part, name=about)]
            if isinstance(source, File):
                with_file = [part for part in sentences if source.name in part]
                matches = [part for part in matches if part in with_file] or matches or with_file
            text = " ".join(matches) or text
        if len(self.subtasks) < 3:
            return text.lower()
        pieces = re.split(r",\s+(?=[A-Za-z]+ )", text)
        return (" ".join(piece for piece in pieces if about and mentions(text=piece, name=about)) or text).lower()


def _type(argument: Argument) -> str:
    return argument.type.removeprefix("image.")


def _is_count(subtask: Subtask) -> bool:
    return subtask.description.lower().startswith("count ")


_Rule = Callable[[_Derivation, Subtask], Part]

# --- rules by the types that a subtask takes and returns -------------------------------------------------------------


def _locating(derivation: _Derivation, subtask: Subtask) -> Part:
    """Boxes of an object: located, drawn, or evidence of its presence."""
    source, target = derivation.source(subtask), derivation.target(subtask)
    clause = derivation.clause(about=target, source=source)
    if EMPHASISING.search(clause):
        return derivation.new(Kind.HIGHLIGHT, source=source, target=target, is_emphasised=True)
    if DRAWING.search(clause) and not PLACE.search(clause):
        return derivation.new(Kind.HIGHLIGHT, source=source, target=target)
    kind = Kind.PRESENCE if PRESENCE.search(clause) else Kind.LOCATE
    return derivation.new(kind, source=source, target=target)


def _cutting(derivation: _Derivation, subtask: Subtask) -> Part:
    """An object that the decomposition cuts out; the words may ask only to locate or mark it."""
    source, target = derivation.source(subtask), derivation.target(subtask)
    clause = derivation.clause(about=target, source=source)
    if EMPHASISING.search(clause) and not CUTTING.search(clause):
        return derivation.new(Kind.CUT_OUT, source=source, target=target, is_emphasised=True)
    if not CUTTING.search(clause) and (DRAWING.search(clause) or FINDING.search(clause)):
        return replace(_locating(derivation, subtask), cutting_helps=True)
    return derivation.new(Kind.CUT_OUT, source=source, target=target)


def _image_and_text_to_image(derivation: _Derivation, subtask: Subtask) -> Part:
    description = subtask.description.lower()
    if "image-generation" in subtask.domains:
        return _generating(derivation, subtask)
    if "crop" in description or "cut out" in description or "separate" in description:
        return _cutting(derivation, subtask)
    if "remove" in description or "inpaint" in description or "erase" in description:
        return derivation.new(Kind.REMOVE, source=derivation.source(subtask), target=derivation.target(subtask))
    if re.search(r"\b(detect|draw|highlight|mark)", description):
        return _locating(derivation, subtask)
    raise UncoveredError(f"subtask {subtask.id}: an image and a text give an image, but its description names no rule")


def _generating(derivation: _Derivation, subtask: Subtask) -> Part:
    """An image generated from an image: similar to it, or following a map of it that the words name."""
    source, prompt = derivation.source(subtask), derivation.value(subtask, "text") or ""
    map_word = _MAP_WORD.search(f"{subtask.description} {derivation.instruction}")
    based = re.search(r"\b(based on|using|use|conditioned on|from) the \w+", subtask.description.lower())
    if map_word is not None and based is not None and map_word[1].lower() in based[0]:
        return derivation.new(Kind.GENERATE_LIKE, source=source, target=prompt, map_type=map_word[1].lower())
    return derivation.new(Kind.SIMILAR, source=source, target=prompt)


def _image_to_image(derivation: _Derivation, subtask: Subtask) -> Part:
    if "image-generation" in subtask.domains:
        return _generating(derivation, subtask)
    detected = _DETECTED.search(subtask.description)
    if detected is None:
        raise UncoveredError(f"subtask {subtask.id}: an image gives an image, but its description names no rule")
    return derivation.new(Kind.HIGHLIGHT, source=derivation.source(subtask), target=detected["word"])


def _editing(derivation: _Derivation, subtask: Subtask) -> Part:
    """An image and a mask: the masked object is removed or cut out."""
    is_cut = re.search(r"\b(separate|cut out|isolate|extract|crop|keep)\b", subtask.description.lower())
    mask = derivation.request_file(subtask, "mask")
    if mask is None:
        if is_cut:
            return _cutting(derivation, subtask)
        return derivation.new(Kind.REMOVE, source=derivation.source(subtask), target=derivation.target(subtask))
    match = _UNDER_MASK.search(derivation.clause(about="", source=mask))
    name = "" if match is None or match["word"] in _PLACES_IN_IMAGES else match["word"]
    kind = Kind.CUT_OUT if is_cut else Kind.REMOVE
    return derivation.new(kind, source=derivation.source(subtask), given=mask, named=name)


def _drawing(derivation: _Derivation, subtask: Subtask) -> Part:
    """Boxes, with or without their image: drawn, or used to crop."""
    if "crop" in subtask.description.lower():
        return _cutting(derivation, subtask)
    return _locating(derivation, subtask) if derivation.target(subtask) else _detecting(derivation, subtask)


def _detecting(derivation: _Derivation, subtask: Subtask) -> Part:
    source = derivation.source(subtask)
    drawn = bool(DRAWING.search(derivation.clause(about="", source=source)))
    return derivation.new(Kind.DETECT_ALL, source=source, single_object=drawn)


def _image_and_text_to_text(derivation: _Derivation, subtask: Subtask) -> Part:
    source, question = derivation.source(subtask), derivation.value(subtask, "text") or ""
    if _is_count(subtask):
        return derivation.new(Kind.COUNT, source=source, target=derivation.counted(question))
    lowered = question.lower()
    if DESCRIBING.search(lowered) and not SPECIFIC.search(lowered):
        return derivation.new(Kind.DESCRIBE, source=source, target=question)
    there = _THERE.fullmatch(lowered.strip())
    if there is not None:
        return derivation.new(Kind.PRESENCE, source=source, target=there["word"], asked=True)
    return derivation.new(Kind.ASK_IMAGE, source=source, target=question)


def _recognising(derivation: _Derivation, subtask: Subtask) -> Part:
    source = derivation.source(subtask)
    clause = derivation.clause(about="", source=source)
    is_single = not LISTING.search(clause) or bool(ONE_OBJECT.search(clause))
    matches = (match for pattern in (_EMPHASISED_OBJECT, _REQUESTED_OBJECT) for match in pattern.finditer(clause))
    names = (match["word"].strip() for match in matches if not _NO_OBJECT.match(match["word"]))
    target = next(names, "") if is_single else ""
    # A question that lists objects may mention those that the request mentions.
    is_plain = derivation.said == derivation.instruction
    words = clause if is_plain else f"{clause} {derivation.said}"
    attributes = frozenset() if target else frozenset(base_forms(words))
    among_others = bool(target) and OTHERS.search(clause) is not None
    return derivation.new(
        Kind.RECOGNISE, source=source, single_object=is_single, target=target, among_others=among_others,
        attributes=attributes,
    )  # fmt: skip


def _describing(derivation: _Derivation, subtask: Subtask) -> Part:
    kind = Kind.READ if _tool_of(subtask) == "optical_character_recognition" else Kind.DESCRIBE
    return derivation.new(kind, source=derivation.source(subtask))


def _annotating(derivation: _Derivation, subtask: Subtask) -> Part:
    """An annotation of a text that the request gives, or that a step makes from a picture or clip."""
    kind, maker = _annotation_of(subtask), derivation.text_maker(subtask)
    if kind is None:
        raise UncoveredError(f"subtask {subtask.id}: its description names no tool for texts")
    if maker is None:
        return derivation.new(kind, target=derivation.value(subtask, "text") or "")
    medium = "video" if any(_type(argument) == "video" for argument in maker.args) else "image"
    return derivation.new(kind, source=derivation.source(maker, medium), via=_tool_of(maker))


def _asking(derivation: _Derivation, subtask: Subtask) -> Part:
    if _annotation_of(subtask) is not None:
        return _annotating(derivation, subtask)
    return derivation.new(Kind.ASK_TEXT, target=derivation.value(subtask, "text") or "")


def _following(map_type: str) -> _Rule:
    def rule(derivation: _Derivation, subtask: Subtask) -> Part:
        guide = derivation.request_file(subtask, map_type)
        source = None if guide is not None else derivation.source(subtask)
        prompt = derivation.value(subtask, "text") or ""
        return derivation.new(Kind.GENERATE_LIKE, source=source, target=prompt, given=guide, map_type=map_type)

    return rule


def _simple(kind: Kind, *, medium: str = "image", has_target: bool = False, map_type: str = "") -> _Rule:
    """A rule for subtasks whose types alone determine the part."""

    def rule(derivation: _Derivation, subtask: Subtask) -> Part:
        target = derivation.target(subtask) if has_target else ""
        return derivation.new(kind, source=derivation.source(subtask, medium), target=target, map_type=map_type)

    return rule


def _generating_from_text(derivation: _Derivation, subtask: Subtask) -> Part:
    return derivation.new(Kind.GENERATE, target=derivation.value(subtask, "text") or "")


_RULES: dict[tuple[tuple[str, ...], str], _Rule] = {
    (("image", "text"), "bbox"): _locating,
    (("image", "text"), "image"): _image_and_text_to_image,
    (("image",), "image"): _image_to_image,
    (("image", "mask"), "image"): _editing,
    (("bbox", "image"), "image"): _drawing,
    (("bbox",), "image"): _drawing,
    (("image",), "bbox"): _detecting,
    (("image", "text"), "text"): _image_and_text_to_text,
    (("image",), "text"): _describing,
    (("image",), "category"): _recognising,
    (("image", "text"), "category"): _simple(Kind.PRESENCE, has_target=True),
    (("image", "text"), "mask"): _simple(Kind.MASK, has_target=True),
    (("image",), "segmentation"): _simple(Kind.SEGMENT_ALL),
    (("text", "video"), "category"): _simple(Kind.ACTION, medium="video", has_target=True),
    (("video",), "category"): _simple(Kind.ACTIONS, medium="video"),
    (("video",), "text"): _simple(Kind.ACTIONS, medium="video"),
    (("text",), "text"): _asking,
    **{(("text",), annotation): _annotating for annotation in ("title", "tags", "location")},
    (("text",), "image"): _generating_from_text,
    **{(("image",), kind): _simple(Kind.MAP, map_type=kind) for kind in MAPS},
    **{(tuple(sorted((kind, "text"))), "image"): _following(kind) for kind in (*MAPS, "segmentation")},
}
