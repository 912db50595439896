"""The rewrite rules of goals: for each kind of part, the sufficient ways to meet it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evaluator.controlllm.toolbench.goals.annotating import ANNOTATING
from evaluator.controlllm.toolbench.goals.parts import (
    MAPS,
    Action,
    AnyText,
    Asking,
    From,
    Kind,
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
from evaluator.controlllm.toolbench.meaning.instructions import Intent


def alternatives_of(*, part: Part, parts: Sequence[Part]) -> tuple[Pattern, ...]:
    """The sufficient ways to meet a part, among all parts of its goal."""
    ways = _ways(part=part, parts=parts)
    return tuple(way for way in ways if isinstance(way, Using) and way.tool == part.only) if part.only else ways


def _ways(*, part: Part, parts: Sequence[Part]) -> tuple[Pattern, ...]:
    source = From(part.source) if part.source is not None else AnyText()
    rule = _RULES.get(part.kind)
    if rule is not None:
        return tuple(rule(source, part))
    others = tuple(
        other.target
        for other in parts
        if other.kind is part.kind and other.number != part.number and other.target != part.target
    )
    return tuple(_asking(source=source, part=part, others=others))


def roundabouts_of(part: Part) -> tuple[Pattern, ...]:
    """Ways that meet a part, but with steps that only make again what the request gives: these are irrelevant."""
    if part.given is None or not part.named or part.source is None:
        return ()
    masks = _masks(From(part.source), replace(part, target=part.named))
    if part.kind is Kind.REMOVE:
        return (use("image_inpainting", image=From(part.source), mask=masks),)
    return (use("mask_image", image=From(part.source), mask=masks),) if part.kind is Kind.CUT_OUT else ()


def _object(part: Part) -> Object:
    return Object(part.target, part.attributes)


def _asks(intent: Intent, part: Part) -> Asking:
    return Asking(intent, part.target, part.attributes)


def _prompt(part: Part) -> Saying:
    return Saying(SayingKind.PROMPT, part.target, asked=part.attributes)


def _boxes(source: Pattern, part: Part) -> OneOf:
    selected = use("select_bbox", bbox_list=use("object_detection", image=source), condition=_object(part))
    return OneOf((selected, use("visual_grounding", image=source, query=_asks(Intent.GROUND, part))))


def _masks(source: Pattern, part: Part) -> Using:
    segmented = use("image_instance_segmentation", image=source)
    return use("select_mask", mask_list=segmented, condition=_object(part))


def _count(source: Pattern, part: Part) -> Iterator[Pattern]:
    selected = use("select_bbox", bbox_list=use("object_detection", image=source), condition=_object(part))
    yield use("count_objects", bbox_list=selected)
    yield use("count_masks", mask_list=_masks(source, part))
    yield use("image_question_answering", image=source, text=_asks(Intent.COUNT, part))


def _locate(source: Pattern, part: Part) -> Iterator[Pattern]:
    yield _boxes(source, part)


def _highlight(source: Pattern, part: Part) -> Iterator[Pattern]:
    yield use("highlight_object_on_image", image=source, bbox=_boxes(source, part))
    if part.cutting_helps:
        yield use("image_cropping", image=source, object=_boxes(source, part))


def _presence(source: Pattern, part: Part) -> Iterator[Pattern]:
    classified = use("image_classification", image=source)
    question = use("image_question_answering", image=source, text=_asks(Intent.PRESENCE, part))
    if part.asked:
        yield question
    yield use("select_category", category_list=classified, condition=_object(part))
    yield _boxes(source, part)
    if not part.asked:
        yield question


def _recognise(source: Pattern, part: Part) -> Iterator[Pattern]:
    yield use("image_classification", image=source)
    yield use("object_detection", image=source)
    listed = _asks(Intent.LIST, part)
    if part.single_object and part.target:
        yield use("visual_grounding", image=source, query=_asks(Intent.GROUND, part))
        yield use("image_question_answering", image=source, text=OneOf((listed, _asks(Intent.PRESENCE, part))))
    else:
        yield use("image_question_answering", image=source, text=listed)


def _detect_all(source: Pattern, part: Part) -> Iterator[Pattern]:
    detected = use("object_detection", image=source)
    yield use("highlight_object_on_image", image=source, bbox=detected) if part.single_object else detected


def _mask(source: Pattern, part: Part) -> Iterator[Pattern]:
    yield _masks(source, part)


def _segment_all(source: Pattern, part: Part) -> Iterator[Pattern]:
    del part
    yield use("segment_anything", image=source)


def _cut_out(source: Pattern, part: Part) -> Iterator[Pattern]:
    if part.given is not None:
        yield use("mask_image", image=source, mask=From(part.given))
        return
    yield use("mask_image", image=source, mask=_masks(source, part))
    yield use("image_cropping", image=source, object=_boxes(source, part))


def _remove(source: Pattern, part: Part) -> Iterator[Pattern]:
    if part.given is not None:
        yield use("image_inpainting", image=source, mask=From(part.given))
        return
    yield use("image_inpainting", image=source, mask=_masks(source, part))
    yield use("text_image_editing", image=source, text=_asks(Intent.REMOVE, part))


def _describe(source: Pattern, part: Part) -> Iterator[Pattern]:
    said = (Saying(SayingKind.QUESTION, part.target),) if part.target else ()
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
    yield _following(part.map_type, guide, _prompt(part))


def _similar(source: Pattern, part: Part) -> Iterator[Pattern]:
    described = OneOf(
        (use("image_captioning", image=source), use("image_question_answering", image=source, text=AnyText()))
    )
    text = OneOf((_prompt(part), described)) if part.target else AnyText()
    if not part.target:
        yield use("image_to_image", image=source)
    for map_type in (*MAPS, "segmentation"):
        yield _following(map_type, map_of(source=source, map_type=map_type), text)
    yield use("text_to_image", text=described)


def _read(source: Pattern, part: Part) -> Iterator[Pattern]:
    del part
    yield use("optical_character_recognition", image=source)


def _annotation(source: Pattern, part: Part) -> Iterator[Pattern]:
    taken = "video" if part.via == "video_captioning" else "image"
    text = use(part.via, **{taken: source}) if part.via else Verbatim(part.target)
    yield use(ANNOTATING[part.kind], text=text)


def _asking(*, source: Pattern, part: Part, others: tuple[str, ...]) -> Iterator[Pattern]:
    said = Saying(_SAID.get(part.kind, SayingKind.TEXT), part.target, others, part.attributes)
    if part.kind is Kind.ASK_IMAGE:
        yield use("image_question_answering", image=source, text=said)
    elif part.kind is Kind.GENERATE:
        yield use("text_to_image", text=said)
    else:
        yield use("openai_chat_model", input_msg=said)
        yield use("text_to_text_generation", text=said)


_SAID = {Kind.ASK_IMAGE: SayingKind.QUESTION, Kind.GENERATE: SayingKind.PROMPT}
_RULES = {
    Kind.COUNT: _count, Kind.LOCATE: _locate, Kind.HIGHLIGHT: _highlight, Kind.PRESENCE: _presence,
    Kind.RECOGNISE: _recognise, Kind.DETECT_ALL: _detect_all, Kind.MASK: _mask, Kind.SEGMENT_ALL: _segment_all,
    Kind.CUT_OUT: _cut_out, Kind.REMOVE: _remove, Kind.DESCRIBE: _describe, Kind.ACTION: _action,
    Kind.ACTIONS: _actions, Kind.MAP: _map, Kind.GENERATE_LIKE: _generate_like, Kind.SIMILAR: _similar,
    Kind.READ: _read, **dict.fromkeys(ANNOTATING, _annotation),
}  # fmt: skip
