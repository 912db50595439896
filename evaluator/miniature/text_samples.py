"""OpenAGI's text samples in the miniature world: texts, queries and reference answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from evaluator.miniature.grammar.bilingual import Bilingual
from evaluator.miniature.grammar.captions import RECOVERABLE, caption, main_caption
from evaluator.miniature.grammar.documents import draw_document, draw_document_question
from evaluator.miniature.grammar.labels import label, object_names
from evaluator.miniature.grammar.questions import draw_question
from evaluator.miniature.grammar.reviews import draw_review
from evaluator.miniature.scenes import Scene

Stream = Callable[[str], np.random.Generator]
"""The random stream of a sample for a purpose."""


@dataclass(frozen=True, slots=True)
class TextInput:
    """A text as it is before a word is masked."""

    text: str
    recoverable: tuple[str, ...]
    """Words that may be masked, since the rest of the text determines them."""


@dataclass(frozen=True, slots=True)
class TextSample:
    """The text inputs of a sample by name, and its right answer."""

    reference: Bilingual
    texts: Mapping[str, TextInput] = field(default_factory=dict)


def _summarization(scene: Scene, stream: Stream) -> TextSample:  # noqa: ARG001
    document = draw_document(stream("document"))
    words = tuple(event.thing.noun.english for event in document.events)
    return TextSample(document.summary, {"text": TextInput(document.text.english, words)})


def _translation(scene: Scene, stream: Stream) -> TextSample:  # noqa: ARG001
    event = draw_document(stream("document")).events[0]
    return TextSample(event.notice, {"text": TextInput(event.notice.english, event.recoverable)})


def _sentiment(scene: Scene, stream: Stream) -> TextSample:  # noqa: ARG001
    review = draw_review(stream("review"))
    # The adjective alone says good or bad, and it follows from the noun and the adverb together.
    return TextSample(review.sentiment, {"text": TextInput(review.text.english, (review.judgement.english,))})


def _question_answering(scene: Scene, stream: Stream) -> TextSample:  # noqa: ARG001
    document = draw_document(stream("document"))
    asked = draw_document_question(document=document, rng=stream("query"))
    texts = {
        "document": TextInput(document.text.english, asked.document_recoverable),
        "query": TextInput(asked.question.text, asked.question.recoverable),
    }
    return TextSample(asked.question.answer, texts)


def _visual_question(scene: Scene, stream: Stream) -> TextSample:
    question = draw_question(scene=scene, rng=stream("visual-query"))
    return TextSample(question.answer, {"query": TextInput(question.text, question.recoverable)})


def _picture_of_text(scene: Scene, stream: Stream) -> TextSample:  # noqa: ARG001
    said = caption(scene)
    return TextSample(said, {"text": TextInput(said.english, RECOVERABLE)})


TEXT_SAMPLES: Mapping[str, Callable[[Scene, Stream], TextSample]] = {
    "image_classification": lambda scene, stream: TextSample(label(scene)),  # noqa: ARG005
    "image_captioning": lambda scene, stream: TextSample(main_caption(scene)),  # noqa: ARG005
    "object_detection": lambda scene, stream: TextSample(object_names(scene)),  # noqa: ARG005
    "vqa": _visual_question,
    "text_to_image": _picture_of_text,
    "summarization": _summarization,
    "translation": _translation,
    "sentiment": _sentiment,
    "qa": _question_answering,
}
"""By domain task; restoration has no texts."""
