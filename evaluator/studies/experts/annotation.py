"""Training of one T5 that extracts the title, tags, names and place of a short text.

A prefix selects the task, as in T5 (Raffel et al., 2020, section 2.4).
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import nn

from evaluator.execution.experts.language import SEPARATOR
from evaluator.miniature import annotations
from evaluator.miniature.annotations import Annotated
from evaluator.miniature.grammar.documents import draw_document
from evaluator.miniature.grammar.reviews import draw_review
from evaluator.miniature.seeds import Split
from evaluator.miniature.signs import draw_words
from evaluator.miniature.tableaux.clips import draw_clip
from evaluator.studies.experts.data.corpus import random_scene, stream
from evaluator.studies.experts.data.tokenizers import END_ID, SPECIAL, encode
from evaluator.studies.experts.language_models import SequenceObjective, small_t5, write_language_model

NAME = "text-annotation"
PREFIXES = ("title: ", "tags: ", "names: ", "place: ")
_WORDS, _CHARACTERS = -5.0, -20.0
"""Scores of pieces: a known word is more likely than its spelling."""
_READ = 6000
_CLIPS = 12_000
_KINDS: tuple[tuple[float, Callable[[np.random.Generator], Annotated]], ...] = (
    (0.40, lambda rng: annotations.of_story(draw_document(rng))),
    (0.08, lambda rng: annotations.of_summary(draw_document(rng))),
    (0.14, lambda rng: annotations.of_review(draw_review(rng))),
    (0.06, lambda rng: annotations.of_caption(random_scene(rng))),
    (0.10, lambda rng: annotations.of_full_caption(random_scene(rng))),
    (0.10, lambda rng: annotations.of_clip(draw_clip(split=Split.TRAIN, index=int(rng.integers(_CLIPS))))),
    # Words held out from the training of readers need not be held out here: this model reads them as text.
    (0.24, lambda rng: annotations.of_words(draw_words(split=Split.PUBLIC, rng=rng))),
)


def draw_annotated(rng: np.random.Generator) -> Annotated:
    """A text of any kind with its annotations."""
    weights = np.asarray([weight for weight, _ in _KINDS])
    return _KINDS[rng.choice(len(_KINDS), p=weights / weights.sum())][1](rng)


def answers_of(annotated: Annotated) -> dict[str, str]:
    """The expected outputs by prefix; prefixes that do not apply to the text are left out."""
    answers = {"tags: ": SEPARATOR.join(annotated.tags), "names: ": SEPARATOR.join(annotated.names)}
    if annotated.title:
        answers["title: "] = annotated.title
    if annotated.place:
        answers["place: "] = annotated.place
    return answers


@cache
def tokenizer() -> Tokenizer:
    """One piece for each word of the texts and one for each character, as in SentencePiece's unigram models."""
    samples = [draw_annotated(stream(index=index, purpose="annotated words")) for index in range(_READ)]
    texts = [text for sample in samples for text in (sample.text, *answers_of(sample).values())]
    splitter = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()])
    vocabulary = {word for text in (*texts, *PREFIXES) for word, _ in splitter.pre_tokenize_str(text)}
    words = sorted(word for word in vocabulary if not word.removeprefix("▁").isdigit())
    characters = [character for character in ("▁", *map(chr, range(33, 127))) if character not in words]
    pieces = [
        *((special, 0.0) for special in SPECIAL),
        *((word, _WORDS) for word in words),
        *((character, _CHARACTERS) for character in characters),
    ]
    unigram = Tokenizer(models.Unigram(pieces, unk_id=SPECIAL.index("<unk>"), byte_fallback=False))
    unigram.pre_tokenizer = splitter
    unigram.decoder = decoders.Metaspace()
    unigram.add_special_tokens(list(SPECIAL))
    return unigram


def build() -> nn.Module:
    """A small T5."""
    return small_t5(words=tokenizer().get_vocab_size(), width=64, inner=128)


def annotation_objective(*, texts: int) -> SequenceObjective:
    """Text and prefix to answer."""
    examples = []
    for index in range(texts):
        rng = stream(index=index, purpose="annotation")
        annotated = draw_annotated(rng)
        answers = answers_of(annotated)
        prefix = sorted(answers)[rng.integers(len(answers))]
        source, target = (
            encode(tokenizer=tokenizer(), text=text) for text in (prefix + annotated.text, answers[prefix])
        )
        examples.append(([*source, END_ID], [*target, END_ID]))
    return SequenceObjective(examples)


def export(model: nn.Module, folder: Path) -> None:
    """Write the model with its tokenizer."""
    write_language_model(model=model, tokenizer=tokenizer(), folder=folder, begins=False)
