"""Parses questions into frames: what they ask for, and about what.

"What does the cat have on?" and "What is the cat wearing?" have the same frame: the ask `clothing` about `cat`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import groupby, pairwise

from evaluator.controlllm.toolbench.meaning.lexicon import (
    LONGEST_PHRASE,
    Category,
    Concept,
    concept_of,
    concepts,
    lemma,
    lists,
    plain_words,
    words_of,
    words_of_prompts,
)
from evaluator.controlllm.toolbench.meaning.sentences import base_forms, without_instructions
from evaluator.controlllm.toolbench.meaning.words import may_be_verb

_POLITE = re.compile(
    r"^(?:(?:please|hey|hello|hi|so|ok|okay|well|now) )*"
    r"(?:(?:can|would|will) you (?:please |kindly )?(?:be able to )?(?="
    r"(?:tell|describe|explain|list|name|identify|give|say|let|count|recogni[sz]e|find|provide|help|determine|state"
    r"|specify|answer|summarize|elaborate|figure|point|show|check|confirm|verify|locate|inform|calculate)\b)"
    r"|do you know |i (?:want|need|would like|like|wonder|be curious)(?: to know)? )"
)
_YES_OR_NO = re.compile(
    r"^(?:be|do|have|can|will|should|must|would) |(?:^| )whether "
    r"|\b(?:tell|say|know|check|see|determine|verify|confirm|out|wonder|identify|detect|assess|true|yes|judge|decide)"
    r"(?: i| me)? if "
)
_WHETHER = re.compile(
    r"(?<=\btell)(?: i| me)? if |(?<=\bknow) if |(?<=\bfind) out if |(?<=\bcheck) if |(?<=\bsee) if "
    r"|(?<=\bsay) if |(?<=\btrue) if |(?<=\byes) if |(?<=\bjudge) if |(?<=\bdecide) if "
    r"|(?<=\bdetermine) if |(?<=\bverify) if |(?<=\bconfirm) if |(?<=\bidentify) if |(?<=\bdetect) if "
)
_INTERROGATIVE = re.compile(r"^(?:\S+ )?(?:what|which|who|whom|whose|where|when|why|how)\b")
NEGATIONS = frozenset({"not", "no", "without", "except", "excluding", "exclude", "none", "never", "nobody", "nothing"})
_EXCLUSIONS = re.compile(
    r"\b(?:apart from|other than|aside from|besides|everything but|all but|excluding"
    r"|except for)\b"
)
EXCLUDING = re.compile(r"\b(?:not|no|except|excluding|exclude|but|without|other than|non|apart from|besides)\b")
"""Words of exclusion in names of objects and actions."""
_ASK = re.compile(r"<(\w+)>")
_VERBAL = frozenset({Category.DOING, Category.RELATION})
_OF_SUBJECT = re.compile(r"^\W*(?:who|what)(?:'s| is| are| was| were) \w+ing\b")
_OF_WHO_OR_WHAT = re.compile(r"^\W*(?:who|what)\b")
_HEDGES = re.compile(
    r"\bmost (?=likely|probable|probably|plausible)|^between (?=the )"
    r"|\bfollow (?=image|picture|photo|photograph|scene|file|question|text)"
    r"|\b(?:different|various|several) "
    r"(?=(?:kind|type|sort|variety|object|item|thing|element|way|aspect|animal|colou?r)\b)"
    r"|\bat least (?=one |1 |a )|(?<=\bat least )(?:one|1) "
    r"|(?<=\bwhich )one |(?<=\bcan )one (?!see)|(?<=\bmay )one |(?<=\bcould )one |(?<=\bshould )one |(?<=\bwould )one "
)
_PICTURE = (
    r"(?:(?:the|this|that|a) )?(?:(?:give|provide|attach|upload|above|follow|whole|entire) )?"
    r"(?:image|picture|photo|photograph|scene|snapshot)(?: file)?"
)
_SHOWN = r"(?:see|show|depict|display|illustrate|portray|visible|present|capture|observe|picture)"
_ANNOUNCEMENT = re.compile(
    r"^(?:(?:please )?(?:(?:base|judge|look|go|consider|observe|view|examine|analyze|analyse|study|accord|refer|give"
    r"|see|use|inspect|review)(?: \w+ly)?(?: only)?(?: on| from| at| by| to| into)?|in|from|for|within"
    r"|in the context of|with (?:regard|respect|reference) to|regarding|regard|concern)"
    rf" (?:what (?:be|you|can be|can) (?:\w+ ){{0,2}}{_SHOWN} in )?{_PICTURE}(?: closely| carefully)?"
    r"(?:(?: and)?(?: then)? (?:tell|answer)(?: me| the question| this question)?)? )+"
)
"""What may be before a question without changing it: based on the image, looking at the picture."""
_REMARK = re.compile(
    r"(?: (?:and )?(?:please )?(?:(?:answer|respond|reply)(?: the question| this question)?"
    r"(?: brief(?:ly)?| concise(?:ly)?| shortly| in detail| in (?:a|an|1|one|few)(?: short| complete| full| few)?"
    r" (?:word|sentence|phrase)| with (?:yes or no|a number|one word)| yes or no)+"
    r"|(?:give|provide)(?: me)?(?: (?:a|an|the|your))?"
    r"(?: (?:short|brief|concise|detailed|detail|direct|clear|one word|yes or no))*"
    r" (?:answer|response|reply|explanation)|be (?:concise|brief|specific|precise|as specific as possible)"
    r"|explain (?:your|the) (?:answer|reasoning)))+$"
)
"""What may be after a question without changing it: answer briefly."""
_PLACE_IN_PICTURE = re.compile(
    rf"(?<! be)(?<! look)(?: (?:as|that|which))?(?: (?:be|can be|judge))?(?: (?:from what be )?{_SHOWN})?"
    rf" (?:in|within|by|on|from) {_PICTURE}$|(?: (?:that|which) be| as) {_SHOWN}(?: here)?$"
    rf"|(?: base on| judge from| judge by| accord to)(?: what be {_SHOWN} in)? {_PICTURE}$"
)
_LEAST_WORDS = 3
"""Words of the shortest question that remains without a remark on the picture."""
_TELLING = re.compile(r"^(?:tell|answer|say)(?: me| i| us)? (?=(?:be|do|have|can|will|should|would|must|may) )")
_ANY_OBJECT = re.compile(
    r"\b(?:what|which) (?:item|object|thing) "
    r"(?=(?:be|do|have|can|may|will|should) (?:the|an?|this|that|these|those|he|she|they)\b)"
)
_ARTICLES = frozenset({"the", "a", "an"})
_WHICH_KIND = re.compile(r"\bwhich(?= (?:kind|type|sort|style|variety) of )")
_LONGEST_COMPOUND = 3
_PLAIN_VERBS = frozenset({"give", "take", "get", "help", "show", "from", "about"})
_PARTICLES = frozenset(
    {"to", "about", "with", "for", "by", "from", "at", "on", "in", "into", "through", "after", "off"}
)
_PASSIVE = re.compile(
    r"\b(?:is|are|was|were|be|been|being)\b(?: \w+ly| the \w+| an? \w+| \w+)?? "
    r"(?P<participle>\w{2,}ed|\w{2,}en|drawn|worn|held|built|shown|thrown|caught|hit|cut|fed)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The parsed form of a question."""

    asks: frozenset[str]
    """What it asks for, by the names of `lexicon/asks.toml`; empty if only a verb says so ("What does it eat?")."""
    order: tuple[str, ...]
    """Its asks in the order of its words; the same ones in another order may ask for something else."""
    content: tuple[Concept, ...]
    """The concepts it asks about, in order, without duplicates and plain words."""
    is_yes_or_no: bool
    is_negated: bool
    """Whether it excludes or denies something."""
    has_verb: bool
    """Whether it has a verb, or a word that may be one."""
    is_passive: bool
    asks_for_subject: bool | None
    """Whether a question with "who" or "what" asks for the subject of the verb; None for other questions."""
    particles: frozenset[str]
    """Prepositions at the end or right after a verb: talking to, talking about."""
    bindings: frozenset[tuple[Concept, Concept]]
    """See `bindings_in`."""
    places: Mapping[str, str]
    """For each object after a preposition of place the preposition's name in `lexicon/plain_words.toml`."""

    @property
    def says_nothing(self) -> bool:
        """Whether it has neither an ask nor content."""
        return not self.asks and not self.content


@lru_cache(maxsize=65536)
def frame_of(text: str) -> Frame:
    """Parse a question."""
    text = without_instructions(text)
    sentence = _without_remarks(_HEDGES.sub("", polite_removed(" ".join(base_forms(text)))))
    sentence = _ANY_OBJECT.sub("what ", sentence)
    sentence = _WHICH_KIND.sub("what", sentence)
    is_yes_or_no = bool(_YES_OR_NO.search(sentence)) and not _INTERROGATIVE.match(sentence)
    sentence = _WHETHER.sub(" whether ", sentence)
    sentence, excludes = _EXCLUSIONS.subn(" not ", sentence)
    marked = with_asks(sentence)
    found = tuple(dict.fromkeys(_ASK.findall(marked)))
    order = tuple(ask for ask in found if ask not in weak_asks()) or found
    asks = frozenset(order)
    words = [word for word in marked.split() if not _ASK.fullmatch(word)]
    implied = frozenset().union(*(_implied().get(ask, frozenset()) for ask in asks))
    content = tuple(concept for concept in dict.fromkeys(concepts_in(words)) if concept.name not in implied)
    naming = _NAMING | ({Category.UNKNOWN} if not _SEEN.isdisjoint(words) else set())
    if is_yes_or_no and not asks and content and all(concept.category in naming for concept in content):
        # "Is a dog in the picture?"
        asks = frozenset({"existence"})
    # An unknown word may be a verb in a question; in a prompt it is more likely an object.
    is_question = is_yes_or_no or bool(_INTERROGATIVE.match(sentence))
    lowered = text.lower()
    return Frame(
        asks=asks,
        order=order,
        content=content,
        is_yes_or_no=is_yes_or_no,
        is_negated=bool(excludes) or not NEGATIONS.isdisjoint(words),
        has_verb=any(
            concept.category in _VERBAL
            or (is_question and concept.category is Category.UNKNOWN and may_be_verb(concept.name))
            for concept in content
        )
        or not _PLAIN_VERBS.isdisjoint(words),
        asks_for_subject=bool(_OF_SUBJECT.match(lowered)) if _OF_WHO_OR_WHAT.match(lowered) else None,
        is_passive=any(_is_participle(match["participle"]) for match in _PASSIVE.finditer(lowered)),
        particles=_particles(marked.split()),
        bindings=bindings_in(marked.split()),
        places=_places(sentence.split()),
    )


def _is_participle(word: str) -> bool:
    """Whether a word that ends like a participle is one: written is, garden and children are not."""
    base = lemma(word)
    return base not in plain_words() and (base != word or word in {"hit", "cut"}) and may_be_verb(base)


def _without_remarks(sentence: str) -> str:
    """A question in base forms without remarks on the picture and on the answer, unless hardly anything remains."""
    for pattern in (_ANNOUNCEMENT, _REMARK, _PLACE_IN_PICTURE):
        shorter = pattern.sub("", sentence)
        words = shorter.split()
        if len(words) >= _LEAST_WORDS and words[-1] != "be":
            sentence = shorter
    return polite_removed(_TELLING.sub("", polite_removed(sentence)))


def _particles(words: Sequence[str]) -> frozenset[str]:
    after_verbs = {
        word
        for verb, word in pairwise(words)
        if (concept := concepts().get((verb,))) is not None and concept.category is Category.DOING
    }
    return frozenset((after_verbs | set(words[-1:])) & _PARTICLES)


def _places(words: Sequence[str]) -> dict[str, str]:
    places: dict[str, str] = {}
    prepositions = _prepositions()
    for start, word in enumerate(words):
        if word in prepositions:
            after = concepts_in(words[start + 1 : start + 5])
            if after and after[0].category in {Category.THING, Category.UNKNOWN}:
                places[after[0].name] = prepositions[word]
    return places


@cache
def _prepositions() -> Mapping[str, str]:
    return {word: name for name, words in words_of("plain_words", "places").items() for word in words}


def polite_removed(sentence: str) -> str:
    """A sentence in base forms without "can you tell me"."""
    return _POLITE.sub("", sentence)


_NAMING = frozenset({Category.THING, Category.NUMBER})
_SEEN = frozenset({"see", "appear", "show", "visible", "present"})


def concepts_in(words: Sequence[str], *, plain: frozenset[str] | None = None) -> list[Concept]:
    """The concepts of words in base forms: the longest known name at each position, else the word itself.

    Args:
        words: base forms.
        plain: words to skip; None: those that do not change a question, and negations.
    """
    skipped = plain_words() | NEGATIONS if plain is None else plain
    known = concepts()
    sequence: list[Concept] = []
    start = 0
    while start < len(words):
        for size in range(min(LONGEST_PHRASE, len(words) - start), 0, -1):
            phrase = tuple(words[start : start + size])
            concept = known.get(phrase) or (_compound(phrase) if words[start] not in skipped else None)
            if concept is not None and (size > 1 or words[start] not in skipped):
                sequence.append(concept)
                start += size
                break
        else:
            if words[start] not in skipped:
                sequence.append(concept_of(words[start]))
            start += 1
    return sequence


def bindings_in(words: Sequence[str]) -> frozenset[tuple[Concept, Concept]]:
    """Each concept with the next one, if no word or only "of" is between them: a blue ribbon, the leg of the horse.

    Words that only praise a picture ("beautiful") are passed over.
    """
    breaks = plain_words() | NEGATIONS
    pairs: set[tuple[Concept, Concept]] = set()
    before: list[Concept] = []
    for is_break, group in groupby(
        (word for word in words if word in breaks or word not in words_of_prompts()),
        key=lambda word: word in breaks or word.startswith("<"),
    ):
        if is_break:
            before = before if set(group) - _ARTICLES == {"of"} else []
        else:
            phrase = concepts_in(list(group))
            pairs.update(pairwise(phrase))
            pairs.update((first, phrase[-1]) for first in before[-1:] if phrase)
            before = phrase
    return frozenset(pairs)


@lru_cache(maxsize=65536)
def _compound(phrase: tuple[str, ...]) -> Concept | None:
    """The thing that WordNet calls by a phrase; none if it begins with a quality, number or relation ("old man")."""
    if not 1 < len(phrase) <= _LONGEST_COMPOUND:
        return None
    first = concepts().get(phrase[:1])
    if first is not None and first.category in {Category.QUALITY, Category.NUMBER, Category.RELATION}:
        return None
    concept = concept_of(" ".join(phrase))
    return concept if concept.category is Category.THING else None


def concept_of_name(word: str) -> Concept:
    """The concept of one word in base form."""
    return concepts().get((word,)) or concept_of(word)


def with_asks(sentence: str) -> str:
    """A sentence in base forms in which `<ask>` replaces each phrase that asks for something."""
    words = frozenset(sentence.split())
    for ask, needed, pattern in _patterns():
        if needed & words:
            sentence = pattern.sub(partial(_marked, ask=ask), sentence)
    return sentence


def _marked(match: re.Match[str], *, ask: str) -> str:
    return f"<{ask}> " + " ".join(group.strip() for group in match.groups() if group)


@cache
def _patterns() -> tuple[tuple[str, frozenset[str], re.Pattern[str]], ...]:
    """Each phrase as a regular expression, with words of which a sentence must have one, as a quick test."""
    patterns = []
    for ask, phrases in lists("asks", "asks").items():
        for phrase in phrases:
            words = [word.split("|") for word in phrase.strip("^$ ").split() if word != "*"]
            rarest = max(words, key=lambda choices: (not plain_words().issuperset(choices), len("|".join(choices))))
            patterns.append((ask, frozenset(rarest), _compiled(phrase)))
    return tuple(patterns)


def _compiled(phrase: str) -> re.Pattern[str]:
    start = "^" if phrase.startswith("^") else r"(?<!\S)"
    end = r"(?= *$)" if phrase.endswith("$") else r"(?!\S)"
    parts = phrase.strip("^$ ").split()
    text = ""
    for number, part in enumerate(parts):
        if part == "*":
            # Must not run across another ask.
            text += r"((?:[^\s<>]+ ){0,8}?)"
        else:
            text += "(?:" + "|".join(map(re.escape, part.split("|"))) + ")"
            text += " " if number + 1 < len(parts) else ""
    return re.compile(start + text + end)


@cache
def _implied() -> Mapping[str, frozenset[str]]:
    return words_of("asks", "implied")


@cache
def weak_asks() -> frozenset[str]:
    """Asks that are ignored beside another one."""
    return words_of("asks", "weak")["names"]


@cache
def alike() -> Mapping[str, frozenset[str]]:
    """For each ask those with a similar meaning."""
    groups = [frozenset(line.split()) for line in lists("asks", "alike")["groups"]]
    names = {name for group in groups for name in group}
    return {name: frozenset().union(*(group for group in groups if name in group)) for name in names}
