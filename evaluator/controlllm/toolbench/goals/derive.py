"""From a request and its gold task decomposition to the goal.

A decomposition says in its types what each subtask turns into what, and in its descriptions and the request's own words
what is meant: whether a detected object is to be counted, drawn, cropped or only found. Subtasks whose result is only a
step on the way (masks, boxes, maps that a later subtask takes) are folded into the part that takes them.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from evaluator.controlllm.toolbench.goals.goal import Goal
from evaluator.controlllm.toolbench.goals.parts import ANNOTATING, MAPS, File, Kind, Part, ResultOf, Source
from evaluator.controlllm.toolbench.meaning.sentences import base_forms, mentions, next_to
from evaluator.replies.decomposition import Argument, Decomposition, Subtask

COUNTING = re.compile(r"\b(how many|number of|count|counts|counting|quantity|total|tally|amount of)\b")
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
PLACE = re.compile(r"\b(location|position|coordinates?)\b")
"""Asked for a place, boxes are the answer, however it is said; drawing them is then optional."""
CUTTING = re.compile(
    r"\b(crop|cut|extract|isolat|separat|only|background|clip|keep|rest of|trim|remov|except|focus|zoom|prominent"
    r"|segment)"
)
FINDING = re.compile(r"\b(locat\w*|position|where|find|detect\w*|identify|is there|are there|contain\w*|present)\b")


_NAMED = (
    r"(?: (?:any|the|an?|all|each|every|there|is|and|name|label|classify|are|of|provided|one|if))*"
    r" (?P<word>[a-z][\w' -]*?)(?= (?:in|from|within|on|and|present|visible|is|are|for|of|that|using|by|file|depicted"
    r"|shown|located|any)\b|\s*[.,?!:;]|\s*$)"
)
_ASKED_BESIDES = re.compile(
    r"\b(?:including|include|such as|specifically|focus(?:ing|ed)?(?: \w+)? on|especially|particularly|along with"
    rf"|(?:focus|emphasis|attention|interest) (?:on|to|in)|as well as|in addition to){_NAMED}"
)
_ASKED_FOR = re.compile(
    r"\b(?:(?:is|are) there|contains?|has|have|shows?|identify|recogni[sz]e|find|detect|locate|spot|see|determine"
    rf"|classify|presence of|label|whether){_NAMED}"
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


def object_asked_for(clause: str) -> str:
    """The object that a request to recognise names besides, or alone; empty where the words do not show it."""
    for pattern in (_ASKED_BESIDES, _ASKED_FOR):
        for found in pattern.finditer(clause):
            if not _NO_OBJECT.match(found["word"]):
                return found["word"].strip()
    return ""


def named_under(clause: str) -> str:
    """What the request calls the thing under the mask that it gives."""
    found = _UNDER_MASK.search(clause)
    return "" if found is None or found["word"] in _PLACES_IN_IMAGES else found["word"]


_QUOTED_TOOL = re.compile(r"`([a-z_]+)`")
_ANNOTATION_OF = {tool: kind for kind, tool in ANNOTATING.items()}


def tool_named(subtask: Subtask) -> str:
    """The first tool that a description names in backquotes; empty where it names none."""
    found = _QUOTED_TOOL.search(subtask.description)
    return found[1] if found is not None else ""


def annotation_of(subtask: Subtask) -> Kind | None:
    """What a subtask says about a text; None where it does something else, or does not name its tool."""
    return _ANNOTATION_OF.get(tool_named(subtask))


GENERATED = re.compile(r"<(?:GEN|GENERATED)>-(\d+)")
_ON_THE_WAY = frozenset({"mask", "bbox", "category", "segmentation", *MAPS})
"""Results that are not wanted for themselves when a later subtask takes them."""
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
    """No goal can be derived; the message says from which subtask, and why."""


def derive_goal(*, instruction: str, decomposition: Decomposition) -> Goal:
    """Derive the goal of a request.

    Raises:
        UncoveredError: a subtask has a form for which there is no rule.
    """
    parts = _Derivation(instruction=instruction, subtasks=decomposition.subtasks).run()
    return Goal(parts=tuple(parts), request=base_forms(instruction))


@dataclass(slots=True)
class _Derivation:
    """One derivation: which subtask became which part."""

    instruction: str
    subtasks: Sequence[Subtask]
    parts: list[Part] = field(default_factory=list)
    part_of: dict[int, int] = field(default_factory=dict)
    """Subtask id to the number of its part."""

    def run(self) -> list[Part]:
        for subtask in self.subtasks:
            if self._is_on_the_way(subtask) or self._is_second_counting(subtask):
                continue
            part = self._described(self._part(subtask))
            same = next((known for known in self.parts if _same(known, part)), None)
            if same is not None:
                self.part_of[subtask.id] = same.number
                continue
            self.part_of[subtask.id] = part.number
            self.parts.append(part)
        if not self.parts:
            raise UncoveredError("the decomposition holds no subtask")
        return self.parts

    # --- which subtasks are parts ---

    def _is_on_the_way(self, subtask: Subtask) -> bool:
        kinds = {_type(result) for result in subtask.returns}
        if any(self._annotated(other) is subtask for other in self.subtasks):
            return True
        if not kinds <= _ON_THE_WAY:
            return False
        return any(subtask.id in self._needs(other) for other in self.subtasks if other.id > subtask.id)

    def _annotated(self, subtask: Subtask) -> Subtask | None:
        """The subtask that makes the text about which something is said; None where the request gives the text."""
        found = GENERATED.fullmatch(self._value(subtask, "text") or "") if annotation_of(subtask) else None
        return None if found is None else next((one for one in self.subtasks if one.id == int(found[1])), None)

    def _needs(self, subtask: Subtask) -> set[int]:
        named = {int(found[1]) for argument in subtask.args if (found := GENERATED.fullmatch(argument.value))}
        return named | set(subtask.dependencies)

    def _is_second_counting(self, subtask: Subtask) -> bool:
        """Counting requests ask the image too: either way is sufficient, so that is one part."""
        if "visual-question-answering" not in subtask.domains:
            return False
        image = self._value(subtask, "image")
        return any(
            other.id != subtask.id and _is_count(other) and self._value(other, "image") == image
            for other in self.subtasks
        ) and bool(COUNTING.search((self._value(subtask, "text") or "").lower()))

    # --- one subtask ---

    def _part(self, subtask: Subtask) -> Part:
        takes = tuple(sorted(_type(argument) for argument in subtask.args))
        gives = _type(subtask.returns[0]) if subtask.returns else ""
        rule = _RULES.get((takes, gives))
        if rule is None:
            raise UncoveredError(f"subtask {subtask.id}: no rule for {' + '.join(takes)} -> {gives}")
        return rule(self, subtask)

    def _described(self, part: Part) -> Part:
        if part.kind in _PICTURES:
            return replace(part, attributes=frozenset(base_forms(self.instruction)))
        if part.kind not in _ABOUT_OBJECTS or not part.target:
            return part
        return replace(part, attributes=next_to(text=self.instruction, name=part.target))

    def new(self, kind: Kind, **facts: object) -> Part:
        """A part with the next number."""
        return replace(Part(number=len(self.parts), kind=kind), **facts)  # type: ignore[arg-type]

    def source(self, subtask: Subtask, kind: str = "image") -> Source:
        """The resource of a type that a subtask takes, through boxes and masks to the image they are of."""
        value = self._value(subtask, kind)
        if value is None:
            before = self._before(subtask)
            if before is None:
                raise UncoveredError(f"subtask {subtask.id}: it has no {kind}, and takes nothing that has one")
            return self.source(before, kind)
        return self._as_source(value=value, subtask=subtask)

    def _as_source(self, *, value: str, subtask: Subtask) -> Source:
        found = GENERATED.fullmatch(value)
        if found is None:
            return File(value)
        number = int(found[1])
        if number in self.part_of:
            return ResultOf(self.part_of[number])
        # Some decompositions name boxes where they mean the image that the boxes are of.
        on_the_way = next((other for other in self.subtasks if other.id == number < subtask.id), None)
        if on_the_way is None:
            raise UncoveredError(f"subtask {subtask.id}: it takes {value}, which no earlier subtask gives")
        return self.source(on_the_way)

    def given(self, subtask: Subtask, kind: str) -> Source | None:
        """The file of this type that the request itself gives, or None if a step makes it."""
        value = self._value(subtask, kind)
        return File(value) if value is not None and not GENERATED.fullmatch(value) else None

    def _before(self, subtask: Subtask) -> Subtask | None:
        """The subtask whose result this one takes. The dependency is trusted more than the argument, which slips."""
        by_id = {other.id: other for other in self.subtasks}
        numbers = [*subtask.dependencies, *sorted(self._needs(subtask))]
        earlier = [by_id[number] for number in numbers if number in by_id and number < subtask.id]
        # Of a new image and a mask of something in it, the mask tells what this is about.
        telling = [other for other in earlier if {_type(result) for result in other.returns} <= _ON_THE_WAY]
        return next(iter([*telling, *earlier]), None)

    def target(self, subtask: Subtask) -> str:
        """The object or action that a subtask is about: its own text, or that of the subtask it follows."""
        own = self._value(subtask, "text")
        if own is not None:
            return own
        detected = _DETECTED.search(subtask.description)
        before = self._before(subtask)
        if detected is not None and before is None:
            return "" if base_forms(detected["word"]) == ("object",) else detected["word"]
        return self.target(before) if before is not None else ""

    def _value(self, subtask: Subtask, kind: str) -> str | None:
        return next((argument.value for argument in subtask.args if _type(argument) == kind), None)

    def clause(self, *, about: str, source: Source | None) -> str:
        """The sentence of the request that speaks of an object, in lower case; all of it if none or all do."""
        sentences = [part for part in _CLAUSE_END.split(self.instruction) if part.strip()]
        if len(sentences) < 2:
            return self._comma_clause(text=self.instruction, about=about)
        speaking = [part for part in sentences if about and mentions(text=part, name=about)]
        if isinstance(source, File):
            name = source.name
            speaking = [part for part in speaking if name in part] or speaking or [p for p in sentences if name in p]
        return self._comma_clause(text=" ".join(speaking) or self.instruction, about=about)

    def _comma_clause(self, *, text: str, about: str) -> str:
        """Where a sentence joins several requests by commas, the piece that speaks of the object."""
        if len(self.subtasks) < 3:
            return text.lower()
        pieces = [
            piece for piece in re.split(r",\s+(?=[A-Za-z]+ )", text) if about and mentions(text=piece, name=about)
        ]
        return (" ".join(pieces) or text).lower()


def _type(argument: Argument) -> str:
    return argument.type.removeprefix("image.")


def _same(first: Part, second: Part) -> bool:
    return replace(first, number=0) == replace(second, number=0)


def _is_count(subtask: Subtask) -> bool:
    return subtask.description.lower().startswith("count ")


_Rule = Callable[[_Derivation, Subtask], Part]

# --- rules by what a subtask takes and gives -------------------------------------------------------------------------


def _finding(made: _Derivation, subtask: Subtask) -> Part:
    """Boxes of an object: to be found, drawn, or only known to be there."""
    source, target = made.source(subtask), made.target(subtask)
    clause = made.clause(about=target, source=source)
    if DRAWING.search(clause) and not PLACE.search(clause):
        return made.new(Kind.HIGHLIGHT, source=source, target=target)
    kind = Kind.PRESENCE if PRESENCE.search(clause) else Kind.LOCATE
    return made.new(kind, source=source, target=target)


def _cutting(made: _Derivation, subtask: Subtask) -> Part:
    """The decomposition cuts an object out; where the words ask only to find or mark it, that is what is wanted."""
    source, target = made.source(subtask), made.target(subtask)
    clause = made.clause(about=target, source=source)
    if not CUTTING.search(clause) and (DRAWING.search(clause) or FINDING.search(clause)):
        return replace(_finding(made, subtask), cutting_helps=True)
    return made.new(Kind.CUT_OUT, source=source, target=target)


def _image_and_text_to_image(made: _Derivation, subtask: Subtask) -> Part:
    description = subtask.description.lower()
    if "image-generation" in subtask.domains:
        return _generating(made, subtask)
    if "crop" in description or "cut out" in description or "separate" in description:
        return _cutting(made, subtask)
    if "remove" in description or "inpaint" in description or "erase" in description:
        return made.new(Kind.REMOVE, source=made.source(subtask), target=made.target(subtask))
    if re.search(r"\b(detect|draw|highlight|mark)", description):
        return _finding(made, subtask)
    raise UncoveredError(f"subtask {subtask.id}: an image and a text give an image, but its description names no rule")


def _generating(made: _Derivation, subtask: Subtask) -> Part:
    """An image made of an image: similar to it, or following a map of it that the words name."""
    source, prompt = made.source(subtask), made._value(subtask, "text") or ""
    named = _MAP_WORD.search(f"{subtask.description} {made.instruction}")
    based = re.search(r"\b(based on|using|use|conditioned on|from) the \w+", subtask.description.lower())
    if named is not None and based is not None and named[1].lower() in based[0]:
        return made.new(Kind.GENERATE_LIKE, source=source, target=prompt, map_type=named[1].lower())
    return made.new(Kind.SIMILAR, source=source, target=prompt)


def _image_to_image(made: _Derivation, subtask: Subtask) -> Part:
    if "image-generation" in subtask.domains:
        return _generating(made, subtask)
    found = _DETECTED.search(subtask.description)
    if found is None:
        raise UncoveredError(f"subtask {subtask.id}: an image gives an image, but its description names no rule")
    return made.new(Kind.HIGHLIGHT, source=made.source(subtask), target=found["word"])


def _editing(made: _Derivation, subtask: Subtask) -> Part:
    """An image and a mask: the masked object is removed, or kept alone."""
    description = subtask.description.lower()
    keeping = re.search(r"\b(separate|cut out|isolate|extract|crop|keep)\b", description)
    kind = Kind.CUT_OUT if keeping else Kind.REMOVE
    given = made.given(subtask, "mask")
    if given is None and kind is Kind.CUT_OUT:
        return _cutting(made, subtask)
    target = "" if given is not None else made.target(subtask)
    named = named_under(made.clause(about="", source=given)) if given is not None else ""
    return made.new(kind, source=made.source(subtask), target=target, given=given, named=named)


def _drawing(made: _Derivation, subtask: Subtask) -> Part:
    """Boxes, with or without their image: drawn, or used to crop."""
    if "crop" in subtask.description.lower():
        return _cutting(made, subtask)
    if not made.target(subtask):
        return _detecting(made, subtask)
    return _finding(made, subtask)


def _detecting(made: _Derivation, subtask: Subtask) -> Part:
    source = made.source(subtask)
    drawn = bool(DRAWING.search(made.clause(about="", source=source)))
    return made.new(Kind.DETECT_ALL, source=source, single_object=drawn)


def _image_and_text_to_text(made: _Derivation, subtask: Subtask) -> Part:
    source, question = made.source(subtask), made._value(subtask, "text") or ""
    if _is_count(subtask):
        return made.new(Kind.COUNT, source=source, target=question)
    lowered = question.lower()
    if DESCRIBING.search(lowered) and not SPECIFIC.search(lowered):
        return made.new(Kind.DESCRIBE, source=source, target=question)
    there = _THERE.fullmatch(lowered.strip())
    if there is not None:
        return made.new(Kind.PRESENCE, source=source, target=there["word"], asked=True)
    return made.new(Kind.ASK_IMAGE, source=source, target=question)


def _recognising(made: _Derivation, subtask: Subtask) -> Part:
    source = made.source(subtask)
    clause = made.clause(about="", source=source)
    listing = bool(LISTING.search(clause))
    one = not listing or bool(ONE_OBJECT.search(clause))
    target = object_asked_for(clause) if one else ""
    return made.new(Kind.RECOGNISE, source=source, single_object=one, target=target)


def _describing(made: _Derivation, subtask: Subtask) -> Part:
    kind = Kind.READ if tool_named(subtask) == "optical_character_recognition" else Kind.DESCRIBE
    return made.new(kind, source=made.source(subtask))


def _annotating(made: _Derivation, subtask: Subtask) -> Part:
    """What is said about a text: one of the request, or one that is made of a picture or a clip."""
    kind, before = annotation_of(subtask), made._annotated(subtask)
    if kind is None:
        raise UncoveredError(f"subtask {subtask.id}: its description names no tool for texts")
    if before is None:
        return made.new(kind, target=made._value(subtask, "text") or "")
    taken = "video" if any(_type(argument) == "video" for argument in before.args) else "image"
    return made.new(kind, source=made.source(before, taken), via=tool_named(before))


def _asking(made: _Derivation, subtask: Subtask) -> Part:
    if annotation_of(subtask) is not None:
        return _annotating(made, subtask)
    return made.new(Kind.ASK_TEXT, target=made._value(subtask, "text") or "")


def _following(map_type: str) -> _Rule:
    def rule(made: _Derivation, subtask: Subtask) -> Part:
        prompt = made._value(subtask, "text") or ""
        given = made.given(subtask, map_type)
        source = None if given is not None else made.source(subtask)
        return made.new(Kind.GENERATE_LIKE, source=source, target=prompt, given=given, map_type=map_type)

    return rule


def _simple(kind: Kind, *, medium: str = "image", has_target: bool = False, map_type: str = "") -> _Rule:
    """A rule for subtasks whose types alone say what is wanted."""

    def rule(made: _Derivation, subtask: Subtask) -> Part:
        target = made.target(subtask) if has_target else ""
        return made.new(kind, source=made.source(subtask, medium), target=target, map_type=map_type)

    return rule


def _imagining(made: _Derivation, subtask: Subtask) -> Part:
    return made.new(Kind.GENERATE, target=made._value(subtask, "text") or "")


_RULES: dict[tuple[tuple[str, ...], str], _Rule] = {
    (("image", "text"), "bbox"): _finding,
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
    **{(("text",), said): _annotating for said in ("title", "tags", "location")},
    (("text",), "image"): _imagining,
    **{(("image",), kind): _simple(Kind.MAP, map_type=kind) for kind in MAPS},
    **{(tuple(sorted((kind, "text"))), "image"): _following(kind) for kind in (*MAPS, "segmentation")},
}
