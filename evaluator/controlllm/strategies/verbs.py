"""Which English words may be verbs, by the judge's copy of WordNet."""

from functools import lru_cache


@lru_cache(maxsize=4096)
def may_be_verb(word: str) -> bool:
    """Whether a word is a verb, or WordNet does not have it."""
    from evaluator.controlllm.toolbench.meaning.words import may_be_verb as has_verb_sense

    return has_verb_sense(word)
