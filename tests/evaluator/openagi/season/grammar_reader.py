"""Reads a hidden request with the lexicon of hidden requests in hand: phrase by phrase, without a season's seed.

It is the strongest reader without understanding. Where it derives one plan, and the right one, a request says neither
too little nor two things.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from evaluator.core.plans.model import Plan
from evaluator.core.tools.types import ResourceType
from evaluator.openagi.grammar import Base, Degradation
from evaluator.openagi.season.hidden.lexicon import whole_lexicon
from evaluator.openagi.season.requests import (
    NOUNS,
    AnswerSpec,
    Composition,
    InputSpec,
    Language,
    RequestSpec,
    Stratum,
    Trick,
)
from evaluator.openagi.season.tasks import gold_plan

LEXICONS = {language: whole_lexicon(language) for language in Language}
WORD = "word"
IMPOSSIBLE = "impossible"
_PRONOUNS = "it|er|es|sie|ihn|ihm|ihr"
_TO_FILL = re.compile(r"\{(x|q|yes|no)(?::(\w+))?\}|\[([^\[\]]*)\]")


def _nouns() -> list[str]:
    found = [noun for table in LEXICONS.values() for nouns in table["nouns"].values() for noun in nouns]
    return sorted({noun if isinstance(noun, str) else noun[0] for noun in found}, key=len, reverse=True)


_NAMES = "|".join(LEXICONS[Language.ENGLISH]["names"])
_INPUT = rf"(?:(?:the|der|die|das|den|dem) )?(?:{'|'.join(map(re.escape, _nouns()))})|(?:{_NAMES})_\d|{_PRONOUNS}"
_INTRODUCTION = re.compile(rf"\b(?:an?|eine?n?) ({'|'.join(map(re.escape, _nouns()))})(?: \(((?:{_NAMES})_\d)\))?")


def _pattern(phrase: str, *, table: Mapping) -> re.Pattern[str]:
    """A phrase as a regular expression with the groups `x`, `q` and `yes_de` or `yes_en`."""
    text, end, seen = "", 0, set()

    def literal(part: str) -> str:
        return re.sub(r"\\ $", " ", re.escape(part)).replace(r"\ ", " ")

    for slot in _TO_FILL.finditer(phrase):
        text += literal(phrase[end : slot.start()])
        name, manner, choice = slot.groups()
        if choice is not None:
            text += f"(?:{'|'.join(map(re.escape, choice.split('|')))})"
        elif name in ("x", "q"):
            text = re.sub(r"\b(in|an|von|zu|bei) $", lambda found: f"(?:{found[1]}|i?[nm]|am|vom|zum|beim) ", text)
            text += f"(?P<{name}>{_INPUT})" if name not in seen else f"(?:{_INPUT})"
        else:
            languages = []
            for language in Language:
                words = [table["languages"][f"{language}_name"]] if manner else table["languages"][language]
                words = [f"nur {word}" for word in words] if manner == "only" else words
                group = f"?P<{name}_{language}>" if (name, language) not in seen else "?:"
                languages.append(f"({group}{'|'.join(map(re.escape, words))})")
                seen.add((name, language))
            text += f"(?:{'|'.join(languages)})"
        seen.add(name)
        end = slot.end()
    return re.compile(r"(?<!\w)" + text + literal(phrase[end:]) + r"(?!\w)", re.IGNORECASE)


@dataclass(frozen=True)
class Said:
    """A phrase of the lexicon in a request."""

    concept: tuple[str, str]
    match: re.Match[str]

    def language(self) -> Language | None:
        found = {name: text for name, text in self.match.groupdict().items() if text and name.startswith("yes_")}
        return Language(next(iter(found)).removeprefix("yes_")) if found else None


@cache
def _phrases() -> tuple[tuple[tuple[str, str], re.Pattern[str]], ...]:
    found = []
    for table in LEXICONS.values():
        for base, phrases in table["wanted"].items():
            found += [(("wanted", base), phrase, table) for phrase in (*phrases["do"], *phrases["get"])]
        for phrases in table["impossible"].values():
            found += [((IMPOSSIBLE, ""), phrase, table) for phrase in (*phrases["do"], *phrases["get"])]
        for kind, phrases in table["flaws"].items():
            found += [(("flaw", kind), phrase, table) for phrase in phrases["sentences"]]
            found += [(("fragment", kind), phrase, table) for phrase in phrases["fragments"]]
        for place in ("sentences", "fragments"):
            found += [(("unneeded", ""), phrase, table) for phrase in table["distractors"][place]]
        found += [(("sentence", ""), phrase, table) for phrase in table["languages"]["sentences"]]
        found += [(("tag", ""), phrase, table) for phrase in table["languages"]["tags"]]
    return tuple((concept, _pattern(phrase, table=table)) for concept, phrase, table in found)


def said_in(text: str) -> list[Said]:
    """The phrases of a request in order; of those that overlap the longest."""
    found = [Said(concept, match) for concept, pattern in _phrases() for match in pattern.finditer(text)]
    chosen: list[Said] = []
    for said in sorted(found, key=lambda said: said.match.start() - said.match.end()):
        start, end = said.match.span()
        if not any(start < other.match.end() and other.match.start() < end for other in chosen):
            chosen.append(said)
    return sorted(chosen, key=lambda said: said.match.start())


class GrammarReader:
    """One request, read.

    Args:
        text: the request.
        resources: its inputs.
    """

    def __init__(self, *, text: str, resources: Mapping[str, ResourceType]) -> None:
        self.said = said_in(text)
        self._text, self._resources = text, resources
        self._names = {noun.lower(): name for noun, name in _INTRODUCTION.findall(text) if name}

    def plan(self) -> Plan:
        """The plan that the phrases call for.

        Raises:
            LookupError: they call for nothing, or name an input that is not there.
        """
        if self._of(IMPOSSIBLE):
            return Plan(steps=(), answers=())
        wanted = [said for said in self._of("wanted") if not self._is_unneeded(said)]
        if not wanted:
            raise LookupError("nothing is wanted")
        answers = [AnswerSpec(base=self._base(said), language=self._language(said)) for said in wanted]
        inputs: dict[str, str] = {}
        for said, answer in zip(wanted, answers, strict=True):
            for noun, group in zip(NOUNS[answer.base], ("x", "q"), strict=False):
                inputs.setdefault(noun, self._name(said.match[group], is_image=noun == "image"))
        flaws = list(self._flaws())
        given = tuple(
            InputSpec(
                name=name, noun=noun, is_clozed=(WORD, name) in flaws,
                degradations=tuple(kind for kind in Degradation if (kind, name) in flaws),
            )
            for noun, name in inputs.items()
        )  # fmt: skip
        stratum = Stratum(
            composition=Composition.TREE, trick=Trick.PLAIN, spoken=Language.ENGLISH, wanted=tuple(answers),
            degradations=0,
        )  # fmt: skip
        return gold_plan(RequestSpec(stratum=stratum, given=given))

    def _of(self, kind: str) -> list[Said]:
        return [said for said in self.said if said.concept[0] == kind]

    def _base(self, wanted: Said) -> Base:
        """What is wanted. Some phrases for questions suit images and documents alike."""
        base = Base(wanted.concept[1])
        if base not in (Base.VQA, Base.QA):
            return base
        is_image = self._resources.get(self._named(wanted.match["x"])) is ResourceType.IMAGE
        return Base.VQA if is_image else Base.QA

    def _language(self, wanted: Said) -> Language | None:
        base = Base(wanted.concept[1])
        if base in (Base.RESTORATION, Base.TEXT_TO_IMAGE):
            return None
        if base is Base.TRANSLATION:
            return Language.GERMAN
        later = [said for said in self.said if said.match.start() > wanted.match.start()]
        for said in later:
            if said.concept[0] == "wanted" and not self._is_unneeded(said):
                break
            if said.concept[0] == "tag":
                return said.language()
        return next(said.language() for said in self._of("sentence"))

    def _flaws(self) -> Iterator[tuple[str, str]]:
        """Each flaw with the name of its input. A pronoun stands for the last input that was named."""
        last = ""
        for said in self.said:
            kind, flaw = said.concept
            if kind == "flaw":
                last = self._name(said.match["x"], is_image=flaw != WORD, last=last)
            elif kind == "fragment":
                heads = re.findall(rf"({_INPUT}): ", self._text[: said.match.start()], re.IGNORECASE)
                last = self._name(heads[-1], is_image=flaw != WORD, last=last)
            else:
                continue
            yield flaw, last

    def _name(self, words: str, *, is_image: bool, last: str = "") -> str:
        """The name of the input that a phrase refers to."""
        if self._named(words) in self._resources:
            return self._named(words)
        kind = ResourceType.IMAGE if is_image else ResourceType.TEXT
        fitting = [name for name, one in self._resources.items() if one is kind and name not in self._unneeded()]
        if last in fitting and words.lower() in _PRONOUNS.split("|"):
            return last
        if len(fitting) != 1:
            raise LookupError(f"{words!r} may be any of {', '.join(self._resources)}")
        return fitting[0]

    def _is_unneeded(self, wanted: Said) -> bool:
        """Whether something is to be done with an input that is not needed: others do it."""
        unneeded = {self._named(said.match["x"]) for said in self._of("unneeded")}
        return self._named(wanted.match["x"]) in unneeded

    def _named(self, words: str) -> str:
        noun = re.sub(r"^(?:the|der|die|das|den|dem) ", "", words.lower())
        return self._names.get(noun, noun)

    def _unneeded(self) -> Sequence[str]:
        found = [said.match["x"] for said in self._of("unneeded")]
        return [words for words in found if words in self._resources]
