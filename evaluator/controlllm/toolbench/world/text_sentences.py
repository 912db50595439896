"""The sentences of `toolworld` about writing and texts."""

from collections.abc import Callable

import numpy as np

from evaluator.controlllm.toolbench.mini.sentences import Fill
from evaluator.controlllm.toolbench.world import text_gold
from evaluator.controlllm.toolbench.world.contents import Material, Want, Wanted
from evaluator.controlllm.toolbench.world.drafts import Draft, Sentence
from evaluator.core.tools.types import ResourceType
from evaluator.miniature import annotations
from evaluator.miniature.annotations import Annotated
from evaluator.miniature.grammar.documents import draw_document
from evaluator.miniature.grammar.reviews import draw_review

_STREAMS = 2**40
_TOOLS = {
    Want.TITLE: ("title_generation", "title"),
    Want.TAGS: ("text_to_tags", "tags"),
    Want.NAMES: ("named_entity_recognition", "tags"),
    Want.PLACE: ("extract_location", "location"),
    Want.SUMMARY: ("summarization", "text"),
    Want.MOOD: ("sentiment_analysis", "text"),
}
"""The tool for each kind of result, and the type that it gives."""
_WRITES = {Want.NAMES: "name", Want.TAGS: "tag"}
"""What a sign must show, so that there is something to say about it."""


def story(fill: Fill) -> Annotated:
    """A story of two events."""
    return annotations.of_story(draw_document(_rng(fill)))


def review(fill: Fill) -> Annotated:
    """A review."""
    return annotations.of_review(draw_review(_rng(fill)))


def _rng(fill: Fill) -> np.random.Generator:
    return np.random.default_rng(fill.pick("text", range(_STREAMS)))


def read(wording: str) -> Sentence:
    """The words of a sign."""

    def sentence(fill: Fill, draft: Draft) -> str:
        image = fill.image()
        draft.file(image, material=Material.SIGN)
        text_gold.read(draft.gold, image=image)
        draft.wanted.append(Wanted(kind=Want.READING, file=image))
        return wording.format(image=image)

    return sentence


def of_text(wording: str, want: Want, text: Callable[[Fill], Annotated]) -> Sentence:
    """What is said about a text of the request."""

    def sentence(fill: Fill, draft: Draft) -> str:
        said = text(fill)
        _annotate(draft, want=want, text=said.text)
        draft.wanted.append(Wanted(kind=want, said=said))
        return wording.format(text=said.text)

    return sentence


def of_sign(wording: str, want: Want) -> Sentence:
    """What is said about the words of a sign."""

    def sentence(fill: Fill, draft: Draft) -> str:
        image = fill.image()
        draft.file(image, material=Material.SIGN, writes=_WRITES[want])
        _annotate(draft, want=want, text=text_gold.read(draft.gold, image=image))
        draft.wanted.append(Wanted(kind=want, file=image))
        return wording.format(image=image)

    return sentence


def of_caption(wording: str, want: Want) -> Sentence:
    """What is said about the caption of a picture."""

    def sentence(fill: Fill, draft: Draft) -> str:
        image = fill.image()
        draft.file(image, material=Material.SCENE)
        _annotate(draft, want=want, text=text_gold.describe_image(draft.gold, image=image))
        draft.wanted.append(Wanted(kind=want, file=image))
        return wording.format(image=image)

    return sentence


def of_story_of_clip(wording: str, want: Want) -> Sentence:
    """What is said about the caption of a clip."""

    def sentence(fill: Fill, draft: Draft) -> str:
        video = fill.video()
        draft.file(video, material=Material.CLIP, kind=ResourceType.VIDEO)
        _annotate(draft, want=want, text=text_gold.describe_video(draft.gold, video=video))
        draft.wanted.append(Wanted(kind=want, file=video))
        return wording.format(video=video)

    return sentence


def _annotate(draft: Draft, *, want: Want, text: str) -> None:
    tool, gives = _TOOLS[want]
    text_gold.annotate(draft.gold, text=text, tool=tool, gives=gives)
