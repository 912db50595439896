"""The goal algebra: the results that a request wants, and every sufficient way to produce them.

A goal is a tuple of parts. A part states the result (`kind`), its source (`source`) and its object (`target`). Rewrite
rules turn a part into patterns, one for each sufficient alternative; a plan meets the part if the term of an output
matches one of them. Tool quality is not judged: a question to the image counts objects as well as detection, selection
and counting do (ControlLLM, section 4.2: any solution that solves the task counts).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from evaluator.controlllm.toolbench.goals.parts import (
    ANNOTATING,
    MAPS,
    TEXT_TOOLS,
    Action,
    AnyText,
    Asking,
    File,
    From,
    Kind,
    Literal,
    Object,
    OneOf,
    Part,
    Pattern,
    Saying,
    SayingKind,
    Using,
    Verbatim,
    use,
)
from evaluator.controlllm.toolbench.meaning.frames import frame_of
from evaluator.controlllm.toolbench.meaning.intents import Intent, compare_intent
from evaluator.controlllm.toolbench.meaning.lexicon import words_of
from evaluator.controlllm.toolbench.meaning.objects import compare_actions, compare_objects
from evaluator.controlllm.toolbench.meaning.questions import (
    compare_prompts,
    compare_questions,
    compare_texts,
    compare_verbatim,
)
from evaluator.controlllm.toolbench.meaning.sentences import LONGEST, base_forms, names_file
from evaluator.controlllm.toolbench.meaning.verdict import Pair, Settle, Verdict, every, leave_undecided, some
from evaluator.controlllm.toolbench.terms import CallTerm, FileTerm, LiteralTerm, Term


# Long: one case for each kind of part.
def _alternatives(*, part: Part, parts: Sequence[Part]) -> Iterator[Pattern]:
    """All sufficient alternatives, the one of gold plans first."""
    source = From(part.source) if part.source is not None else AnyText()
    match part.kind:
        case Kind.COUNT:
            yield use("count_objects", bbox_list=_selected_boxes(source, part))
            yield use("count_masks", mask_list=_masks(source, part))
            yield use("image_question_answering", image=source, text=_asks(Intent.COUNT, part))
        case Kind.LOCATE:
            yield _boxes(source, part)
        case Kind.HIGHLIGHT:
            yield use("highlight_object_on_image", image=source, bbox=_boxes(source, part))
            if part.cutting_helps:
                yield use("image_cropping", image=source, object=_boxes(source, part))
            if part.is_emphasised:
                yield from _cut_out(source, part)
        case Kind.PRESENCE:
            classified = use("image_classification", image=source)
            question = use("image_question_answering", image=source, text=_asks(Intent.PRESENCE, part))
            recognised = use("select_category", category_list=classified, condition=_object(part))
            detected = _boxes(source, part)
            yield from (question, recognised, detected) if part.asked else (recognised, detected, question)
        case Kind.RECOGNISE:
            yield use("image_classification", image=source)
            yield use("object_detection", image=source)
            listed = _asks(Intent.LIST, part)
            if part.single_object and part.target and not part.among_others:
                yield use("visual_grounding", image=source, query=_asks(Intent.GROUND, part))
                yield use("image_question_answering", image=source, text=OneOf((listed, _asks(Intent.PRESENCE, part))))
            else:
                yield use("image_question_answering", image=source, text=listed)
        case Kind.DETECT_ALL:
            detection = use("object_detection", image=source)
            drawn = use("highlight_object_on_image", image=source, bbox=detection)
            yield drawn if part.single_object else detection
        case Kind.MASK:
            yield _masks(source, part)
        case Kind.SEGMENT_ALL:
            yield use("segment_anything", image=source)
        case Kind.CUT_OUT if part.given is not None:
            yield use("mask_image", image=source, mask=From(part.given))
        case Kind.CUT_OUT:
            yield from _cut_out(source, part)
            if part.is_emphasised:
                yield use("highlight_object_on_image", image=source, bbox=_boxes(source, part))
        case Kind.REMOVE if part.given is not None:
            yield use("image_inpainting", image=source, mask=From(part.given))
        case Kind.REMOVE:
            yield use("image_inpainting", image=source, mask=_masks(source, part))
            yield use("text_image_editing", image=source, text=_asks(Intent.REMOVE, part))
        case Kind.DESCRIBE:
            texts = (Saying(SayingKind.QUESTION, part.target),) if part.target else ()
            yield use("image_question_answering", image=source, text=OneOf((*texts, Asking(Intent.DESCRIBE))))
            yield use("image_captioning", image=source)
        case Kind.ACTION:
            actions = use("video_classification", video=source)
            yield use("select_category", category_list=actions, condition=Action(part.target))
        case Kind.ACTIONS:
            yield use("video_classification", video=source)
            yield use("video_captioning", video=source)
        case Kind.MAP:
            yield _map(source, part.map_type)
        case Kind.GENERATE_LIKE:
            guide = From(part.given) if part.given is not None else _map(source, part.map_type)
            yield _following(part.map_type, guide, Saying(SayingKind.PROMPT, part.target, asked=part.attributes))
        case Kind.SIMILAR:
            answer = use("image_question_answering", image=source, text=AnyText())
            description = OneOf((use("image_captioning", image=source), answer))
            if not part.target:
                yield use("image_to_image", image=source)
            prompt = Saying(SayingKind.PROMPT, part.target, asked=part.attributes)
            text = OneOf((prompt, description)) if part.target else AnyText()
            for map_type in (*MAPS, "segmentation"):
                yield _following(map_type, _map(source, map_type), text)
            yield use("text_to_image", text=description)
        case Kind.READ:
            yield use("optical_character_recognition", image=source)
        case kind if kind in ANNOTATING:
            medium = "video" if part.via == "video_captioning" else "image"
            annotated = use(part.via, **{medium: source}) if part.via else Verbatim(part.target)
            yield use(ANNOTATING[kind], text=annotated)
        case Kind.ASK_IMAGE:
            yield use("image_question_answering", image=source, text=_saying(SayingKind.QUESTION, part, parts))
        case Kind.GENERATE:
            yield use("text_to_image", text=_saying(SayingKind.PROMPT, part, parts))
        case Kind.ASK_TEXT:
            saying = _saying(SayingKind.TEXT, part, parts)
            yield use("openai_chat_model", input_msg=saying)
            yield use("text_to_text_generation", text=saying)


def _roundabouts(part: Part) -> tuple[Pattern, ...]:
    """Patterns that meet a part with irrelevant steps, which recompute a mask that the request gives."""
    tools = {Kind.REMOVE: "image_inpainting", Kind.CUT_OUT: "mask_image"}
    if part.given is None or not part.named or part.source is None or part.kind not in tools:
        return ()
    source = From(part.source)
    return (use(tools[part.kind], image=source, mask=_masks(source, replace(part, target=part.named))),)


def _cut_out(source: Pattern, part: Part) -> Iterator[Pattern]:
    yield use("mask_image", image=source, mask=_masks(source, part))
    yield use("image_cropping", image=source, object=_boxes(source, part))


def _object(part: Part) -> Object:
    return Object(part.target, part.attributes)


def _asks(intent: Intent, part: Part) -> Asking:
    return Asking(intent, part.target, part.attributes)


def _saying(kind: SayingKind, part: Part, parts: Sequence[Part]) -> Saying:
    """A text with the meaning of a part, and not of another part of its kind."""
    others = tuple(
        other.target
        for other in parts
        if other.kind is part.kind and other.number != part.number and other.target != part.target
    )
    return Saying(kind, part.target, others, part.attributes)


def _selected_boxes(source: Pattern, part: Part) -> Using:
    return use("select_bbox", bbox_list=use("object_detection", image=source), condition=_object(part))


def _boxes(source: Pattern, part: Part) -> OneOf:
    grounded = use("visual_grounding", image=source, query=_asks(Intent.GROUND, part))
    return OneOf((_selected_boxes(source, part), grounded))


def _masks(source: Pattern, part: Part) -> Using:
    segmented = use("image_instance_segmentation", image=source)
    return use("select_mask", mask_list=segmented, condition=_object(part))


def _map(source: Pattern, map_type: str) -> Using:
    return use("segment_anything" if map_type == "segmentation" else f"image_to_{map_type}", image=source)


def _following(map_type: str, guide: Pattern, text: Pattern) -> Using:
    return Using(f"{map_type}_text_to_image", (("text", text), (map_type, guide)))


@dataclass(frozen=True)
class Goal:
    """Everything that a request wants."""

    parts: tuple[Part, ...]
    request: tuple[str, ...] = ()
    """Base forms of the request's words."""

    @cached_property
    def alternatives(self) -> tuple[tuple[Pattern, ...], ...]:
        """For each part the sufficient patterns; gold plans use the first."""
        return tuple(
            tuple(
                pattern
                for pattern in _alternatives(part=part, parts=self.parts)
                if not part.only or (isinstance(pattern, Using) and pattern.tool == part.only)
            )
            for part in self.parts
        )

    @cached_property
    def roundabouts(self) -> tuple[tuple[Pattern, ...], ...]:
        """For each part the patterns that meet it with irrelevant steps."""
        return tuple(map(_roundabouts, self.parts))

    @cached_property
    def chains(self) -> tuple[tuple[frozenset[str], ...], ...]:
        """For each part the sufficient sets of tools, ignoring arguments."""
        return tuple(
            tuple(dict.fromkeys(chain for pattern in patterns for chain in _tool_sets(pattern)))
            for patterns in self.alternatives
        )

    @cached_property
    def relevant(self) -> frozenset[str]:
        """Tools of a sufficient chain of a part, and optional additions to it."""
        tools = {tool for chains in self.chains for chain in chains for tool in chain}
        for part in self.parts:
            if part.kind in {Kind.LOCATE, Kind.PRESENCE, Kind.DETECT_ALL}:
                tools |= {"highlight_object_on_image", *(("image_cropping",) if part.cutting_helps else ())}
            elif part.kind is Kind.RECOGNISE and part.single_object:
                tools |= {"select_category", "select_bbox", "visual_grounding", "highlight_object_on_image"}
        return frozenset(tools)


class Matching:
    """Matches terms with the patterns of a goal, and collects the undecided pairs of texts."""

    def __init__(self, *, goal: Goal, settle: Settle = leave_undecided) -> None:
        self._goal = goal
        self._settle = settle
        self.undecided: dict[Pair, None] = {}
        """The pairs that were compared and not settled, in order."""
        self.refused: dict[Pair, None] = {}
        """The pairs that the rules refused and nobody settled, in order."""

    def met_by(self, *, part: int, term: Term) -> Verdict:
        """Whether a term meets a part."""
        patterns = (*self._goal.alternatives[part], *self._goal.roundabouts[part])
        return some(self._matches(term, pattern) for pattern in patterns)

    def _matches(self, term: Term, pattern: Pattern) -> Verdict:
        if isinstance(pattern, Using):
            if not isinstance(term, CallTerm) or term.tool != pattern.tool or not term.known:
                return Verdict.DIFFERENT
            if any(name not in term.args for name, _ in pattern.args):
                return Verdict.DIFFERENT
            return every(self._matches(term.args[name], argument) for name, argument in pattern.args)
        if isinstance(pattern, OneOf):
            return some(self._matches(term, choice) for choice in pattern.patterns)
        if isinstance(pattern, From):
            if isinstance(pattern.source, File):
                return Verdict.of(isinstance(term, FileTerm) and term.name == pattern.source.name)
            return self.met_by(part=pattern.source.part, term=term)
        if isinstance(pattern, AnyText):
            is_text = isinstance(term, LiteralTerm) or (isinstance(term, CallTerm) and term.tool in TEXT_TOOLS)
            return Verdict.of(is_text)
        return self._says(term.text, pattern) if isinstance(term, LiteralTerm) else Verdict.DIFFERENT

    def _says(self, text: str, pattern: Literal) -> Verdict:
        verdict = says(text=text[:LONGEST], pattern=pattern)
        if verdict is Verdict.SAME and self._repeats_request(text, pattern):
            verdict = Pair(kind="question", wanted=_in_words(pattern), given=text, why=_REPEATED)
        if isinstance(verdict, Verdict):
            return verdict
        settled = self._settle(verdict)
        if settled is not Verdict.UNDECIDED:
            return settled
        (self.refused if verdict.refused else self.undecided).setdefault(verdict)
        return Verdict.DIFFERENT if verdict.refused else Verdict.UNDECIDED

    def _repeats_request(self, text: str, pattern: Literal) -> bool:
        """Whether the text for a tool with one file is the whole request.

        Language models may get it. So may questions that count: those of the released decompositions have the words of
        the request.
        """
        is_free = isinstance(pattern, Saying) and pattern.kind is SayingKind.TEXT
        is_count = isinstance(pattern, Asking) and pattern.intent is Intent.COUNT
        return not is_free and not is_count and names_file(text) and base_forms(text) == self._goal.request


def _says_nothing(text: str) -> bool:
    """Whether a text has no word that tells it from others ("the object", "yes please")."""
    frame = frame_of(text)
    return not frame.asks and all(concept.name in _EMPTY for concept in frame.content)


_EMPTY = words_of("plain_words", "objects")["fillers"] | {"yes", "no"}
_WITHOUT_OBJECT = frozenset({Intent.DESCRIBE, Intent.LIST})
_REFUSED = "the rules take them for different"
_REPEATED = "it repeats the whole request, which names files that the tool does not get"


def says(*, text: str, pattern: Literal) -> Verdict | Pair:
    """Whether a literal has the meaning that a pattern requires; a pair where the rules do not accept it.

    A question that means another one of the same request is different.
    """
    if isinstance(pattern, Verbatim):
        return compare_verbatim(pattern.text, text)
    kind = "question"
    if isinstance(pattern, Action):
        kind = "action"
        verdict, why = compare_actions(pattern.name, text)
    elif isinstance(pattern, Object):
        kind = "object"
        verdict, why = compare_objects(pattern.name, text, pattern.attributes)
    elif isinstance(pattern, Asking):
        kind = "ask"
        verdict, why = compare_intent(text, pattern.intent, pattern.about, pattern.attributes)
    else:
        kind = pattern.kind.value
        verdict, why = _compare_saying(text=text, meaning=pattern.text, pattern=pattern)
        if verdict is not Verdict.SAME and any(
            _compare_saying(text=text, meaning=other, pattern=pattern)[0] is Verdict.SAME for other in pattern.others
        ):
            return Verdict.DIFFERENT
    if verdict is Verdict.SAME:
        return verdict
    refused = verdict is Verdict.DIFFERENT
    # A list or description of all has no object that another text could share, and neither has "the object".
    if _says_nothing(text) or (refused and isinstance(pattern, Asking) and pattern.intent in _WITHOUT_OBJECT):
        return Verdict.DIFFERENT
    return Pair(kind=kind, wanted=_in_words(pattern), given=text, why=_REFUSED if refused else why, refused=refused)


_ASKED = {
    Intent.COUNT: "how many {}",
    Intent.PRESENCE: "is there a {}",
    Intent.REMOVE: "remove {}",
    Intent.GROUND: "find {}",
    Intent.DESCRIBE: "describe the picture",
    Intent.LIST: "list what is in the picture",
}


def _in_words(pattern: Literal) -> str:
    if isinstance(pattern, Asking):
        return _ASKED[pattern.intent].format(pattern.about)
    return pattern.text if isinstance(pattern, Saying | Verbatim) else pattern.name


def _compare_saying(*, text: str, meaning: str, pattern: Saying) -> tuple[Verdict, str]:
    if pattern.kind is SayingKind.PROMPT:
        return compare_prompts(meaning, text, pattern.asked)
    return compare_questions(meaning, text) if pattern.kind is SayingKind.QUESTION else compare_texts(meaning, text)


def _tool_sets(pattern: Pattern) -> Sequence[frozenset[str]]:
    """The sets of tools with which a pattern can be matched."""
    if isinstance(pattern, OneOf):
        return [chain for choice in pattern.patterns for chain in _tool_sets(choice)]
    if not isinstance(pattern, Using):
        return [frozenset()]
    inner = [_tool_sets(argument) for _, argument in pattern.args]
    return [frozenset({pattern.tool}).union(*sets) for sets in product(*inner)]
