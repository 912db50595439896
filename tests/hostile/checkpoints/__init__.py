"""The hostile checkpoints: each a small function that changes the files of an honest one."""

from tests.hostile.checkpoints import code, layers, models, reading, taken_over, tokenizers
from tests.hostile.checkpoints.base import CASES, Case, Files, Target, honest

__all__ = [
    "CASES", "Case", "Files", "Target", "code", "honest", "layers", "models", "reading", "taken_over", "tokenizers",
]  # fmt: skip
