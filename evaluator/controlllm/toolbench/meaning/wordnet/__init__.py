"""WordNet 3.0 as a compact table: senses with frequencies, hypernyms, antonyms, derivations, and irregular forms."""

from evaluator.controlllm.toolbench.meaning.wordnet.table import (
    FOLDER,
    PartOfSpeech,
    Sense,
    WordNet,
    wordnet,
)

__all__ = ["FOLDER", "PartOfSpeech", "Sense", "WordNet", "wordnet"]
