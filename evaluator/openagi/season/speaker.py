"""Wording of requests in any language: sentence patterns with slots, and the vocabulary that fills them.

A pattern is text with slots such as `{a}` or `{do:it}`, which the languages define. `|` marks the place of further
sentences; without it, they come last.
"""

import random
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from importlib.resources import files
from typing import Any

from evaluator.openagi.grammar import Base, Degradation
from evaluator.openagi.season.requests import Composition, InputSpec, RequestSpec, Trick

_SLOT = re.compile(r"\{(\w+)(?::(\w+))?\}")
_ONE_INPUT = re.compile(r"\{this\}|for \{the\}|um \{the\}|\{a:nom\}")
_NOTHING_ELSE = re.compile(r"\b(?:only|all|nur)\b")
_SENTENCE_START = re.compile(r"(^|[.!?]\s+)([a-zäöü])(?=\w*)")
ASIDE = "|"
_IN_THE_MIDDLE = (Trick.DETAIL, Trick.NEGATION)


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """The form of a request."""

    text: str

    @cached_property
    def slots(self) -> frozenset[str]:
        """Names of its slots, without what follows a colon."""
        return frozenset(name for name, _ in _SLOT.findall(self.text))

    @property
    def is_singular(self) -> bool:
        """Whether it refers to one input only."""
        return "clause" in self.slots or bool(_ONE_INPUT.search(self.text))

    @property
    def is_exclusive(self) -> bool:
        """Whether it says that there is nothing else."""
        return bool(_NOTHING_ELSE.search(self.text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The vocabulary that every language has."""

    terms: Mapping[Degradation, Sequence[str]]
    """Adjectives: the terms of image processing."""
    looks: Mapping[Degradation, Sequence[str]]
    """Adjectives: how the image looks."""
    openings: Sequence[str]
    closings: Sequence[str]
    details: Mapping[str, Sequence[str]]
    """Irrelevant sentences, by noun of their input."""
    intact: Sequence[str]
    """Sentences about an image that needs no repair."""

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "Words":
        return cls(**{field.name: table[field.name] for field in fields(cls)})


def vocabulary(language: str) -> dict[str, Any]:
    """The table of a language, `english.toml` or `german.toml`, which describes its slots."""
    return tomllib.loads(files(__package__).joinpath(f"{language}.toml").read_text(encoding="utf-8"))


class Speaker(ABC):
    """Words one request. Each choice is made once, so that an input keeps its name throughout."""

    words: Words
    patterns: Sequence[Pattern]

    def __init__(self, *, spec: RequestSpec, rng: random.Random) -> None:
        self.spec = spec
        self.rng = rng
        self.is_single = len(spec.needed) == 1
        self._said: set[str] = set()
        self.in_the_middle = False

    def request(self, pattern: Pattern) -> str:
        """The request in the form of a pattern."""
        body, mark, rest = pattern.text.partition(ASIDE)
        self.in_the_middle = bool(mark) and self.spec.stratum.trick in _IN_THE_MIDDLE and self.is_single
        words = [self._filled(body)]
        if self.in_the_middle:
            words += [self._filled(sentence) for sentence in self._trick_sentences()]
        words.append(self._filled(rest))
        words += [self.state(given) for given in self.defective if not self.is_said(given)]
        if not self.in_the_middle:
            words += [self._filled(sentence) for sentence in self._trick_sentences()]
        return capitalised(" ".join(self._framed(" ".join(words)).split()))

    def suits(self, pattern: Pattern) -> bool:
        """Whether the request can be worded in this form."""
        if pattern.is_singular and not self.is_single:
            return False
        extra = self.unneeded
        if extra is not None and (pattern.is_exclusive or (extra.name != extra.noun and "a" in pattern.slots)):
            # Not "all I have", and not "a photo" if there are two.
            return False
        if "get" in pattern.slots and self.spec.stratum.composition is Composition.FOREST:
            # Noun phrases do not name their input.
            return False
        return bool(self.defective) or not {"state", "clause"} & pattern.slots

    @property
    def defective(self) -> list[InputSpec]:
        """The needed inputs that are degraded or lack a word."""
        return [given for given in self.spec.needed if given.degradations or given.is_clozed]

    @property
    def is_impossible(self) -> bool:
        return self.spec.stratum.composition is Composition.NO_TOOL

    @property
    def bases(self) -> list[Base]:
        """The domain task of each answer."""
        return [wanted.base for wanted in self.spec.stratum.wanted]

    @property
    def unneeded(self) -> InputSpec | None:
        return next((given for given in self.spec.given if not given.is_needed), None)

    @abstractmethod
    def slot(self, name: str, argument: str) -> str:
        """The text of a slot."""

    @abstractmethod
    def state(self, given: InputSpec) -> str:
        """A sentence that names the defects of an input."""

    @abstractmethod
    def denial(self) -> str:
        """A sentence that denies degradations."""

    @abstractmethod
    def distraction(self, extra: InputSpec) -> str:
        """A sentence about an unneeded input."""

    def adjectives(self, given: InputSpec) -> list[str]:
        """An adjective for each degradation of an input, in random order."""
        if given.degradations:
            self.said(given)
        adjectives = [self.rng.choice(self._vocabulary()[kind]) for kind in given.degradations]
        self.rng.shuffle(adjectives)
        return adjectives

    def is_said(self, given: InputSpec) -> bool:
        """Whether the defects of an input have been named."""
        return given.name in self._said

    def said(self, given: InputSpec) -> None:
        """Remember that the defects of an input have been named."""
        self._said.add(given.name)

    def _filled(self, text: str) -> str:
        return _SLOT.sub(lambda slot: self.slot(slot[1], slot[2] or ""), text)

    def _vocabulary(self) -> Mapping[Degradation, Sequence[str]]:
        trick = self.spec.stratum.trick
        if trick is Trick.LOOK:
            return self.words.looks
        if trick is Trick.PLAIN:
            return self.words.terms
        return self.rng.choice((self.words.terms, self.words.looks))

    def _trick_sentences(self) -> list[str]:
        extra = self.unneeded
        if extra is not None:
            return [self.distraction(extra)]
        match self.spec.stratum.trick:
            case Trick.DETAIL:
                noun = self.rng.choice([given.noun for given in self.spec.needed if given.noun != "query"])
                return [self.rng.choice(self.words.details[noun])]
            case Trick.NEGATION:
                return [self.denial()]
            case Trick.INTACT:
                return [self.rng.choice(self.words.intact)]
        return []

    def _framed(self, text: str) -> str:
        opening = self.rng.choice(self.words.openings) if self.rng.random() < 0.3 else ""
        closing = self.rng.choice(self.words.closings) if self.rng.random() < 0.3 else ""
        return f"{opening} {text} {closing}"


def capitalised(text: str) -> str:
    """The text with a capital at the beginning of each sentence."""
    return _SENTENCE_START.sub(lambda match: match[1] + match[2].upper(), text)


def listed(items: Sequence[str], *, conjunction: str) -> str:
    """`a, b and c`."""
    return f"{', '.join(items[:-1])} {conjunction} {items[-1]}" if len(items) > 1 else items[0]
