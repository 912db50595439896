"""Byte-level BPE over the grammar: each word is one token, and any other text can be spelled and decoded.

The same kind of tokenizer as GPT-2's, RoBERTa's and BART's. A space belongs to the word after it; the first word gets
one too, so that a word is the same token at any position.
"""

import json
from functools import cache
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from evaluator.miniature.grammar.captions import MASK
from evaluator.studies.experts.data.corpus import draw_english, draw_pair, stream

PAD, BEGIN, END, UNKNOWN = "<pad>", "<s>", "</s>", "<unk>"
SPECIAL = (PAD, BEGIN, END, UNKNOWN)
PAD_ID, BEGIN_ID, END_ID, MASK_ID = 0, 1, 2, 4
_READ = 6000
_SIZE = 6000
"""More than there are words: merging ends when every word is one token."""


@cache
def english_tokenizer() -> Tokenizer:
    """The tokenizer of the experts that read and write English only."""
    return _trained(_english())


@cache
def bilingual_tokenizer() -> Tokenizer:
    """The tokenizer of translation."""
    pairs = [draw_pair(stream(index=index, purpose="pair")) for index in range(_READ)]
    return _trained([*_english(), *(p.english for p in pairs), *(p.german for p in pairs)])


def _english() -> list[str]:
    return [draw_english(stream(index=index, purpose="english")) for index in range(_READ)]


def _trained(texts: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    mask = AddedToken(MASK, lstrip=True, special=True)
    trainer = trainers.BpeTrainer(
        vocab_size=_SIZE,
        min_frequency=1,
        special_tokens=[*SPECIAL, mask],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def encode(*, tokenizer: Tokenizer, text: str) -> list[int]:
    """Token ids without special tokens."""
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return ids


def write_tokenizer(*, tokenizer: Tokenizer, folder: Path, length: int, begins: bool) -> None:
    """Write the files that `AutoTokenizer` loads.

    Args:
        length: the longest text in tokens.
        begins: whether texts begin with a begin token, as in all models but T5.
    """
    folder.mkdir(parents=True, exist_ok=True)
    begin = f"{BEGIN} " if begins else ""
    tokenizer.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=True),
            processors.TemplateProcessing(
                single=f"{begin}$A {END}",
                pair=f"{begin}$A {END} $B {END}",
                special_tokens=[(BEGIN, BEGIN_ID), (END, END_ID)],
            ),
        ]
    )
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": PAD,
        "bos_token": BEGIN,
        "eos_token": END,
        "unk_token": UNKNOWN,
        "mask_token": MASK,
        "model_max_length": length,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1, sort_keys=True) + "\n")
