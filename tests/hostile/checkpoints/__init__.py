"""The hostile checkpoints: each a small function that changes the files of an honest one."""

from tests.hostile.checkpoints import code, layers, models, reading, taken_over, tokenizers
from tests.hostile.checkpoints.base import CASES, Case, Files, Target, honest
from tests.hostile.checkpoints.taken_over import TAKEN_OVER

REPRESENTATIVE = frozenset(
    {"normalizer without table", "normalizer that doubles", "regex that backtracks", "template that counts",
     "template that repeats", "template leaves its sandbox", "template with a script", "files in tokenizer json",
     "layers by another name", "long rope", "quantisation method", "logits that are no numbers", "texts without end"}
)  # fmt: skip
"""Of those that a site may accept: one of each kind. Loading a model costs seconds of processor time, so that the
others are loaded with `--deep` only. All that the site refuses, and all that load nothing, always go the whole way."""

__all__ = [
    "CASES",
    "REPRESENTATIVE",
    "TAKEN_OVER",
    "Case",
    "Files",
    "Target",
    "code",
    "honest",
    "layers",
    "models",
    "reading",
    "taken_over",
    "tokenizers",
]
