"""Whether a condition names the action that is wanted."""

import re
from functools import lru_cache

from evaluator.controlllm.toolbench.meaning.frames import EXCLUDING
from evaluator.controlllm.toolbench.meaning.lexicon import lemma, words_of
from evaluator.controlllm.toolbench.meaning.objects import MOST_BESIDE
from evaluator.controlllm.toolbench.meaning.sentences import names_file
from evaluator.controlllm.toolbench.meaning.verdict import Verdict

_WORD = re.compile(r"[a-z0-9]+")
_FILLERS = words_of("plain_words", "actions")["fillers"]


@lru_cache(maxsize=65536)
def compare_actions(wanted: str, given: str) -> Verdict:
    """Whether `given` names the wanted action; words such as "movement" or "training" do not count.

    All wanted words must be there in some inflection; or the action itself and most of the others. Beside them there
    may be three words; the whole request is no condition.
    """
    if names_file(given) or (EXCLUDING.search(given.lower()) and not EXCLUDING.search(wanted.lower())):
        return Verdict.DIFFERENT
    first, second = _forms(wanted), _forms(given)
    if not first or not second or len(_WORD.findall(given.lower())) > len(first) + MOST_BESIDE:
        return Verdict.DIFFERENT
    if set(first) <= set(second) or _is_joined(first, second):
        return Verdict.SAME
    doing = {_stem(word) for word in _WORD.findall(wanted.lower()) if word.endswith("ing")}
    most = len(set(second)) * 3 >= len(set(first)) * 2
    return Verdict.of(set(second) < set(first) and doing <= set(second) and most)


def _is_joined(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """`glassblowing` is `blowing glass`."""
    joined = "".join(second)
    return len(second) == 1 and len(first) == 2 and joined in {first[0] + first[1], first[1] + first[0]}


def _forms(phrase: str) -> tuple[str, ...]:
    words = _WORD.findall(phrase.lower().replace("-", " "))
    return tuple(_stem(word) for word in words if word not in _FILLERS)


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    """A word without its inflection: playing, plays, played and play are one."""
    return lemma(word).removesuffix("e")
