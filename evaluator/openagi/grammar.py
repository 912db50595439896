"""The grammar of OpenAGI's 185 requests, in the order of the released list.

Everything known about a task (degradations, languages, masked words, base task) follows from the loops that generate
its text, rather than from ranges of ids, which are wrong in the released code.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import compress, product

from evaluator.core.tools.types import ResourceType


class Degradation(StrEnum):
    """A degradation of an image."""

    LOW_RESOLUTION = "low_resolution"
    NOISE = "noise"
    BLUR = "blur"
    GRAYSCALE = "grayscale"


class Base(StrEnum):
    """The domain task of a request, after its inputs are repaired."""

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
"""Domain tasks with closed answers: a label, or a short answer to a question. Lists of objects are not closed, because
their order and completeness are graded."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """The words for an input of a request, and its properties."""

    words: str
    resource: ResourceType
    degradations: tuple[Degradation, ...] = ()
    """In the order of their repair in the gold plan."""
    clozed: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """A request of the suite with its properties."""

    text: str
    base: Base
    inputs: tuple[Phrase, ...]
    language: str | None
    """Language of the answer, `en` or `de`; None for images."""


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
    images = tuple(_images())
    texts = (
        Phrase(words="clozed English", resource=ResourceType.TEXT, clozed=True),
        Phrase(words="English", resource=ResourceType.TEXT),
    )
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
    """The 15 degraded images. The list has no clean image."""
    words = {
        Degradation.LOW_RESOLUTION: "low-resolutioned ",
        Degradation.NOISE: "noisy ",
        Degradation.BLUR: "blurry ",
        Degradation.GRAYSCALE: "grayscale ",
    }
    for gray, blurry, noisy, low in product((True, False), repeat=4):
        present = tuple(compress(words, (low, noisy, blurry, gray)))
        if present:
            text = "".join(words[degradation] for degradation in present)
            yield Phrase(words=f"{text}image", resource=ResourceType.IMAGE, degradations=present)


def _named(phrase: Phrase, noun: str) -> Phrase:
    return Phrase(words=f"{phrase.words} {noun}", resource=ResourceType.TEXT, clozed=phrase.clozed)
