"""Training of one T5 that says four things about a short text: its title, tags, names and place.

As T5's own tasks are, each is called by a prefix (Raffel et al., 2020, section 2.4).
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import nn
from transformers import T5Config, T5ForConditionalGeneration

from evaluator.execution.experts.language import SEPARATOR
from evaluator.miniature import annotations
from evaluator.miniature.annotations import Annotated
from evaluator.miniature.grammar.documents import draw_document
from evaluator.miniature.grammar.reviews import draw_review
from evaluator.miniature.seeds import Split
from evaluator.miniature.signs import draw_words
from evaluator.miniature.tableaux.clips import draw_clip
from evaluator.studies.experts.data.corpus import random_scene, stream
from evaluator.studies.experts.data.tokenizers import END_ID, PAD_ID, SPECIAL, encode
from evaluator.studies.experts.language_models import Ids, SequenceObjective, draw_examples, write_language_model

NAME = "text-annotation"
PREFIXES = ("title: ", "tags: ", "names: ", "place: ")
_WORDS, _CHARACTERS = -5.0, -20.0
"""Scores of pieces: any known word is likelier than its spelling."""
_READ = 6000
_CLIPS = 12_000
_KINDS: tuple[tuple[float, Callable[[np.random.Generator], Annotated]], ...] = (
    (0.40, lambda rng: annotations.of_story(draw_document(rng))),
    (0.08, lambda rng: annotations.of_summary(draw_document(rng))),
    (0.14, lambda rng: annotations.of_review(draw_review(rng))),
    (0.06, lambda rng: annotations.of_caption(random_scene(rng))),
    (0.10, lambda rng: annotations.of_full_caption(random_scene(rng))),
    (0.10, lambda rng: annotations.of_clip(draw_clip(split=Split.TRAIN, index=int(rng.integers(_CLIPS))))),
    # Words held out from the training of readers need not be held out here: this model is given them as text.
    (0.24, lambda rng: annotations.of_words(draw_words(split=Split.PUBLIC, rng=rng))),
)


def draw_annotated(rng: np.random.Generator) -> Annotated:
    """A text of any kind with what is right to say about it."""
    weights = np.asarray([weight for weight, _ in _KINDS])
    return _KINDS[rng.choice(len(_KINDS), p=weights / weights.sum())][1](rng)


def answers_of(annotated: Annotated) -> dict[str, str]:
    """What the model is to write, by prefix; what makes no sense for a text is left out."""
    answers = {"tags: ": SEPARATOR.join(annotated.tags), "names: ": SEPARATOR.join(annotated.names)}
    if annotated.title:
        answers["title: "] = annotated.title
    if annotated.place:
        answers["place: "] = annotated.place
    return answers


@cache
def tokenizer() -> Tokenizer:
    """One piece for each word of the texts, and one for each character, as SentencePiece's unigram models have."""
    drawn = [draw_annotated(stream(index=index, purpose="annotated words")) for index in range(_READ)]
    texts = [text for one in drawn for text in (one.text, *answers_of(one).values())]
    splitting = _splitting()
    said = {word for text in (*texts, *PREFIXES) for word, _ in splitting.pre_tokenize_str(text)}
    words = sorted(word for word in said if not word.removeprefix("▁").isdigit())
    characters = [character for character in ("▁", *map(chr, range(33, 127))) if character not in words]
    pieces = [
        *((special, 0.0) for special in SPECIAL),
        *((word, _WORDS) for word in words),
        *((character, _CHARACTERS) for character in characters),
    ]
    made = Tokenizer(models.Unigram(pieces, unk_id=SPECIAL.index("<unk>"), byte_fallback=False))
    made.pre_tokenizer = splitting
    made.decoder = decoders.Metaspace()
    made.add_special_tokens(list(SPECIAL))
    return made


def _splitting() -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()])


def build() -> nn.Module:
    """A T5 of two layers on each side."""
    model: nn.Module = T5ForConditionalGeneration(
        T5Config(
            vocab_size=tokenizer().get_vocab_size(),
            d_model=64,
            d_kv=16,
            d_ff=128,
            num_layers=2,
            num_decoder_layers=2,
            num_heads=4,
            relative_attention_num_buckets=64,
            relative_attention_max_distance=64,
            dropout_rate=0.0,
            pad_token_id=PAD_ID,
            eos_token_id=END_ID,
            decoder_start_token_id=PAD_ID,
        )
    )
    return model


def annotation_objective(*, texts: int) -> SequenceObjective:
    """Text and prefix to answer."""

    def make(rng: np.random.Generator) -> tuple[Ids, Ids]:
        annotated = draw_annotated(rng)
        answers = answers_of(annotated)
        prefix = sorted(answers)[rng.integers(len(answers))]
        source, target = (
            encode(tokenizer=tokenizer(), text=text) for text in (prefix + annotated.text, answers[prefix])
        )
        return [*source, END_ID], [*target, END_ID]

    return SequenceObjective(draw_examples(purpose="annotation", make=make, count=texts))


def export(model: nn.Module, folder: Path) -> None:
    """Write the model with its pieces."""
    write_language_model(model=model, tokenizer=tokenizer(), folder=folder, begins=False)
