"""The grammar that yields OpenAGI's 185 requests, in the order of the released list.

Everything known about a task (its degradations, its languages, whether words are masked, its base domain task)
follows from the loops that make its text; nothing is read off id ranges, which the released code gets wrong.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from evaluator.core.tools.types import ResourceType


class Degradation(StrEnum):
    """What was done to an image."""

    LOW_RESOLUTION = "low_resolution"
    NOISE = "noise"
    BLUR = "blur"
    GRAYSCALE = "grayscale"


class Base(StrEnum):
    """The domain task that a request is about once its inputs are repaired."""

    RESTORATION = "restoration"
    CAPTIONING = "image_captioning"
    CLASSIFICATION = "image_classification"
    DETECTION = "object_detection"
    TEXT_TO_IMAGE = "text_to_image"
    SUMMARIZATION = "summarization"
    TRANSLATION = "translation"
    SENTIMENT = "sentiment"
    VQA = "vqa"
    QA = "qa"


CLOSED_BASES = frozenset({Base.CLASSIFICATION, Base.SENTIMENT, Base.VQA, Base.QA})
"""Domain tasks with closed answers: a label, or a short answer to a question. Lists of objects are not: their order and
completeness are graded."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """The words for one input of a request, and what they say about it."""

    words: str
    resource: ResourceType
    degradations: tuple[Degradation, ...] = ()
    """In the order in which the gold plan undoes them."""
    clozed: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One request of the suite with all that its text implies."""

    text: str
    base: Base
    inputs: tuple[Phrase, ...]
    language: str | None
    """Language of the answer, `en` or `de`; None where the answer is an image."""


LANGUAGES = {"English": "en", "German": "de"}
_GOALS_OF_AN_IMAGE = (
    ("caption", Base.CAPTIONING),
    ("class label", Base.CLASSIFICATION),
    ("object names", Base.DETECTION),
)
_GOALS_OF_A_TEXT = (
    ("return the summarization in German", Base.SUMMARIZATION, "de"),
    ("translate the text in German", Base.TRANSLATION, "de"),
    ("return the sentiment in German", Base.SENTIMENT, "de"),
    ("return the summarization in English", Base.SUMMARIZATION, "en"),
    ("return the sentiment in English", Base.SENTIMENT, "en"),
)


def requests() -> Iterator[Request]:
    """The 185 requests in the order of the released list."""
    images, texts = tuple(_images()), tuple(_texts())
    for image in images:
        yield _request((image,), "return the regular image", Base.RESTORATION, None)
    for image, language, (goal, base) in product(images, ("German", "English"), _GOALS_OF_AN_IMAGE):
        yield _request((image,), f"return the {goal} in {language}", base, LANGUAGES[language])
    for text in texts:
        yield _request((_named(text, "text"),), "generate a image", Base.TEXT_TO_IMAGE, None)
    for text, (goal, base, language) in product(texts, _GOALS_OF_A_TEXT):
        yield _request((_named(text, "text"),), goal, base, language)
    for image, query, language in product(images, texts, ("English", "German")):
        inputs = (image, _named(query, "query"))
        yield _request(inputs, f"answer the question in {language}", Base.VQA, LANGUAGES[language])
    for document, query, language in product(texts, texts, ("German", "English")):
        inputs = (_named(document, "document"), _named(query, "query"))
        yield _request(inputs, f"answer the question in {language}", Base.QA, LANGUAGES[language])


def _request(inputs: tuple[Phrase, ...], goal: str, base: Base, language: str | None) -> Request:
    given = " and ".join(phrase.words for phrase in inputs)
    return Request(text=f"Given {given}, how to {goal} step by step?", base=base, inputs=inputs, language=language)


def _images() -> Iterator[Phrase]:
    """The 15 degraded images; the sixteenth combination, a clean image, is not in the list."""
    for gray, blurry, noisy, low in product((True, False), repeat=4):
        if not (gray or blurry or noisy or low):
            continue
        present = {
            Degradation.LOW_RESOLUTION: (low, "low-resolutioned "),
            Degradation.NOISE: (noisy, "noisy "),
            Degradation.BLUR: (blurry, "blurry "),
            Degradation.GRAYSCALE: (gray, "grayscale "),
        }
        words = "".join(word for is_present, word in present.values() if is_present)
        found = tuple(degradation for degradation, (is_present, _) in present.items() if is_present)
        yield Phrase(words=f"{words}image", resource=ResourceType.IMAGE, degradations=found)


def _texts() -> Iterator[Phrase]:
    yield Phrase(words="clozed English", resource=ResourceType.TEXT, clozed=True)
    yield Phrase(words="English", resource=ResourceType.TEXT)


def _named(phrase: Phrase, noun: str) -> Phrase:
    return Phrase(words=f"{phrase.words} {noun}", resource=ResourceType.TEXT, clozed=phrase.clozed)
