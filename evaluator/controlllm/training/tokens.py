"""The decomposer's tokens: those of the linear form, and pieces of words, learnt from the corpus (byte-level BPE)."""

from collections.abc import Iterable

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from evaluator.controlllm.strategies.trained.linear import END, tokens

PAD = "<pad>"
PIECES = 2600
"""Pieces of words, beside the tokens of the linear form. Every byte is one of them, so every word can be read."""


def decomposer_tokenizer(words: Iterable[str]) -> Tokenizer:
    """A tokenizer of single words, the same for the same words."""
    special = [PAD, END, *tokens()]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=len(special) + PIECES,
        min_frequency=3,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(words, trainer)
    return tokenizer
