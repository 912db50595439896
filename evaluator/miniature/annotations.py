"""Reference annotations of the miniature world's texts: titles, tags, names and places."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from evaluator.miniature.grammar.captions import caption, main_caption
from evaluator.miniature.grammar.documents import Document
from evaluator.miniature.grammar.german import english_article
from evaluator.miniature.grammar.labels import listed_things
from evaluator.miniature.grammar.reviews import Review
from evaluator.miniature.grammar.words import BELONGINGS, DAYS, OPINIONS, PEOPLE, PLACES
from evaluator.miniature.scenes import Scene
from evaluator.miniature.tableaux.captions import clip_caption
from evaluator.miniature.tableaux.clips import ClipRecord
from evaluator.miniature.vocabulary import Colour, Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotated:
    """A text with its reference annotations."""

    text: str
    title: str = ""
    """Empty where the text has no main thing."""
    tags: tuple[str, ...]
    """Things with their colours if they have any, places, and motions, in the order of the text."""
    names: tuple[str, ...] = ()
    """Of people and days, in the order of the text."""
    place: str = ""
    """The first that the text names, with its article; empty where it names none."""
    summary: str = ""
    """In one sentence; empty where the text is no story."""
    mood: str = ""
    """`positive` or `negative`; empty where the text has no opinion."""


def of_story(document: Document) -> Annotated:
    """A story: its title has the things of both events."""
    first, second = (event.thing.full_object.english for event in document.events)
    return Annotated(
        text=document.text.english,
        title=_title(f"{first} and {second}"),
        tags=tuple(
            noun for event in document.events for noun in (event.thing.noun.english, event.place.thing.noun.english)
        ),
        names=tuple(name for event in document.events for name in (event.day.english, event.person.name)),
        place=f"the {document.events[0].place.thing.name.english}",
        summary=document.summary.english,
    )


def of_summary(document: Document) -> Annotated:
    """The summary of a story."""
    first, second = (event.thing.short_object.english for event in document.events)
    return Annotated(
        text=document.summary.english,
        title=_title(f"{first} and {second}"),
        tags=tuple(event.thing.noun.english for event in document.events),
        names=tuple(event.person.name for event in document.events),
    )


def of_review(review: Review) -> Annotated:
    """A review: its title has the opinion."""
    noun = review.opinion.noun.english
    return Annotated(
        text=review.text.english,
        title=f"The {review.judgement.english} {noun}",
        tags=(review.place.thing.noun.english, noun),
        names=(review.day.english,),
        place=f"the {review.place.thing.name.english}",
        mood=review.sentiment.english,
    )


def of_caption(scene: Scene) -> Annotated:
    """The caption of the main thing of a scene."""
    name = scene.main.name
    return Annotated(text=main_caption(scene).english, title=_title(_with_article(name)), tags=(name,))


def of_full_caption(scene: Scene) -> Annotated:
    """The caption that says where the main thing is."""
    text = caption(scene).english
    # What is left without verb and background: where the main thing is, if the caption says it.
    shown = text.split(" on ", 1)[0].replace(" is", "", 1)
    names = [scene.main.name, *(thing.name for thing in listed_things(scene)[1:2])]
    return Annotated(text=text, title=_title(shown), tags=tuple(names))


def of_clip(clip: ClipRecord) -> Annotated:
    """The caption of a clip."""
    name, motion = clip.mover.name, str(clip.motion)
    return Annotated(text=clip_caption(clip), title=_title(f"{_with_article(name)} {motion}"), tags=(name, motion))


def of_words(words: Sequence[str]) -> Annotated:
    """The words of a sign. A colour belongs to the shape after it, and is no tag without one."""
    shapes, colours, nouns = set(Shape), set(Colour), _nouns()
    tags: list[str] = []
    for before, word in zip(("", *words), words, strict=False):
        if word in shapes:
            tags.append(f"{before} {word}" if before in colours else word)
        elif word in nouns:
            tags.append(word)
    named = _names()
    return Annotated(
        text=" ".join(words), tags=tuple(tags), names=tuple(named[word] for word in words if word in named)
    )


@cache
def _nouns() -> frozenset[str]:
    things = (*BELONGINGS, *(place.thing for place in PLACES))
    return frozenset({*(thing.noun.english for thing in things), *(opinion.noun.english for opinion in OPINIONS)})


@cache
def _names() -> dict[str, str]:
    """Names by how signs write them."""
    names = (*(person.name for person in PEOPLE), *(day.english for day in DAYS))
    return {name.lower(): name for name in names}


def _with_article(name: str) -> str:
    return f"{english_article(name)} {name}"


def _title(text: str) -> str:
    return text[0].upper() + text[1:]
