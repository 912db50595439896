"""A text as the base forms of its words."""

import re
from functools import lru_cache

from evaluator.controlllm.toolbench.meaning.lexicon import lemma, plain_words, words_of_asking

LONGEST = 2000
"""Characters of a text that are read; no question, name or prompt is longer."""
_PIECE = re.compile(r"[\w\-./]+")
_FILE = re.compile(r"\.(?:png|jpe?g|gif|bmp|webp|tiff?|mp4|avi|mov|mkv|webm|mp3|wav|flac|ogg)$", re.IGNORECASE)
_APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"
_WORD = re.compile(r"[a-zäöüß0-9]+(?:'[a-z]+)?")
_IS = frozenset({"what", "who", "where", "when", "how", "why", "there", "here", "it", "he", "she", "that"})
_ONE_MANY = re.compile(r"\(e?s\)")


def names_file(text: str) -> bool:
    """Whether a text speaks of a file by its name."""
    return any(_is_file(piece) for piece in _PIECE.findall(text[:LONGEST]))


def _is_file(piece: str) -> bool:
    return _FILE.search(piece.rstrip(".")) is not None


def _without_files(text: str, *, instead: str) -> str:
    return _PIECE.sub(lambda piece: instead if _is_file(piece[0]) else piece[0], text)


@lru_cache(maxsize=65536)
def base_forms(text: str) -> tuple[str, ...]:
    """The words of a text in base forms, without the names of files; "isn't" is two words."""
    plain = _ONE_MANY.sub("", _without_files(text[:LONGEST], instead=" ").lower().replace(_APOSTROPHE, "'"))
    plain = plain.replace("-", " ").replace("_", " ")
    return tuple(form for word in _WORD.findall(plain) for form in _split(word))


def _split(word: str) -> tuple[str, ...]:
    whole, _, rest = word.partition("'")
    if not rest:
        return (lemma(whole),)
    if rest == "t":
        # "isn't" is read as "is not"; "can't" keeps its own n.
        return (lemma(whole if whole in {"can"} else whole.removesuffix("n")), "not")
    if rest in {"re", "m"} or (rest == "s" and whole in _IS):
        return lemma(whole), "be"
    if rest in {"ve", "d", "ll"}:
        return (lemma(whole),)
    return (lemma(whole),)


_CLAUSE_END = re.compile(r"[.?!,;:](?:\s|$)")
_WORDS_AFTER = 6


def clauses(text: str) -> tuple[tuple[str, ...], ...]:
    """The base forms of each clause of a text; a file's name ends one."""
    return tuple(
        base_forms(part) for part in _CLAUSE_END.split(_without_files(text, instead=". ")) if part and part.strip()
    )


def next_to(*, text: str, name: str) -> frozenset[str]:
    """Base forms of the words beside a name where a text speaks of it: those before it, up to the first that says what
    to do with it, and those after it in the same clause."""
    wanted = base_forms(name)
    found: set[str] = set()
    for clause in clauses(text) if wanted else ():
        for start in range(len(clause) - len(wanted) + 1):
            if clause[start : start + len(wanted)] == wanted:
                end = start + len(wanted)
                found |= {*clause[end : end + _WORDS_AFTER], *_describing(clause[:start])}
    return frozenset(found)


def mentions(*, text: str, name: str) -> bool:
    """Whether a text speaks of something by its name, in any number."""
    words, wanted = base_forms(text), base_forms(name)
    size = len(wanted)
    joined = "".join(wanted)
    return bool(wanted) and any(
        words[start : start + size] == wanted
        or "".join(words[start : start + size + 1]) == joined
        or words[start] == joined
        for start in range(len(words))
    )


def _describing(before: tuple[str, ...]) -> tuple[str, ...]:
    """The last words before a name that describe it."""
    stops = plain_words() | words_of_asking()
    kept: list[str] = []
    for word in reversed(before[-3:]):
        if word in stops:
            break
        kept.append(word)
    return tuple(kept)
