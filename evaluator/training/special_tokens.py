"""Special tokens of every trained planner, and the files of its tokenizer."""

import json
from pathlib import Path

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"


PAD_ID, END_ID, UNKNOWN_ID = 0, 1, 2


LONGEST = 1024
"""Tokens of a prompt; what is longer loses its beginning."""


def fast_tokenizer(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    """The tokenizer as `transformers` wraps it."""
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, eos_token=END, unk_token=UNKNOWN, model_max_length=LONGEST,
        clean_up_tokenization_spaces=False,
    )  # fmt: skip


def write_tokenizer(*, tokenizer: Tokenizer, folder: Path) -> None:
    """Write the files from which `AutoTokenizer` builds the tokenizer again."""
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": PAD,
        "eos_token": END,
        "unk_token": UNKNOWN,
        "model_max_length": LONGEST,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1, sort_keys=True) + "\n")
