"""The tokens of the writer: runs of cells, coordinates, sizes, shapes, and one token for each piece of code that many
programs share.

A piece of code is what stands between the colours of a program, often several lines, so that a program has a handful
of tokens. Any other code is spelt.
"""

import re
from collections import Counter
from collections.abc import Sequence

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from evaluator.arc.strategies import compact
from evaluator.training.causal.exchanges import Exchange
from evaluator.training.special_tokens import END, END_ID, PAD, UNKNOWN

PIECES = 1400
_COMMON = 5
"""Replies that must share a piece of code for it to be a token."""
_VALUE = re.compile(r"(?<=')[a-i](?=')")
_SHORTEST = 3
"""Characters of a piece of code."""
_UNITS = (
    r" ?\d{1,2}:\d{1,2}", r" ?\d{1,2}x\d{1,2}", r"\d",
    *(f"/?{letter}+" for letter in "abcdefghi"), r"/?\.+", r"/?,+", r"[-#/]+", r" ?[A-Za-z_]", r"\n",
)  # fmt: skip
"""No token goes beyond one of these. They are as simple as those of submitted models must be."""


def writer_tokenizer(exchanges: Sequence[Exchange]) -> Tokenizer:
    """A tokenizer that is always the same for the same exchanges."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex("|".join(_UNITS)), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES, min_frequency=3, special_tokens=[PAD, END, UNKNOWN],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator((one.prompt.partition(compact.PROGRAM)[0] for one in exchanges), trainer)
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in fixed_texts(exchanges)])
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, END_ID)])
    return tokenizer


def fixed_texts(exchanges: Sequence[Exchange]) -> list[str]:
    """Pieces of code that replies share, and what stands between the parts of prompts; longest first."""
    pieces = Counter(piece for one in exchanges for piece in set(_VALUE.split(one.reply)))
    found = [piece for piece, count in pieces.items() if count >= _COMMON and len(piece) >= _SHORTEST]
    views = {f"{one.prompt.partition(chr(10))[0]}\n" for one in exchanges}
    return sorted({*found, *views, *compact.WORDS}, key=lambda text: (-len(text), text))
