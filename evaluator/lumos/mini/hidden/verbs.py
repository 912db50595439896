"""Other words of the hidden split for what people do in chronicles and notices."""

from collections.abc import Mapping

from evaluator.lumos.mini.hidden.grammar import Grammar
from evaluator.miniature.grammar.words import Verb

_PAST: Mapping[str, tuple[str, ...]] = {
    "buy": ("purchased", "paid for"),
    "find": ("came across", "discovered"),
    "sell": ("vended", "peddled"),
    "lose": ("mislaid", "misplaced"),
}


def past_of(verb: Verb, *, grammar: Grammar) -> str:
    """The season's word for a verb, in the past tense."""
    return grammar.wording(f"verb {verb.english_infinitive}", _PAST[verb.english_infinitive])
