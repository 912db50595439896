"""What free text is mapped with, and what few-shot prompts show, as the operator set it.

=====================================  ============================================================================
environment variable                   what it holds
=====================================  ============================================================================
`PLANARENA_EMBEDDING_MODEL`            folder of a sentence-transformers checkpoint, or `ORG/NAME@REVISION` on the
                                       hub; not set: the lexical measure
`PLANARENA_EMBEDDING_THRESHOLD`        the least cosine similarity with which a line is taken for a tool; not set:
                                       the one that is best on sentences of our own (`calibration`)
`PLANARENA_OPENAGI_DEMONSTRATIONS`     file of demonstrations (`demonstrations`); not set: our own
=====================================  ============================================================================
"""

import os
from functools import cache
from pathlib import Path

from evaluator.openagi.strategies.demonstrations import OWN, Demonstration, read_demonstrations
from evaluator.openagi.strategies.similarity import LexicalSimilarity, Similarity

MODEL = "PLANARENA_EMBEDDING_MODEL"
THRESHOLD = "PLANARENA_EMBEDDING_THRESHOLD"
DEMONSTRATIONS = "PLANARENA_OPENAGI_DEMONSTRATIONS"


class SettingError(ValueError):
    """A setting that cannot be used. The message names it and says what would be right."""


def configured_similarity() -> Similarity:
    """The measure that is set, or the lexical one. A model is loaded once.

    Raises:
        SettingError: the threshold is no number from -1 to 1.
        EmbeddingError: the model cannot be loaded.
    """
    model = os.environ.get(MODEL, "").strip()
    if not model:
        return LexicalSimilarity()
    found = _loaded(model, _threshold(os.environ.get(THRESHOLD, "").strip()))
    if isinstance(found, Exception):
        raise found
    return found


def configured_demonstrations() -> tuple[Demonstration, ...]:
    """The demonstrations that are set, or our own.

    Raises:
        DemonstrationsError: the file holds none.
    """
    path = os.environ.get(DEMONSTRATIONS, "").strip()
    return read_demonstrations(Path(path)) if path else OWN


def _threshold(text: str) -> float | None:
    try:
        value = float(text) if text else None
    except ValueError:
        value = 2.0
    if value is not None and not -1 <= value <= 1:
        raise SettingError(f"{THRESHOLD} must be a number from -1 to 1, not {text!r}")
    return value


@cache
def _loaded(model: str, threshold: float | None) -> Similarity | Exception:
    """A model, or why there is none: what failed once is not tried again for every task."""
    # Imported here because it loads torch, which most planners do without.
    from evaluator.openagi.strategies.embedding import EmbeddingError, EmbeddingSimilarity, checkpoint_folder

    try:
        folder, source = checkpoint_folder(model)
        return EmbeddingSimilarity(folder=folder, source=source, threshold=threshold)
    except EmbeddingError as error:
        return error
