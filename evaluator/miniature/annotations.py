"""Reference annotations of the miniature world's texts: titles, tags, names and places."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from evaluator.miniature.grammar.captions import caption, main_caption
from evaluator.miniature.grammar.documents import Document
from evaluator.miniature.grammar.german import capitalised, with_article
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
    """Empty if the text has no main thing."""
    tags: tuple[str, ...]
    """Things with their colours, places, and motions, in the order of the text."""
    names: tuple[str, ...] = ()
    """Names of people and days, in the order of the text."""
    place: str = ""
    """The first place in the text, with its article; empty if there is none."""
    summary: str = ""
    """One sentence; empty if the text is not a story."""
    mood: str = ""
    """`positive` or `negative`; empty if the text has no opinion."""


def of_story(document: Document) -> Annotated:
    """Annotations of a story; the title has the things of both events."""
    first, second = (event.thing.full_object.english for event in document.events)
    return Annotated(
        text=document.text.english,
        title=capitalised(f"{first} and {second}"),
        tags=tuple(
            noun for event in document.events for noun in (event.thing.noun.english, event.place.thing.noun.english)
        ),
        names=tuple(name for event in document.events for name in (event.day.english, event.person.name)),
        place=f"the {document.events[0].place.thing.name.english}",
        summary=document.summary.english,
    )


def of_summary(document: Document) -> Annotated:
    """Annotations of the summary of a story."""
    first, second = (event.thing.short_object.english for event in document.events)
    return Annotated(
        text=document.summary.english,
        title=capitalised(f"{first} and {second}"),
        tags=tuple(event.thing.noun.english for event in document.events),
        names=tuple(event.person.name for event in document.events),
    )


def of_review(review: Review) -> Annotated:
    """Annotations of a review; the title has the opinion."""
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
    """Annotations of the caption of the main thing of a scene."""
    name = scene.main.name
    return Annotated(text=main_caption(scene).english, title=capitalised(with_article(name)), tags=(name,))


def of_full_caption(scene: Scene) -> Annotated:
    """Annotations of the full caption of a scene."""
    text = caption(scene).english
    # The caption without verb and background.
    title = text.split(" on ", 1)[0].replace(" is", "", 1)
    names = [scene.main.name, *(thing.name for thing in listed_things(scene)[1:2])]
    return Annotated(text=text, title=capitalised(title), tags=tuple(names))


def of_clip(clip: ClipRecord) -> Annotated:
    """Annotations of the caption of a clip."""
    name, motion = clip.mover.name, str(clip.motion)
    return Annotated(text=clip_caption(clip), title=capitalised(f"{with_article(name)} {motion}"), tags=(name, motion))


def of_words(words: Sequence[str]) -> Annotated:
    """Annotations of the words of a sign. A colour belongs to the shape after it, and is not a tag without one."""
    shapes, colours = set(Shape), set(Colour)
    nouns, names = _nouns_and_names()
    tags: list[str] = []
    for before, word in zip(("", *words), words, strict=False):
        if word in shapes:
            tags.append(f"{before} {word}" if before in colours else word)
        elif word in nouns:
            tags.append(word)
    return Annotated(
        text=" ".join(words), tags=tuple(tags), names=tuple(names[word] for word in words if word in names)
    )


@cache
def _nouns_and_names() -> tuple[frozenset[str], dict[str, str]]:
    """All nouns, and all names by their spelling on signs."""
    things = (*BELONGINGS, *(place.thing for place in PLACES))
    nouns = (*(thing.noun.english for thing in things), *(opinion.noun.english for opinion in OPINIONS))
    names = (*(person.name for person in PEOPLE), *(day.english for day in DAYS))
    return frozenset(nouns), {name.lower(): name for name in names}
