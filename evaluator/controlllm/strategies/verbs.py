"""Which English words may be verbs, in which base form, and what they are about, by the judge's copy of WordNet."""

from functools import lru_cache


@lru_cache(maxsize=4096)
def may_be_verb(word: str) -> bool:
    """Whether a word is a verb, or WordNet does not have it."""
    from evaluator.controlllm.toolbench.meaning.words import may_be_verb as has_verb_sense

    return has_verb_sense(word)


@lru_cache(maxsize=4096)
def domain_of_verb(word: str) -> str:
    """The domain of a verb's most frequent sense, such as `verb.motion`; empty if WordNet does not have it."""
    from evaluator.controlllm.toolbench.meaning.wordnet import PartOfSpeech
    from evaluator.controlllm.toolbench.meaning.words import senses_of

    return next((sense.domain for sense in senses_of(word) if sense.part is PartOfSpeech.VERB), "")


@lru_cache(maxsize=4096)
def base_of_verb(word: str) -> str:
    """The base form of a verb in lower case; the word if WordNet does not have it."""
    from evaluator.controlllm.toolbench.meaning.words import base_of

    return base_of(word) or word
