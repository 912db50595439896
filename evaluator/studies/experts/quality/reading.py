"""Held-out quality of the experts that read signs and short texts, on the validation split."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from PIL import Image as PillowImage

from evaluator.core.expert import Expert
from evaluator.core.values import Label, Labels, Value
from evaluator.miniature.annotations import Annotated
from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.signs import Sign, draw_sign, is_kept_from_training, paint_sign
from evaluator.scoring.metrics.results.pictures import label_score
from evaluator.scoring.metrics.results.texts import edit_distance
from evaluator.studies.experts.annotation import draw_annotated


def signs(count: int) -> tuple[Sign, ...]:
    """The first validation signs. About a quarter of their words are in no training sign."""
    return tuple(draw_sign(split=Split.VALIDATION, index=index) for index in range(count))


def texts(count: int) -> tuple[Annotated, ...]:
    """The first validation texts."""
    streams = (generator(split=Split.VALIDATION, index=index, purpose="annotated") for index in range(count))
    return tuple(map(draw_annotated, streams))


def word_hits(*, read: Sequence[str], right: Sequence[Sign], kept_from_training: bool) -> float:
    """Share of the words, kept from training or not, that are read at their place."""
    hits = [
        read_words[place : place + 1] == [word]
        for said, sign in zip(read, right, strict=True)
        for read_words in [said.split()]
        for place, word in enumerate(sign.words)
        if is_kept_from_training(word) is kept_from_training
    ]
    return float(np.mean(hits))


def _reading(experts: Mapping[str, Expert], count: int) -> dict[str, float]:
    there = signs(count)
    images: list[Mapping[str, Value]] = [{"image": PillowImage.fromarray(paint_sign(sign))} for sign in there]
    read = [str(item["text"]) for item in experts["optical_character_recognition"].run(images)]
    wrong = sum(edit_distance(said, sign.text) for said, sign in zip(read, there, strict=True))
    return {
        "exact": float(np.mean([said == sign.text for said, sign in zip(read, there, strict=True)])),
        "characters in error": wrong / sum(len(sign.text) for sign in there),
        "right words of training": word_hits(read=read, right=there, kept_from_training=False),
        "right words that no training sign shows": word_hits(read=read, right=there, kept_from_training=True),
    }


def _annotation(experts: Mapping[str, Expert], count: int) -> dict[str, float]:
    there = texts(count)
    titled = [one for one in there if one.title]
    placed = [one for one in there if one.place]
    titles, places = _said(experts["title_generation"], titled), _said(experts["extract_location"], placed)
    tags, names = _said(experts["text_to_tags"], there), _said(experts["named_entity_recognition"], there)
    return {
        "exact titles": _equal(titles, [one.title for one in titled]),
        "F1 of tags": _f1(tags, [one.tags for one in there]),
        "F1 of names": _f1(names, [one.names for one in there]),
        "exact places": _equal(places, [one.place for one in placed]),
    }


def _said(expert: Expert, there: Sequence[Annotated]) -> list[Value]:
    return [value for item in expert.run([{"text": one.text} for one in there]) for value in item.values()]


def _equal(said: Sequence[Value], right: Sequence[str]) -> float:
    return float(np.mean([one == other for one, other in zip(said, right, strict=True)]))


def _f1(said: Sequence[Value], right: Sequence[tuple[str, ...]]) -> float:
    pairs = zip(said, right, strict=True)
    return float(np.mean([label_score(_labels(one), Labels(tuple(map(Label, other)))) for one, other in pairs]))


def _labels(value: Value) -> Labels:
    assert isinstance(value, Labels)
    return value


MEASURES: Mapping[str, Callable[[Mapping[str, Expert], int], dict[str, float]]] = {
    "character-recognition": _reading,
    "text-annotation": _annotation,
}
"""By folder of weights: from the experts by tool and the number of validation samples to figures in [0, 1] by name."""
